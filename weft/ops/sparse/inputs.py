"""What the functions on sparse tensors take."""

from __future__ import annotations

from typing import Any

from weft.framework import dtypes
from weft.framework.conversion import convert_to_tensor
from weft.framework.sparse_tensor import SparseTensor, SparseTensorValue
from weft.framework.tensor import Tensor
from weft.ops.by_name import raw


def as_sparse(value: Any) -> SparseTensor:
    """The value as a SparseTensor; TypeError where it is none."""
    if isinstance(value, SparseTensorValue):
        return SparseTensor.from_value(value)
    if not isinstance(value, SparseTensor):
        raise TypeError("Input must be a SparseTensor.")
    return value


def as_sparse_list(values: Any) -> list[SparseTensor]:
    """A list or tuple of sparse tensors."""
    if not isinstance(values, (list, tuple)):
        raise TypeError("Inputs must be a list or tuple.")
    return [as_sparse(value) for value in values]


def as_int64(value: Any, name: str | None = None) -> Any:
    """An integer, or a tensor of integers, as int64."""
    if not isinstance(value, Tensor):
        return convert_to_tensor(value, dtype=dtypes.int64, name=name)
    if value.dtype.base_dtype is dtypes.int64:
        return value
    return raw.Cast(value, DstT=dtypes.int64)
