"""Elements and rows at given positions: Gather, GatherV2, GatherNd."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import conversion, dtypes
from weft.framework.constant_value import constant_value
from weft.framework.export import export
from weft.framework.registry import op
from weft.framework.scopes import name_scope
from weft.framework.shape_rules import Shape, ShapeError, merge, rank_at_least, text
from weft.framework.tensor import Tensor
from weft.ops.array import concat, shape_of
from weft.ops.array.reshape import reshape, squeeze

_TYPES = "Tparams: type; Tindices: type in {int32, int64}"


def check_range(xp: Any, indices: Any, limit: int) -> None:
    """Raises unless all indices are in [0, limit)."""

    def found() -> str:
        bad = np.argwhere((indices < 0) | (indices >= limit))[0]
        at = ",".join(str(i) for i in bad)
        place = f"indices[{at}]" if at else "indices"
        return f"{place} = {indices[tuple(bad)]} is not in [0, {limit})"

    xp.check((indices >= 0) & (indices < limit), found)


def _take(xp: Any, params: Any, indices: Any, axis: int) -> Any:
    check_range(xp, indices, params.shape[axis])
    if xp.is_numpy:
        if axis == 0:
            return params[indices]
        return np.take(params, indices, axis)
    return xp.take(params, indices, axis, mode="clip")


@op(
    "Gather",
    "params: Tparams, indices: Tindices -> output: Tparams",
    f"validate_indices: bool = true; {_TYPES}",
)
def gather_v1(xp, params, indices):
    """The rows of `params` at `indices`."""
    return _take(xp, params, indices, 0)


@gather_v1.shape
def _(params, indices):
    rank_at_least(params, 1, "params")
    if params is None or indices is None:
        return None
    return indices + params[1:]


def _gather_axes(params: Shape, indices: Shape, axis: int, batch_dims: int) -> tuple[int, int]:
    """The axis and the number of batch dimensions, from 0."""
    assert params is not None
    n = len(params)
    if not -n <= axis < n:
        least = axis + 1 if axis >= 0 else -axis
        raise ShapeError(
            f"Shape must be at least rank {least} but is rank {n}: Expected axis in the range "
            f"[{-n}, {n}), but got {axis}"
        )
    axis %= n
    if batch_dims < 0:
        if indices is None:
            raise ShapeError("Negative batch_dims need indices of known rank")
        if not -len(indices) <= batch_dims:
            raise ShapeError(
                f"Expected batch_dims in the range [{-len(indices)}, {len(indices)}], but got {batch_dims}"
            )
        batch_dims += len(indices)
    if indices is not None and batch_dims > len(indices):
        raise ShapeError(
            f"Expected batch_dims in the range [{-len(indices)}, {len(indices)}], but got {batch_dims}"
        )
    if batch_dims >= n:
        raise ShapeError(f"batch_dims ({batch_dims}) must be less than rank(params) ({n}).")
    if axis < batch_dims:
        raise ShapeError(f"batch_dims ({batch_dims}) must be less than or equal to axis ({axis}).")
    return axis, batch_dims


@op(
    "GatherV2",
    "params: Tparams, indices: Tindices, axis: Taxis -> output: Tparams",
    "batch_dims: int = 0; Tparams: type; Tindices: type in {int32, int64}; Taxis: type in {int32, int64}",
    static=("axis",),
)
def gather_op(xp, params, indices, axis, *, batch_dims):
    """The slices of `params` at `indices` along `axis`; each batch has indices of its own."""
    a, b = _gather_axes(params.shape, indices.shape, int(axis), batch_dims)
    if not b:
        return _take(xp, params, indices, a)
    if params.shape[:b] != indices.shape[:b]:
        raise ShapeError(
            f"The batch dimensions of params and indices differ: {text(params.shape[:b])}, {text(indices.shape[:b])}"
        )
    check_range(xp, indices, params.shape[a])
    # One flat batch; its number stands beside every index.
    batch, outer, inner = params.shape[:b], params.shape[b:a], params.shape[a + 1 :]
    count = int(np.prod(batch, dtype=np.int64))
    p = params.reshape(count, int(np.prod(outer, dtype=np.int64)), params.shape[a], *inner)
    i = indices.reshape(count, indices.size // count if count else 0)
    rows = np.arange(count)[:, None]
    taken = xp.constant(p)[rows, :, i]  # [batch, indices, outer, inner...]
    taken = xp.moveaxis(taken, 2, 1)
    return taken.reshape(*batch, *outer, *indices.shape[b:], *inner)


@gather_op.shape
def _(params, indices, axis, *, batch_dims, const):
    rank_at_least(params, 1, "params")
    if axis not in ((), None):
        raise ShapeError(f"axis must be a scalar, but has shape {text(axis)}")
    where = const("axis")
    if params is None:
        return None
    if where is None:
        if indices is None:
            return None
        b = batch_dims + len(indices) if batch_dims < 0 else batch_dims
        return (None,) * (len(params) + len(indices) - 1 - b)
    if indices is None and batch_dims < 0:
        return None
    a, b = _gather_axes(params, indices, int(where), batch_dims)
    if indices is None:
        return None
    batch = merge(params[:b], indices[:b], "The batch dimensions of params and indices differ")
    assert batch is not None
    return batch + params[b:a] + indices[b:] + params[a + 1 :]


def _sparse_rows(params: Any, grad: Any, indices: Any) -> Any:
    """The gradient of rows taken along the first dimension: those rows, as IndexedSlices."""
    from weft.framework.indexed_slices import IndexedSlices

    shape = shape_of.shape_internal(params, optimize=True, out_type=dtypes.int32)
    if params._dims is not None and None not in params._dims:
        tail: Any = np.array([-1, *params._dims[1:]], np.int32)
    else:
        from weft.ops.array.getitem import get_item

        tail = concat.concat([np.array([-1], np.int32), get_item(shape, slice(1, None))], 0)
    values = reshape(grad, tail)
    return IndexedSlices(values, reshape(indices, np.array([-1], np.int32)), shape)


@gather_v1.gradient
def _(op, grad):
    return [_sparse_rows(op.inputs[0], grad, op.inputs[1]), None]


@gather_op.gradient
def _(op, grad):
    from weft.ops.array.gather_gradient import dense_gradient

    params, indices, axis = op.inputs
    batch_dims = op.get_attr("batch_dims")
    if batch_dims < 0:
        batch_dims += len(indices.shape)
    static = constant_value(axis)
    if static is not None and static == 0 and batch_dims == 0:
        return [_sparse_rows(params, grad, indices), None, None]
    return [dense_gradient(params, grad, indices, axis, batch_dims), None, None]


@export("gather")
def gather(
    params: Any,
    indices: Any,
    validate_indices: bool | None = None,
    name: str | None = None,
    axis: Any = None,
    batch_dims: int = 0,
) -> Any:
    """Returns the slices of `params` at `indices` along `axis` (by default the first after the batch)."""
    del validate_indices  # they always are
    if axis is None:
        axis = batch_dims
    if known_int(axis) != 0 or batch_dims:
        return gather_op(params, indices, axis, batch_dims=batch_dims, name=name)
    sparse_read = getattr(params, "sparse_read", None)
    if sparse_read is not None:  # a resource variable reads only these rows
        return sparse_read(indices, name=name)
    return gather_op(params, indices, axis, batch_dims=0, name=name)


def known_int(value: Any) -> int | None:
    """The number that a Python value or a tensor of one element stands for, if it is known."""
    if isinstance(value, (int, np.integer)):
        return int(value)
    array = constant_value(value) if isinstance(value, Tensor) else np.asarray(value)
    if array is None:
        return None
    if array.size != 1 or array.dtype.kind not in "iu":
        raise TypeError(f"One integer is wanted, got {value!r}")
    return int(array.reshape(-1)[0])


@export("batch_gather")
def batch_gather(params: Any, indices: Any, name: str | None = None) -> Any:
    """Deprecated: `gather` whose batch dimensions are all but the last of `indices`."""
    with name_scope(name, "BatchGather", [params, indices]):
        indices = conversion.convert_to_tensor(indices, name="indices")
        params = conversion.convert_to_tensor(params, name="params")
        if indices._dims is None:
            raise ValueError("batch_gather does not allow indices with unknown shape.")
        return gather(params, indices, axis=None, batch_dims=len(indices._dims) - 1)


# -- GatherNd --------------------------------------------------------------------------------------------


def check_nd_range(xp: Any, indices: Any, shape: tuple) -> None:
    """Raises unless each row of `indices` is a position in an array of this shape."""
    limit = np.array(shape[: indices.shape[-1]], indices.dtype)

    def found() -> str:
        bad = np.argwhere(((indices < 0) | (indices >= limit)).any(-1))[0]
        at = ",".join(str(i) for i in bad)
        return f"indices[{at}] = {indices[tuple(bad)].tolist()} does not index into param shape {text(shape)}"

    xp.check((indices >= 0) & (indices < limit), found)


@op("GatherNd", "params: Tparams, indices: Tindices -> output: Tparams", _TYPES)
def gather_nd_op(xp, params, indices):
    """The slices of `params` at the positions in the last dimension of `indices`."""
    depth = indices.shape[-1]
    if depth > params.ndim:
        raise ShapeError(
            f"index innermost dimension length must be <= params rank; saw: {depth} vs. {params.ndim}"
        )
    if depth == 0:
        return xp.broadcast_to(params, indices.shape[:-1] + params.shape)
    if not params.size and indices.size:
        raise ShapeError(
            "Requested more than 0 entries, but params is empty.  Params shape: "
            f"{text(params.shape)}"
        )
    check_nd_range(xp, indices, params.shape)
    where = tuple([indices[..., i] for i in range(depth)])
    if xp.is_numpy:
        return params[where]
    at = xp.asarray(params).at[where]
    return at.get(mode="clip", wrap_negative_indices=False)


@gather_nd_op.shape
def _(params, indices):
    rank_at_least(indices, 1, "indices")
    if params is None or indices is None or indices[-1] is None:
        return None
    depth = indices[-1]
    if depth > len(params):
        raise ShapeError(
            f"indices.shape[-1] must be <= params.rank, but saw indices shape: {text(indices)} and params shape: "
            f"{text(params)}"
        )
    return indices[:-1] + params[depth:]


@gather_nd_op.gradient
def _(op, grad):
    from weft.framework.indexed_slices import IndexedSlices
    from weft.ops.array.scatter import scatter_nd_op

    params, indices = op.inputs
    shape = shape_of.shape(params, out_type=indices.dtype)
    if indices._rank() == 2 and indices._dims[-1] == 1:
        return [IndexedSlices(grad, squeeze(indices, axis=-1), shape), None]
    return [scatter_nd_op(indices, grad, shape), None]


@export("gather_nd", "manip.gather_nd")
def gather_nd(params: Any, indices: Any, name: str | None = None, batch_dims: int = 0) -> Any:
    """Returns the slices of `params` at the positions in the last dimension of `indices`."""
    batch = known_int(batch_dims)
    if batch is None:
        raise TypeError(f"batch_dims must be an int; got {batch_dims!r}")
    if batch != 0:
        from weft.ops.array.gather_gradient import batch_gather_nd

        return batch_gather_nd(params, indices, batch, name)
    gather_by = getattr(params, "gather_nd", None)
    if gather_by is not None:  # a resource variable reads only these slices
        return gather_by(indices, name=name)
    return gather_nd_op(params, indices, name=name)
