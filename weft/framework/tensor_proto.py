"""Tensors on the wire: `TensorProto` from an array and back, in TensorFlow's compact encodings."""

import math
from typing import Any

import numpy as np

from weft import proto
from weft.framework import dtypes
from weft.framework.array_conversion import (
    check_shape,
    convert_for_shape,
    leaves,
    not_convertible,
    shape_list,
    to_array,
)
from weft.framework.dimension import Dimension
from weft.framework.tensor_shape import as_shape

__all__ = ["make_ndarray", "make_tensor_proto", "to_array"]

_CONTENT_LIMIT = 1 << 31  # protobuf cannot carry more

# The types of which TensorFlow's client writes `tensor_content` rather than a field of values.
_WRITTEN_AS_CONTENT = frozenset(
    [
        *(dtypes.float32, dtypes.float64, dtypes.int32, dtypes.uint8, dtypes.int16, dtypes.int8),
        *(dtypes.int64, dtypes.uint32, dtypes.uint64, *dtypes.quantized),
    ]
)
_VALUE_FIELDS = {
    dtypes.float16: "half_val",
    dtypes.bfloat16: "half_val",
    dtypes.float32: "float_val",
    dtypes.float64: "double_val",
    dtypes.int64: "int64_val",
    dtypes.uint32: "uint32_val",
    dtypes.uint64: "uint64_val",
    dtypes.bool: "bool_val",
    dtypes.string: "string_val",
    dtypes.complex64: "scomplex_val",
    dtypes.complex128: "dcomplex_val",
    dtypes.resource: "resource_handle_val",
    dtypes.variant: "variant_val",
    **dict.fromkeys((dtypes.int32, dtypes.uint8, dtypes.uint16, dtypes.int16), "int_val"),
    **dict.fromkeys((dtypes.int8, *dtypes.quantized), "int_val"),
}


def make_tensor_proto(
    values: Any,
    dtype: Any = None,
    shape: Any = None,
    verify_shape: bool = False,
    allow_broadcast: bool = False,
) -> Any:
    """Returns a `TensorProto` of Python values or an array.

    Args:
      values: a number, string, array or nested list; a `TensorProto` is returned as it is.
      dtype: the type of the tensor; without it, the one that `values` suggest.
      shape: the shape of the tensor. The last value stands for those that `values` lack.
      verify_shape: raise `TypeError` unless `values` have exactly this shape.
      allow_broadcast: allow a single value for all of `shape`, but no other repetition.

    Raises:
      TypeError: `values` cannot be a tensor of `dtype`.
      ValueError: a list is ragged, there are too many values, or the tensor is 2 GB or larger.
    """
    if allow_broadcast and verify_shape:
        raise ValueError("allow_broadcast and verify_shape are not both allowed.")
    if getattr(getattr(values, "DESCRIPTOR", None), "full_name", "") == "tensorflow.TensorProto":
        return values
    dtype = None if dtype is None else dtypes.as_dtype(dtype).base_dtype
    if dtype is None and any(isinstance(leaf, Dimension) for leaf in leaves(values)):
        raise not_convertible(values)  # TensorFlow takes them as integers only where told to
    if dtype is not None and dtype.np is None:
        array = _array_of_messages(values, dtype)
    elif shape is None:
        array = to_array(values, dtype)
    else:
        array = convert_for_shape(values, dtype, shape_list(shape))
    if shape is None:
        shape = array.shape
    else:
        shape = shape_list(shape)
        check_shape(array, shape, verify_shape, allow_broadcast)
    return _encode(array, dtype or dtypes.as_dtype(array.dtype), shape)


def _array_of_messages(values, dtype):
    """Returns handles of resources, or variants, as an array of their messages."""
    expected = "ResourceHandleProto" if dtype is dtypes.resource else "VariantTensorDataProto"
    array = values if isinstance(values, np.ndarray) else np.empty((), object)
    if array is not values:
        array[()] = values
        if isinstance(values, (list, tuple)):
            array = np.array(values, object)
    for element in array.ravel().tolist():
        if not isinstance(element, getattr(proto, expected)):
            raise TypeError(
                f"Incompatible types: {dtype} vs. {type(element).__name__}. A tensor of this type "
                f"is made of {expected} messages. Value is {element!r}"
            )
    return array


def _encode(array, dtype, shape):
    message = proto.TensorProto(dtype=dtype.enum, tensor_shape=as_shape(shape).as_proto())
    size = np.prod(shape, dtype=np.int64)
    if dtype in _WRITTEN_AS_CONTENT and array.size == size and size > 1:
        if array.nbytes >= _CONTENT_LIMIT:
            raise ValueError(
                "Cannot create a tensor proto whose content is larger than 2GB: "
                f"{dtype.name}{list(shape)} has {array.nbytes:,} bytes."
            )
        message.tensor_content = array.tobytes()
        return message
    add_values(message, array, dtype)
    return message


def add_values(tensor: Any, array: np.ndarray, dtype: dtypes.DType) -> None:
    """Adds the elements of an array to the field of a `TensorProto` that holds values of their type."""
    flat = array.reshape(-1)
    if dtype in (dtypes.float16, dtypes.bfloat16):
        flat = flat.view(np.uint16)
    elif dtype.is_complex:
        flat = flat.view(flat.real.dtype)
    elif dtype.is_quantized:
        flat = flat.view(dtype.np[0])
    getattr(tensor, _VALUE_FIELDS[dtype]).extend(flat.tolist())


def make_ndarray(tensor: Any) -> np.ndarray:
    """Returns the values of a `TensorProto` as an array of its own.

    Strings become objects of type `bytes`; resources and variants, which NumPy has no type for,
    become objects of their message types.
    """
    array = read_only_array(tensor)
    return array if array.flags.writeable else array.copy()


# A TensorProto may say "this value, that many times": a few bytes must not stand for all memory.
MOST_REPEATED = 1 << 28


def read_only_array(tensor: Any) -> np.ndarray:
    """As `make_ndarray`, for who does not write to the array: a value that is repeated takes no more room than
    one."""
    dtype = dtypes.as_dtype(tensor.dtype).base_dtype
    shape = [dim.size for dim in tensor.tensor_shape.dim]
    size = math.prod(shape)
    if min(shape, default=0) < 0:
        raise ValueError(f"No tensor has the shape {shape}.")
    if tensor.tensor_content:
        return _from_content(tensor.tensor_content, dtype, size).reshape(shape)
    values = _from_values(tensor, dtype)
    if len(values) > size:
        raise ValueError(
            f"A TensorProto of shape {shape} holds at most {size} values, this one has "
            f"{len(values)} in {_VALUE_FIELDS[dtype]}."
        )
    if len(values) == size:
        return values.reshape(shape)
    if size > MOST_REPEATED:
        raise ValueError(
            f"A TensorProto of shape {shape} has {len(values)} of its {size} values, which is too few: at most "
            f"{MOST_REPEATED} are repeated."
        )
    if len(values) == 0:
        if dtype.np is None:
            return _defaults(dtype, size).reshape(shape)
        values = _defaults(dtype, 1)
    if len(values) == 1:
        return np.broadcast_to(values.reshape(()), shape)
    filled = np.empty(size, values.dtype)
    filled[: len(values)] = values
    filled[len(values) :] = values[-1]
    return filled.reshape(shape)


def _from_content(content, dtype, size):
    if dtype.np is None or dtype is dtypes.string:
        return _from_encoded_list(content, dtype, size)
    if len(content) != size * dtype.size:
        raise ValueError(
            f"A TensorProto of {size} {dtype.name} values must have {size * dtype.size} bytes of "
            f"tensor_content, this one has {len(content)}."
        )
    return np.frombuffer(content, dtype.np).copy()


def _from_values(tensor, dtype):
    values = list(getattr(tensor, _VALUE_FIELDS[dtype]))
    if dtype in (dtypes.float16, dtypes.bfloat16):
        return np.array(values, np.int32).astype(np.uint16).view(dtype.np)
    if dtype.is_complex:
        part = np.float32 if dtype is dtypes.complex64 else np.float64
        return np.array(values[: len(values) // 2 * 2], part).view(dtype.np)
    if dtype.np is None or dtype is dtypes.string:
        return _object_vector(values)
    if dtype.is_quantized:
        return np.array(values, np.int32).astype(dtype.np[0]).view(dtype.np)
    if _VALUE_FIELDS[dtype] == "int_val":
        return np.array(values, np.int32).astype(dtype.np)
    return np.array(values, dtype.np)


def _from_encoded_list(content, dtype, size):
    """Reads what TensorFlow's runtime writes for objects: lengths as varints, then all bytes."""
    lengths, position = [], 0
    for _ in range(size):
        length = shift = 0
        while True:
            if position >= len(content):
                raise ValueError(f"The tensor_content of {size} {dtype.name} values is cut off.")
            byte = content[position]
            position += 1
            length |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        lengths.append(length)
    if position + sum(lengths) != len(content):
        raise ValueError(
            f"A TensorProto of {size} {dtype.name} values must have {position + sum(lengths)} "
            f"bytes of tensor_content, this one has {len(content)}."
        )
    values = []
    for length in lengths:
        values.append(content[position : position + length])
        position += length
    if dtype is not dtypes.string:
        values = [_message_class(dtype).FromString(value) for value in values]
    return _object_vector(values)


def _message_class(dtype):
    return proto.ResourceHandleProto if dtype is dtypes.resource else proto.VariantTensorDataProto


def _defaults(dtype, size):
    if dtype is dtypes.string:
        return np.full(size, b"", object)
    if dtype.np is None:
        return _object_vector([_message_class(dtype)() for _ in range(size)])
    return np.zeros(size, dtype.np)


def _object_vector(values):
    array = np.empty(len(values), object)
    array[:] = values
    return array
