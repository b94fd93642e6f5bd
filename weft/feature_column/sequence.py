"""Columns of sequences."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import weft as tf
from weft.feature_column import categorical, checks
from weft.feature_column.base import SequenceDenseColumn, TensorSequenceLengthPair
from weft.feature_column.embedding import SequenceCategoricalColumn, sequence_lengths
from weft.framework.export import export


def _of_sequences(make: Any, *names: str) -> None:
    def function(*args: Any, **kwargs: Any) -> SequenceCategoricalColumn:
        return SequenceCategoricalColumn(make(*args, **kwargs))

    function.__name__ = function.__qualname__ = f"sequence_{make.__name__}"
    function.__wrapped__ = make  # type: ignore[attr-defined]  # for its signature
    function.__doc__ = f"Returns the column of `{make.__name__}` for the steps of sequences."
    export(f"feature_column.sequence_{make.__name__}")(function)


_of_sequences(categorical.categorical_column_with_identity)
_of_sequences(categorical.categorical_column_with_hash_bucket)
_of_sequences(categorical.categorical_column_with_vocabulary_file)
_of_sequences(categorical.categorical_column_with_vocabulary_list)


class SequenceNumericColumn(
    SequenceDenseColumn,
    namedtuple(
        "SequenceNumericColumn", ["key", "shape", "default_value", "dtype", "normalizer_fn"]
    ),
):
    """Numbers of a fixed shape for each step of sequences."""

    @property
    def name(self) -> str:
        return self.key

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        return {self.key: tf.io.VarLenFeature(self.dtype)}

    @property
    def parents(self) -> list[Any]:
        return [self.key]

    @property
    def variable_shape(self) -> Any:
        return tf.TensorShape(self.shape)

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> Any:
        tensor = transformation_cache.get(self.key, state_manager)
        return tensor if self.normalizer_fn is None else self.normalizer_fn(tensor)

    def get_sequence_dense_tensor(
        self, transformation_cache: Any, state_manager: Any
    ) -> TensorSequenceLengthPair:
        tensor = transformation_cache.get(self, state_manager)
        dense = tf.sparse.to_dense(tensor, default_value=self.default_value)
        dense = tf.reshape(dense, tf.concat([tf.shape(dense)[:1], [-1], self.shape], axis=0))
        # In a matrix the elements of all steps stand in one row.
        elements = self.variable_shape.num_elements() if tensor.shape.ndims == 2 else 1
        return TensorSequenceLengthPair(dense, sequence_lengths(tensor, elements))


@export("feature_column.sequence_numeric_column")
def sequence_numeric_column(
    key: str,
    shape: Any = (1,),
    default_value: float = 0.0,
    dtype: Any = tf.float32,
    normalizer_fn: Any = None,
) -> SequenceNumericColumn:
    """Returns a column of numbers for each step of sequences; shorter ones are padded."""
    shape = checks.checked_shape(shape, key)
    checks.check_convertible(dtype, key)
    checks.check_normalizer(normalizer_fn)
    return SequenceNumericColumn(key, shape, default_value, dtype, normalizer_fn)
