"""Parsing Examples into dicts of tensors: `tf.parse_example`, `tf.parse_single_example`."""

from __future__ import annotations

import re
from typing import Any

from weft.framework import context, conversion
from weft.framework.export import export
from weft.framework.scopes import name_scope
from weft.framework.sparse_tensor import SparseTensor
from weft.ops.by_name import raw
from weft.ops.io.features import (
    Arguments,
    FixedLenFeature,
    FixedLenSequenceFeature,
    SparseFeature,
    VarLenFeature,
    arguments,
    default_tensors,
    merged,
    with_any_length,
)
from weft.ops.io.parse_example import parse_example_op, parse_single_example_op

_ALL = (VarLenFeature, SparseFeature, FixedLenFeature, FixedLenSequenceFeature)


def by_key(wanted: Arguments, indices: Any, values: Any, shapes: Any, dense: Any) -> dict[str, Any]:
    """The outputs of a parsing op by the keys of the features."""
    sparse = [SparseTensor(*parts) for parts in zip(indices, values, shapes)]
    return dict(zip([*wanted.sparse_keys, *wanted.dense_keys], [*sparse, *dense]))


def _parsed(serialized: Any, names: Any, wanted: Arguments, name: str | None) -> dict[str, Any]:
    with name_scope(name, "ParseExample", [serialized, names]):
        outputs = parse_example_op(
            serialized,
            [] if names is None else names,
            wanted.sparse_keys,
            wanted.dense_keys,
            default_tensors(wanted),
            sparse_types=wanted.sparse_types,
            dense_shapes=wanted.dense_shapes,
            name=name,
        )
    return by_key(wanted, *outputs)


@export("parse_example", "io.parse_example")
def parse_example(
    serialized: Any, features: Any, name: str | None = None, example_names: Any = None
) -> dict[str, Any]:
    """Returns the features of a batch of serialized Examples, by their keys.

    Args:
      serialized: a vector of strings.
      features: what to find, by key: a `FixedLenFeature` or `FixedLenSequenceFeature` becomes a Tensor, a
        `VarLenFeature` or `SparseFeature` a SparseTensor; the first axis is that of the batch.
      example_names: names of the Examples for error messages.
    """
    if not features:
        raise ValueError(f"Missing: features was {features}.")
    features = with_any_length(features)
    wanted = arguments(features, _ALL)
    return merged(features, _parsed(serialized, example_names, wanted, name))


@export("compat.v2.io.parse_example")
def parse_example_v2(
    serialized: Any, features: Any, example_names: Any = None, name: str | None = None
) -> dict[str, Any]:
    """Returns the features of a batch of serialized Examples, by their keys."""
    return parse_example(serialized, features, name, example_names)


@export("parse_single_example", "io.parse_single_example")
def parse_single_example(
    serialized: Any, features: Any, name: str | None = None, example_names: Any = None
) -> dict[str, Any]:
    """Returns the features of one serialized Example, by their keys; as `parse_example` without the batch."""
    if not features:
        raise ValueError("Missing features.")
    features = with_any_length(features)
    wanted = arguments(features, _ALL)
    if example_names is not None:
        return merged(features, _parsed_with_name(serialized, example_names, wanted, name))
    with name_scope(name, "ParseSingleExample", [serialized]):
        serialized = conversion.convert_to_tensor(serialized, name="serialized")
        outputs = parse_single_example_op(
            serialized,
            default_tensors(wanted),
            num_sparse=len(wanted.sparse_keys),
            sparse_keys=wanted.sparse_keys,
            dense_keys=wanted.dense_keys,
            sparse_types=wanted.sparse_types,
            dense_shapes=wanted.dense_shapes,
            name=name,
        )
    return merged(features, by_key(wanted, *outputs))


@export("compat.v2.io.parse_single_example")
def parse_single_example_v2(
    serialized: Any, features: Any, example_names: Any = None, name: str | None = None
) -> dict[str, Any]:
    """Returns the features of one serialized Example, by their keys."""
    return parse_single_example(serialized, features, name, example_names)


def _scalar(value: Any, what: str, prefix: str) -> Any:
    value = conversion.convert_to_tensor(value)
    rank = value.shape.ndims
    if rank is None:
        message = f"Input {what} must be a scalar"
        check = raw.Assert(raw.Equal(raw.Rank(value), 0), [message], name=f"{prefix}IsScalar")
        with context.get_default_graph().control_dependencies([check]):
            return raw.Identity(value, name=f"{prefix}Dependencies")
    if rank:
        raise ValueError(f"Input {what} must be a scalar")
    return value


def _parsed_with_name(
    serialized: Any, names: Any, wanted: Arguments, name: str | None
) -> dict[str, Any]:
    """One Example, and its name for error messages, as a batch of one."""
    with name_scope(name, "ParseSingleExample", [serialized, names]):
        batch = raw.ExpandDims(_scalar(serialized, "serialized", "Serialized"), 0)
        names = raw.ExpandDims(_scalar(names, "names", "Names"), 0)
        outputs = _parsed(batch, names, wanted, name)
        for key in wanted.dense_keys:
            named = re.sub(r"[^A-Za-z0-9_.\-/]", "_", key)
            outputs[key] = raw.Squeeze(outputs[key], squeeze_dims=[0], name=f"Squeeze_{named}")
        for key in wanted.sparse_keys:
            named = re.sub(r"[^A-Za-z0-9_.\-/]", "_", key)
            found = outputs[key]
            outputs[key] = SparseTensor(
                raw.Slice(found.indices, [0, 1], [-1, -1], name=f"Slice_Indices_{named}"),
                found.values,
                raw.Slice(found.dense_shape, [1], [-1], name=f"Squeeze_Shape_{named}"),
            )
    return outputs
