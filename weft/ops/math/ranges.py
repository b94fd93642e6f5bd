"""Sequences of numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from weft.framework import conversion, dtypes
from weft.framework.export import export
from weft.framework.registry import op
from weft.framework.scopes import name_scope
from weft.framework.shape_rules import ShapeError, scalar
from weft.ops.math.cast import cast


def _length(start: Any, limit: Any, delta: Any) -> int:
    """The number of elements of a range; ShapeError where its direction is wrong."""
    start, limit, delta = (
        x.item() if x.dtype.kind in "iu" else float(x) for x in (start, limit, delta)
    )
    if delta == 0:
        raise ShapeError(f"Requires delta != 0: {delta}")
    if delta > 0 and start > limit:
        raise ShapeError(f"Requires start <= limit when delta > 0: {start}/{limit}")
    if delta < 0 and start < limit:
        raise ShapeError(f"Requires start >= limit when delta < 0: {start}/{limit}")
    if isinstance(start, int):
        return -(-abs(limit - start) // abs(delta))
    return math.ceil(abs((limit - start) / delta))


@op(
    "Range",
    "start: Tidx, limit: Tidx, delta: Tidx -> output: Tidx",
    "Tidx: type in {bfloat16, float, double, int32, int64} = int32",
    static=("start", "limit", "delta"),
)
def range_op(xp, start, limit, delta):
    """Numbers from start to below limit, delta apart."""
    n = _length(start, limit, delta)
    if start.dtype.kind == "V":
        steps = np.arange(n, dtype=np.float32)
        return (steps * np.float32(delta) + np.float32(start)).astype(start.dtype)
    return np.arange(n, dtype=start.dtype) * delta + start


@range_op.shape
def _(start, limit, delta, *, const):
    for shape, name in ((start, "start"), (limit, "limit"), (delta, "delta")):
        scalar(shape, name)
    values = const("start"), const("limit"), const("delta")
    return (None,) if any(v is None for v in values) else (_length(*values),)


range_op.not_differentiable()


@op(
    "LinSpace",
    "start: T, stop: T, num: Tidx -> output: T",
    "T: type in {bfloat16, float, double}; Tidx: type in {int32, int64} = int32",
    static=("num",),
)
def lin_space(xp, start, stop, num):
    """A number of values from start to stop, both included, evenly spaced."""
    n = int(num)
    if n <= 0:
        raise ShapeError(f"Requires num > 0: {n}")
    if n == 1:
        return xp.reshape(xp.asarray(start), (1,))
    step = (stop - start) / np.array(n - 1, start.dtype)
    values = start + step * np.arange(n - 1).astype(start.dtype)
    return xp.concatenate([values, xp.reshape(xp.asarray(stop), (1,))])


@lin_space.shape
def _(start, stop, num, *, const):
    for shape, name in ((start, "start"), (stop, "stop"), (num, "num")):
        scalar(shape, name)
    n = const("num")
    if n is not None and n <= 0:
        raise ShapeError(f"Requires num > 0: {n}")
    return (None if n is None else int(n),)


lin_space.not_differentiable()

_WIDENING = [dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64]


@export("range")
def range(
    start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None, name: str = "range"
) -> Any:
    """Numbers from start (0 where only a limit is given) to below limit, delta apart."""
    if limit is None:
        start, limit = 0, start
    with name_scope(name, "Range", [start, limit, delta]) as name:
        values = [
            conversion.convert_to_tensor(value, dtype=dtype, name=what)
            for value, what in ((start, "start"), (limit, "limit"), (delta, "delta"))
        ]
        if dtype is None:
            kinds = [v.dtype.base_dtype for v in values]
            for kind in kinds:
                if kind not in _WIDENING:
                    raise TypeError(f"tf.range cannot infer a dtype from {kind.name}; give dtype=.")
            widest = max(kinds, key=_WIDENING.index)
            values = [cast(v, widest) for v in values]
        return range_op(*values, name=name)


@export("linspace", "lin_space")
def linspace(start: Any, stop: Any, num: Any, name: str | None = None) -> Any:
    """`num` values from start to stop, both included, evenly spaced."""
    return lin_space(start, stop, num, name=name)
