"""IndexedSlices: some rows of a tensor, as the gradient of `gather` gives them."""

from __future__ import annotations

import warnings
from collections import namedtuple
from typing import Any

import numpy as np

from weft.framework import conversion, registry
from weft.framework.composite_tensor import CompositeTensor
from weft.framework.export import export
from weft.framework.tensor import Tensor
from weft.framework.tensor_shape import TensorShape

IndexedSlicesValue = namedtuple("IndexedSlicesValue", ["values", "indices", "dense_shape"])
export("IndexedSlicesValue", "compat.v1.IndexedSlicesValue")(IndexedSlicesValue)


@export("IndexedSlices")
class IndexedSlices(CompositeTensor):
    """Rows `values` at positions `indices` of a tensor of shape `dense_shape` (None where unknown). Rows at
    a repeated position add up."""

    _is_indexed_slices = True

    def __init__(self, values: Tensor, indices: Tensor, dense_shape: Tensor | None = None):
        self._values, self._indices, self._dense_shape = values, indices, dense_shape

    @property
    def values(self) -> Tensor:
        return self._values

    @property
    def indices(self) -> Tensor:
        return self._indices

    @property
    def dense_shape(self) -> Tensor | None:
        return self._dense_shape

    @property
    def shape(self) -> TensorShape:
        from weft.framework.constant_value import constant_value_as_shape

        if self._dense_shape is None:
            return TensorShape(None)
        return TensorShape.from_tuple(constant_value_as_shape(self._dense_shape))

    @property
    def name(self) -> str:
        return self._values.name

    @property
    def device(self) -> str:
        return self._values.device

    @property
    def op(self) -> Any:
        return self._values.op

    @property
    def dtype(self) -> Any:
        return self._values.dtype

    @property
    def graph(self) -> Any:
        return self._values.graph

    def consumers(self) -> list[Any]:
        return self._values.consumers()

    def _nest_components(self) -> list[Any]:
        parts = [self._values, self._indices]
        return parts if self._dense_shape is None else [*parts, self._dense_shape]

    def _nest_from_components(self, parts: list[Any]) -> IndexedSlices:
        return IndexedSlices(*parts)

    def _fetched(self, arrays: list[Any]) -> IndexedSlicesValue:
        return IndexedSlicesValue(*arrays, *[None] * (3 - len(arrays)))

    def __neg__(self) -> IndexedSlices:
        return IndexedSlices(-self._values, self._indices, self._dense_shape)

    def __repr__(self) -> str:
        shape = "" if self._dense_shape is None else f", dense_shape={self._dense_shape}"
        return f"IndexedSlices(indices={self._indices}, values={self._values}{shape})"

    __str__ = __repr__


_LARGE = 100_000_000


def to_dense(
    value: IndexedSlices, dtype: Any = None, name: str | None = None, as_ref: bool = False
) -> Tensor:
    """The whole tensor, zero where no row is given."""
    from weft.framework.constant_value import constant_value

    if dtype is not None and not dtype.is_compatible_with(value.dtype):
        raise ValueError(
            f"Tensor conversion requested dtype {dtype.name} for IndexedSlices with dtype {value.dtype.name}"
        )
    if value.dense_shape is None:
        raise ValueError(
            "Tensor conversion requested for IndexedSlices for an argument without dense_shape: "
            f"{value!r}"
        )
    shape = constant_value(value.dense_shape)
    if shape is not None and np.prod(shape, dtype=np.int64) >= _LARGE:
        warnings.warn(
            f"Converting sparse IndexedSlices to a dense Tensor with {np.prod(shape, dtype=np.int64)} elements. "
            "This may consume a large amount of memory.",
            stacklevel=3,
        )
    rows = registry.get("StridedSlice")(
        value.dense_shape,
        np.array([0], np.int32),
        np.array([1], np.int32),
        np.array([1], np.int32),
        shrink_axis_mask=1,
    )
    return registry.get("UnsortedSegmentSum")(value.values, value.indices, rows, name=name)


conversion.register_tensor_conversion_function(IndexedSlices, to_dense)
