"""tf.case and tf.switch_case."""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from weft.framework import context, conversion, dtypes
from weft.framework.context import get_default_graph
from weft.framework.export import export, find
from weft.framework.func_graph import FuncGraph
from weft.framework.scopes import name_scope
from weft.framework.tensor import Tensor
from weft.ops.by_name import raw
from weft.ops.flow import building, structure
from weft.ops.flow.cond import branch_result, cond, follows_v2, make_alike


@export("case")
def case(
    pred_fn_pairs: Any,
    default: Callable | None = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str = "case",
) -> Any:
    """Returns what the function of the first true predicate returns, or `default()` if none is.

    Without a `default` it is an error that none is true; with `exclusive` it is one that several are.
    """
    predicates, actions = _checked_pairs(pred_fn_pairs, exclusive)
    with name_scope(name, "case", list(predicates)):
        if default is None:
            default, predicates, actions = _default_of(predicates, actions)
        function = default
        for pred, action in reversed(list(zip(predicates, actions))):
            function = functools.partial(
                cond, pred, true_fn=action, false_fn=function, strict=strict
            )
        if not exclusive or not predicates:
            return function()
        with (
            get_default_graph().control_dependencies(
                [_at_most(predicates, 1, "Input error: exclusive=True")]
            )
            if not context.executing_eagerly()
            else _checked_eagerly(predicates)
        ):
            return function()


def _checked_eagerly(predicates: Any) -> Any:
    import contextlib

    _at_most(predicates, 1, "Input error: exclusive=True")
    return contextlib.nullcontext()


def _checked_pairs(pairs: Any, exclusive: bool) -> tuple[Any, Any]:
    if not isinstance(pairs, (list, tuple, dict)):
        raise TypeError("fns must be a list, tuple, or dict")
    if isinstance(pairs, OrderedDict):
        pairs = list(pairs.items())
    elif isinstance(pairs, dict):
        if context.executing_eagerly():
            if not exclusive:
                raise ValueError(
                    "Unordered dictionaries are not supported for the `pred_fn_pairs` argument when "
                    "`exclusive=False` and eager mode is enabled."
                )
            pairs = list(pairs.items())
        else:
            pairs = sorted(pairs.items(), key=lambda item: item[0].name)
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError("Each entry in pred_fn_pairs must be a 2-tuple")
        pred, function = pair
        if not isinstance(pred, Tensor):
            raise TypeError(f"pred must be a Tensor, got: {pred}")
        if pred.dtype.base_dtype is not dtypes.bool:
            raise TypeError(f"pred must be Tensor of type bool: {pred}")
        if not callable(function):
            raise TypeError(f"fn for pred {pred} must be callable.")
    predicates, actions = zip(*pairs)
    return predicates, actions


def _at_most(predicates: Any, n: int, message: str) -> Any:
    """An assertion that at most `n` of the predicates are true."""
    stacked = raw.Pack(list(predicates), name="preds_c")
    count = raw.Sum(raw.Cast(stacked, DstT=dtypes.int32), np.asarray([0], np.int32))
    names = ", ".join("?" if context.executing_eagerly() else p.name for p in predicates)
    return find("", "Assert", "tf")(
        raw.LessEqual(count, np.asarray(n, np.int32)),
        [f"{message}: more than {n} conditions ({names}) evaluated as True:", stacked],
        summarize=len(predicates),
    )


def _default_of(predicates: Any, actions: Any) -> tuple[Callable, Any, Any]:
    """The last action as the default, which asserts that its predicate is the one that is true."""
    *others, last = predicates
    *other_actions, action = actions

    def default() -> Any:
        checks = []
        if others:
            checks.append(
                _at_most(
                    others,
                    0,
                    f"Implementation error: selected default action #{len(others)} was called, but some of "
                    "other predicates are True: ",
                )
            )
        data = [
            "Input error: None of conditions evaluated as True:",
            raw.Pack(list(predicates), name="preds_c"),
        ]
        checks.append(find("", "Assert", "tf")(last, data))
        if context.executing_eagerly():
            return action()
        with get_default_graph().control_dependencies(checks):
            result = action()
            return structure.after(result)

    return default, others, other_actions


@export("switch_case")
def switch_case(
    branch_index: Any, branch_fns: Any, default: Callable | None = None, name: str = "switch_case"
) -> Any:
    """Returns `branch_fns[branch_index]()`, or `default()` (else the last) for an index out of range."""
    functions = _checked_branches(branch_fns, default, branch_index)
    n = len(functions)
    with name_scope(name, "case", [branch_index]) as scope:
        if context.executing_eagerly():
            i = int(branch_index)
            return functions[i if 0 <= i < n else n - 1]()
        graph = get_default_graph()
        v2 = follows_v2(graph)
        index = raw.Cast(branch_index, DstT=dtypes.int32)
        if index._dims is None or index._dims:
            index = raw.Squeeze(index)
        bodies: list[FuncGraph] = []
        results: list[Any] = []
        for i, function in enumerate(functions):
            with building.function_body(scope, f"branch{i}") as body:
                results.append(branch_result(function, body, index, f"branch {i}", True, v2))
            bodies.append(body)
        make_alike(results, bodies)
        op = building.add_if(index, bodies, scope)
        outputs = [raw.Identity(t) for t in op._outputs]
    return structure.with_tensors(results[0], outputs)


def _checked_branches(branches: Any, default: Any, branch_index: Any) -> list[Callable]:
    if not isinstance(branch_index, Tensor):
        raise TypeError(f"branch_index must a Tensor, got {type(branch_index)}")
    if not branch_index.dtype.is_integer:
        raise TypeError(f"branch_index must an integer Tensor, got {branch_index.dtype}")
    if not branches:
        raise ValueError("Must provide at least one item in branch_fns")
    if not isinstance(branches, (list, tuple, dict)):
        raise TypeError("branch_fns must be a list, tuple, or dict")
    pairs = list(branches.items()) if isinstance(branches, dict) else list(branches)
    if all(callable(f) for f in pairs):
        pairs = list(enumerate(pairs))
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError("Each entry in branch_fns must be a 2-tuple")
        key, function = pair
        if not isinstance(key, int):
            raise TypeError(f"key must be a Python `int`, got {type(key)}")
        if not callable(function):
            raise TypeError(f"fn for key {key} must be callable.")
    keys = sorted(k for k, _ in pairs)
    if keys != list(range(len(keys))):
        raise ValueError(
            f"branch indices (keys) must form contiguous range of [0 to {len(keys)}) but found "
            f"{{{','.join(map(str, keys))}}}"
        )
    functions = [f for _, f in sorted(pairs, key=lambda p: p[0])]
    return functions if default is None else [*functions, default]


__all__ = ["case", "conversion", "switch_case"]
