"""Type specs as messages, as signatures with ragged and other composite tensors hold them."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft import proto
from weft.framework.dtypes import DType
from weft.framework.tensor_shape import TensorShape


def _kinds() -> dict[int, Any]:
    return {1: tf.SparseTensorSpec, 2: tf.IndexedSlicesSpec, 3: tf.RaggedTensorSpec}


def to_proto(spec: Any) -> Any:
    """The TypeSpecProto of a spec."""
    for number, kind in _kinds().items():
        if type(spec) is kind:
            return proto.TypeSpecProto(
                type_spec_class=number,
                type_state=_structure(spec._serialize()),
                type_spec_class_name=kind.__name__,
            )
    raise ValueError(f"Signatures cannot hold values of {type(spec).__name__}.")


def from_proto(message: Any) -> Any:
    """The spec that a TypeSpecProto describes."""
    kind = _kinds().get(message.type_spec_class)
    if kind is None:
        raise ValueError(f"The type '{message.type_spec_class_name}' is not supported.")
    state = _value(message.type_state)
    if not isinstance(state, tuple):
        raise ValueError(f"The state of a {message.type_spec_class_name} has to be a tuple.")
    return kind(*state)


def _structure(value: Any) -> Any:
    out = proto.StructuredValue()
    if value is None:
        out.none_value.SetInParent()
    elif isinstance(value, TensorShape):
        out.tensor_shape_value.CopyFrom(value.as_proto())
    elif isinstance(value, DType):
        out.tensor_dtype_value = value.as_datatype_enum
    elif isinstance(value, bool):
        out.bool_value = value
    elif isinstance(value, int):
        out.int64_value = value
    elif isinstance(value, tuple):
        out.tuple_value.SetInParent()
        out.tuple_value.values.extend(map(_structure, value))
    else:
        raise TypeError(f"A {type(value).__name__} in a type spec has no form as a message.")
    return out


def _value(message: Any) -> Any:
    kind = message.WhichOneof("kind")
    if kind in (None, "none_value"):
        return None
    found = getattr(message, kind)
    if kind == "tensor_shape_value":
        return TensorShape(found)
    if kind == "tensor_dtype_value":
        return tf.as_dtype(found)
    if kind == "tuple_value":
        return tuple(map(_value, found.values))
    if kind in ("int64_value", "bool_value"):
        return found
    raise ValueError(f"A type spec cannot hold a {kind}.")
