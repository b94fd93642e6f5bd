"""Python structures of tensors' kinds as messages: what functions take and give, and specs of composite tensors."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft import proto
from weft.framework.dtypes import DType
from weft.framework.tensor_shape import TensorShape
from weft.framework.type_spec import TensorSpec, TypeSpec


def _kinds() -> dict[int, Any]:
    return {1: tf.SparseTensorSpec, 2: tf.IndexedSlicesSpec, 3: tf.RaggedTensorSpec}


def spec_to_proto(spec: Any) -> Any:
    """The TypeSpecProto of a spec."""
    for number, kind in _kinds().items():
        if type(spec) is kind:
            return proto.TypeSpecProto(
                type_spec_class=number,
                type_state=encoded(spec._serialize()),
                type_spec_class_name=kind.__name__,
            )
    raise ValueError(f"Signatures cannot hold values of {type(spec).__name__}.")


def spec_from_proto(message: Any) -> Any:
    """The spec that a TypeSpecProto describes."""
    kind = _kinds().get(message.type_spec_class)
    if kind is None:
        raise ValueError(f"The type '{message.type_spec_class_name}' is not supported.")
    state = decoded(message.type_state)
    if not isinstance(state, tuple):
        raise ValueError(f"The state of a {message.type_spec_class_name} has to be a tuple.")
    return kind(*state)


def encoded(value: Any) -> Any:
    """The StructuredValue of a structure."""
    out = proto.StructuredValue()
    if value is None:
        out.none_value.SetInParent()
    elif isinstance(value, TensorSpec):
        out.tensor_spec_value.shape.CopyFrom(value.shape.as_proto())
        out.tensor_spec_value.dtype = value.dtype.as_datatype_enum
        out.tensor_spec_value.name = value.name or ""
    elif isinstance(value, TypeSpec):
        out.type_spec_value.CopyFrom(spec_to_proto(value))
    elif isinstance(value, TensorShape):
        out.tensor_shape_value.CopyFrom(value.as_proto())
    elif isinstance(value, DType):
        out.tensor_dtype_value = value.as_datatype_enum
    elif isinstance(value, bool):
        out.bool_value = value
    elif isinstance(value, int):
        out.int64_value = value
    elif isinstance(value, float):
        out.float64_value = value
    elif isinstance(value, str):
        out.string_value = value
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        out.named_tuple_value.name = type(value).__name__
        for name, item in zip(value._fields, value):
            out.named_tuple_value.values.add(key=name, value=encoded(item))
    elif isinstance(value, tuple):
        out.tuple_value.SetInParent()
        out.tuple_value.values.extend(map(encoded, value))
    elif isinstance(value, list):
        out.list_value.SetInParent()
        out.list_value.values.extend(map(encoded, value))
    elif isinstance(value, dict) and all(isinstance(key, str) for key in value):
        out.dict_value.SetInParent()
        for key, item in value.items():
            out.dict_value.fields[key].CopyFrom(encoded(item))
    else:
        raise TypeError(f"A {type(value).__name__} has no form as a message: {value!r}.")
    return out


def decoded(message: Any) -> Any:
    """The structure that a StructuredValue describes; named tuples are plain ones."""
    kind = message.WhichOneof("kind")
    if kind in (None, "none_value"):
        return None
    found = getattr(message, kind)
    if kind == "tensor_shape_value":
        return TensorShape(found)
    if kind == "tensor_dtype_value":
        return tf.as_dtype(found)
    if kind == "tensor_spec_value":
        return TensorSpec(TensorShape(found.shape), tf.as_dtype(found.dtype), found.name or None)
    if kind == "type_spec_value":
        return spec_from_proto(found)
    if kind == "tuple_value":
        return tuple(map(decoded, found.values))
    if kind == "list_value":
        return list(map(decoded, found.values))
    if kind == "dict_value":
        return {key: decoded(item) for key, item in found.fields.items()}
    if kind == "named_tuple_value":
        return tuple(decoded(pair.value) for pair in found.values)
    return found
