"""Coordinates and masks made of ranges: `meshgrid`, OneHot, `sequence_mask`."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import conversion, dtypes
from weft.framework.export import export
from weft.framework.registry import op
from weft.framework.scopes import name_scope
from weft.framework.shape_rules import ShapeError, rank, text
from weft.ops.array import constant, shape_of
from weft.ops.array.concat import stack
from weft.ops.array.fill import ones
from weft.ops.array.reshape import expand_dims, reshape
from weft.ops.by_name import raw


@export("meshgrid")
def meshgrid(*args: Any, **kwargs: Any) -> list[Any]:
    """Returns for each of N vectors its values over the grid that all of them span.

    With `indexing` "xy" (the default) the first two dimensions are exchanged, "ij" leaves them.
    """
    indexing = kwargs.pop("indexing", "xy")
    name = kwargs.pop("name", "meshgrid")
    if kwargs:
        key = next(iter(kwargs))
        raise TypeError(f"'{key}' is an invalid keyword argument for this function")
    if indexing not in ("xy", "ij"):
        raise ValueError("indexing parameter must be either 'xy' or 'ij'")
    with name_scope(name, "meshgrid", args) as name:
        n = len(args)
        out = [reshape(stack(x), [1] * i + [-1] + [1] * (n - i - 1)) for i, x in enumerate(args)]
        sizes = [shape_of.size(x) for x in args]
        dtype = conversion.convert_to_tensor(args[0]).dtype.base_dtype if args else dtypes.float32
        if indexing == "xy" and n > 1:
            out[0] = reshape(out[0], [1, -1] + [1] * (n - 2))
            out[1] = reshape(out[1], [-1, 1] + [1] * (n - 2))
            sizes[0], sizes[1] = sizes[1], sizes[0]
        whole = ones(sizes, dtype)
        return [x * whole for x in out]


@op(
    "OneHot",
    "indices: TI, depth: int32, on_value: T, off_value: T -> output: T",
    "axis: int = -1; T: type; TI: type in {uint8, int32, int64} = int64",
    static=("depth",),
)
def one_hot_op(xp, indices, depth, on_value, off_value, *, axis):
    """`on_value` at the index, `off_value` elsewhere, along a new dimension of size `depth`."""
    shape = _one_hot_shape(indices.shape, depth, axis)
    a = len(shape) - 1 if axis == -1 else axis
    count = np.arange(int(depth), dtype=np.int64)
    hot = xp.expand_dims(indices, a) == count.reshape((-1,) + (1,) * (len(shape) - 1 - a))
    for x, which in ((on_value, "on_value"), (off_value, "off_value")):
        if x.ndim != 0:
            raise ShapeError(f"{which} must be a scalar, but got: {text(x.shape)}")
    return xp.where(hot, on_value, off_value)


def _one_hot_shape(indices: tuple, depth: Any, axis: int) -> tuple:
    n = len(indices)
    if axis != -1 and not 0 <= axis <= n:
        raise ShapeError(f"Expected axis to be -1 or between [0, {n + 1}).  But received: {axis}")
    if depth is not None and depth.size != 1:
        raise ShapeError(f"depth must be a scalar, but got: {text(depth.shape)}")
    size = None if depth is None else int(depth.reshape(-1)[0])
    if size is not None and size < 0:
        raise ShapeError(f"depth must be non-negative, got: {size}")
    a = n if axis == -1 else axis
    return (*indices[:a], size, *indices[a:])


@one_hot_op.shape
def _(indices, depth, on_value, off_value, *, axis, const):
    if axis < -1:
        raise ShapeError(f"axis must be >= -1, got {axis}")
    rank(depth, 0, "depth")
    rank(on_value, 0, "on_value")
    rank(off_value, 0, "off_value")
    return None if indices is None else _one_hot_shape(indices, const("depth"), axis)


one_hot_op.not_differentiable()


@export("one_hot")
def one_hot(
    indices: Any,
    depth: Any,
    on_value: Any = None,
    off_value: Any = None,
    axis: int | None = None,
    dtype: Any = None,
    name: str | None = None,
) -> Any:
    """Returns `on_value` (1) at each index and `off_value` (0) elsewhere, along a new dimension `axis`
    (the last) of size `depth`."""
    with name_scope(name, "one_hot", [indices, depth, on_value, off_value]) as name:
        dtype = None if dtype is None else dtypes.as_dtype(dtype).base_dtype
        given = {}
        for which, value in (("on_value", on_value), ("off_value", off_value)):
            if value is None:
                continue
            given[which] = conversion.convert_to_tensor(value, name=which)
            found = given[which].dtype.base_dtype
            if dtype is not None and found is not dtype:
                raise TypeError(f"dtype {found} of {which} does not match dtype parameter {dtype}")
        types = [x.dtype.base_dtype for x in given.values()]
        if len(types) == 2 and types[0] is not types[1]:
            raise TypeError(
                f"dtype {types[0]} of on_value does not match dtype {types[1]} of off_value"
            )
        dtype = dtype or (types[0] if types else dtypes.float32)
        for which, value in (("on_value", 1), ("off_value", 0)):
            if which not in given:
                given[which] = conversion.convert_to_tensor(value, dtype, name=which)
        return one_hot_op(
            indices,
            depth,
            given["on_value"],
            given["off_value"],
            axis=-1 if axis is None else axis,
            name=name,
        )


def all_dimensions(x: Any) -> Any:
    """The dimensions of a tensor, as a vector of their numbers."""
    n = x._rank()
    if n is not None:
        return constant.from_array(np.arange(n, dtype=np.int32), dtypes.int32, "Const")
    return raw.Range(np.int32(0), shape_of.rank(x), np.int32(1))


@export("sequence_mask")
def sequence_mask(
    lengths: Any, maxlen: Any = None, dtype: Any = dtypes.bool, name: str | None = None
) -> Any:
    """Returns a mask whose rows are true up to each length; `maxlen` is by default the greatest."""
    with name_scope(name, "SequenceMask", [lengths, maxlen]):
        lengths = conversion.convert_to_tensor(lengths)
        if maxlen is None:
            maxlen = raw.Max(lengths, all_dimensions(lengths))
            maxlen = raw.Maximum(maxlen.dtype.np.type(0), maxlen)
        else:
            maxlen = conversion.convert_to_tensor(maxlen)
        if maxlen._rank() not in (None, 0):
            raise ValueError("maxlen must be scalar for sequence_mask")
        number = maxlen.dtype.base_dtype
        zero, one = (conversion.convert_to_tensor(i, dtype=number) for i in (0, 1))
        row = raw.Range(zero, maxlen, one)
        column = raw.Cast(expand_dims(lengths, -1), DstT=number)
        result = raw.Less(row, column)
        if dtype is None or dtypes.as_dtype(dtype).base_dtype is dtypes.bool:
            return result
        return raw.Cast(result, DstT=dtypes.as_dtype(dtype))
