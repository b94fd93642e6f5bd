"""Gradients of the TensorList ops: lists of gradients, made of the same ops."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import registry
from weft.framework.dtypes import int32, variant
from weft.ops.flow import list_ops

_shape, _slice, _concat = (registry.get(n) for n in ("Shape", "Slice", "ConcatV2"))
_zeros_like = registry.get("ZerosLike")

ANY_SHAPE = np.asarray(-1, np.int32)


def element_shape_input(dims: Any) -> np.ndarray:
    """The `element_shape` input that says a static shape."""
    if dims is None:
        return ANY_SHAPE
    return np.asarray([-1 if d is None else d for d in dims], np.int32)


def shape_for(tensor: Any) -> Any:
    """The shape of a tensor, as an `element_shape` input."""
    if tensor.dtype is variant:
        return ANY_SHAPE
    if tensor._dims is not None and None not in tensor._dims:
        return element_shape_input(tensor._dims)
    return _shape(tensor)


def _rows_shape(tensor: Any) -> Any:
    """The shape of a tensor's rows."""
    if tensor._dims is not None and None not in tensor._dims:
        return element_shape_input(tensor._dims[1:])
    return _slice(_shape(tensor), np.asarray([1], np.int32), np.asarray([-1], np.int32))


def _element_shape(handle: Any) -> Any:
    return list_ops.tensor_list_element_shape(handle, shape_type=int32)


def _empty_like(handle: Any, dtype: Any) -> Any:
    return list_ops.empty_tensor_list(
        _element_shape(handle), np.asarray(-1, np.int32), element_dtype=dtype
    )


@list_ops.tensor_list_push_back.gradient
def _(op, grad):
    tensor = op.inputs[1]
    return list_ops.tensor_list_pop_back(grad, shape_for(tensor), element_dtype=tensor.dtype)


@list_ops.tensor_list_pop_back.gradient
def _(op, list_grad, grad):
    if list_grad is None:
        list_grad = _empty_like(op.outputs[0], grad.dtype)
    if grad is None:
        grad = _zeros_like(op.outputs[1])
    return list_ops.tensor_list_push_back(list_grad, grad), None


@list_ops.tensor_list_stack.gradient
def _(op, grad):
    dims = grad._dims
    shape = element_shape_input(None if dims is None else dims[1:])
    return list_ops.tensor_list_from_tensor(grad, shape), None


@list_ops.tensor_list_from_tensor.gradient
def _(op, grad):
    tensor = op.inputs[0]
    if grad is None:
        grad = _empty_like(op.outputs[0], tensor.dtype)
    n = tensor._dims[0] if tensor._dims else None
    stacked = list_ops.tensor_list_stack(
        grad,
        _rows_shape(tensor),
        element_dtype=tensor.dtype,
        num_elements=-1 if n is None else n,
    )
    return stacked, None


@list_ops.tensor_list_concat.gradient
def _(op, grad, lengths_grad):
    return list_ops.tensor_list_split(grad, _element_shape(op.inputs[0]), op.outputs[1])


@list_ops.tensor_list_concat_v2.gradient
def _(op, grad, lengths_grad):
    pieces = list_ops.tensor_list_split(grad, _element_shape(op.inputs[0]), op.outputs[1])
    return pieces, None, None


@list_ops.tensor_list_split.gradient
def _(op, grad):
    tensor, _, lengths = op.inputs
    shape = _concat([np.asarray([-1], np.int32), _rows_shape(tensor)], 0)
    joined, _ = list_ops.tensor_list_concat_v2(grad, shape, lengths, element_dtype=tensor.dtype)
    return joined, None, None


@list_ops.tensor_list_get_item.gradient
def _(op, grad):
    handle, index, _ = op.inputs
    zeros = list_ops.tensor_list_reserve(
        _element_shape(handle), list_ops.tensor_list_length(handle), element_dtype=grad.dtype
    )
    return list_ops.tensor_list_set_item(zeros, index, grad), None, None


@list_ops.tensor_list_set_item.gradient
def _(op, grad):
    _, index, item = op.inputs
    rest = list_ops.tensor_list_set_item(grad, index, _zeros_like(item))
    own = list_ops.tensor_list_get_item(grad, index, shape_for(item), element_dtype=item.dtype)
    return rest, None, own


@list_ops.tensor_list_resize.gradient
def _(op, grad):
    return list_ops.tensor_list_resize(grad, list_ops.tensor_list_length(op.inputs[0])), None


@list_ops.tensor_list_gather.gradient
def _(op, grad):
    handle, indices, _ = op.inputs
    zeros = list_ops.tensor_list_reserve(
        _element_shape(handle), list_ops.tensor_list_length(handle), element_dtype=grad.dtype
    )
    rows = list_ops.tensor_list_scatter_into_existing_list(zeros, grad, indices)
    return rows, None, None


def _gathered(op: Any, grad: Any, tensor: Any, indices: Any) -> Any:
    return list_ops.tensor_list_gather(
        grad, indices, _rows_shape(tensor), element_dtype=tensor.dtype
    )


@list_ops.tensor_list_scatter.gradient
def _(op, grad):
    return _gathered(op, grad, op.inputs[0], op.inputs[1]), None, None


@list_ops.tensor_list_scatter_v2.gradient
def _(op, grad):
    return _gathered(op, grad, op.inputs[0], op.inputs[1]), None, None, None


@list_ops.tensor_list_scatter_into_existing_list.gradient
def _(op, grad):
    _, tensor, indices = op.inputs
    rest = list_ops.tensor_list_scatter_into_existing_list(grad, _zeros_like(tensor), indices)
    return rest, _gathered(op, grad, tensor, indices), None
