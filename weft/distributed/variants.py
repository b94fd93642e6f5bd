"""Variants on the wire: lists of tensors, as TensorFlow writes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weft import proto
from weft.engine.interpreter import NOT_THERE
from weft.framework import dtypes, errors
from weft.framework.tensor_shape import TensorShape
from weft.framework.varints import read_varint, varint
from weft.ops.flow.list_value import TensorList

_LIST = "tensorflow::TensorList"
_NEGATIVE = 1 << 64


def encode(value: Any, out: Any, write: Callable[[Any, Any, Any], Any]) -> None:
    """Writes a variant into a VariantTensorDataProto; `write` writes a tensor of some type."""
    if value is NOT_THERE or value is None:
        return
    if not isinstance(value, TensorList):
        raise errors.InvalidArgumentError(
            None, None, f"A variant of type {type(value).__name__} cannot be sent to another task."
        )
    out.type_name = _LIST
    unset = []
    for i, item in enumerate(value.items):
        if item is None:
            unset.append(i)
        else:
            write(item, value.element_dtype, out.tensors.add())
    numbers = [len(unset), *unset, value.element_dtype.enum, value.max_elements % _NEGATIVE]
    shape = TensorShape.from_tuple(value.element_shape).as_proto()
    out.metadata = b"".join(map(varint, numbers)) + shape.SerializeToString()


def decode(message: Any, read: Callable[[Any], Any]) -> Any:
    """The variant of a VariantTensorDataProto; `read` reads a tensor."""
    if not message.type_name:
        return NOT_THERE
    if message.type_name != _LIST:
        raise ValueError(f"variants of type {message.type_name!r} are not known")
    data, at = message.metadata, 0

    def number() -> int:
        nonlocal at
        try:
            value, at = read_varint(data, at)
        except errors.DataLossError as e:
            raise ValueError(f"in the metadata of a list, {e.message}") from None
        return value

    count = number()
    if count > len(data):
        raise ValueError(f"the metadata of a list does not name {count} elements")
    unset = {number() for _ in range(count)}
    dtype = dtypes.as_dtype(number()).base_dtype
    most = number()
    shape = TensorShape(proto.TensorShapeProto.FromString(data[at:]))
    given = iter(message.tensors)
    length = len(message.tensors) + len(unset)
    if unset and max(unset) >= length:
        raise ValueError(f"a list of {length} tensors has no element {max(unset)}")
    items = [None if i in unset else read(next(given)) for i in range(length)]
    dims = None if shape.rank is None else tuple(shape.as_list())
    # It was written as a signed number, and TensorFlow reads it as one of 32 bits.
    most = int(np.int64(np.uint64(most & (_NEGATIVE - 1))))
    return TensorList(dtype, dims, items, most)
