"""Columns of numbers: as they are, and by the bucket that they lie in."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import weft as tf
from weft.feature_column import checks
from weft.feature_column.base import CategoricalColumn, DenseColumn, IdWeightPair
from weft.framework.export import export


class NumericColumn(
    DenseColumn,
    namedtuple("NumericColumn", ["key", "shape", "default_value", "dtype", "normalizer_fn"]),
):
    """Numbers of a fixed shape, as float32."""

    @property
    def name(self) -> str:
        return self.key

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        return {self.key: tf.io.FixedLenFeature(self.shape, self.dtype, self.default_value)}

    @property
    def parents(self) -> list[Any]:
        return [self.key]

    @property
    def variable_shape(self) -> Any:
        return tf.TensorShape(self.shape)

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> Any:
        tensor = transformation_cache.get(self.key, state_manager)
        if isinstance(tensor, tf.SparseTensor):
            raise ValueError(
                "The corresponding Tensor of numerical column must be a Tensor. SparseTensor is not "
                f"supported. key: {self.key}"
            )
        if self.normalizer_fn is not None:
            tensor = self.normalizer_fn(tensor)
        return tf.cast(tensor, tf.float32)


@export("feature_column.numeric_column")
def numeric_column(
    key: str,
    shape: Any = (1,),
    default_value: Any = None,
    dtype: Any = tf.float32,
    normalizer_fn: Any = None,
) -> NumericColumn:
    """Returns a column of numbers, which become float32 after `normalizer_fn`."""
    shape = checks.checked_shape(shape, key)
    checks.check_convertible(dtype, key)
    default_value = checks.checked_default(shape, default_value, dtype, key)
    checks.check_normalizer(normalizer_fn)
    checks.check_key(key)
    return NumericColumn(key, shape, default_value, dtype, normalizer_fn)


class BucketizedColumn(
    DenseColumn, CategoricalColumn, namedtuple("BucketizedColumn", ["source_column", "boundaries"])
):
    """The bucket of each number: one-hot as a dense column, an id as a categorical one."""

    @property
    def name(self) -> str:
        return f"{self.source_column.name}_bucketized"

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        return self.source_column.parse_example_spec

    @property
    def parents(self) -> list[Any]:
        return [self.source_column]

    @property
    def _buckets(self) -> int:
        return len(self.boundaries) + 1

    @property
    def variable_shape(self) -> Any:
        return tf.TensorShape((*self.source_column.shape, self._buckets))

    @property
    def num_buckets(self) -> int:
        return self._buckets * self.source_column.shape[0]

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> Any:
        source = transformation_cache.get(self.source_column, state_manager)
        boundaries = [float(b) for b in self.boundaries]
        return tf.raw_ops.Bucketize(input=source, boundaries=boundaries)

    def get_dense_tensor(self, transformation_cache: Any, state_manager: Any) -> Any:
        buckets = transformation_cache.get(self, state_manager)
        return tf.one_hot(
            tf.cast(buckets, tf.int64), depth=self._buckets, on_value=1.0, off_value=0.0
        )

    def get_sparse_tensors(self, transformation_cache: Any, state_manager: Any) -> IdWeightPair:
        buckets = transformation_cache.get(self, state_manager)
        rows, columns = tf.shape(buckets)[0], self.source_column.shape[0]
        places = tf.range(0, columns)
        which = tf.tile(tf.expand_dims(tf.range(0, rows), 1), [1, columns])
        indices = tf.stack([tf.reshape(which, [-1]), tf.tile(places, [rows])], axis=1)
        ids = tf.reshape(buckets, [-1]) + self._buckets * tf.tile(places, [rows])
        shape = tf.cast(tf.stack([rows, columns]), tf.int64)
        return IdWeightPair(tf.SparseTensor(tf.cast(indices, tf.int64), ids, shape), None)


@export("feature_column.bucketized_column")
def bucketized_column(source_column: Any, boundaries: Any) -> BucketizedColumn:
    """Returns a column of the buckets `(-inf, b0), [b0, b1), ... [bn, inf)` of a numeric column."""
    if not isinstance(source_column, NumericColumn):
        raise ValueError(
            f"source_column must be a column generated with numeric_column(). Given: {source_column}"
        )
    if len(source_column.shape) > 1:
        raise ValueError(f"source_column must be one-dimensional column. Given: {source_column}")
    if not boundaries:
        raise ValueError("boundaries must not be empty.")
    if not isinstance(boundaries, (list, tuple)) or any(
        a >= b for a, b in zip(boundaries, boundaries[1:])
    ):
        raise ValueError("boundaries must be a sorted list.")
    return BucketizedColumn(source_column, tuple(boundaries))
