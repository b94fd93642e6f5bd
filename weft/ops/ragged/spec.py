"""RaggedTensorSpec: what a ragged tensor is like."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import conversion, dtypes
from weft.framework.export import export
from weft.framework.tensor import Tensor
from weft.framework.tensor_shape import TensorShape, as_shape
from weft.framework.type_spec import (
    TensorSpec,
    TypeSpec,
    register_type_spec_from_value_converter,
)
from weft.ops.ragged.tensor import RaggedTensor, is_ragged, nested
from weft.ops.ragged.value import RaggedTensorValue, nested_value


@export("RaggedTensorSpec")
class RaggedTensorSpec(TypeSpec):
    """The shape, dtype, number of ragged dimensions and dtype of the splits of a ragged tensor."""

    __slots__ = ("_shape", "_dtype", "_ragged_rank", "_row_splits_dtype")

    def __init__(
        self,
        shape: Any = None,
        dtype: Any = dtypes.float32,
        ragged_rank: Any = None,
        row_splits_dtype: Any = dtypes.int64,
    ):
        self._shape = as_shape(shape)
        self._dtype = dtypes.as_dtype(dtype)
        self._row_splits_dtype = dtypes.as_dtype(row_splits_dtype)
        rank = self._shape.rank
        if ragged_rank is None:
            if rank is None:
                raise ValueError("Must specify ragged_rank or a shape with a known rank.")
            ragged_rank = rank - 1
        if not isinstance(ragged_rank, int):
            raise TypeError("ragged_rank must be an int")
        if rank is not None and ragged_rank >= rank:
            raise ValueError("ragged_rank must be less than rank.")
        self._ragged_rank = ragged_rank

    @classmethod
    def from_value(cls, value: Any) -> RaggedTensorSpec:
        """Returns the spec of a RaggedTensor, or of the value of one."""
        return cls(value.shape, value.dtype, value.ragged_rank, value.row_splits.dtype)

    @property
    def value_type(self) -> type:
        return RaggedTensor if self._ragged_rank > 0 else Tensor

    def _serialize(self) -> tuple:
        return (self._shape, self._dtype, self._ragged_rank, self._row_splits_dtype)

    @property
    def _component_specs(self) -> list[Any]:
        if self._ragged_rank == 0:
            return [TensorSpec(self._shape, self._dtype)]
        dims = self._shape.dims_tuple
        rows = dims[0] if dims else None
        flat = TensorShape([None]).concatenate(self._shape[self._ragged_rank + 1 :])
        outer = TensorSpec([None if rows is None else rows + 1], self._row_splits_dtype)
        inner = TensorSpec([None], self._row_splits_dtype)
        return [TensorSpec(flat, self._dtype), outer, *[inner] * (self._ragged_rank - 1)]

    def _to_components(self, value: Any) -> list[Any]:
        return [value.flat_values, *value.nested_row_splits] if is_ragged(value) else [value]

    def _from_components(self, components: list[Any]) -> Any:
        if all(isinstance(c, np.ndarray) for c in components):
            return nested_value(components[0], components[1:])
        parts = [conversion.convert_to_tensor(c) for c in components]
        return nested(parts[0], parts[1:])

    # A data set moves a ragged tensor as one variant, so that it can be batched and taken apart.

    @property
    def _flat_tensor_specs(self) -> list[Any]:
        return [TensorSpec(None, dtypes.variant)]

    def _to_tensor_list(self, value: Any) -> list[Any]:
        return [value._to_variant(batched_input=False)]

    def _to_batched_tensor_list(self, value: Any) -> list[Any]:
        return [value._to_variant(batched_input=True)]

    def _from_tensor_list(self, tensors: list[Any]) -> Any:
        return self._from_compatible_tensor_list(tensors)

    def _from_compatible_tensor_list(self, tensors: list[Any]) -> Any:
        if self._ragged_rank <= 0:
            raise ValueError(f"ragged_rank must be non-negative; got {self._ragged_rank}.")
        result = RaggedTensor._from_variant(
            tensors[0], dtype=self._dtype, output_ragged_rank=self._ragged_rank
        )
        dims = self._shape.dims_tuple
        if dims is not None and not result._is_eager():
            if dims[0] is not None:
                result.row_splits.set_shape([dims[0] + 1])
            flat = TensorShape([None]).concatenate(self._shape[1 + self._ragged_rank :])
            result.flat_values.set_shape(flat)
        return result

    def _batch(self, batch_size: Any) -> RaggedTensorSpec:
        shape = TensorShape([batch_size]).concatenate(self._shape)
        return RaggedTensorSpec(shape, self._dtype, self._ragged_rank + 1)

    def _unbatch(self) -> RaggedTensorSpec:
        return RaggedTensorSpec(self._shape[1:], self._dtype, self._ragged_rank - 1)

    def _to_legacy_output_types(self) -> Any:
        return self._dtype

    def _to_legacy_output_shapes(self) -> Any:
        return self._shape

    def _to_legacy_output_classes(self) -> Any:
        return self


register_type_spec_from_value_converter(RaggedTensorValue, RaggedTensorSpec.from_value)


@export("data.experimental.RaggedTensorStructure")
def ragged_tensor_structure(dtype: Any, shape: Any, ragged_rank: int) -> RaggedTensorSpec:
    """Deprecated: `tf.RaggedTensorSpec`."""
    return RaggedTensorSpec(shape, dtype, ragged_rank)


class RaggedTensorType:
    """The dtype, number of ragged dimensions and dtype of the splits that a function says it gives."""

    def __init__(self, dtype: Any, ragged_rank: int, row_splits_dtype: Any = dtypes.int64):
        self.dtype, self.ragged_rank = dtype, ragged_rank
        self.row_splits_dtype = dtypes.as_dtype(row_splits_dtype)
