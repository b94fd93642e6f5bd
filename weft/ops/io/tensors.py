"""Tensors as strings, and Examples in JSON: SerializeTensor, ParseTensor, DecodeJSONExample."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import dtypes, errors
from weft.framework.export import export
from weft.framework.registry import op
from weft.framework.shape_rules import same
from weft.ops.strings.elements import of


def content_proto(array: np.ndarray) -> Any:
    """The TensorProto of an array as TensorFlow's kernels write it: its bytes, but strings one by one."""
    from weft import proto

    dtype = dtypes.string if array.dtype == object else dtypes.as_dtype(array.dtype)
    message = proto.TensorProto(dtype=dtype.enum)
    message.tensor_shape.SetInParent()
    for size in array.shape:
        message.tensor_shape.dim.add().size = size
    if dtype is dtypes.string:
        message.string_val.extend(array.reshape(-1).tolist())
    elif array.size:
        message.tensor_content = array.tobytes()
    return message


@op("SerializeTensor", "tensor: T -> serialized: string", "T: type", host=True)
def serialize_tensor_op(xp, tensor, *, T):
    """A tensor as a serialized TensorProto."""
    from weft.framework.tensor_proto import make_tensor_proto

    if T is dtypes.variant:
        return make_tensor_proto(tensor, T).SerializeToString()
    return content_proto(np.asarray(tensor)).SerializeToString()


@serialize_tensor_op.shape
def _(tensor):
    return ()


serialize_tensor_op.not_differentiable()


@export("io.serialize_tensor", "serialize_tensor")
def serialize_tensor(tensor: Any, name: str | None = None) -> Any:
    """Returns a tensor as a serialized TensorProto."""
    return serialize_tensor_op(tensor, name=name)


@op("ParseTensor", "serialized: string -> output: out_type", "out_type: type", host=True)
def parse_tensor_op(xp, serialized, *, out_type):
    """The tensor that a serialized TensorProto holds."""
    from google.protobuf.message import DecodeError

    from weft import proto
    from weft.framework import tensor_proto

    if serialized.ndim:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"Expected `serialized` to be a scalar, got shape: {list(serialized.shape)}",
        )
    try:
        message = proto.TensorProto.FromString(serialized[()])
    except DecodeError:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"Could not parse `serialized` as TensorProto: '{_short(serialized[()])}'",
        ) from None
    if message.dtype != out_type.enum:
        try:
            found = dtypes.as_dtype(message.dtype).name
        except TypeError:
            found = f"number {message.dtype}"
        raise errors.InvalidArgumentError(
            None, None, f"Type mismatch between parsed tensor ({found}) and dtype ({out_type.name})"
        )
    sizes = [dim.size for dim in message.tensor_shape.dim]
    count = 1
    for size in sizes:
        count *= size
    if message.tensor_shape.unknown_rank or min(sizes, default=0) < 0 or count >= 1 << 63:
        raise errors.InvalidArgumentError(
            None, None, f"Cannot parse tensor from proto: its shape is {sizes}"
        )
    try:
        return np.asarray(tensor_proto.make_ndarray(message))
    except (ValueError, TypeError, MemoryError) as e:
        raise errors.InvalidArgumentError(
            None, None, f"Cannot parse tensor from proto: {e}"
        ) from None


def _short(data: bytes, limit: int = 80) -> str:
    text = data[:limit].decode("latin-1")
    return text + "..." * (len(data) > limit)


@parse_tensor_op.shape
def _(serialized):
    return None


parse_tensor_op.not_differentiable()


@export("io.parse_tensor", "parse_tensor")
def parse_tensor(serialized: Any, out_type: Any, name: str | None = None) -> Any:
    """Returns the tensor that a serialized TensorProto holds."""
    return parse_tensor_op(serialized, out_type=out_type, name=name)


@op("DecodeJSONExample", "json_examples: string -> binary_examples: string", host=True)
def decode_json_example_op(xp, json_examples):
    """Examples, written in the JSON of protocol buffers, as serialized messages."""
    from google.protobuf import json_format

    from weft import proto

    out = []
    for i, text in enumerate(json_examples.reshape(-1)):
        try:
            message = json_format.Parse(text, proto.Example(), max_recursion_depth=32)
        except (json_format.ParseError, UnicodeDecodeError, RecursionError) as e:
            raise errors.InvalidArgumentError(
                None, None, f"Error while parsing JSON of example {i}: {e}"
            ) from None
        out.append(message.SerializeToString())
    return of(out, json_examples.shape)


decode_json_example_op.shape(same)
decode_json_example_op.not_differentiable()


@export("decode_json_example", "io.decode_json_example")
def decode_json_example(json_examples: Any, name: str | None = None) -> Any:
    """Returns Examples, written in the JSON of protocol buffers, as serialized messages."""
    return decode_json_example_op(json_examples, name=name)
