"""SparseTensor: the elements of a tensor that are not zero, with their positions."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from weft.framework import constant_value, conversion, dtypes
from weft.framework.composite_tensor import CompositeTensor
from weft.framework.export import export
from weft.framework.scopes import name_scope
from weft.framework.tensor import run_in_session
from weft.framework.tensor_shape import TensorShape

SparseTensorValue = namedtuple("SparseTensorValue", ["indices", "values", "dense_shape"])
export("SparseTensorValue")(SparseTensorValue)


@export("SparseTensor", "sparse.SparseTensor")
class SparseTensor(CompositeTensor):
    """The elements `values[i]` at positions `indices[i]` of a tensor of shape `dense_shape`; others are zero.

    Most ops want the positions in row-major order; `tf.sparse.reorder` puts them so.
    """

    _is_sparse_tensor = True
    __array_priority__ = 100

    def __init__(self, indices: Any, values: Any, dense_shape: Any):
        with name_scope(None, "SparseTensor", [indices, values, dense_shape]):
            indices = conversion.convert_to_tensor(indices, dtypes.int64, name="indices")
            values = conversion.convert_to_tensor(values, name="values")
            dense_shape = conversion.convert_to_tensor(
                dense_shape, dtypes.int64, name="dense_shape"
            )
        self._indices, self._values, self._dense_shape = indices, values, dense_shape
        rows = indices.shape.with_rank(2)
        elements = values.shape.with_rank(1)
        sizes = dense_shape.shape.with_rank(1)
        rows.dims[0].merge_with(elements.dims[0])
        rows.dims[1].merge_with(sizes.dims[0])

    @classmethod
    def from_value(cls, sparse_tensor_value: Any) -> SparseTensor:
        """Makes a SparseTensor of a `SparseTensorValue` (or of a SparseTensor)."""
        if not is_sparse(sparse_tensor_value):
            raise TypeError(f"Neither a SparseTensor nor SparseTensorValue: {sparse_tensor_value}.")
        value = sparse_tensor_value
        return cls(indices=value.indices, values=value.values, dense_shape=value.dense_shape)

    @property
    def indices(self) -> Any:
        """The positions: an int64 tensor with a row per element."""
        return self._indices

    @property
    def values(self) -> Any:
        """The elements: a vector."""
        return self._values

    @property
    def dense_shape(self) -> Any:
        """The shape of the whole tensor: an int64 vector."""
        return self._dense_shape

    @property
    def op(self) -> Any:
        """The operation that gives `values`."""
        return self._values.op

    @property
    def dtype(self) -> dtypes.DType:
        return self._values.dtype

    @property
    def graph(self) -> Any:
        return self._indices.graph

    @property
    def shape(self) -> TensorShape:
        """The static shape of the whole tensor, as far as it is known."""
        return TensorShape.from_tuple(constant_value.constant_value_as_shape(self._dense_shape))

    def get_shape(self) -> TensorShape:
        return self.shape

    def eval(self, feed_dict: Any = None, session: Any = None) -> SparseTensorValue:
        """Evaluates this sparse tensor in a session (the default one where none is given)."""
        return run_in_session(self, feed_dict, session, self.graph)

    def _nest_components(self) -> list[Any]:
        return [self._indices, self._values, self._dense_shape]

    def _nest_from_components(self, parts: list[Any]) -> SparseTensor:
        return SparseTensor(*parts)

    def _fetched(self, arrays: list[Any]) -> SparseTensorValue:
        return SparseTensorValue(*arrays)

    def __str__(self) -> str:
        return (
            f"SparseTensor(indices={self._indices}, values={self._values}, "
            f"dense_shape={self._dense_shape})"
        )

    __repr__ = __str__

    @staticmethod
    def _override_operator(operator: str, function: Any) -> None:
        setattr(SparseTensor, operator, function)


def is_sparse(x: Any) -> bool:
    """Whether `x` is a SparseTensor or a `SparseTensorValue`."""
    return isinstance(x, (SparseTensor, SparseTensorValue))


@export("convert_to_tensor_or_sparse_tensor")
def convert_to_tensor_or_sparse_tensor(
    value: Any, dtype: Any = None, name: str | None = None
) -> Any:
    """Converts a value to a Tensor, but for sparse ones, which become a SparseTensor."""
    if dtype is not None:
        dtype = dtypes.as_dtype(dtype)
    if isinstance(value, SparseTensorValue):
        value = SparseTensor.from_value(value)
    if isinstance(value, SparseTensor):
        if dtype is not None and not dtype.is_compatible_with(value.dtype):
            raise RuntimeError(
                f"Sparse dtype: requested = {dtype.name}, actual = {value.dtype.name}"
            )
        return value
    return conversion.convert_to_tensor(value, dtype=dtype, name=name)
