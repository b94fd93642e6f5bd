"""What columns require of their arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import weft as tf


def check_key(key: Any) -> None:
    if not isinstance(key, str):
        raise ValueError(f"key must be a string. Got: type {type(key)}. Given key: {key}.")


def check_string_or_int(dtype: Any, prefix: str) -> None:
    if dtype != tf.string and not dtype.is_integer:
        raise ValueError(f"{prefix} dtype must be string or integer. dtype: {dtype}.")


def check_same_kind(dtype: Any, given: Any, key: str) -> None:
    """Raises unless a column and its input are both integers or both strings."""
    if dtype.is_integer != given.is_integer:
        raise ValueError(
            f"Column dtype and SparseTensors dtype must be compatible. key: {key}, column dtype: {dtype}, "
            f"tensor dtype: {given}"
        )


def check_convertible(dtype: Any, key: str) -> None:
    if not (dtype.is_integer or dtype.is_floating):
        raise ValueError(f"dtype must be convertible to float. dtype: {dtype}, key: {key}")


def check_normalizer(function: Any) -> None:
    if function is not None and not callable(function):
        raise TypeError(f"normalizer_fn must be a callable. Given: {function}")


def checked_shape(shape: Any, key: str) -> tuple[int, ...]:
    """The shape as a tuple of positive integers."""
    if isinstance(shape, (str, bytes)) or not isinstance(shape, Sequence):
        shape = [shape]
    for size in shape:
        if not isinstance(size, int):
            raise TypeError(f"shape dimensions must be integer. shape: {tuple(shape)}, key: {key}")
        if size < 1:
            raise ValueError(
                f"shape dimensions must be greater than 0. shape: {tuple(shape)}, key: {key}"
            )
    return tuple(shape)


def checked_default(shape: tuple[int, ...], value: Any, dtype: Any, key: str) -> Any:
    """The default of a numeric column: None, or nested tuples of its shape."""
    if value is None:
        return None
    if isinstance(value, int) or (isinstance(value, float) and dtype.is_floating):
        return _filled(shape, value)
    if callable(getattr(value, "tolist", None)):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        if not _has_shape(value, shape):
            raise ValueError(
                "The shape of default_value must be equal to given shape. default_value: "
                f"{value}, shape: {shape}, key: {key}"
            )
        leaves = list(_leaves(value))
        if all(isinstance(v, int) for v in leaves):
            return _as_tuple(value)
        if dtype.is_floating and any(isinstance(v, float) for v in leaves):
            return _as_tuple(value)
    raise TypeError(
        f"default_value must be compatible with dtype. default_value: {value}, dtype: {dtype}, key: {key}"
    )


def _filled(shape: tuple[int, ...], value: Any) -> Any:
    return (_filled(shape[1:], value),) * shape[0] if shape else value


def _as_tuple(value: Any) -> Any:
    return tuple(_as_tuple(v) for v in value) if isinstance(value, (list, tuple)) else value


def _leaves(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _leaves(item)
    else:
        yield value


def _has_shape(value: Any, shape: tuple[int, ...]) -> bool:
    if isinstance(value, (list, tuple)) != bool(shape):
        return False
    if not shape:
        return True
    return len(value) == shape[0] and all(_has_shape(v, shape[1:]) for v in value)


def check_embedding(dimension: Any, checkpoint: Any, tensor_name: Any) -> None:
    if dimension is None or dimension < 1:
        raise ValueError(f"Invalid dimension {dimension}.")
    if (checkpoint is None) != (tensor_name is None):
        raise ValueError(
            "Must specify both `ckpt_to_load_from` and `tensor_name_in_ckpt` or none of them."
        )


def checked_columns(columns: Any, kind: type, what: str) -> list[Any]:
    """Columns of a kind as a list sorted by name, of which no two have the same."""
    if isinstance(columns, kind):
        columns = [columns]
    if isinstance(columns, dict):
        raise ValueError("Expected feature_columns to be iterable, found dict.")
    columns = list(columns)
    for column in columns:
        if not isinstance(column, kind):
            raise ValueError(
                f"Items of feature_columns must be a {what}. Given (type {type(column)}): {column}."
            )
    if not columns:
        raise ValueError("feature_columns must not be empty.")
    by_name: dict[str, Any] = {}
    for column in columns:
        if column.name in by_name:
            raise ValueError(
                f"Duplicate feature column name found for columns: {column} and {by_name[column.name]}. "
                "Both refer to the same base feature: leave one out, or rename a copy of it in the features."
            )
        by_name[column.name] = column
    return sorted(columns, key=lambda column: column.name)


def check_batch_sizes(tensors: list[Any], columns: list[Any]) -> None:
    """Raises where the first dimensions that are known differ."""
    known = None
    for tensor, column in zip(tensors, columns):
        size = tf.compat.dimension_value(tensor.shape[0])
        if size is None:
            continue
        if known is None:
            known = size, column
        elif known[0] != size:
            raise ValueError(
                "Batch size (first dimension) of each feature must be same. Batch size of columns "
                f"({known[1].name}, {column.name}): ({known[0]}, {size})"
            )
