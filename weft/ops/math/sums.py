"""Sums of several tensors."""

from __future__ import annotations

from typing import Any

from weft.framework import context, conversion, dtypes
from weft.framework.export import export
from weft.framework.registry import op
from weft.framework.shape_rules import merge, merge_all
from weft.framework.tensor import Tensor
from weft.framework.tensor_shape import as_shape
from weft.ops.by_name import raw
from weft.ops.math.dtype_sets import NUMBERS

_WHY = "Inputs must have the same size and shape; Dimensions must be equal"


def _total(xp: Any, inputs: list[Any]) -> Any:
    total = inputs[0]
    for value in inputs[1:]:
        total = total + value
    return total


@op(
    "AddN",
    "inputs: N*T -> sum: T",
    "N: int >= 1; T: " + NUMBERS[:-1] + ", variant}",
    commutative=True,
    aggregate=True,
)
def add_n_op(xp, inputs):
    """The sum of tensors of one shape."""
    if hasattr(inputs[0], "total"):  # lists of tensors
        return inputs[0].total(xp, inputs[1:])
    return _total(xp, inputs)


@add_n_op.shape
def _(inputs):
    return merge_all(inputs, _WHY)


@add_n_op.gradient
def _(op, grad):
    return [grad] * len(op.inputs)


@op(
    "AccumulateNV2",
    "inputs: N*T -> sum: T",
    "N: int >= 1; T: " + NUMBERS + "; shape: shape",
    commutative=True,
    aggregate=True,
)
def accumulate_n_op(xp, inputs):
    """The sum of tensors of one shape, which need not all be there at once."""
    return _total(xp, inputs)


@accumulate_n_op.shape
def _(inputs, *, shape):
    return merge(merge_all(inputs, _WHY), shape)


@accumulate_n_op.gradient
def _(op, grad):
    return [grad] * len(op.inputs)


def _converted(inputs: Any, what: str) -> list[Any]:
    """The inputs as tensors or IndexedSlices of one dtype; ValueError where they are not."""
    if not isinstance(inputs, (list, tuple)) or not inputs:
        raise ValueError(
            f"inputs must be a list of at least one {what} with the same dtype and shape"
        )
    return [conversion.convert_to_tensor_or_indexed_slices(x) for x in inputs]


@export("add_n", "math.add_n")
def add_n(inputs: Any, name: str | None = None) -> Any:
    """The sum of several tensors of one shape; IndexedSlices are made dense first."""
    inputs = _converted(inputs, "Tensor/IndexedSlices")
    if len(inputs) == 1:
        value = conversion.convert_to_tensor(inputs[0])
        return raw.Identity(value, name=name) if name else value
    return add_n_op(inputs, name=name)


@export("accumulate_n", "math.accumulate_n")
def accumulate_n(
    inputs: Any, shape: Any = None, tensor_dtype: Any = None, name: str | None = None
) -> Any:
    """The sum of several tensors of one shape and dtype, which need not all be there at once."""
    inputs = _converted(inputs, "Tensor")
    first = inputs[0]
    if not all(isinstance(x, Tensor) and x.dtype == first.dtype for x in inputs):
        raise ValueError(
            "inputs must be a list of at least one Tensor with the same dtype and shape"
        )
    dims = as_shape(shape).dims_tuple
    for x in inputs:
        dims = merge(dims, x.dims, "Shapes are not compatible")
    if tensor_dtype is not None and dtypes.as_dtype(tensor_dtype) != first.dtype:
        raise TypeError(f"tensor_dtype is {tensor_dtype}, but input is of type {first.dtype}")
    if len(inputs) == 1:
        return first if name is None else raw.Identity(first, name=name)
    if context.executing_eagerly():
        return add_n(inputs, name=name)
    return accumulate_n_op(inputs, shape=as_shape(dims), name=name)
