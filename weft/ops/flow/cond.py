"""tf.cond."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.framework import context, conversion, function_tracing, nest, registry
from weft.framework.constant_value import constant_value
from weft.framework.export import export
from weft.framework.func_graph import FuncGraph
from weft.framework.scopes import name_scope
from weft.framework.tensor import Tensor
from weft.ops.flow import building, structure

_SUMMARIES = "_SUMMARY_V2"  # the collection of summaries that write themselves


@export("enable_control_flow_v2")
def enable_control_flow_v2() -> None:
    """Gives branches and loops the rules of functions: everything with effects in them runs, in order."""
    function_tracing.control_flow_v2 = True


@export("disable_control_flow_v2")
def disable_control_flow_v2() -> None:
    """Gives branches and loops of graphs TensorFlow 1's rules: what the results need is run."""
    function_tracing.control_flow_v2 = False


@export("control_flow_v2_enabled")
def control_flow_v2_enabled() -> bool:
    """Returns whether branches and loops of graphs follow the rules of functions."""
    return function_tracing.control_flow_v2


def follows_v2(graph: Any) -> bool:
    return function_tracing.control_flow_v2 or function_tracing.in_function(graph)


@export("cond")
def cond(
    pred: Any,
    true_fn: Callable | None = None,
    false_fn: Callable | None = None,
    strict: bool = False,
    name: str | None = None,
    fn1: Callable | None = None,
    fn2: Callable | None = None,
) -> Any:
    """Returns `true_fn()` if the scalar `pred` is true, else `false_fn()`.

    Both return the same structure of tensors; only the one that is taken runs. A list or tuple of one tensor is
    unpacked unless `strict`.
    """
    true_fn = _one_of("true_fn", true_fn, "fn1", fn1)
    false_fn = _one_of("false_fn", false_fn, "fn2", fn2)
    if context.executing_eagerly():
        with name_scope(name, "cond"):
            result = true_fn() if pred else false_fn()
        return result if strict else structure.unpacked(result)
    if isinstance(pred, bool):
        raise TypeError("pred must not be a Python bool")
    v2 = follows_v2(context.get_default_graph())
    with name_scope(name, "cond", [pred]) as scope:
        graph = context.get_default_graph()
        pred = conversion.convert_to_tensor(pred, name="pred_id")
        value = pred
        if v2 and pred._dims != ():
            value = registry.get("Squeeze")(pred)
        branches: list[FuncGraph] = []
        results = []
        for function, label in ((true_fn, "true"), (false_fn, "false")):
            with building.function_body(scope, label) as body:
                results.append(branch_result(function, body, pred, label, strict or v2, v2))
            branches.append(body)
        if v2 and results[0] is None and results[1] is None:
            for body in branches:
                body.outputs = []
            return building.add_if(value, branches, scope)
        make_alike(results, branches)
        op = building.add_if(value, branches, scope)
        identity = registry.get("Identity")
        label = building.result_name(graph, "Merge")
        outputs = [identity(t, name=label) for t in op._outputs]
        graph.prevent_fetching(op)
    result = structure.with_tensors(results[0], outputs)
    return result if strict or v2 else structure.unpacked(result)


def _one_of(name: str, function: Any, old_name: str, old: Any) -> Any:
    if old is not None:
        if function is not None:
            raise TypeError(f"cond(): {name} and {old_name} may not be set simultaneously.")
        function = old
    elif function is None:
        raise TypeError(f"cond(): {name} argument required")
    if not callable(function):
        raise TypeError(f"{name} must be callable.")
    return function


def branch_result(
    function: Callable, body: FuncGraph, pred: Tensor, label: str, strict: bool, v2: bool
) -> Any:
    """What a branch returns, its leaves converted to tensors of the body."""
    before = len(body.get_collection(_SUMMARIES))
    result = function()
    summaries = body.get_collection(_SUMMARIES)[before:]
    if summaries:
        # Summaries of a branch are written when it is taken, whether or not they are among its results.
        del body.get_collection_ref(_SUMMARIES)[before:]
        body.control_outputs.extend(t.op for t in summaries)
    if result is None:
        if v2:
            return None
        raise ValueError(f"{label}_fn must have a return value.")
    if not strict:
        result = structure.unpacked(result)
    if not v2 and nest.is_nested(result) and not nest.flatten(result):
        raise ValueError("true_fn and false_fn must return at least one result.")
    return nest.map_structure(lambda x: structure.to_tensor(x, pred), result)


def make_alike(results: list[Any], branches: list[FuncGraph]) -> None:
    """Checks that branches return the same structure and types, and sets the outputs of their functions."""
    first = results[0]
    for other in results[1:]:
        try:
            for a, b in zip(nest.flatten(first), nest.flatten(other)):
                structure.match_index_types(a, b)
            nest.assert_same_structure(first, other, expand_composites=True)
        except (TypeError, ValueError) as e:
            kind = "types" if isinstance(e, TypeError) else "values"
            raise type(e)(f"Incompatible return {kind} of true_fn and false_fn: {e}") from None
    flat = [structure.flat_tensors(r) for r in results]
    for tensors in flat[1:]:
        for x, y in zip(flat[0], tensors):
            if x.dtype.base_dtype is not y.dtype.base_dtype:
                raise ValueError(
                    "Outputs of true_fn and false_fn must have the same type: "
                    f"{x.dtype.name}, {y.dtype.name}"
                )
    for body, tensors in zip(branches, flat):
        body.outputs = function_tracing.returned(body, tensors)


@export("contrib.framework.smart_cond", "layers.utils.smart_cond")
def smart_cond(
    pred: Any,
    true_fn: Callable | None = None,
    false_fn: Callable | None = None,
    name: str | None = None,
) -> Any:
    """Returns `true_fn()` or `false_fn()`: builds a `cond` only where `pred` is not known yet."""
    if not callable(true_fn):
        raise TypeError("`true_fn` must be callable.")
    if not callable(false_fn):
        raise TypeError("`false_fn` must be callable.")
    value = smart_constant_value(pred)
    if value is not None:
        return true_fn() if value else false_fn()
    return cond(pred, true_fn=true_fn, false_fn=false_fn, name=name)


@export("contrib.framework.smart_constant_value", "layers.utils.constant_value")
def smart_constant_value(pred: Any) -> bool | None:
    """Returns the bool that `pred` is, or None where it is not known while the graph is built."""
    if isinstance(pred, (bool, int)) and pred in (0, 1):
        return bool(pred)
    if isinstance(pred, Tensor):
        value = constant_value(pred)
        return None if value is None else bool(value)
    raise TypeError(
        "`pred` must be a Tensor, or a Python bool, or 1 or 0. Found instead: %s" % type(pred)
    )
