"""What to find in Examples: FixedLenFeature and its companions, as the arguments of parsing ops."""

from __future__ import annotations

import re
from collections import namedtuple
from typing import Any, NamedTuple

from weft.framework import conversion, dtypes
from weft.framework.export import export, find
from weft.framework.tensor import Tensor
from weft.framework.tensor_shape import TensorShape, as_shape
from weft.ops.by_name import raw


@export("io.VarLenFeature", "VarLenFeature")
class VarLenFeature(namedtuple("VarLenFeature", ["dtype"])):
    """A feature with any number of values, parsed to a SparseTensor."""

    __slots__ = ()


@export("io.SparseFeature", "SparseFeature")
class SparseFeature(
    namedtuple("SparseFeature", ["index_key", "value_key", "dtype", "size", "already_sorted"])
):
    """A SparseTensor whose values are in the feature `value_key` and whose positions are in `index_key`, a feature
    of integers, or a list of such features, one for each axis; `size` is its shape."""

    __slots__ = ()

    def __new__(cls, index_key, value_key, dtype, size, already_sorted=False):
        return super().__new__(cls, index_key, value_key, dtype, size, already_sorted)


@export("io.FixedLenFeature", "FixedLenFeature")
class FixedLenFeature(namedtuple("FixedLenFeature", ["shape", "dtype", "default_value"])):
    """A feature of a fixed shape. Without a `default_value` every Example must have it."""

    __slots__ = ()

    def __new__(cls, shape, dtype, default_value=None):
        return super().__new__(cls, shape, dtype, default_value)


@export("io.FixedLenSequenceFeature", "FixedLenSequenceFeature")
class FixedLenSequenceFeature(
    namedtuple("FixedLenSequenceFeature", ["shape", "dtype", "allow_missing", "default_value"])
):
    """A feature with any number of elements of a fixed shape, parsed to a Tensor; in a batch the shorter ones are
    padded with `default_value`."""

    __slots__ = ()

    def __new__(cls, shape, dtype, allow_missing=False, default_value=None):
        return super().__new__(cls, shape, dtype, allow_missing, default_value)


class Arguments(NamedTuple):
    """What parsing ops take: keys and kinds of sparse features; of dense ones also shapes and defaults."""

    sparse_keys: list[str]
    sparse_types: list[dtypes.DType]
    dense_keys: list[str]
    dense_types: list[dtypes.DType]
    dense_shapes: list[TensorShape]
    defaults: dict[str, Any]


def arguments(features: Any, allowed: tuple[type, ...]) -> Arguments:
    """The arguments of a parsing op for a dict of features, in the order of the keys."""
    out = Arguments([], [], [], [], [], {})
    for key in sorted(features or ()):
        feature = features[key]
        if not isinstance(
            feature, (VarLenFeature, SparseFeature, FixedLenFeature, FixedLenSequenceFeature)
        ):
            raise ValueError(f"Invalid feature {key}:{feature}.")
        if not isinstance(feature, allowed):
            raise ValueError(f"Unsupported {type(feature).__name__} {feature}.")
        if isinstance(feature, SparseFeature):
            _add_sparse(out, key, feature)
            continue
        dtype = _dtype(key, feature)
        if isinstance(feature, VarLenFeature):
            _add_key(out, key, dtype)
            continue
        if feature.shape is None:
            raise ValueError(f"Missing shape for feature {key}.")
        shape = as_shape(feature.shape)
        if isinstance(feature, FixedLenFeature):
            _check_fixed(key, feature, shape)
        elif feature.allow_missing:
            out.defaults[key] = None
        out.dense_keys.append(key)
        out.dense_types.append(dtype)
        out.dense_shapes.append(shape)
        if feature.default_value is not None:
            out.defaults[key] = feature.default_value
    check_disjoint(out)
    return out


def check_disjoint(out: Arguments, what: str = "Dense and sparse keys") -> None:
    both = set(out.dense_keys).intersection(out.sparse_keys)
    if both:
        raise ValueError(f"{what} must not intersect; intersection: {both}")


def _dtype(key: str, feature: Any) -> dtypes.DType:
    if not feature.dtype:
        raise ValueError(f"Missing type for feature {key}.")
    return dtypes.as_dtype(feature.dtype)


def _check_fixed(key: str, feature: FixedLenFeature, shape: TensorShape) -> None:
    if feature.shape and shape.dims_tuple and shape.dims_tuple[0] is None:
        raise ValueError(
            f"First dimension of shape for feature {key} unknown. Consider using "
            "FixedLenSequenceFeature."
        )
    if not shape.is_fully_defined():
        raise ValueError(
            f"All dimensions of shape for feature {key} need to be known but received "
            f"{feature.shape}."
        )


def _add_key(out: Arguments, key: str, dtype: dtypes.DType) -> None:
    out.sparse_keys.append(key)
    out.sparse_types.append(dtype)


def _add_sparse(out: Arguments, key: str, feature: SparseFeature) -> None:
    if not feature.index_key:
        raise ValueError(f"Missing index_key for SparseFeature {feature}.")
    if not feature.value_key:
        raise ValueError(f"Missing value_key for SparseFeature {feature}.")
    dtype = _dtype(key, feature)
    keys = [feature.index_key] if isinstance(feature.index_key, str) else feature.index_key
    for part, wanted in [*((k, dtypes.int64) for k in sorted(keys)), (feature.value_key, dtype)]:
        if part not in out.sparse_keys:
            _add_key(out, part, wanted)
            continue
        found = out.sparse_types[out.sparse_keys.index(part)]
        if found is not wanted:
            shown = "int64" if wanted is dtypes.int64 and part != feature.value_key else wanted
            raise ValueError(f"Conflicting type {found} vs {shown} for feature {part}.")


def with_any_length(features: Any) -> Any:
    """The features with a first axis of unknown size where there may be any number of elements."""
    if not features:
        return features
    out = dict(features)
    for key, feature in features.items():
        if isinstance(feature, FixedLenSequenceFeature):
            if not feature.allow_missing:
                raise ValueError(
                    "Unsupported: FixedLenSequenceFeature requires allow_missing to be True."
                )
            out[key] = feature._replace(shape=[None, *feature.shape])
    return out


def default_tensors(wanted: Arguments) -> list[Any]:
    """What stands in for each dense feature: an empty vector where nothing does."""
    out = []
    for key, dtype, shape in zip(wanted.dense_keys, wanted.dense_types, wanted.dense_shapes):
        value = wanted.defaults.get(key)
        named = re.sub(r"[^A-Za-z0-9_.\-/]", "_", key)
        if shape.dims_tuple and shape.dims_tuple[0] is None:
            if value is None:
                value = b"" if dtype is dtypes.string else 0
                value = conversion.convert_to_tensor(value, dtype=dtype)
            else:
                value = conversion.convert_to_tensor(value, dtype=dtype, name="padding_" + named)
                value = raw.Reshape(value, [])
        elif value is None:
            value = conversion.convert_to_tensor([], dtype=dtype)
        elif not isinstance(value, Tensor):
            value = conversion.convert_to_tensor(value, dtype=dtype, name="key_" + named)
            value = raw.Reshape(value, shape.as_list())
        out.append(value)
    return out


def merged(features: Any, tensors: dict[str, Any]) -> dict[str, Any]:
    """The parsed tensors by the keys of the features: those that a SparseFeature is made of become one."""
    out = {}
    for key in sorted(features):
        feature = features[key]
        if not isinstance(feature, SparseFeature):
            out[key] = tensors[key]
            continue
        keys = feature.index_key
        ids = tensors[keys] if isinstance(keys, str) else [tensors[k] for k in keys]
        merge = find("", "sparse_merge", "weft")
        out[key] = merge(
            ids,
            tensors[feature.value_key],
            vocab_size=feature.size,
            already_sorted=feature.already_sorted,
        )
    return out
