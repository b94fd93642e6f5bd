"""Rows of different lengths: RaggedTensors by their public names, and dense tensors as rows."""

from __future__ import annotations

from typing import Any

from weft.framework import conversion, dtypes
from weft.framework.export import find
from weft.ops.by_name import raw


def ragged_tensor() -> Any:
    """The class tf.RaggedTensor."""
    return find("", "RaggedTensor", "weft")


def is_ragged(value: Any) -> bool:
    return hasattr(value, "flat_values")


def tensor_or_ragged(value: Any, dtype: Any = None, name: str | None = None) -> Any:
    """A ragged tensor as it is, anything else as a tensor."""
    if is_ragged(value):
        if dtype is not None and value.dtype != dtype:
            raise ValueError(
                f"Tensor conversion requested dtype {dtype.name} for RaggedTensor with dtype {value.dtype.name}"
            )
        return value
    if type(value).__name__ == "RaggedTensorValue":
        return find("", "convert_to_tensor_or_ragged_tensor", "weft")(value, dtype=dtype, name=name)
    return conversion.convert_to_tensor(value, dtype=dtype, name=name)


def equal_rows(tensor: Any) -> tuple[Any, Any, Any]:
    """The rows of a tensor along its last dimension: their elements, where they end, and the shape above them.

    Rows that are equally long need no RaggedTensor.
    """
    sizes = raw.Shape(tensor, out_type=dtypes.int64)
    last = tensor.shape.ndims - 1
    length = raw.StridedSlice(sizes, [last], [last + 1], [1], shrink_axis_mask=1)
    rows_shape = raw.StridedSlice(sizes, [0], [last], [1])
    count = raw.Prod(rows_shape, [0])
    zero, one = (conversion.convert_to_tensor(i, dtypes.int64) for i in (0, 1))
    numbers = raw.Range(zero, raw.Add(count, one), one)
    return raw.Reshape(tensor, [-1]), raw.Mul(numbers, length), rows_shape
