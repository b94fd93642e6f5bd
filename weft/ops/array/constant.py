"""Constants and placeholders."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import attributes, context, conversion, dtypes, registry
from weft.framework.export import export
from weft.framework.registry import op
from weft.framework.shape_rules import ShapeError, merge
from weft.framework.tensor import Tensor
from weft.framework.tensor_proto import to_array
from weft.framework.tensor_shape import Dimension, TensorShape, as_shape


@op("Const", "-> output: dtype", "value: tensor; dtype: type")
def const(xp, *, value):
    """A tensor that is part of the graph."""
    return value


@const.shape
def _(*, value):
    if isinstance(value, np.ndarray):
        return value.shape
    return attributes.shape_from_proto(value.proto.tensor_shape)


const.not_differentiable()


@export("constant")
def constant_v1(
    value: Any,
    dtype: Any = None,
    shape: Any = None,
    name: str = "Const",
    verify_shape: bool = False,
) -> Any:
    """Creates a constant tensor; a shape with more elements repeats the last value."""
    if _is_message(value):
        return _from_message(value, name)
    dtype = None if dtype is None else dtypes.as_dtype(dtype)
    if context.current.eager and shape is not None:
        return of_shape(value, dtype, as_shape(shape), verify_shape)
    array = to_array(value, dtype, shape, verify_shape)
    if array is value:
        array = array.copy()  # the caller may change it later
    return from_array(array, dtype, name)


def of_shape(
    value: Any, dtype: Any, shape: TensorShape, verify: bool = False, name: str | None = None
) -> Any:
    """A constant of a shape as TensorFlow 2 makes it: as many elements, or one that is repeated."""
    array = to_array(value, dtype)
    count = shape.num_elements()
    sizes: Any = shape.dims_tuple
    if verify and array.shape != sizes:
        raise TypeError(f"Expected Tensor's shape: {shape}, got {TensorShape(array.shape)}.")
    if array.size == count:
        array = array.reshape(sizes)
    elif array.size == 1 and count is not None:
        array = np.broadcast_to(array.reshape(()), sizes)
    else:
        raise TypeError(
            "Eager execution of tf.constant with unsupported shape (value has "
            f"{array.size} elements, shape is {shape} with {count} elements)."
        )
    return from_array(np.array(array), dtype, name)


def from_array(
    array: np.ndarray, dtype: dtypes.DType | None = None, name: str | None = None
) -> Tensor:
    """Adds a Const of an array that nobody changes any more."""
    if dtype is None:
        dtype = dtypes.string if array.dtype == object else dtypes.as_dtype(array.dtype)
    if context.current.eager:
        return conversion.make_eager(array, dtype)
    array.setflags(write=False)
    return (
        context.get_default_graph()
        .add_op(const, [], {"value": array, "dtype": dtype.base_dtype}, [dtype.base_dtype], name)
        ._outputs[0]
    )


def _is_message(value: Any) -> bool:
    """Whether a value is a TensorProto; protobuf is not imported to find out that it is not."""
    return type(value).__name__ == "TensorProto" and hasattr(value, "tensor_shape")


def _from_message(message: Any, name: str | None) -> Tensor:
    """Adds a Const of a TensorProto, as it is where NumPy has no such array (variants)."""
    value, dtype = attributes.tensor_from_proto(message), dtypes.as_dtype(message.dtype)
    if isinstance(value, np.ndarray):
        return from_array(value, dtype, name)
    if context.current.eager:
        raise TypeError(f"An eager constant cannot hold a message of {dtype.name} values.")
    attrs = {"value": value, "dtype": dtype}
    return context.get_default_graph().add_op(const, [], attrs, [dtype], name)._outputs[0]


def _make_constant(value: Any, dtype: Any = None, name: str | None = None) -> Tensor:
    if _is_message(value):
        return _from_message(value, name)
    array = to_array(value, dtype)
    if isinstance(value, np.ndarray) and array is value:
        array = value.copy()  # the caller may change it later
    return from_array(array, dtype if dtype is not None and dtype.is_quantized else None, name)


conversion.make_constant = _make_constant


def _shape_to_tensor(
    value: TensorShape, dtype: Any = None, name: str | None = None, as_ref: bool = False
) -> Any:
    if not value.is_fully_defined():
        raise ValueError(f"Cannot convert a partially known TensorShape to a Tensor: {value}")
    sizes: list[Any] = value.as_list()
    if dtype is None:
        dtype = dtypes.int64 if any(s >= 2**31 for s in sizes) else dtypes.int32
    if dtype not in (dtypes.int32, dtypes.int64):
        raise TypeError(f"Cannot convert a TensorShape to dtype: {dtype.name}")
    if dtype is dtypes.int32 and any(s >= 2**31 for s in sizes):
        raise ValueError(
            f"Cannot convert a TensorShape to dtype int32; a dimension is too large ({max(sizes)})"
        )
    return from_array(np.array(sizes, dtype.np), dtype, name or "shape_as_tensor")


conversion.register_tensor_conversion_function(TensorShape, _shape_to_tensor, 100)


def _dimension_to_tensor(
    value: Dimension, dtype: Any = None, name: str | None = None, as_ref: bool = False
) -> Any:
    if value.value is None:
        raise ValueError(f"Cannot convert an unknown Dimension to a Tensor: {value}")
    if dtype not in (None, dtypes.int32, dtypes.int64):
        raise TypeError(f"Cannot convert a TensorShape to dtype: {dtype.name}")
    dtype = dtype or dtypes.int32
    return from_array(np.array(value.value, dtype.np), dtype, name or "shape_as_tensor")


conversion.register_tensor_conversion_function(Dimension, _dimension_to_tensor, 100)


@op("Placeholder", "-> output: dtype", "dtype: type; shape: shape = unknown", host=True)
def placeholder_op(ctx):
    """A tensor that must be fed."""
    from weft.framework import errors
    from weft.framework.shape_rules import text

    t = ctx.op.outputs[0]
    shape = "" if t.dims is None else f" and shape {text(t.dims)}"
    raise errors.InvalidArgumentError(
        None,
        None,
        f"You must feed a value for placeholder tensor '{ctx.op.name}' with dtype {_enum_name(t.dtype)}{shape}",
    )


def _enum_name(dtype: dtypes.DType) -> str:
    return {"float32": "float", "float64": "double", "float16": "half"}.get(dtype.name, dtype.name)


@placeholder_op.shape
def _(*, shape):
    return shape


placeholder_op.not_differentiable()


@export("placeholder")
def placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> Tensor:
    """Inserts a placeholder for a tensor that will always be fed."""
    if context.executing_eagerly():
        raise RuntimeError("tf.placeholder() is not compatible with eager execution.")
    return placeholder_op(dtype=dtype, shape=as_shape(shape), name=name)


@op("PlaceholderWithDefault", "input: dtype -> output: dtype", "dtype: type; shape: shape")
def placeholder_with_default_op(xp, input):
    """The input, unless something else is fed in its place."""
    return input


@placeholder_with_default_op.shape
def _(input, *, shape):
    merge(input, shape, "The default value does not fit the shape")
    return shape


@placeholder_with_default_op.gradient
def _(op, grad):
    return grad


@export("placeholder_with_default")
def placeholder_with_default(input: Any, shape: Any, name: str | None = None) -> Tensor:
    """A placeholder that passes `input` on when it is not fed."""
    return placeholder_with_default_op(input, shape=shape, name=name)


__all__ = ["ShapeError", "constant_v1", "from_array", "placeholder", "registry"]
