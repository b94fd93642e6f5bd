"""The gradient of `gather` along other dimensions than the first, and `gather_nd` with batch dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import conversion, dtypes
from weft.framework.scopes import name_scope
from weft.ops.array import fill, shape_of
from weft.ops.array.broadcast import tile
from weft.ops.array.concat import concat, stack, unstack
from weft.ops.array.gather import gather_nd_op
from weft.ops.array.grid import meshgrid
from weft.ops.array.reshape import expand_dims, reshape, squeeze
from weft.ops.array.transpose import transpose
from weft.ops.by_name import raw

_MINUS_ONE = np.array([-1], np.int32)


def _range(start: Any, limit: Any) -> Any:
    return raw.Range(np.int32(start) if isinstance(start, int) else start, limit, np.int32(1))


def dense_gradient(params: Any, grad: Any, indices: Any, axis: Any, batch_dims: int) -> Any:
    """Sums the gradient of a `gather` into the shape of its parameters.

    The gathered dimension goes first after the batch; there the rows are summed by their indices.
    """
    shape = shape_of.shape(params)
    outer, inner = shape[:axis], shape[axis:][1:]
    values = reshape(grad, concat([outer, _MINUS_ONE, inner], 0))
    n_outer = shape_of.size(outer)
    batch = np.arange(batch_dims, dtype=np.int32)
    middle = _range(batch_dims, n_outer)
    last = _range(n_outer + 1, shape_of.size(shape))
    values = transpose(values, concat([batch, [n_outer], middle, last], 0))
    found = _batch_gradient(shape, values, indices, batch_dims, shape[axis])
    back = concat([batch, middle + 1, np.array([batch_dims], np.int32), last], 0)
    found = transpose(found, back)
    found.set_shape(params.shape)
    return found


def _batch_gradient(shape: Any, values: Any, indices: Any, batch_dims: int, rows: Any) -> Any:
    outer = flat = None
    if batch_dims:
        value_shape = shape_of.shape(values)
        outer, inner = value_shape[:batch_dims], value_shape[batch_dims:][1:]
        flat = concat([_MINUS_ONE, inner], 0)
        rows_in_all = rows * raw.Prod(outer, np.array([0], np.int32))
        indices = _in_flat_batch(shape, indices, batch_dims, rows)
        values = reshape(values, flat)
        rows = rows_in_all
    found = raw.UnsortedSegmentSum(values, reshape(indices, _MINUS_ONE), rows)
    return reshape(found, concat([outer, flat], 0)) if batch_dims else found


def _in_flat_batch(shape: Any, indices: Any, batch_dims: int, rows: Any) -> Any:
    """Indices into the rows of all batches, one after the other."""
    dtype = indices.dtype.base_dtype
    sizes = raw.Cast(shape, DstT=dtype)
    n = len(indices.shape)
    step = raw.Cast(rows, DstT=dtype)
    zero, one = (conversion.convert_to_tensor(i, dtype=dtype) for i in (0, 1))
    for dim in range(batch_dims - 1, -1, -1):
        size = sizes[dim]
        offsets = raw.Range(zero, size, one) * step
        along = stack([1] * dim + [shape[dim]] + [1] * (n - dim - 1))
        indices = indices + reshape(offsets, along)
        step = step * size
    return indices


def batch_gather_nd(params: Any, indices: Any, batch_dims: int, name: str | None = None) -> Any:
    """`gather_nd` in which each batch has positions of its own."""
    with name_scope(name, "BatchGatherND", [params, indices]):
        indices = conversion.convert_to_tensor(indices, name="indices")
        params = conversion.convert_to_tensor(params, name="params")
        if batch_dims < 0:
            raise ValueError("tf.gather_nd does not allow negative batch_dims.")
        for which, x in (("indices", indices), ("params", params)):
            n = x._rank()
            if n is not None and batch_dims >= n:
                raise ValueError(f"batch_dims = {batch_dims} must be less than rank({which}) = {n}")
        expand = batch_dims == 0
        if expand:
            params, indices, batch_dims = expand_dims(params, 0), expand_dims(indices, 0), 1
        shape, index_shape = shape_of.shape(params), shape_of.shape(indices)
        batch = shape[:batch_dims]
        inner = index_shape[batch_dims:-1]
        # A row of batch coordinates for each batch, beside each position in it.
        ranges = [
            raw.Cast(_range(0, n), DstT=indices.dtype) for n in unstack(batch, num=batch_dims)
        ]
        columns = [reshape(x, _MINUS_ONE) for x in meshgrid(*ranges, indexing="ij")]
        grid = transpose(stack(columns, axis=0))
        ones = fill.ones(
            reshape(shape_of.rank(indices) - batch_dims - 1, _MINUS_ONE), dtype=dtypes.int32
        )
        grid_shape = shape_of.shape(grid)
        grid = reshape(grid, concat([grid_shape[:1], ones, grid_shape[1:]], 0))
        one = np.array([1], np.int32)
        grid = tile(grid, concat([one, inner, one], 0))
        size = raw.Prod(batch, np.array([0], np.int32))
        flat = reshape(indices, concat([[size], index_shape[batch_dims:]], 0))
        found = gather_nd_op(params, concat([grid, flat], -1))
        found = reshape(found, concat([batch, shape_of.shape(found)[1:]], 0))
        return squeeze(found, axis=0) if expand else found
