"""`repeat`: each element several times, as NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import conversion, dtypes
from weft.framework.export import export
from weft.framework.scopes import name_scope
from weft.ops.array import shape_of
from weft.ops.array.broadcast import broadcast_to, tile
from weft.ops.array.concat import concat, stack
from weft.ops.array.fill import ones
from weft.ops.array.grid import all_dimensions, sequence_mask
from weft.ops.array.reshape import expand_dims, reshape
from weft.ops.array.select import boolean_mask
from weft.ops.by_name import raw

_FLAT = np.array([-1], np.int32)


@export("repeat")
def repeat(input: Any, repeats: Any, axis: int | None = None, name: str | None = None) -> Any:
    """Returns each element along `axis` (of the flat input where None) `repeats` times."""
    if axis is None:
        input = reshape(input, _FLAT)
        axis = 0
    if not isinstance(axis, int):
        raise TypeError(f"axis must be an int; got {type(axis).__name__}")
    with name_scope(name, "Repeat", [input, repeats]):
        data = _at_least_vector(conversion.convert_to_tensor(input, name="data"))
        repeats = _as_int(repeats)
        repeats.shape.with_rank_at_most(1)
        axis = _from_start(axis, data._rank())
        if repeats._rank() == 1 and data._dims is not None:
            data.shape.dims[axis].assert_is_compatible_with(repeats.shape[0])
        sizes = shape_of.shape(data)
        whole = concat([sizes[:axis], _FLAT, sizes[axis + 1 :]], 0)
        if repeats._rank() == 0:
            return reshape(_tiled(expand_dims(data, axis + 1), axis + 1, repeats), whole)
        return _by_mask(data, repeats, axis, sizes, whole)


def _by_mask(data: Any, repeats: Any, axis: int, sizes: Any, whole: Any) -> Any:
    """Repeats all as often as the most repeated, and keeps of each what it is due."""
    if repeats._rank() != axis + 1:
        n = shape_of.rank(repeats)
        repeats = broadcast_to(repeats, concat([sizes[: axis + 1 - n], shape_of.shape(repeats)], 0))
        repeats.set_shape([None] * (axis + 1))
    zero = repeats.dtype.np.type(0)
    most = raw.Maximum(zero, raw.Max(repeats, all_dimensions(repeats)))
    mask = sequence_mask(repeats, most)
    result = boolean_mask(_tiled(expand_dims(data, axis + 1), axis + 1, most), mask)
    if axis != 0:
        result = reshape(result, whole)
    if data._dims is not None:
        size = 0 if repeats._dims and repeats._dims[0] == 0 else None
        result.set_shape(data.shape[:axis].concatenate([size]).concatenate(data.shape[axis + 1 :]))
    return result


def _as_int(repeats: Any) -> Any:
    found = conversion.convert_to_tensor(repeats, name="repeats", preferred_dtype=dtypes.int32)
    if not found.dtype.is_integer:
        raise TypeError(f"repeats must be an integer tensor; dtype={found.dtype!r}")
    return raw.Cast(found, DstT=dtypes.int32)


def _from_start(axis: int, n: int | None) -> int:
    if n is not None:
        if -n <= axis < n:
            return axis % n
        raise ValueError(f"axis={axis} out of bounds: expected {-n}<=axis<{n}")
    if axis < 0:
        raise ValueError("axis may only be negative if ndims is statically known.")
    return axis


def _at_least_vector(data: Any) -> Any:
    n = data._rank()
    if n is not None:
        return data if n else stack([data])
    sizes = concat([np.array([1], np.int32), shape_of.shape(data)], 0)
    return reshape(data, sizes[-shape_of.rank(data) :])


def _tiled(data: Any, axis: int, times: Any) -> Any:
    n = data._rank()
    if n is not None:
        return tile(data, [times if i == axis else 1 for i in range(n)])
    one = ones(reshape(shape_of.rank(data), _FLAT), dtypes.int32)
    return tile(data, concat([one[:axis], [times], one[axis + 1 :]], 0))
