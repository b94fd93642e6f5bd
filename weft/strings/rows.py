"""Dense tensors as rows, which need no RaggedTensor."""

from __future__ import annotations

from typing import Any

from weft.framework import conversion, dtypes
from weft.ops.by_name import raw


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
