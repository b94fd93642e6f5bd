"""Tensors and errors on the wire, between arrays and messages."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from weft.engine.cell import Cell
from weft.framework import dtypes, errors
from weft.framework.tensor_proto import make_ndarray, make_tensor_proto

# Where the text of an error tells which node failed.
_NODE = re.compile(r"\{\{node ([^\}]*)\}\}")


def to_message(value: Any, dtype: dtypes.DType, out: Any) -> None:
    """Writes a value of a step into a TensorProto."""
    dtype = dtype.base_dtype
    if type(value) is Cell:
        handle = out.resource_handle_val.add(name=value.name, container="localhost")
        handle.maybe_type_name = "N10tensorflow3VarE"
        out.dtype = dtypes.resource.enum
        out.tensor_shape.SetInParent()
        return
    array = np.asarray(value, dtype.np)
    if dtype.np is None or dtype.np.kind == "O":
        out.CopyFrom(make_tensor_proto(array, dtype, array.shape))
        return
    out.dtype = dtype.enum
    shape = out.tensor_shape
    shape.SetInParent()
    for n in array.shape:
        shape.dim.add(size=n)
    out.tensor_content = array.tobytes()


def pack(value: Any, out: Any) -> None:
    """Writes what one task sends to another into a TensorProto: a tensor, or several that travel together."""
    if type(value) is not tuple:
        to_message(value, dtype_of(value), out)
        return
    out.dtype = dtypes.variant.enum
    out.tensor_shape.SetInParent()
    bundle = out.variant_val.add(type_name=_BUNDLE)
    for item in value:
        to_message(item, dtype_of(item), bundle.tensors.add())


def unpack(message: Any) -> Any:
    """What `pack` has written."""
    if len(message.variant_val) == 1 and message.variant_val[0].type_name == _BUNDLE:
        return tuple(from_message(t) for t in message.variant_val[0].tensors)
    return from_message(message)


_BUNDLE = "weft::Bundle"


def dtype_of(value: Any) -> dtypes.DType:
    """The type of a value of a step."""
    if type(value) is Cell:
        return dtypes.resource
    dtype = np.asarray(value).dtype
    return dtypes.string if dtype.kind == "O" else dtypes.as_dtype(dtype)


def from_message(message: Any) -> np.ndarray:
    """The array of a TensorProto; InvalidArgumentError where it is none.

    Numbers are not copied: the array shows the message's bytes, and cannot be written to.
    """
    try:
        dtype = dtypes.as_dtype(message.dtype).base_dtype
        if message.tensor_shape.unknown_rank:
            raise ValueError("its shape is not known")
        shape = [d.size for d in message.tensor_shape.dim]
        size = 1
        for n in shape:
            if n < 0:
                raise ValueError(f"its shape is {shape}")
            size *= n
        content = message.tensor_content
        if content and dtype.np is not None and dtype.np.kind != "O":
            if len(content) != size * dtype.np.itemsize:
                raise ValueError(
                    f"{size} {dtype.name} values are not of {len(content)} bytes of content"
                )
            return np.frombuffer(content, dtype.np).reshape(shape)
        if size > _MOST_REPEATED and size > len(message.SerializeToString()):
            raise ValueError(f"its {size} values are not in the message")
        return make_ndarray(message)
    except (TypeError, ValueError) as e:
        raise errors.InvalidArgumentError(
            None, None, f"Cannot parse tensor from proto: {e}"
        ) from None


# A message may say "this value, that many times": a few bytes must not take all memory.
_MOST_REPEATED = 1 << 28


def text_of(error: errors.OpError) -> str:
    """The text of an error, with the node that failed as TensorFlow's clients look for it."""
    op, message = error.op, error.message
    if op is not None and "{{node " not in message:
        message += f"\n\t [[{{{{node {op.name}}}}}]]"
    return message


def error_of(code: int, text: str, graph: Any) -> errors.OpError:
    """The error that a task has told of, with the operation that it names where the graph has it."""
    found = _NODE.search(text)
    op = graph._ops.get(found.group(1)) if found is not None and graph is not None else None
    return errors.error_from_code(op.node_def if op is not None else None, op, text, code)


def as_op_error(error: BaseException) -> errors.OpError:
    """The error with a status code that an exception of a service stands for."""
    if isinstance(error, errors.OpError):
        return error
    if isinstance(error, (ValueError, TypeError, KeyError)):
        return errors.InvalidArgumentError(None, None, str(error))
    if isinstance(error, MemoryError):
        return errors.ResourceExhaustedError(None, None, str(error) or "out of memory")
    return errors.InternalError(None, None, f"{type(error).__name__}: {error}")
