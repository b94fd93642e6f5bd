"""Parsing SequenceExamples into dicts of tensors: `tf.io.parse_sequence_example` and its single form."""

from __future__ import annotations

from typing import Any

from weft.framework import conversion
from weft.framework.export import export
from weft.framework.scopes import name_scope
from weft.ops.io.features import (
    Arguments,
    FixedLenFeature,
    FixedLenSequenceFeature,
    VarLenFeature,
    arguments,
    default_tensors,
)
from weft.ops.io.parse_sequence import (
    parse_sequence_example_op,
    parse_single_sequence_example_op,
)
from weft.ops.io.parsing import by_key


def _wanted(context_features: Any, sequence_features: Any) -> tuple[Arguments, Arguments]:
    if not (context_features or sequence_features):
        raise ValueError("Missing features.")
    lists = arguments(sequence_features, (VarLenFeature, FixedLenSequenceFeature))
    for key, value in lists.defaults.items():
        if value is not None:
            raise ValueError(f"Value feature_list_dense_defaults[{key}] must be None")
    return arguments(context_features, (VarLenFeature, FixedLenFeature)), lists


def _types_and_shapes(context: Arguments, lists: Arguments) -> dict[str, Any]:
    return {
        "context_sparse_types": context.sparse_types,
        "context_dense_shapes": context.dense_shapes,
        "feature_list_sparse_types": lists.sparse_types,
        "feature_list_dense_types": lists.dense_types,
        "feature_list_dense_shapes": lists.dense_shapes,
    }


@export("io.parse_sequence_example")
def parse_sequence_example(
    serialized: Any,
    context_features: Any = None,
    sequence_features: Any = None,
    example_names: Any = None,
    name: str | None = None,
) -> tuple[dict, dict, dict]:
    """Returns the features of a batch of serialized SequenceExamples, by their keys.

    Args:
      serialized: a vector of strings.
      context_features: what holds for a whole sequence, by key: each a `FixedLenFeature` or `VarLenFeature`.
      sequence_features: lists of features, by key: a `FixedLenSequenceFeature` becomes a Tensor, padded to the longest
        list, a `VarLenFeature` a SparseTensor.
      example_names: names of the sequences for error messages.
      name: a name for the operation.

    Returns:
      The context, the lists, and how long each dense list is.
    """
    context, lists = _wanted(context_features, sequence_features)
    with name_scope(name, "ParseSequenceExample", [serialized]):
        found = parse_sequence_example_op(
            serialized,
            [] if example_names is None else example_names,
            default_tensors(context),
            feature_list_dense_missing_assumed_empty=list(lists.defaults),
            context_sparse_keys=context.sparse_keys,
            context_dense_keys=context.dense_keys,
            feature_list_sparse_keys=lists.sparse_keys,
            feature_list_dense_keys=lists.dense_keys,
            Ncontext_sparse=len(context.sparse_keys),
            Ncontext_dense=len(context.dense_keys),
            Nfeature_list_sparse=len(lists.sparse_keys),
            Nfeature_list_dense=len(lists.dense_keys),
            name=name,
            **_types_and_shapes(context, lists),
        )
    return (
        by_key(context, *found[:4]),
        by_key(lists, *found[4:8]),
        dict(zip(lists.dense_keys, found[8])),
    )


@export("parse_single_sequence_example", "io.parse_single_sequence_example")
def parse_single_sequence_example(
    serialized: Any,
    context_features: Any = None,
    sequence_features: Any = None,
    example_name: Any = None,
    name: str | None = None,
) -> tuple[dict, dict]:
    """Returns the features of one serialized SequenceExample, by their keys: its context, and its lists."""
    context, lists = _wanted(context_features, sequence_features)
    with name_scope(name, "ParseSingleSequenceExample", [serialized]):
        serialized = conversion.convert_to_tensor(serialized, name="serialized")
        found = parse_single_sequence_example_op(
            serialized,
            list(lists.defaults),
            context.sparse_keys,
            context.dense_keys,
            lists.sparse_keys,
            lists.dense_keys,
            default_tensors(context),
            "" if example_name is None else example_name,
            name=name,
            **_types_and_shapes(context, lists),
        )
    return by_key(context, *found[:4]), by_key(lists, *found[4:])
