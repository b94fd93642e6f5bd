"""Columns as configurations, which layers of them are saved with, and back."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.feature_column import categorical, crossed, embedding, numeric, sequence
from weft.feature_column.base import FeatureColumn
from weft.initializers import by_name
from weft.keras.named import Named

_CLASSES = {
    cls.__name__: cls
    for cls in (
        categorical.HashedCategoricalColumn,
        categorical.IdentityCategoricalColumn,
        categorical.VocabularyFileCategoricalColumn,
        categorical.VocabularyListCategoricalColumn,
        categorical.WeightedCategoricalColumn,
        crossed.CrossedColumn,
        embedding.EmbeddingColumn,
        embedding.IndicatorColumn,
        embedding.SequenceCategoricalColumn,
        numeric.BucketizedColumn,
        numeric.NumericColumn,
        sequence.SequenceNumericColumn,
    )
}
_functions = Named("function", {})


def config_of(column: Any) -> Any:
    """A column as its class and arguments; a key as it is."""
    if isinstance(column, str):
        return column
    if not isinstance(column, FeatureColumn):
        raise ValueError(f"Instance: {column} is not a FeatureColumn")
    return {"class_name": type(column).__name__, "config": column._get_config()}


def column_of(config: Any, custom_objects: Any = None, known: dict[str, Any] | None = None) -> Any:
    """The column of a configuration; one that is known by name is not made again."""
    if isinstance(config, str):
        return config
    if not isinstance(config, dict) or not {"class_name", "config"} <= set(config):
        raise ValueError(f"Improper config format: {config}")
    known = {} if known is None else known
    cls = {**_CLASSES, **(custom_objects or {})}.get(config["class_name"])
    if cls is None:
        raise ValueError(f"Unknown feature_column_v2: {config['class_name']}")
    if not (isinstance(cls, type) and issubclass(cls, FeatureColumn)):
        raise ValueError(f"Expected FeatureColumn class, instead found: {cls}")
    column = cls._from_config(
        config["config"], custom_objects=custom_objects, columns_by_name=known
    )
    # A column and the one that it wraps may have the same name.
    return known.setdefault(f"{type(column).__name__}:{column.name}", column)


def arguments_of(column: Any) -> dict[str, Any]:
    """The fields of a column by name."""
    out = {}
    for field, value in zip(column._fields, column):
        if field == "dtype":
            value = value.name
        elif field == "keys":
            value = tuple(config_of(key) for key in value)
        elif isinstance(value, FeatureColumn):
            value = config_of(value)
        elif field in ("initializer", "normalizer_fn"):
            value = _functions.serialize(value)
        out[field] = value
    return out


def column_with(cls: Any, config: dict[str, Any], custom_objects: Any, known: Any) -> Any:
    """A column of a class with the arguments of a configuration."""
    if set(config) != set(cls._fields):
        raise ValueError(f"Invalid config: {config}, expected keys: {cls._fields}")
    arguments = {k: tuple(v) if isinstance(v, list) else v for k, v in config.items()}
    for field, value in arguments.items():
        if value is None:
            continue
        if field == "dtype":
            arguments[field] = tf.as_dtype(value)
        elif field == "keys":
            arguments[field] = tuple(column_of(key, custom_objects, known) for key in value)
        elif field in ("categorical_column", "source_column"):
            arguments[field] = column_of(value, custom_objects, known)
        elif field == "initializer":
            arguments[field] = by_name.deserialize(value, custom_objects)
        elif field == "normalizer_fn":
            arguments[field] = _functions.deserialize(value, custom_objects)
    return cls(**arguments)
