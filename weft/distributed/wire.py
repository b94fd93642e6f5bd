"""Tensors and errors on the wire, between arrays and messages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from weft import proto
from weft.distributed import large_messages, variants
from weft.engine.cell import Cell
from weft.engine.dataflow import DEAD
from weft.engine.interpreter import NOT_THERE
from weft.framework import dtypes, errors
from weft.framework.tensor_proto import make_ndarray, make_tensor_proto, read_only_array
from weft.ops.flow.list_value import TensorList

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
    if dtype is dtypes.variant:
        array = value if type(value) is np.ndarray else None
        out.dtype = dtype.enum
        out.tensor_shape.SetInParent()
        for n in () if array is None else array.shape:
            out.tensor_shape.dim.add(size=n)
        for item in [value] if array is None else array.ravel().tolist():
            variants.encode(item, out.variant_val.add(), to_message)
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


def with_tensors(message: Any, field: str, tensors: Iterable[tuple[str, Any, Any]]) -> Any:
    """A message with named values in one of its fields: (name, value, dtype). Large ones make it bytes."""
    large = []
    for name, value, dtype in tensors:
        if large_messages.is_large(value) and value.dtype == dtype.base_dtype.np:
            large.append((name, value, dtype))
        else:
            to_message(value, dtype, getattr(message, field).add(name=name).tensor)
    return large_messages.write(message, large) if large else message


def tensors_of(message: Any, field: str) -> list[tuple[str, Any]]:
    """The named values in a field of a message."""
    out = [(named.name, from_message(named.tensor)) for named in getattr(message, field)]
    if type(message) is large_messages.WithTensors:
        out.extend((name, _array(value)) for name, value in message.arrays)
    return out


def _array(value: Any) -> Any:
    return value if type(value) is np.ndarray else from_message(value)


def pack(value: Any) -> Any:
    """The RecvTensorResponse of what one task sends to another: a tensor, or several that travel together."""
    response = proto.RecvTensorResponse()
    if value is DEAD:
        response.is_dead = True
        response.tensor.dtype = dtypes.float32.enum
        response.tensor.tensor_shape.dim.add(size=0)
        return response
    if type(value) is tuple:
        if not any(map(large_messages.is_large, value)):
            response.tensor.dtype = dtypes.variant.enum
            response.tensor.tensor_shape.SetInParent()
            bundle = response.tensor.variant_val.add(type_name=_BUNDLE)
            for item in value:
                to_message(item, dtype_of(item), bundle.tensors.add())
            return response
        items = []
        for item in value:
            if not large_messages.is_large(item):
                small = proto.TensorProto()
                to_message(item, dtype_of(item), small)
                item = small
            items.append(item)
        return large_messages.write_bundle(response, _BUNDLE, items)
    if large_messages.is_large(value):
        return large_messages.write(response, [("", value, dtype_of(value))])
    to_message(value, dtype_of(value), response.tensor)
    return response


def unpack(response: Any) -> Any:
    """What `pack` has written."""
    if response.is_dead:
        return DEAD
    if type(response) is large_messages.WithTensors and response.arrays:
        value = response.arrays[0][1]
        return tuple(map(_array, value)) if type(value) is tuple else _array(value)
    message = response.tensor
    if len(message.variant_val) == 1 and message.variant_val[0].type_name == _BUNDLE:
        return tuple(from_message(t) for t in message.variant_val[0].tensors)
    return from_message(message)


_BUNDLE = "weft::Bundle"


def reader(cls: Any) -> Callable[[bytes], Any]:
    """A function from the bytes of a message to the message."""
    return large_messages.reader(cls, _BUNDLE)


def written(message: Any) -> bytes:
    """The bytes of a message, or of one that is written already."""
    return message if type(message) is bytes else message.SerializeToString()


def dtype_of(value: Any) -> dtypes.DType:
    """The type of a value of a step."""
    if type(value) is Cell:
        return dtypes.resource
    if type(value) is TensorList or value is NOT_THERE:
        return dtypes.variant
    dtype = np.asarray(value).dtype
    return dtypes.string if dtype.kind == "O" else dtypes.as_dtype(dtype)


def from_message(message: Any) -> Any:
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
        if dtype is dtypes.variant:
            if not content and len(message.variant_val) != size:
                raise ValueError(f"{size} variants are not the {len(message.variant_val)} there")
            found = make_ndarray(message)
            for i, item in enumerate(found.flat):
                found.flat[i] = variants.decode(item, from_message)
            return found if shape else found[()]
        return read_only_array(message)
    except (TypeError, ValueError) as e:
        raise errors.InvalidArgumentError(
            None, None, f"Cannot parse tensor from proto: {e}"
        ) from None


def owned(array: Any) -> Any:
    """A fetched value that the caller may write into."""
    if array.ndim == 0:
        return array[()]
    return array if array.flags.writeable else array.copy()


def text_of(error: errors.OpError) -> str:
    """The text of an error, with the node that failed as TensorFlow's clients look for it."""
    op, message = error.op, error.message
    if op is not None and "{{node " not in message:
        message += f"\n\t [[{{{{node {op.name}}}}}]]"
    return message


def error_of(code: int, text: str, graph: Any) -> errors.OpError:
    """The error that a task has told of, with the operation that it names where the graph has it."""
    found = _NODE.search(text)
    op = _named(found.group(1), graph) if found is not None and graph is not None else None
    return errors.error_from_code(op.node_def if op is not None else None, op, text, code)


def _named(name: str, graph: Any) -> Any:
    """The operation of a name in a graph, or in a function of its."""
    for part in (graph, *graph._functions.values()):
        op = part._ops.get(name)
        if op is not None:
            return op
    return None


def as_op_error(error: BaseException) -> errors.OpError:
    """The error with a status code that an exception of a service stands for."""
    if isinstance(error, errors.OpError):
        return error
    if isinstance(error, (ValueError, TypeError, KeyError)):
        return errors.InvalidArgumentError(None, None, str(error))
    if isinstance(error, MemoryError):
        return errors.ResourceExhaustedError(None, None, str(error) or "out of memory")
    return errors.InternalError(None, None, f"{type(error).__name__}: {error}")
