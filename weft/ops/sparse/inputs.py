"""What the functions on sparse tensors take."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import dtypes
from weft.framework.conversion import convert_to_tensor
from weft.framework.sparse_tensor import SparseTensor, SparseTensorValue
from weft.ops.math.cast import cast


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
    """An integer, or a tensor or list of integers, as int64."""
    if isinstance(value, (int, np.integer)):
        return convert_to_tensor(value, dtype=dtypes.int64, name=name)
    return cast(value, dtypes.int64, name=name)
