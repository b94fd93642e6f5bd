"""Attribute values: how an operation holds them, how callers give them, and how GraphDef writes them.

Held are plain values: int, float, bool, bytes, DType, a shape as a tuple or None, a tensor as a NumPy array,
a function as `Func`, and lists of these.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import dtypes
from weft.framework.signature import Attr
from weft.framework.tensor_shape import TensorShape, as_shape


class Func:
    """A function by name, with the attributes that it is instantiated with."""

    __slots__ = ("name", "attrs")

    def __init__(self, name: str, attrs: dict[str, Any] | None = None):
        self.name = name
        self.attrs = attrs or {}

    def __repr__(self) -> str:
        return f"Func({self.name!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Func) and (self.name, self.attrs) == (other.name, other.attrs)

    def __hash__(self) -> int:
        return hash(self.name)


class TensorValue:
    """A tensor attribute of a dtype that NumPy has no array for; held as its message."""

    __slots__ = ("proto",)

    def __init__(self, proto: Any):
        self.proto = proto


def _wrong(value: Any, attr: Attr, op_name: str, wanted: str) -> TypeError:
    return TypeError(
        f"Expected {wanted} for argument '{attr.name}' of op '{op_name}', not {value!r} "
        f"of type {type(value).__name__}."
    )


def _to_int(value: Any, attr: Attr, op_name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        if isinstance(value, (bytes, str)) or not hasattr(value, "__int__"):
            raise _wrong(value, attr, op_name, "int")
        if isinstance(value, float) and value != int(value):
            raise _wrong(value, attr, op_name, "int")
    return int(value)


def _to_float(value: Any, attr: Attr, op_name: str) -> float:
    """The number as a GraphDef holds it: in single precision."""
    if isinstance(value, (str, bytes)):
        raise _wrong(value, attr, op_name, "float")
    try:
        return float(np.float32(value))
    except (TypeError, ValueError):
        raise _wrong(value, attr, op_name, "float") from None


def _to_bool(value: Any, attr: Attr, op_name: str) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise _wrong(value, attr, op_name, "bool")
    return bool(value)


def _to_bytes(value: Any, attr: Attr, op_name: str) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if not isinstance(value, bytes):
        raise _wrong(value, attr, op_name, "string")
    return value


def _to_type(value: Any, attr: Attr, op_name: str) -> dtypes.DType:
    try:
        return dtypes.as_dtype(value).base_dtype
    except TypeError as e:
        raise TypeError(f"Expected DataType for argument '{attr.name}' not {value!r}.") from e


def _to_shape(value: Any, attr: Attr, op_name: str) -> Any:
    try:
        return as_shape(value).dims_tuple
    except (TypeError, ValueError) as e:
        raise TypeError(
            f"Error converting {value!r} (arg name = {attr.name}) to a TensorShape: {e}"
        ) from e


def _to_tensor(value: Any, attr: Attr, op_name: str) -> Any:
    if isinstance(value, np.ndarray):
        return value
    if hasattr(value, "tensor_shape"):  # a TensorProto
        return tensor_from_proto(value)
    raise TypeError(
        f"Don't know how to convert {value!r} to a TensorProto for argument '{attr.name}'"
    )


def _to_func(value: Any, attr: Attr, op_name: str) -> Func:
    if isinstance(value, Func):
        return value
    if isinstance(value, (str, bytes)):
        return Func(value if isinstance(value, str) else value.decode())
    if hasattr(value, "add_to_graph"):
        from weft.framework.context import get_default_graph

        value.add_to_graph(get_default_graph())
        name = value.name
        return Func(name.decode() if isinstance(name, bytes) else name)
    if hasattr(value, "name") and hasattr(value, "attr"):  # a NameAttrList
        return Func(value.name, {k: from_proto(v) for k, v in value.attr.items()})
    raise TypeError(f"Don't know how to convert {value!r} to a func for argument {attr.name}")


_CONVERT = {
    "int": _to_int,
    "float": _to_float,
    "bool": _to_bool,
    "string": _to_bytes,
    "type": _to_type,
    "shape": _to_shape,
    "tensor": _to_tensor,
    "func": _to_func,
}


def convert(value: Any, attr: Attr, op_name: str) -> Any:
    """The held form of what a caller gave for an attribute; checked against what the op allows."""
    to = _CONVERT[attr.element_kind]
    if attr.is_list:
        if not isinstance(value, (list, tuple, np.ndarray, TensorShape)):
            raise TypeError(
                f"Expected list for attr {attr.name}, obtained {type(value).__name__} instead."
            )
        value = [to(v, attr, op_name) for v in value]
        if attr.minimum is not None and len(value) < attr.minimum:
            raise ValueError(
                f"Attr '{attr.name}' of '{op_name}' Op passed list of length {len(value)} less than "
                f"minimum {attr.minimum}."
            )
        if attr.allowed is not None:
            for v in value:
                _check_allowed(v, attr, op_name)
        return value
    value = to(value, attr, op_name)
    if attr.allowed is not None:
        _check_allowed(value, attr, op_name)
    if attr.minimum is not None and attr.kind == "int" and value < attr.minimum:
        raise ValueError(
            f"Attr '{attr.name}' of '{op_name}' Op passed {value} less than minimum {attr.minimum}."
        )
    return value


def _check_allowed(value: Any, attr: Attr, op_name: str) -> None:
    if attr.element_kind == "type":
        check_dtype(value, attr, op_name)
    elif attr.element_kind == "string" and value.decode(errors="replace") not in (
        attr.allowed or ()
    ):
        allowed = '", "'.join(attr.allowed or ())
        raise ValueError(
            f"Attr '{attr.name}' of '{op_name}' Op passed string '{value.decode(errors='replace')}' not "
            f'in: "{allowed}".'
        )


def check_dtype(dtype: dtypes.DType, attr: Attr, op_name: str, argument: str = "") -> None:
    """TypeError unless the attribute may have this dtype."""
    if attr.allowed is not None and dtype.base_dtype not in attr.allowed:
        allowed = ", ".join(sorted(d.name for d in attr.allowed))
        param = argument or attr.name
        raise TypeError(
            f"Value passed to parameter '{param}' has DataType {dtype.name} not in list of allowed values: "
            f"{allowed}"
        )


# -- GraphDef -----------------------------------------------------------------------------------------


def tensor_from_proto(proto: Any) -> Any:
    """The array that a TensorProto describes, or a TensorValue where NumPy has none."""
    from weft.framework import tensor_proto

    dtype = dtypes.as_dtype(proto.dtype)
    if dtype.np is None:
        return TensorValue(proto)
    array = tensor_proto.read_only_array(proto)
    array.setflags(write=False)
    return array


def to_public(value: Any) -> Any:
    """What `Operation.get_attr` shows: messages where TensorFlow shows messages."""
    if isinstance(value, list):
        return [to_public(v) for v in value]
    if value is None or isinstance(value, tuple):
        return TensorShape.from_tuple(value).as_proto()
    if isinstance(value, np.ndarray):
        return tensor_to_proto(value)
    if isinstance(value, TensorValue):
        return value.proto
    if isinstance(value, Func):
        return to_proto(value).func
    return value


def tensor_to_proto(array: np.ndarray) -> Any:
    from weft.framework import tensor_proto

    values = array
    if array.size >= _WORTH_A_LOOK and _is_one_value(array):
        values = array.reshape(-1)[0]  # which is written once
    return tensor_proto.make_tensor_proto(
        values, shape=array.shape, dtype=dtypes.as_dtype(array.dtype)
    )


_WORTH_A_LOOK = 1024  # elements


def _is_one_value(array: np.ndarray) -> bool:
    """Whether all elements of an array have the same bytes."""
    if not any(array.strides):
        return True
    if array.dtype.kind == "O" or not array.flags.c_contiguous:
        return False
    data = array.reshape(-1).view(np.uint8).reshape(array.size, -1)
    if (data[:: max(1, len(data) // 64)] != data[0]).any():
        return False
    return bool((data == data[0]).all())


def to_proto(value: Any) -> Any:
    """The AttrValue message of a held value."""
    from weft import proto

    out = proto.AttrValue()
    if isinstance(value, list):
        _fill_list(out.list, value)
        if not value:
            out.list.SetInParent()
    elif isinstance(value, bool):
        out.b = value
    elif isinstance(value, int):
        out.i = value
    elif isinstance(value, float):
        out.f = value
    elif isinstance(value, bytes):
        out.s = value
    elif isinstance(value, dtypes.DType):
        out.type = value.enum
    elif value is None or isinstance(value, tuple):
        out.shape.CopyFrom(TensorShape.from_tuple(value).as_proto())
    elif isinstance(value, np.ndarray):
        out.tensor.CopyFrom(tensor_to_proto(value))
    elif isinstance(value, TensorValue):
        out.tensor.CopyFrom(value.proto)
    elif isinstance(value, Func):
        out.func.name = value.name
        for k, v in value.attrs.items():
            out.func.attr[k].CopyFrom(to_proto(v))
    else:
        raise TypeError(f"An attribute cannot hold {value!r} of type {type(value).__name__}.")
    return out


def _fill_list(out: Any, values: list) -> None:
    for v in values:
        if isinstance(v, bool):
            out.b.append(v)
        elif isinstance(v, int):
            out.i.append(v)
        elif isinstance(v, float):
            out.f.append(v)
        elif isinstance(v, bytes):
            out.s.append(v)
        elif isinstance(v, dtypes.DType):
            out.type.append(v.enum)
        elif v is None or isinstance(v, tuple):
            out.shape.add().CopyFrom(TensorShape.from_tuple(v).as_proto())
        elif isinstance(v, (np.ndarray, TensorValue)):
            out.tensor.add().CopyFrom(to_proto(v).tensor)
        elif isinstance(v, Func):
            out.func.add().CopyFrom(to_proto(v).func)
        else:
            raise TypeError(f"A list attribute cannot hold {v!r} of type {type(v).__name__}.")


def shape_from_proto(proto: Any) -> tuple | None:
    if proto.unknown_rank:
        return None
    return tuple(None if d.size < 0 else d.size for d in proto.dim)


def from_proto(value: Any) -> Any:
    """The held value of an AttrValue message."""
    kind = value.WhichOneof("value")
    if kind in ("i", "f", "b", "s"):
        return getattr(value, kind)
    if kind == "type":
        return dtypes.as_dtype(value.type)
    if kind == "shape":
        return shape_from_proto(value.shape)
    if kind == "tensor":
        return tensor_from_proto(value.tensor)
    if kind == "func":
        return Func(value.func.name, {k: from_proto(v) for k, v in value.func.attr.items()})
    if kind == "list":
        items = value.list
        for field in ("s", "i", "f", "b"):
            if len(getattr(items, field)):
                return list(getattr(items, field))
        if len(items.type):
            return [dtypes.as_dtype(t) for t in items.type]
        if len(items.shape):
            return [shape_from_proto(s) for s in items.shape]
        if len(items.tensor):
            return [tensor_from_proto(t) for t in items.tensor]
        return [Func(f.name, {k: from_proto(v) for k, v in f.attr.items()}) for f in items.func]
    if kind == "placeholder":
        raise ValueError(
            f"Attribute placeholder '{value.placeholder}' stands outside of a function."
        )
    raise ValueError("An AttrValue message has no value.")
