"""TypeSpec: what is known of a value before it is there, such as the shape and dtype of a tensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import dtypes, nest
from weft.framework.export import export
from weft.framework.indexed_slices import IndexedSlices
from weft.framework.sparse_tensor import SparseTensor
from weft.framework.tensor import Tensor
from weft.framework.tensor_shape import TensorShape, as_shape


@export("TypeSpec", "data.experimental.TypeSpec")
class TypeSpec:
    """The type of a value: of which kind it is, and what its parts are like."""

    @property
    def value_type(self) -> type:
        """The Python type of values of this kind."""
        raise NotImplementedError(f"{type(self).__name__}.value_type")

    def _serialize(self) -> tuple:
        """What tells two specs of a kind apart."""
        raise NotImplementedError(f"{type(self).__name__}._serialize")

    @property
    def _component_specs(self) -> list[Any]:
        """The specs of the tensors that a value is made of."""
        raise NotImplementedError(f"{type(self).__name__}._component_specs")

    def _from_components(self, components: list[Any]) -> Any:
        """The value that is made of these tensors."""
        raise NotImplementedError(f"{type(self).__name__}._from_components")

    def _to_components(self, value: Any) -> Any:
        """The tensors that a value is made of."""
        return value._nest_components()

    @property
    def _flat_tensor_specs(self) -> list[Any]:
        return nest.flatten(self._component_specs)

    def _to_tensor_list(self, value: Any) -> list[Any]:
        return nest.flatten(self._to_components(value))

    def _from_tensor_list(self, tensors: list[Any]) -> Any:
        return self._from_components(nest.pack_sequence_as(self._component_specs, tensors))

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Returns whether a value, or every value of another spec, is of this kind."""
        other = (
            spec_or_value
            if isinstance(spec_or_value, TypeSpec)
            else type_spec_from_value(spec_or_value)
        )
        if type(self) is not type(other):
            return False
        return _compatible(self._serialize(), other._serialize())

    def most_specific_compatible_type(self, other: TypeSpec) -> TypeSpec:
        """Returns the most specific spec that both are kinds of; ValueError if there is none."""
        if type(self) is not type(other):
            raise ValueError(f"No TypeSpec is compatible with both {self} and {other}")
        merged = _merged(self._serialize(), other._serialize())
        if merged is None:
            raise ValueError(f"No TypeSpec is compatible with both {self} and {other}")
        return type(self)(*merged)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and _key(self._serialize()) == _key(other._serialize())  # type: ignore[attr-defined]

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((type(self), _key(self._serialize())))

    def __reduce__(self) -> Any:
        return type(self), self._serialize()

    def __repr__(self) -> str:
        return f"{type(self).__name__}{self._serialize()}"


def _key(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return "array", value.shape, value.dtype.str, value.tobytes()
    if isinstance(value, dict):
        return tuple((k, _key(value[k])) for k in sorted(value))
    if isinstance(value, (list, tuple)):
        return tuple(map(_key, value))
    if isinstance(value, TensorShape):
        return "shape", value.dims_tuple
    return value


def _compatible(a: Any, b: Any) -> bool:
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(_compatible, a, b))
    if isinstance(a, (TensorShape, TypeSpec, dtypes.DType)):
        return isinstance(b, type(a)) and a.is_compatible_with(b)
    if isinstance(a, dict):
        return (
            isinstance(b, dict) and a.keys() == b.keys() and all(_compatible(a[k], b[k]) for k in a)
        )
    return _key(a) == _key(b)


def _merged(a: Any, b: Any) -> Any:
    if isinstance(a, tuple):
        if len(a) != len(b):
            return None
        return tuple(_merged(x, y) for x, y in zip(a, b))
    if isinstance(a, TensorShape):
        return a.most_specific_compatible_shape(b)
    if isinstance(a, TypeSpec):
        return a.most_specific_compatible_type(b)
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return [_merged(x, y) for x, y in zip(a, b)]
    if isinstance(a, dict) and isinstance(b, dict) and a.keys() == b.keys():
        return {k: _merged(a[k], b[k]) for k in a}
    if _key(a) != _key(b):
        raise ValueError(f"No TypeSpec is compatible with both {a} and {b}")
    return a


@export("TensorSpec")
class TensorSpec(TypeSpec):
    """The shape and dtype of a tensor, and a name for it as an argument."""

    __slots__ = ("_shape", "_dtype", "_name")

    def __init__(self, shape: Any, dtype: Any = dtypes.float32, name: str | None = None):
        self._shape = TensorShape(shape)
        self._dtype = dtypes.as_dtype(dtype)
        self._name = name

    @classmethod
    def from_spec(cls, spec: Any, name: str | None = None) -> TensorSpec:
        """Returns a TensorSpec with the shape and dtype of another spec."""
        return cls(spec.shape, spec.dtype, name or spec.name)

    @classmethod
    def from_tensor(cls, tensor: Any, name: str | None = None) -> TensorSpec:
        """Returns a TensorSpec that describes a tensor."""
        if isinstance(tensor, Tensor) and tensor._op is None:
            return cls(tensor.shape, tensor.dtype, name)
        return cls(tensor.shape, tensor.dtype, name or tensor.op.name)

    @property
    def shape(self) -> TensorShape:
        return self._shape

    @property
    def dtype(self) -> dtypes.DType:
        return self._dtype

    @property
    def name(self) -> str | None:
        """The name of the tensor as an argument."""
        return self._name

    @property
    def value_type(self) -> type:
        return Tensor

    def is_compatible_with(self, spec_or_tensor: Any) -> bool:
        """Returns whether a tensor or spec has a dtype and shape that fit."""
        if isinstance(spec_or_tensor, TypeSpec) and not isinstance(spec_or_tensor, TensorSpec):
            return False
        dtype, shape = (
            getattr(spec_or_tensor, "dtype", None),
            getattr(spec_or_tensor, "shape", None),
        )
        if dtype is None:
            return False
        return self._dtype.is_compatible_with(dtype) and self._shape.is_compatible_with(
            as_shape(shape)
        )

    def most_specific_compatible_type(self, other: Any) -> TensorSpec:
        if not isinstance(other, TensorSpec) or self._dtype != other._dtype:
            raise ValueError(f"Types are not compatible: {self!r} vs {other!r}")
        shape = self._shape.most_specific_compatible_shape(other._shape)
        return TensorSpec(shape, self._dtype, self._name if self._name == other._name else None)

    def _serialize(self) -> tuple:
        return (self._shape, self._dtype, self._name)

    @property
    def _component_specs(self) -> list[Any]:
        return [self]

    def _from_components(self, components: list[Any]) -> Any:
        return components[0]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TensorSpec):
            return False
        return (self._shape.dims_tuple, self._dtype, self._name) == (
            other._shape.dims_tuple,
            other._dtype,
            other._name,
        )

    def __hash__(self) -> int:
        return hash((self._shape.dims_tuple, self._dtype))

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self.shape}, dtype={self.dtype!r}, name={self.name!r})"


@export("IndexedSlicesSpec")
class IndexedSlicesSpec(TypeSpec):
    """What IndexedSlices are like."""

    def __init__(
        self,
        shape: Any = None,
        dtype: Any = dtypes.float32,
        indices_dtype: Any = dtypes.int64,
        dense_shape_dtype: Any = None,
        indices_shape: Any = None,
    ):
        self._shape = as_shape(shape)
        self._values_dtype = dtypes.as_dtype(dtype)
        self._indices_dtype = dtypes.as_dtype(indices_dtype)
        self._dense_shape_dtype = (
            None if dense_shape_dtype is None else dtypes.as_dtype(dense_shape_dtype)
        )
        self._indices_shape = as_shape(indices_shape).with_rank(1)

    @property
    def value_type(self) -> type:
        return IndexedSlices

    def _serialize(self) -> tuple:
        return (
            self._shape,
            self._values_dtype,
            self._indices_dtype,
            self._dense_shape_dtype,
            self._indices_shape,
        )

    @property
    def _component_specs(self) -> list[Any]:
        values = self._indices_shape.concatenate(self._shape[1:])
        specs = [
            TensorSpec(values, self._values_dtype),
            TensorSpec(self._indices_shape, self._indices_dtype),
        ]
        if self._dense_shape_dtype is not None:
            specs.append(TensorSpec([self._shape.ndims], self._dense_shape_dtype))
        return specs

    def _from_components(self, components: list[Any]) -> IndexedSlices:
        return IndexedSlices(*components)


@export("SparseTensorSpec")
class SparseTensorSpec(TypeSpec):
    """What a SparseTensor is like."""

    def __init__(self, shape: Any = None, dtype: Any = dtypes.float32):
        self._shape = as_shape(shape)
        self._dtype = dtypes.as_dtype(dtype)

    @classmethod
    def from_value(cls, value: Any) -> SparseTensorSpec:
        """Returns the spec of a SparseTensor, or of the value of one."""
        if isinstance(value, SparseTensor):
            return cls(value.shape, value.dtype)
        return cls(tuple(np.asarray(value.dense_shape).tolist()), np.asarray(value.values).dtype)

    @property
    def shape(self) -> TensorShape:
        return self._shape

    @property
    def dtype(self) -> dtypes.DType:
        return self._dtype

    @property
    def value_type(self) -> type:
        return SparseTensor

    def _serialize(self) -> tuple:
        return (self._shape, self._dtype)

    @property
    def _component_specs(self) -> list[Any]:
        rank = self._shape.ndims
        return [
            TensorSpec([None, rank], dtypes.int64),
            TensorSpec([None], self._dtype),
            TensorSpec([rank], dtypes.int64),
        ]

    def _from_components(self, components: list[Any]) -> SparseTensor:
        return SparseTensor(*components)


_converters: list[tuple[Any, Any, bool]] = []


def register_type_spec_from_value_converter(
    type_object: Any, converter_fn: Any, allow_subclass: bool = False
) -> None:
    """Registers a function from values of a type to their spec."""
    _converters.append((type_object, converter_fn, allow_subclass))


def type_spec_from_value(value: Any) -> TypeSpec:
    """The spec of a tensor, a composite tensor, or what converts to a tensor."""
    if isinstance(value, TypeSpec):
        return value
    own = getattr(value, "_type_spec", None)
    if isinstance(own, TypeSpec):
        return own
    if isinstance(value, Tensor):
        return TensorSpec(value.shape, value.dtype)
    for kind, converter, below in reversed(_converters):
        if type(value) is kind or below and isinstance(value, kind):
            return converter(value)
    if isinstance(value, SparseTensor):
        return SparseTensorSpec.from_value(value)
    if isinstance(value, IndexedSlices):
        dense = value.dense_shape
        return IndexedSlicesSpec(
            value.shape,
            value.values.dtype,
            value.indices.dtype,
            None if dense is None else dense.dtype,
            value.indices.shape,
        )
    if isinstance(value, (np.ndarray, np.generic)):
        return TensorSpec(value.shape, value.dtype)
    if isinstance(value, (bool, int, float, complex, str, bytes, list, tuple)):
        from weft.framework.array_conversion import to_array

        array = to_array(value)
        return TensorSpec(array.shape, dtypes.string if array.dtype == object else array.dtype)
    raise TypeError(f"Could not build a TypeSpec for {value!r} with type {type(value).__name__}")
