"""What Python's statements mean where tensors are involved: `if`, `while`, `for`, `and`, `len`, ..."""

from __future__ import annotations

import builtins
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from malt.operators.variables import Undefined, UndefinedReturnValue

from weft.framework import context, conversion, dtypes, nest, registry
from weft.framework.tensor import Tensor
from weft.ops.flow.cond import cond as tf_cond
from weft.ops.flow.while_loop import while_loop


def is_symbolic(x: Any) -> bool:
    """Whether a value is known only as the graph runs."""
    if isinstance(x, Tensor):
        return x._op is not None
    return hasattr(x, "_dense_var_to_tensor") and not context.executing_eagerly()


# -- the values that a statement changes ------------------------------------------------------------------


class _Placeless:
    """Stands among the leaves of a state for what is no tensor."""

    def __init__(self, value: Any):
        self.value = value


def _is_tensor_like(x: Any) -> bool:
    return not isinstance(x, (Undefined, UndefinedReturnValue)) and (
        isinstance(x, (Tensor, bool, int, float, complex, str, bytes, np.ndarray, np.generic))
        or nest.is_composite(x)
        or hasattr(x, "_dense_var_to_tensor")
        or type(x).__name__ == "TensorArray"
    )


def _as_tensor(x: Any) -> Any:
    if isinstance(x, Tensor) or nest.is_composite(x) or type(x).__name__ == "TensorArray":
        return x
    return conversion.convert_to_tensor(x)


def _leaves(state: tuple) -> list[Any]:
    """The leaves of a state: tensors, or what is no tensor in a wrapper."""
    return [
        _as_tensor(x) if _is_tensor_like(x) else _Placeless(x)
        for value in state
        for x in ([value] if isinstance(value, Undefined) else nest.flatten(value))
    ]


def _packed(like: tuple, leaves: list[Any]) -> tuple:
    out, i = [], 0
    for value in like:
        n = 1 if isinstance(value, Undefined) else len(nest.flatten(value))
        part = [x.value if isinstance(x, _Placeless) else x for x in leaves[i : i + n]]
        i += n
        out.append(
            part[0]
            if isinstance(value, Undefined) or not nest.is_nested(value)
            else nest.pack_sequence_as(value, part)
        )
    return tuple(out)


def _is_undefined(x: Any) -> bool:
    return isinstance(x, _Placeless) and isinstance(x.value, (Undefined, UndefinedReturnValue))


def _zeros(like: Any) -> Any:
    """A value for what a function would return, on a way that does not return yet."""
    dims = [1 if d is None else d for d in (like._dims or ())]
    zero = (
        np.zeros((), like.dtype.base_dtype.np)
        if like.dtype.base_dtype is not dtypes.string
        else np.array(b"", object)
    )
    filled = registry.get("Fill")(
        np.array(dims, np.int32), conversion.convert_to_tensor(zero, like.dtype.base_dtype)
    )
    if like._dims is None or None in like._dims:
        filled = registry.get("PlaceholderWithDefault")(filled, shape=like._dims)
    return filled


# -- if ---------------------------------------------------------------------------------------------------


class _Retry(Exception):
    """A branch leaves a result open that the other gives."""


def if_stmt(
    cond: Any,
    body: Callable,
    orelse: Callable,
    get_state: Callable,
    set_state: Callable,
    symbol_names: tuple,
    nouts: int,
) -> None:
    """`if`: both branches in the graph where the condition is symbolic."""
    if not is_symbolic(cond):
        if cond:
            body()
        else:
            orelse()
        return
    templates: dict[int, Any] = {}
    for _ in range(2):
        try:
            _if(cond, body, orelse, get_state, set_state, symbol_names, nouts, templates)
            return
        except _Retry:
            continue


def _if(
    cond: Any,
    body: Callable,
    orelse: Callable,
    get_state: Callable,
    set_state: Callable,
    symbol_names: tuple,
    nouts: int,
    templates: dict[int, Any],
) -> None:
    before = get_state()
    ran: list[tuple[tuple, list[Any]]] = []

    def branch(function: Callable) -> Callable:
        def run() -> list[Any]:
            set_state(before)
            function()
            state = get_state()[:nouts]
            leaves = _leaves(state)
            for i, template in templates.items():
                if i < len(leaves) and _is_undefined(leaves[i]):
                    leaves[i] = _zeros(template)
            if ran:
                _match(symbol_names, ran[0], (state, leaves), templates)
            ran.append((state, leaves))
            return [x for x in leaves if not isinstance(x, _Placeless)] or [
                conversion.convert_to_tensor(0)
            ]

        return run

    try:
        results = tf_cond(_scalar(cond), branch(body), branch(orelse))
    finally:
        set_state(before)
    left = list(results) if isinstance(results, (list, tuple)) else [results]
    like, leaves = ran[0]
    other = ran[1][1]
    out = []
    for a, b in zip(leaves, other):
        if isinstance(a, _Placeless):
            out.append(b if _is_undefined(a) else a)
        else:
            out.append(left.pop(0))
    packs = (
        like
        if not any(isinstance(v, (Undefined, UndefinedReturnValue)) for v in like)
        else ran[1][0]
    )
    set_state((*_packed(packs if len(packs) == len(like) else like, out), *before[nouts:]))


def _match(names: tuple, one: tuple, two: tuple, templates: dict[int, Any]) -> None:
    """Raises unless both branches give results of the same kinds."""
    (_, a), (_, b) = one, two
    if len(a) != len(b):
        raise ValueError(
            f"The branches of an `if` on a tensor give structures that differ to one of {', '.join(map(str, names))}."
        )
    retry = False
    for i, (x, y) in enumerate(zip(a, b)):
        if isinstance(x, _Placeless) == isinstance(y, _Placeless):
            same = (
                not isinstance(x, _Placeless)
                or x.value is y.value
                or _is_undefined(x)
                and _is_undefined(y)
            )
            if not same and isinstance(x, _Placeless) and x.value != y.value:
                raise ValueError(
                    f"A variable of an `if` on a tensor is {x.value!r} after one branch and {y.value!r} after the "
                    f"other; what is no tensor must be the same (one of {', '.join(map(str, names))})."
                )
            continue
        open_, given = (x, y) if isinstance(x, _Placeless) else (y, x)
        if (
            isinstance(open_.value, UndefinedReturnValue)
            and isinstance(given, Tensor)
            and i not in templates
        ):
            templates[i] = given
            retry = True
            continue
        name = names[i] if i < len(names) else "a value"
        what = "undefined" if _is_undefined(open_) else repr(open_.value)
        raise ValueError(
            f"'{name}' must be a tensor after both branches of an `if` on a tensor, but is {what} after one of them: "
            "initialise it before the statement, or in both branches."
        )
    if retry:
        raise _Retry()


def _scalar(cond: Any) -> Any:
    cond = conversion.convert_to_tensor(cond)
    if cond.dtype.base_dtype is not dtypes.bool:
        raise ValueError(
            f"The condition of an `if` or `while` must be a bool, not {cond.dtype.name}: {cond}"
        )
    return cond


# -- while and for ----------------------------------------------------------------------------------------

_options = threading.local()


def loop_options(given: dict[str, Any]) -> None:
    """Sets options of the loop that is being traced."""
    stack = getattr(_options, "stack", None)
    if stack:
        stack[-1].update(given)


def while_stmt(
    test: Callable,
    body: Callable,
    get_state: Callable,
    set_state: Callable,
    symbol_names: tuple,
    opts: Any,
) -> None:
    """`while`: a loop of the graph where the condition is symbolic."""
    first = test()
    if not is_symbolic(first):
        if not first:
            return
        while True:
            body()
            again = test()
            if is_symbolic(again):
                _loop(test, body, get_state, set_state, symbol_names, opts)
                return
            if not again:
                return
    _loop(test, body, get_state, set_state, symbol_names, opts)


def _loop(
    test: Callable,
    body: Callable,
    get_state: Callable,
    set_state: Callable,
    names: tuple,
    opts: Any,
) -> None:
    templates: dict[int, Any] = {}
    for _ in range(2):
        try:
            _graph_loop(test, body, get_state, set_state, names, dict(opts or {}), templates)
            return
        except _Retry:
            continue


def _graph_loop(
    test: Callable,
    body: Callable,
    get_state: Callable,
    set_state: Callable,
    names: tuple,
    opts: dict[str, Any],
    templates: dict[int, Any],
) -> None:
    before = get_state()
    start = _leaves(before)
    for i, template in templates.items():
        start[i] = _zeros(template)
    for name, value in zip(names, before):
        if isinstance(value, Undefined) and not isinstance(value, UndefinedReturnValue):
            raise ValueError(f"'{name}' must be defined before the loop.")
    loose = [x for x in start if not isinstance(x, _Placeless)]

    def merged(tensors: Any) -> tuple:
        left = list(tensors)
        return _packed(before, [x if isinstance(x, _Placeless) else left.pop(0) for x in start])

    def run_test(*tensors: Any) -> Any:
        set_state(merged(tensors))
        return _scalar(test())

    def run_body(*tensors: Any) -> list[Any]:
        set_state(merged(tensors))
        getattr(_options, "stack", []).append(found)
        try:
            body()
        finally:
            _options.stack.pop()
        after = _leaves(get_state())
        if len(after) != len(start):
            raise ValueError(
                f"A loop on a tensor must keep the structure of its variables ({', '.join(map(str, names))})."
            )
        out = []
        retry = False
        for i, (old, new) in enumerate(zip(start, after)):
            if isinstance(old, _Placeless):
                if isinstance(old.value, UndefinedReturnValue) and isinstance(new, Tensor):
                    templates[i] = new
                    retry = True
                elif not isinstance(new, _Placeless) or new.value is not old.value:
                    raise ValueError(
                        f"A variable of a loop on a tensor is {old.value!r} before it and changes in it; it must be "
                        f"a tensor (one of {', '.join(map(str, names))})."
                    )
                continue
            if isinstance(new, _Placeless):
                raise ValueError(
                    f"A variable of a loop on a tensor is a tensor before it and {new.value!r} after an iteration "
                    f"(one of {', '.join(map(str, names))})."
                )
            if isinstance(old, Tensor) and isinstance(new, Tensor) and new.dtype != old.dtype:
                raise TypeError(
                    f"A variable of a loop on a tensor has dtype {old.dtype.name} before it and {new.dtype.name} "
                    f"after an iteration (one of {', '.join(map(str, names))})."
                )
            out.append(new)
        if retry:
            raise _Retry()
        return out

    found: dict[str, Any] = {}
    if not hasattr(_options, "stack"):
        _options.stack = []
    allowed = (
        "parallel_iterations",
        "back_prop",
        "swap_memory",
        "maximum_iterations",
        "shape_invariants",
    )
    given = {k: v for k, v in opts.items() if k in allowed}
    dummy = not loose
    variables = loose or [conversion.convert_to_tensor(0)]
    run: tuple[Callable, Callable] = (run_test, run_body)
    if dummy:
        run = (lambda i: run_test(), lambda i: (run_body(), i)[1:])
    try:
        results = while_loop(run[0], run[1], variables, return_same_structure=True, **given)
    finally:
        set_state(before)
    if not dummy:
        set_state(merged(results))


def for_stmt(
    iter_: Any,
    extra_test: Callable | None,
    body: Callable,
    get_state: Callable,
    set_state: Callable,
    symbol_names: tuple,
    opts: Any,
) -> None:
    """`for`: a loop of the graph over the first axis of a symbolic tensor, a data set, or what an iterator has left."""
    if is_symbolic(iter_):
        _for_tensor(
            conversion.convert_to_tensor(iter_),
            extra_test,
            body,
            get_state,
            set_state,
            symbol_names,
            opts,
        )
        return
    if (
        hasattr(iter_, "_variant_tensor")
        and hasattr(iter_, "reduce")
        and not context.executing_eagerly()
    ):
        if extra_test is None:
            _for_dataset(iter_, body, get_state, set_state, symbol_names)
        else:
            _for_iterator(iter(iter_), extra_test, body, get_state, set_state, symbol_names, opts)
        return
    if hasattr(iter_, "get_next_as_optional") and not context.executing_eagerly():
        _for_iterator(iter_, extra_test, body, get_state, set_state, symbol_names, opts)
        return
    if extra_test is None:
        for target in iter_:
            body(target)
        return
    going = extra_test()
    for target in iter_:
        if is_symbolic(going):
            raise ValueError(
                "A `break` or `return` that depends on a tensor ends a loop over Python values: loop over a tensor "
                "instead, such as tf.range(n)."
            )
        if not going:
            break
        body(target)
        going = extra_test()


def _for_tensor(
    tensor: Any,
    extra_test: Callable | None,
    body: Callable,
    get_state: Callable,
    set_state: Callable,
    names: tuple,
    opts: Any,
) -> None:
    dims = tensor._dims
    if dims is not None and not dims:
        raise TypeError("A scalar tensor cannot be iterated over.")
    n: Any = dims[0] if dims is not None else None
    if n is None:
        n = registry.get("Shape")(tensor)[0]
    position: list[Any] = [conversion.convert_to_tensor(0)]

    def test() -> Any:
        going = registry.get("Less")(position[0], n)
        if extra_test is None:
            return going
        more = extra_test()
        if is_symbolic(more):
            return registry.get("LogicalAnd")(going, more)
        return going if more else conversion.convert_to_tensor(False)

    def step() -> None:
        i = position[0]
        body(tensor[i])
        position[0] = i + 1

    def get() -> tuple:
        return (position[0], *get_state())

    def set_(values: tuple) -> None:
        position[0] = values[0]
        set_state(values[1:])

    _loop(test, step, get, set_, ("position of the loop", *names), opts)


def _for_iterator(
    iterator: Any,
    extra_test: Callable | None,
    body: Callable,
    get_state: Callable,
    set_state: Callable,
    names: tuple,
    opts: Any,
) -> None:
    """A loop over elements, each of which is taken from the iterator only when the loop goes on to it."""
    first = iterator.get_next_as_optional()
    following: list[Any] = [first._variant_tensor]

    def optional() -> Any:
        return first._nest_from_components([following[0]])

    def test() -> Any:
        there = optional().has_value()
        if extra_test is None:
            return there
        more = extra_test()
        if is_symbolic(more):
            return registry.get("LogicalAnd")(there, more)
        return there if more else conversion.convert_to_tensor(False)

    def take() -> Any:
        return iterator.get_next_as_optional()._variant_tensor

    def step() -> None:
        body(optional().get_value())
        more = True if extra_test is None else extra_test()
        none = registry.get("OptionalNone")
        if is_symbolic(more):
            following[0] = tf_cond(_scalar(more), take, none)
        else:
            following[0] = take() if more else none()

    def get() -> tuple:
        return (following[0], *get_state())

    def set_(values: tuple) -> None:
        following[0] = values[0]
        set_state(values[1:])

    _loop(test, step, get, set_, ("element of the loop", *names), opts)


def _for_dataset(
    dataset: Any,
    body: Callable,
    get_state: Callable,
    set_state: Callable,
    names: tuple,
) -> None:
    before = get_state()
    start = _leaves(before)
    loose = [x for x in start if not isinstance(x, _Placeless)] or [conversion.convert_to_tensor(0)]

    def merged(tensors: Any) -> tuple:
        left = list(tensors)
        return _packed(before, [x if isinstance(x, _Placeless) else left.pop(0) for x in start])

    def reduce(state: tuple, element: Any) -> tuple:
        set_state(merged(state))
        body(element)
        after = [x for x in _leaves(get_state()) if not isinstance(x, _Placeless)]
        return tuple(after) or state

    try:
        results = dataset.reduce(tuple(loose), reduce)
    finally:
        set_state(before)
    set_state(merged(results))


# -- expressions ------------------------------------------------------------------------------------------


def if_exp(cond: Any, if_true: Callable, if_false: Callable, expr_repr: str = "") -> Any:
    """`a if cond else b`"""
    if is_symbolic(cond):
        return tf_cond(_scalar(cond), if_true, if_false)
    return if_true() if cond else if_false()


def and_(a: Callable, b: Callable) -> Any:
    """`a and b`, which asks for b only where a is true."""
    value = a()
    if is_symbolic(value):
        return tf_cond(_scalar(value), b, lambda: value)
    return value and b()


def or_(a: Callable, b: Callable) -> Any:
    """`a or b`, which asks for b only where a is false."""
    value = a()
    if is_symbolic(value):
        return tf_cond(_scalar(value), lambda: value, b)
    return value or b()


def not_(a: Any) -> Any:
    """`not a`"""
    return registry.get("LogicalNot")(a) if is_symbolic(a) else not a


def eq(a: Any, b: Any) -> Any:
    """`a == b`, elementwise on tensors; of converted code that asks for it."""
    return registry.get("Equal")(a, b) if is_symbolic(a) or is_symbolic(b) else a == b


def not_eq(a: Any, b: Any) -> Any:
    """`a != b`"""
    return not_(eq(a, b))


def assert_stmt(expression: Any, message: Callable) -> None:
    """`assert`: an Assert of the graph where the condition is symbolic."""
    if is_symbolic(expression):
        registry.get("Assert")(
            expression, [conversion.convert_to_tensor(message() or "Assertion error")]
        )
        return
    assert expression, message()


def _len(x: Any) -> Any:
    if not is_symbolic(x):
        return len(x)
    dims = x._dims
    if dims is not None and not dims:
        raise ValueError("len requires a tensor of rank 1 at least, got a scalar.")
    return dims[0] if dims is not None and dims[0] is not None else registry.get("Shape")(x)[0]


def _range(*args: Any) -> Any:
    if not any(is_symbolic(a) for a in args):
        return range(*args)
    start, limit, delta = (0, args[0], 1) if len(args) == 1 else (*args, 1)[:3]
    return registry.get("Range")(start, limit, delta)


def _print(*args: Any, **kwargs: Any) -> Any:
    if any(is_symbolic(a) for a in nest.flatten(list(args))):
        import weft as tf

        return tf.print(*args, **kwargs)
    return print(*args, **kwargs)


def _number(kind: type, dtype: dtypes.DType) -> Callable:
    def convert(x: Any = 0, *more: Any) -> Any:
        if not is_symbolic(x):
            return kind(x, *more)
        if x.dtype.base_dtype is dtypes.string:
            return registry.get("StringToNumber")(x, out_type=dtype)
        return registry.get("Cast")(x, DstT=dtype)

    return convert


def _abs(x: Any) -> Any:
    return abs(x)


_BUILTINS: dict[Any, Callable] = {
    builtins.len: _len,
    builtins.range: _range,
    builtins.print: _print,
    builtins.int: _number(int, dtypes.int32),
    builtins.float: _number(float, dtypes.float32),
    builtins.abs: _abs,
}


def builtin(f: Any) -> Callable | None:
    """The form for tensors of a function of Python's."""
    try:
        return _BUILTINS.get(f)
    except TypeError:
        return None


def table() -> dict[str, Callable]:
    """The operators by the names that converted code calls."""
    functions = (if_stmt, while_stmt, for_stmt, if_exp, and_, or_, not_, eq, not_eq, assert_stmt)
    return {f.__name__: f for f in functions}


__all__ = ["builtin", "is_symbolic", "loop_options", "table"]
