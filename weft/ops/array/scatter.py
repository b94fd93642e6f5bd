"""Putting slices into an array at given positions: ScatterNd, TensorScatterUpdate/Add/Sub."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from weft.framework.export import export
from weft.framework.registry import OpDecl, op
from weft.framework.shape_rules import (
    Shape,
    ShapeError,
    compatible,
    rank_at_least,
    text,
    vector,
)
from weft.ops.array import fill
from weft.ops.array.fill import filled, zero_of
from weft.ops.array.gather import gather_nd_op
from weft.ops.array.identity import identity_op
from weft.ops.by_name import raw

_TYPES = "T: type; Tindices: type in {int32, int64}"

_RULE = "Must have updates.shape = indices.shape[:batch_dim] + params_shape[slice_dim:]"


def check_updates(indices: Shape, updates: Shape, shape: Shape) -> None:
    """Raises unless there is one update of the right shape for each position."""
    if indices is None or indices[-1] is None or shape is None:
        return
    depth = indices[-1]
    if depth > len(shape):
        raise ShapeError(
            f"index innermost dimension length must be <= params rank; saw: {depth} vs. {len(shape)}"
        )
    if updates is None:
        return
    if 0 in shape and _has_elements(indices) and _has_elements(updates):
        raise ShapeError(
            f"Indices and updates specified for empty output shape {text(shape)}: indices "
            f"{text(indices)}, updates {text(updates)}"
        )
    outer, inner = indices[:-1], shape[depth:]
    n, m = len(outer), len(inner)
    if not compatible(updates[:n], outer):
        raise ShapeError(
            f"The outer {n} dimensions of indices.shape={text(indices)} must match the outer {n} "
            f"dimensions of updates.shape={text(updates)}: {_RULE}, params_shape: {text(shape)}"
        )
    if not compatible(updates[n:], inner):
        raise ShapeError(
            f"The inner {m} dimensions of input.shape={text(shape)} must match the inner "
            f"{len(updates) - n} dimensions of updates.shape={text(updates)}: {_RULE}, indices.shape: "
            f"{text(indices)}"
        )


def scattered(
    xp: Any, array: Any, indices: Any, updates: Any, how: str, is_fresh: bool = False
) -> Any:
    """A copy of the array with updates at positions; a repeated position takes effect each time.

    An array that is fresh, known to nobody else, is not copied first.
    """
    check_updates(indices.shape, updates.shape, array.shape)
    depth = indices.shape[-1]
    limit = np.array(array.shape[:depth], indices.dtype)

    def found() -> str:
        bad = np.argwhere(((indices < 0) | (indices >= limit)).any(-1))[0]
        at = ",".join(str(i) for i in bad)
        return (
            f"indices[{at}] = {indices[tuple(bad)].tolist()} does not index into shape "
            f"{text(array.shape)}"
        )

    xp.check((indices >= 0) & (indices < limit), found)
    if depth == 0:
        return _all_of(xp, array, updates, math.prod(indices.shape[:-1]), how)
    where = tuple([indices[..., i] for i in range(depth)])
    if array.dtype == object and how == "add":
        out = np.array(array)
        np.add.at(out, where, updates)
        return out
    if is_fresh and xp.is_numpy:
        xp.scatter_into(array, where, updates, how)
        return array
    return xp.scatter(array, where, updates, how)


def _all_of(xp: Any, array: Any, updates: Any, count: int, how: str) -> Any:
    """Updates of the whole array: positions have no components."""
    updates = updates.reshape(count, *array.shape)
    if how == "update":
        return updates[-1] if updates.shape[0] else array
    total = xp.sum(updates, axis=0, dtype=array.dtype)
    return array + total if how == "add" else array - total


@op(
    "ScatterNd",
    "indices: Tindices, updates: T, shape: Tindices -> output: T",
    _TYPES,
    static=("shape",),
)
def scatter_nd_op(xp, indices, updates, shape):
    """Zeros of the given shape, with updates added at positions."""
    whole = tuple(shape.tolist())
    if any(d < 0 for d in whole):
        raise ShapeError(f"shape must not have negative sizes: {list(whole)}")
    zeros = filled(xp, whole, zero_of(updates.dtype), updates.dtype)
    if updates.dtype == bool:
        return scattered(xp, zeros.astype(np.int32), indices, updates.astype(np.int32), "add") > 0
    return scattered(xp, zeros, indices, updates, "add", is_fresh=True)


@scatter_nd_op.shape
def _(indices, updates, shape, *, const):
    vector(shape, "shape")
    rank_at_least(indices, 1, "indices")
    whole = const.shape("shape")
    check_updates(indices, updates, whole)
    return whole


def _has_elements(shape: Shape) -> bool:
    return shape is not None and all(d is not None and d > 0 for d in shape)


@scatter_nd_op.gradient
def _(op, grad):
    return [None, gather_nd_op(grad, op.inputs[0]), None]


@export("scatter_nd", "manip.scatter_nd")
def scatter_nd(indices: Any, updates: Any, shape: Any, name: str | None = None) -> Any:
    """Returns zeros of the given shape, with updates added at positions."""
    return scatter_nd_op(indices, updates, shape, name=name)


def _scattering(name: str, how: str, types: str = _TYPES, first: str = "tensor") -> OpDecl:
    """Declares an op that changes a copy of a tensor at positions."""

    @op(name, f"{first}: T, indices: Tindices, updates: T -> output: T", types)
    def declared(xp, tensor, indices, updates):
        return scattered(xp, tensor, indices, updates, how)

    @declared.shape
    def _(tensor, indices, updates):
        rank_at_least(indices, 1, "indices")
        if tensor is not None:
            rank_at_least(tensor, 1, "tensor")
        check_updates(indices, updates, tensor)
        return tensor

    return declared


tensor_scatter_update_op = _scattering("TensorScatterUpdate", "update")
tensor_scatter_add_op = _scattering("TensorScatterAdd", "add")
tensor_scatter_sub_op = _scattering("TensorScatterSub", "sub")
scatter_nd_non_aliasing_add = _scattering(
    "ScatterNdNonAliasingAdd",
    "add",
    "T: type in {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, "
    "bfloat16, uint16, complex128, half, uint32, uint64, bool}; Tindices: type in {int32, int64}",
    first="input",
)


@tensor_scatter_update_op.gradient
def _(op, grad):
    indices, updates = op.inputs[1], op.inputs[2]
    nothing = fill.zeros_like(updates, dtype=grad.dtype)
    kept = tensor_scatter_update_op(identity_op(grad), indices, nothing)
    return [kept, None, gather_nd_op(grad, indices)]


@tensor_scatter_add_op.gradient
def _(op, grad):
    return [identity_op(grad), None, gather_nd_op(grad, op.inputs[1])]


@tensor_scatter_sub_op.gradient
def _(op, grad):
    return [identity_op(grad), None, raw.Neg(gather_nd_op(grad, op.inputs[1]))]


@scatter_nd_non_aliasing_add.gradient
def _(op, grad):
    return [grad, None, gather_nd_op(grad, op.inputs[1])]


@export("tensor_scatter_nd_update", "tensor_scatter_update")
def tensor_scatter_nd_update(
    tensor: Any, indices: Any, updates: Any, name: str | None = None
) -> Any:
    """Returns the tensor with updates in place of the slices at positions."""
    return tensor_scatter_update_op(tensor, indices, updates, name=name)


@export("tensor_scatter_nd_add", "tensor_scatter_add")
def tensor_scatter_nd_add(tensor: Any, indices: Any, updates: Any, name: str | None = None) -> Any:
    """Returns the tensor with updates added to the slices at positions."""
    return tensor_scatter_add_op(tensor, indices, updates, name=name)


@export("tensor_scatter_nd_sub", "tensor_scatter_sub")
def tensor_scatter_nd_sub(tensor: Any, indices: Any, updates: Any, name: str | None = None) -> Any:
    """Returns the tensor with updates subtracted from the slices at positions."""
    return tensor_scatter_sub_op(tensor, indices, updates, name=name)
