"""Gathering rows and slices of a resource variable without reading the whole of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework.handle_data import handle_data
from weft.framework.indexed_slices import IndexedSlices
from weft.framework.registry import op
from weft.framework.shape_rules import fail, is_full, rank_at_least
from weft.ops.array.concat import concat
from weft.ops.array.shape_of import size
from weft.ops.by_name import raw
from weft.ops.state import indices as index_checks
from weft.ops.state.resource import variable_shape


@op(
    "ResourceGather",
    "resource: resource, indices: Tindices -> output: dtype",
    "batch_dims: int = 0; validate_indices: bool = true; dtype: type; Tindices: index_types",
    stateful=True,
)
def resource_gather(ctx, resource, indices, *, batch_dims):
    """The rows of a variable at `indices`, within each of the leading `batch_dims` axes."""
    xp = ctx.xp
    value = ctx.read(resource)
    index_checks.check_rows(xp, indices, value.shape[batch_dims])
    if not batch_dims:
        return value[indices]
    batch = np.ogrid[tuple(slice(n) for n in indices.shape[:batch_dims])]
    rest = indices.ndim - batch_dims
    return value[(*(b.reshape(b.shape + (1,) * rest) for b in batch), indices)]


@resource_gather.shape
def _(resource, indices, *, batch_dims, const):
    params = rank_at_least(const.handle("resource"), 1 + batch_dims, "params")
    if params is None or indices is None:
        return None
    if len(indices) < batch_dims:
        fail("indices must have at least batch_dims dimensions", indices)
    return params[:batch_dims] + indices[batch_dims:] + params[batch_dims + 1 :]


def shape_of_variable(handle: Any, out_type: Any = None) -> Any:
    """The shape of the variable behind a handle: a constant where it is known."""
    from weft.framework import dtypes

    out_type = out_type or dtypes.int32
    known = handle_data(handle)
    if known is not None and is_full(known.dims):
        return raw.Const(value=np.array(known.dims, out_type.np), dtype=out_type)
    return variable_shape(handle, out_type=out_type)


@resource_gather.gradient
def _(op, grad):
    if op.get_attr("batch_dims"):
        raise NotImplementedError(
            f"ResourceGather '{op.name}' with batch_dims={op.get_attr('batch_dims')} has no gradient; read the "
            "variable and use tf.gather."
        )
    handle, indices = op.inputs
    shape = shape_of_variable(handle)
    count = raw.ExpandDims(size(indices), 0)
    values = raw.Reshape(grad, concat([count, shape[1:]], 0))
    return IndexedSlices(values, raw.Reshape(indices, count), shape), None


@op(
    "ResourceGatherNd",
    "resource: resource, indices: Tindices -> output: dtype",
    "dtype: type; Tindices: index_types",
    stateful=True,
)
def resource_gather_nd(ctx, resource, indices):
    """The slices of a variable at the positions that the last axis of `indices` tells."""
    value = ctx.read(resource)
    index_checks.check_nd(ctx.xp, indices, value.shape)
    return (
        value[tuple(indices[..., i] for i in range(indices.shape[-1]))]
        if indices.shape[-1]
        else (ctx.xp.broadcast_to(value, indices.shape[:-1] + value.shape))
    )


@resource_gather_nd.shape
def _(resource, indices, *, const):
    params = const.handle("resource")
    indices = rank_at_least(indices, 1, "indices")
    if params is None or indices is None or indices[-1] is None:
        return None
    if indices[-1] > len(params):
        fail("indices.shape[-1] must be <= params.rank", indices, params)
    return indices[:-1] + params[indices[-1] :]


@resource_gather_nd.gradient
def _(op, grad):
    handle, indices = op.inputs
    shape = shape_of_variable(handle, indices.dtype)
    if indices.dims is not None and len(indices.dims) == 2 and indices.dims[-1] == 1:
        rows = raw.Squeeze(indices, squeeze_dims=[-1])
        return IndexedSlices(grad, rows, shape), None
    return raw.ScatterNd(indices, grad, shape), None
