"""What elements of datasets are like: structures of tuples and dicts, whose leaves have specs.

A list is no structure here: it is a tensor. Sparse and ragged tensors travel as variants, so that an element has
one component for each leaf.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import weft as tf
from weft.framework import conversion
from weft.framework.sparse_tensor import SparseTensor, SparseTensorValue
from weft.framework.tensor import Tensor
from weft.framework.tensor_shape import TensorShape
from weft.framework.type_spec import SparseTensorSpec, TensorSpec, TypeSpec, type_spec_from_value
from weft.ops.flow.tensor_array import TensorArray
from weft.ops.ragged.tensor import tensor_or_ragged
from weft.ops.ragged.value import RaggedTensorValue

# -- structures -----------------------------------------------------------------------------------------


def is_structure(value: Any) -> bool:
    return isinstance(value, (tuple, dict)) and not isinstance(
        value, (SparseTensorValue, TensorShape)
    )


def flatten(value: Any) -> list[Any]:
    """The leaves, those of dicts in the order of their keys."""
    if not is_structure(value):
        return [value]
    parts = [value[k] for k in sorted(value)] if isinstance(value, dict) else value
    return [leaf for part in parts for leaf in flatten(part)]


def _pack(structure: Any, leaves: Any) -> Any:
    if not is_structure(structure):
        return next(leaves)
    if isinstance(structure, dict):
        packed = {k: _pack(structure[k], leaves) for k in sorted(structure)}
        return type(structure)((k, packed[k]) for k in structure)
    parts = [_pack(part, leaves) for part in structure]
    return type(structure)(*parts) if hasattr(structure, "_fields") else tuple(parts)


def pack(structure: Any, leaves: list[Any]) -> Any:
    """Leaves in the form of a structure."""
    return _pack(structure, iter(leaves))


def map_leaves(function: Callable, structure: Any, *others: Any) -> Any:
    """A structure of what a function makes of the leaves."""
    flat = [flatten(structure), *map(flatten, others)]
    for other in others:
        assert_same(structure, other)
    return pack(structure, [function(*leaves) for leaves in zip(*flat)])


def assert_same(a: Any, b: Any) -> None:
    """TypeError or ValueError unless two structures are alike."""
    if is_structure(a) != is_structure(b):
        raise ValueError(
            f"The two structures don't have the same nested structure.\n\nFirst structure: {a}\n\nSecond structure: {b}"
        )
    if not is_structure(a):
        return
    if isinstance(a, dict) != isinstance(b, dict):
        raise TypeError(
            f"The two namedtuples don't have the same sequence type. First structure {a} has type {type(a)}, while "
            f"second structure {b} has type {type(b)}"
        )
    if isinstance(a, dict):
        if a.keys() != b.keys():
            raise ValueError(f"The two dictionaries don't have the same set of keys: {a} and {b}")
        for k in a:
            assert_same(a[k], b[k])
        return
    if len(a) != len(b):
        raise ValueError(
            f"The two structures don't have the same number of elements. First structure: {a}. Second structure: {b}"
        )
    for x, y in zip(a, b):
        assert_same(x, y)


# -- what the leaves are like ---------------------------------------------------------------------------


def normalized(value: Any) -> Any:
    """An element with tensors for leaves."""
    return map_leaves(_normalized_leaf, value)


def _normalized_leaf(leaf: Any) -> Any:
    if isinstance(leaf, SparseTensorValue):
        return SparseTensor.from_value(leaf)
    if isinstance(leaf, RaggedTensorValue):
        return tensor_or_ragged(leaf)
    if isinstance(leaf, (SparseTensor, TensorArray)) or _has_own_spec(leaf):
        return leaf
    if isinstance(leaf, list) and leaf and all(hasattr(x, "_stacked") for x in leaf):
        return type(leaf[0])._stacked(leaf)
    return conversion.convert_to_tensor(leaf, name="component")


def _has_own_spec(leaf: Any) -> bool:
    return not isinstance(leaf, (Tensor, np.ndarray)) and isinstance(
        getattr(leaf, "_type_spec", None), TypeSpec
    )


def spec_of(value: Any) -> Any:
    """The specs of an element."""
    return map_leaves(_spec_of_leaf, value)


def _spec_of_leaf(leaf: Any) -> TypeSpec:
    if isinstance(leaf, TypeSpec):
        return leaf
    if isinstance(leaf, Tensor):
        return TensorSpec(leaf.shape, leaf.dtype.base_dtype)
    return type_spec_from_value(leaf)


def legacy_types(spec: Any) -> Any:
    return map_leaves(lambda s: getattr(s, "_legacy_output_types", None) or s._dtype, spec)


def legacy_shapes(spec: Any) -> Any:
    def of(leaf: Any) -> Any:
        legacy = getattr(leaf, "_legacy_output_shapes", None)
        return leaf._shape if legacy is None else legacy

    return map_leaves(of, spec)


def legacy_classes(spec: Any) -> Any:
    return map_leaves(lambda s: s.value_type, spec)


def spec_of_legacy(types: Any, shapes: Any = None, classes: Any = None) -> Any:
    """The specs that types, shapes and classes tell, as older programs give them."""
    types = map_leaves(tf.as_dtype, types)
    if shapes is None:
        shapes = map_leaves(lambda _: TensorShape(None), types)
    else:
        shapes = shapes_like(types, shapes)
    if classes is None:
        classes = map_leaves(lambda _: Tensor, types)

    def of(dtype: Any, shape: Any, kind: Any) -> Any:
        if isinstance(kind, TypeSpec):
            return kind
        if kind is SparseTensor:
            return SparseTensorSpec(shape, dtype)
        if kind is Tensor:
            return TensorSpec(shape, dtype)
        raise TypeError(f"{kind} is no class of elements of a dataset")

    return map_leaves(of, types, shapes, classes)


def shapes_like(structure: Any, shapes: Any) -> Any:
    """Shapes for the leaves of a structure; a list or tuple of numbers at a leaf is one shape."""
    if not is_structure(structure):
        return TensorShape(shapes)
    if isinstance(structure, dict):
        if not isinstance(shapes, dict) or shapes.keys() != structure.keys():
            raise ValueError(f"The shapes {shapes} are not for elements like {structure}")
        return type(structure)((k, shapes_like(structure[k], shapes[k])) for k in structure)
    if not isinstance(shapes, (tuple, list)) or len(shapes) != len(structure):
        raise (ValueError if isinstance(shapes, tuple) else TypeError)(
            f"The shapes {shapes} are not for elements like {structure}"
        )
    parts = [shapes_like(s, x) for s, x in zip(structure, shapes)]
    return type(structure)(*parts) if hasattr(structure, "_fields") else tuple(parts)


# -- components -----------------------------------------------------------------------------------------


def flat_types(spec: Any) -> list[Any]:
    """The type of each component."""
    return [s.dtype if isinstance(s, TensorSpec) else tf.variant for s in flatten(spec)]


def flat_shapes(spec: Any) -> list[Any]:
    """The shape of each component; what is no tensor has one that depends on the batches around it."""
    return [s.shape.dims_tuple if isinstance(s, TensorSpec) else None for s in flatten(spec)]


def attributes(spec: Any, types: str = "output_types") -> dict[str, Any]:
    """How an operation is told of its elements."""
    return {types: flat_types(spec), "output_shapes": flat_shapes(spec)}


def to_tensors(spec: Any, value: Any) -> list[Tensor]:
    """The components of an element."""
    assert_same(spec, value)
    return [_to_tensor(s, v) for s, v in zip(flatten(spec), flatten(value))]


def _to_tensor(spec: Any, value: Any) -> Tensor:
    if isinstance(spec, TensorSpec):
        tensor = conversion.convert_to_tensor(value, spec.dtype)
        if not spec.shape.is_compatible_with(tensor.shape):
            raise ValueError(
                f"A tensor of shape {tensor.shape} is no element of shape {spec.shape}"
            )
        return tensor
    if isinstance(spec, SparseTensorSpec):
        return tf.io.serialize_sparse(value, out_type=tf.variant)
    if _is_ragged(spec):
        return value._to_variant()
    (component,) = spec._to_components(value)
    return component


def slices_of(spec: Any, value: Any) -> list[Tensor]:
    """The components of an element of which slices are to be made."""
    assert_same(spec, value)
    out = []
    for s, v in zip(flatten(spec), flatten(value)):
        if isinstance(s, SparseTensorSpec):
            out.append(tf.io.serialize_many_sparse(v, out_type=tf.variant))
        elif isinstance(s, TensorSpec):
            out.append(conversion.convert_to_tensor(v, s.dtype))
        elif _is_ragged(s):
            out.append(v._to_variant(batched_input=True))
        elif hasattr(s, "_unbatched"):
            out.append(_to_tensor(s, v))
        else:
            raise TypeError(f"{s} cannot be sliced")
    return out


def _is_ragged(spec: Any) -> bool:
    return hasattr(spec, "_ragged_rank")


def from_tensors(spec: Any, tensors: list[Tensor]) -> Any:
    """An element of its components."""
    return pack(spec, [_from_tensor(s, t) for s, t in zip(flatten(spec), tensors)])


def _from_tensor(spec: Any, tensor: Tensor) -> Any:
    if isinstance(spec, TensorSpec):
        if not tf.executing_eagerly() and not tensor.shape.is_fully_defined():
            tensor.set_shape(spec.shape)
        return tensor
    if isinstance(spec, SparseTensorSpec):
        return _sparse_of(spec, tensor)
    if _is_ragged(spec):
        return tf.RaggedTensor._from_variant(
            tensor, dtype=spec._dtype, output_ragged_rank=spec._ragged_rank
        )
    return spec._from_components([tensor])


def _sparse_of(spec: SparseTensorSpec, tensor: Tensor) -> SparseTensor:
    indices, values, shape = tf.raw_ops.DeserializeSparse(
        serialized_sparse=tensor, dtype=spec._dtype
    )
    if not tf.executing_eagerly():
        rank = spec._shape.ndims
        indices.set_shape([None, rank])
        shape.set_shape([rank])
    return SparseTensor(indices, values, shape)


def batched(spec: Any, size: int | None) -> Any:
    """The specs of so many elements put together."""

    def of(leaf: Any) -> Any:
        more = TensorShape([size])
        if isinstance(leaf, TensorSpec):
            return TensorSpec(more.concatenate(leaf.shape), leaf.dtype)
        if isinstance(leaf, SparseTensorSpec):
            return SparseTensorSpec(more.concatenate(leaf.shape), leaf.dtype)
        if _is_ragged(leaf):
            return type(leaf)(
                more.concatenate(leaf._shape),
                leaf._dtype,
                leaf._ragged_rank + 1,
                leaf._row_splits_dtype,
            )
        if hasattr(leaf, "_batched"):
            return leaf._batched(size)
        raise TypeError(f"{leaf} cannot be put together in batches")

    return map_leaves(of, spec)


def unbatched(spec: Any) -> Any:
    """The specs of the slices of elements along their first axis."""
    sizes = TensorShape([None])
    for leaf in flatten(spec):
        shape = getattr(leaf, "_shape", None)
        if shape is not None and shape.ndims:
            sizes = sizes.merge_with(shape[:1])

    def rest(shape: TensorShape) -> TensorShape:
        return TensorShape(None) if shape.ndims is None else shape[1:]

    def of(leaf: Any) -> Any:
        if isinstance(leaf, TensorSpec):
            if leaf.shape.ndims == 0:
                raise ValueError("Unbatching a tensor is only supported for rank >= 1")
            return TensorSpec(rest(leaf.shape), leaf.dtype)
        if isinstance(leaf, SparseTensorSpec):
            return SparseTensorSpec(rest(leaf.shape), leaf.dtype)
        if _is_ragged(leaf):
            return type(leaf)(
                rest(leaf._shape), leaf._dtype, leaf._ragged_rank - 1, leaf._row_splits_dtype
            )
        if hasattr(leaf, "_unbatched"):
            return leaf._unbatched()
        raise TypeError(f"{leaf} cannot be sliced")

    return map_leaves(of, spec)


def most_specific(a: Any, b: Any) -> Any:
    """The specs of elements that are like either."""
    assert_same(a, b)
    return map_leaves(lambda x, y: x.most_specific_compatible_type(y), a, b)
