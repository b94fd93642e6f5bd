"""Checks of elements: in the graph an op that fails the step, at once where the values are known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weft.framework import context, errors
from weft.framework.constant_value import constant_value
from weft.framework.conversion import convert_to_tensor
from weft.framework.export import export, find
from weft.framework.scopes import name_scope
from weft.framework.tensor import Tensor
from weft.ops.by_name import raw


def shown_name(tensor: Any) -> str:
    """What a tensor is called in a message."""
    return "" if context.executing_eagerly() else tensor.name


def no_op(name: str | None = None) -> Any:
    return raw.NoOp(name=name)


def assert_op(condition: Any, data: list[Any], summarize: int | None) -> Any:
    """`tf.Assert`."""
    return find("", "Assert", "tf")(condition, data, summarize=summarize)


def fail_if_known(condition: Any, data: list[Any]) -> None:
    """Raises at once where the condition is known to be false."""
    if condition is None or np.all(condition):
        return
    lines = []
    for item in data:
        value = constant_value(item) if isinstance(item, Tensor) else None
        lines.append(str(item) if value is None else str(value))
    raise errors.InvalidArgumentError(None, None, "\n".join(lines))


def _all(condition: Any) -> Any:
    return raw.All(condition, raw.Range(0, raw.Rank(condition), 1))


def _unary(
    name: str, words: str, symbol: str, static: Callable, compare: Callable
) -> Callable[..., Any]:
    def check(x, data=None, summarize=None, message=None, name=None):
        message = message or ""
        with name_scope(name, label, [x, data]):
            x = convert_to_tensor(x, name="x")
            if data is None:
                if context.executing_eagerly():
                    shown = f"x.shape={x.shape} dtype={x.dtype.name}"
                else:
                    shown = x.name
                data = [
                    message,
                    f"Condition x {symbol} did not hold element-wise:",
                    f"x ({shown}) = ",
                    x,
                ]
            zero = convert_to_tensor(0, dtype=x.dtype.base_dtype)
            known = constant_value(x)
            if known is not None:
                fail_if_known(static(known), data)
                return (
                    None
                    if context.executing_eagerly()
                    else no_op("static_checks_determined_all_ok")
                )
            return assert_op(_all(compare(x, zero)), data, summarize)

    label = name
    check.__name__ = check.__qualname__ = name
    check.__doc__ = f"Checks that all elements of `x` are {words} (`x {symbol}`)."
    return export(name, f"debugging.{name}")(check)


assert_negative = _unary(
    "assert_negative", "negative", "< 0", lambda x: x < 0, lambda x, zero: raw.Less(x, zero)
)
assert_positive = _unary(
    "assert_positive", "positive", "> 0", lambda x: x > 0, lambda x, zero: raw.Less(zero, x)
)
assert_non_negative = _unary(
    "assert_non_negative",
    "not negative",
    ">= 0",
    lambda x: x >= 0,
    lambda x, zero: raw.LessEqual(zero, x),
)
assert_non_positive = _unary(
    "assert_non_positive",
    "not positive",
    "<= 0",
    lambda x: x <= 0,
    lambda x, zero: raw.LessEqual(x, zero),
)


def _differences(x: Any, y: Any, ok: np.ndarray, symbol: str, message: str, summarize: int) -> str:
    """What to say of two arrays that are known and differ."""
    n = 3 if summarize is None else (x.size + y.size if summarize < 0 else summarize)
    parts = [message] if message else []
    parts.append(f"Condition x {symbol} y did not hold.")
    if n > 0:
        if x.shape == y.shape and x.shape:
            where = np.argwhere(~ok)
            shown = min(n, len(where))
            parts += [f"Indices of first {shown} different values:", str(where[:shown])]
            parts += ["Corresponding x values:", str(x[~ok][:shown])]
            parts += ["Corresponding y values:", str(y[~ok][:shown])]
        a, b = x.ravel(), y.ravel()
        parts += [f"First {min(n, a.size)} elements of x:", str(a[:n])]
        parts += [f"First {min(n, b.size)} elements of y:", str(b[:n])]
    return "\n".join(parts)


def _binary(name: str, symbol: str, static: Callable, op_type: str) -> Callable[..., Any]:
    def check(x, y, data=None, summarize=None, message=None, name=None):
        message = message or ""
        with name_scope(name, label, [x, y, data]):
            x = convert_to_tensor(x, name="x")
            y = convert_to_tensor(y, name="y")
            if context.executing_eagerly():
                condition = getattr(raw, op_type)(x, y)
                if np.all(condition.numpy()):
                    return None
                if data is None:
                    text = _differences(
                        np.asarray(x),
                        np.asarray(y),
                        np.asarray(condition),
                        symbol,
                        message,
                        summarize,
                    )
                else:
                    text = ", ".join(
                        _pretty(d, 3 if summarize is None else summarize) for d in data
                    )
                raise errors.InvalidArgumentError(None, None, text)
            if data is None:
                data = [
                    message,
                    f"Condition x {symbol} y did not hold element-wise:",
                    f"x ({x.name}) = ",
                    x,
                    f"y ({y.name}) = ",
                    y,
                ]
            known_x, known_y = constant_value(x), constant_value(y)
            if known_x is not None and known_y is not None:
                # Shapes that do not broadcast are the op's to report.
                condition = getattr(raw, op_type)(x, y)
                fail_if_known(static(known_x, known_y), data)
                return assert_op(_all(condition), data, summarize)
            return assert_op(_all(getattr(raw, op_type)(x, y)), data, summarize)

    label = name
    check.__name__ = check.__qualname__ = name
    check.__doc__ = f"Checks that `x {symbol} y` holds for all elements."
    return export(name, f"debugging.{name}")(check)


def _pretty(item: Any, summarize: int) -> str:
    if not isinstance(item, Tensor):
        return str(item)
    array = np.asarray(item)
    if array.ndim == 0:
        return str(array[()])
    shown = [str(v) for v in array.ravel()[:summarize]]
    return str(shown + ["..."] if len(shown) < array.size else shown)


assert_equal = _binary("assert_equal", "==", np.equal, "Equal")
assert_none_equal = _binary("assert_none_equal", "!=", np.not_equal, "NotEqual")
assert_less = _binary("assert_less", "<", np.less, "Less")
assert_less_equal = _binary("assert_less_equal", "<=", np.less_equal, "LessEqual")
assert_greater = _binary("assert_greater", ">", np.greater, "Greater")
assert_greater_equal = _binary("assert_greater_equal", ">=", np.greater_equal, "GreaterEqual")


@export("assert_near", "debugging.assert_near")
def assert_near(
    x: Any,
    y: Any,
    rtol: Any = None,
    atol: Any = None,
    data: Any = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Any:
    """Checks that `|x - y| <= atol + rtol * |y|` holds for all elements."""
    message = message or ""
    with name_scope(name, "assert_near", [x, y, rtol, atol, data]):
        x = convert_to_tensor(x, name="x")
        y = convert_to_tensor(y, name="y", dtype=x.dtype.base_dtype)
        dtype = x.dtype.real_dtype if x.dtype.is_complex else x.dtype.base_dtype
        eps = 10 * float(_epsilon(dtype))
        rtol = convert_to_tensor(eps if rtol is None else rtol, name="rtol", dtype=dtype)
        atol = convert_to_tensor(eps if atol is None else atol, name="atol", dtype=dtype)
        if data is None:
            data = [
                message,
                "x and y not equal to tolerance rtol = ",
                rtol,
                ", atol = ",
                atol,
                f"x ({shown_name(x)}) = ",
                x,
                f"y ({shown_name(y)}) = ",
                y,
            ]
        magnitude = raw.ComplexAbs if x.dtype.is_complex else raw.Abs
        if x.dtype.is_complex:
            size: dict[str, Any] = {"Tout": dtype}
        else:
            size = {}
        allowed = raw.Add(atol, raw.Mul(rtol, magnitude(y, **size)))
        return assert_op(
            _all(raw.LessEqual(magnitude(raw.Sub(x, y), **size), allowed)), data, summarize
        )


def _epsilon(dtype: Any) -> Any:
    import ml_dtypes

    return ml_dtypes.finfo(dtype.np).eps


def _adjacent_differences(x: Any) -> Any:
    x = convert_to_tensor(x, name="x")
    if not find("", "is_numeric_tensor", "tf")(x):
        raise TypeError(f"Expected x to be numeric, instead found: {x}")
    flat = raw.Reshape(x, [-1])
    n = raw.Size(flat)
    later = raw.StridedSlice(flat, [1], [0], [1], end_mask=1)
    last = raw.Maximum(raw.Sub(n, 1), 0)
    earlier = raw.Slice(flat, [0], raw.ExpandDims(last, 0))
    return raw.Sub(later, earlier)


@export("is_non_decreasing", "debugging.is_non_decreasing", "math.is_non_decreasing")
def is_non_decreasing(x: Any, name: str | None = None) -> Any:
    """Returns whether no element of `x`, in row-major order, is less than the one before it."""
    with name_scope(name, "is_non_decreasing", [x]):
        diff = _adjacent_differences(x)
        return _all(raw.LessEqual(convert_to_tensor(0, dtype=diff.dtype.base_dtype), diff))


@export("is_strictly_increasing", "debugging.is_strictly_increasing", "math.is_strictly_increasing")
def is_strictly_increasing(x: Any, name: str | None = None) -> Any:
    """Returns whether each element of `x`, in row-major order, is greater than the one before it."""
    with name_scope(name, "is_strictly_increasing", [x]):
        diff = _adjacent_differences(x)
        return _all(raw.Less(convert_to_tensor(0, dtype=diff.dtype.base_dtype), diff))
