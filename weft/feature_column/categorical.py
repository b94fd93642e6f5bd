"""Columns of categories: hashed, numbered as they are, looked up in a vocabulary, weighted."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

import weft as tf
from weft.feature_column import checks
from weft.feature_column.base import CategoricalColumn, IdWeightPair, to_sparse
from weft.framework.export import export


class _OfOneKey(CategoricalColumn):
    """Categories that are made of one feature."""

    key: str
    dtype: Any

    @property
    def name(self) -> str:
        return self.key

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        return {self.key: tf.io.VarLenFeature(self.dtype)}

    @property
    def parents(self) -> list[Any]:
        return [self.key]

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> Any:
        given = to_sparse(transformation_cache.get(self.key, state_manager))
        ids = self.ids(given, state_manager)
        return tf.SparseTensor(given.indices, ids, given.dense_shape)

    def ids(self, given: Any, state_manager: Any) -> Any:
        """The ids of the elements of a sparse tensor."""
        raise NotImplementedError(f"{type(self).__name__}.ids")

    def _check(self, given: Any) -> None:
        checks.check_same_kind(self.dtype, given.dtype, self.key)
        checks.check_string_or_int(given.dtype, f"column_name: {self.key} input_tensor")


class HashedCategoricalColumn(
    _OfOneKey, namedtuple("HashedCategoricalColumn", ["key", "hash_bucket_size", "dtype"])
):
    """Categories by hash."""

    @property
    def num_buckets(self) -> int:
        return self.hash_bucket_size

    def ids(self, given: Any, state_manager: Any) -> Any:
        self._check(given)
        texts = given.values if self.dtype == tf.string else tf.as_string(given.values)
        return tf.strings.to_hash_bucket_fast(texts, self.hash_bucket_size, name="lookup")


@export("feature_column.categorical_column_with_hash_bucket")
def categorical_column_with_hash_bucket(
    key: str, hash_bucket_size: int, dtype: Any = tf.string
) -> HashedCategoricalColumn:
    """Returns a column of strings or integers of which only a hash is known."""
    if hash_bucket_size is None:
        raise ValueError(f"hash_bucket_size must be set. key: {key}")
    if hash_bucket_size < 1:
        raise ValueError(
            f"hash_bucket_size must be at least 1. hash_bucket_size: {hash_bucket_size}, key: {key}"
        )
    checks.check_key(key)
    checks.check_string_or_int(dtype, f"column_name: {key}")
    return HashedCategoricalColumn(key, hash_bucket_size, dtype)


class IdentityCategoricalColumn(
    _OfOneKey, namedtuple("IdentityCategoricalColumn", ["key", "number_buckets", "default_value"])
):
    """Integers that are ids themselves."""

    dtype = tf.int64

    @property
    def num_buckets(self) -> int:
        return self.number_buckets

    def ids(self, given: Any, state_manager: Any) -> Any:
        if not given.dtype.is_integer:
            raise ValueError(f"Invalid input, not integer. key: {self.key} dtype: {given.dtype}")
        ids = tf.cast(given.values, tf.int64, name="values")
        count = tf.cast(self.number_buckets, tf.int64, name="num_buckets")
        zero = tf.cast(0, tf.int64, name="zero")
        if self.default_value is not None:
            outside = tf.logical_or(ids < zero, ids >= count, name="out_of_range")
            default = tf.cast(self.default_value, tf.int64)
            return tf.where_v2(outside, tf.fill(tf.shape(ids), default, name="default_values"), ids)
        above = f'Bucket index for categorical column "{self.name}" exceeds number of buckets'
        below = f'Negative bucket index for categorical column "{self.name}"'
        required = (
            tf.debugging.assert_less(
                ids, count, data=(above, ids, count), name="assert_less_than_num_buckets"
            ),
            tf.debugging.assert_greater_equal(
                ids, zero, data=(below, ids), name="assert_greater_or_equal_0"
            ),
        )
        with tf.control_dependencies([c for c in required if c is not None]):
            return tf.identity(ids)


@export("feature_column.categorical_column_with_identity")
def categorical_column_with_identity(
    key: str, num_buckets: int, default_value: int | None = None
) -> IdentityCategoricalColumn:
    """Returns a column of integers that are ids; those out of range become `default_value`, or fail."""
    if num_buckets < 1:
        raise ValueError(f"num_buckets {num_buckets} < 1, column_name {key}")
    if default_value is not None and not 0 <= default_value < num_buckets:
        raise ValueError(
            f"default_value {default_value} not in range [0, {num_buckets}), column_name {key}"
        )
    checks.check_key(key)
    return IdentityCategoricalColumn(key, num_buckets, default_value)


class _ByVocabulary(_OfOneKey):
    """Categories that a table numbers."""

    num_oov_buckets: int
    default_value: Any

    def initializer(self, key_dtype: Any) -> Any:
        """What the table is filled with."""
        raise NotImplementedError(f"{type(self).__name__}.initializer")

    def ids(self, given: Any, state_manager: Any) -> Any:
        self._check(given)
        values, key_dtype = given.values, self.dtype
        if values.dtype.is_integer:
            values, key_dtype = tf.cast(values, tf.int64), tf.int64
        name = f"{self.key}_lookup"
        with tf.name_scope(name):
            initializer = self.initializer(key_dtype)
            if self.num_oov_buckets:
                table = tf.lookup.StaticVocabularyTable(initializer, self.num_oov_buckets)
            else:
                table = tf.lookup.StaticHashTable(initializer, self.default_value)
            if state_manager is not None:
                state_manager.add_resource(self, name, table)
            return table.lookup(values)


class VocabularyFileCategoricalColumn(
    _ByVocabulary,
    namedtuple(
        "VocabularyFileCategoricalColumn",
        ["key", "vocabulary_file", "vocabulary_size", "num_oov_buckets", "dtype", "default_value"],
    ),
):
    """Categories by the line of a file that they stand in."""

    @property
    def num_buckets(self) -> int:
        return self.vocabulary_size + self.num_oov_buckets

    def initializer(self, key_dtype: Any) -> Any:
        return tf.lookup.TextFileInitializer(
            self.vocabulary_file,
            key_dtype,
            tf.lookup.TextFileIndex.WHOLE_LINE,
            tf.int64,
            tf.lookup.TextFileIndex.LINE_NUMBER,
            vocab_size=self.vocabulary_size,
        )


def _check_unknown(key: str, num_oov_buckets: int, is_default_given: bool) -> None:
    if num_oov_buckets:
        if is_default_given:
            raise ValueError(f"Can't specify both num_oov_buckets and default_value in {key}.")
        if num_oov_buckets < 0:
            raise ValueError(f"Invalid num_oov_buckets {num_oov_buckets} in {key}.")


@export("feature_column.categorical_column_with_vocabulary_file")
def categorical_column_with_vocabulary_file(
    key: str,
    vocabulary_file: str,
    vocabulary_size: int | None = None,
    num_oov_buckets: int = 0,
    default_value: int | None = None,
    dtype: Any = tf.string,
) -> VocabularyFileCategoricalColumn:
    """Returns a column of categories that a file lists, a line each. Others get `default_value`, or by hash one
    of `num_oov_buckets` ids behind those of the file."""
    if not vocabulary_file:
        raise ValueError(f"Missing vocabulary_file in {key}.")
    if vocabulary_size is None:
        if not tf.io.gfile.exists(vocabulary_file):
            raise ValueError(f"vocabulary_file in {key} does not exist.")
        with tf.io.gfile.GFile(vocabulary_file, "rb") as lines:
            vocabulary_size = sum(1 for _ in lines)
        tf.logging.info(
            "vocabulary_size = %d in %s is the number of lines of %s.",
            vocabulary_size,
            key,
            vocabulary_file,
        )
    if vocabulary_size < 1:
        raise ValueError(f"Invalid vocabulary_size in {key}.")
    _check_unknown(key, num_oov_buckets, default_value is not None)
    checks.check_string_or_int(dtype, f"column_name: {key}")
    checks.check_key(key)
    return VocabularyFileCategoricalColumn(
        key=key,
        vocabulary_file=vocabulary_file,
        vocabulary_size=vocabulary_size,
        num_oov_buckets=num_oov_buckets or 0,
        dtype=dtype,
        default_value=-1 if default_value is None else default_value,
    )


@export("compat.v2.feature_column.categorical_column_with_vocabulary_file")
def categorical_column_with_vocabulary_file_v2(
    key: str,
    vocabulary_file: str,
    vocabulary_size: int | None = None,
    dtype: Any = tf.string,
    default_value: int | None = None,
    num_oov_buckets: int = 0,
) -> VocabularyFileCategoricalColumn:
    """As in `tf.feature_column`, with the arguments in another order."""
    return categorical_column_with_vocabulary_file(
        key, vocabulary_file, vocabulary_size, num_oov_buckets, default_value, dtype
    )


class VocabularyListCategoricalColumn(
    _ByVocabulary,
    namedtuple(
        "VocabularyListCategoricalColumn",
        ["key", "vocabulary_list", "dtype", "default_value", "num_oov_buckets"],
    ),
):
    """Categories by their place in a list."""

    @property
    def num_buckets(self) -> int:
        return len(self.vocabulary_list) + self.num_oov_buckets

    def initializer(self, key_dtype: Any) -> Any:
        keys = tf.constant(list(self.vocabulary_list), dtype=key_dtype)
        places = tf.constant(np.arange(len(self.vocabulary_list)), dtype=tf.int64)
        return tf.lookup.KeyValueTensorInitializer(keys, places)


@export("feature_column.categorical_column_with_vocabulary_list")
def categorical_column_with_vocabulary_list(
    key: str,
    vocabulary_list: Any,
    dtype: Any = None,
    default_value: int = -1,
    num_oov_buckets: int = 0,
) -> VocabularyListCategoricalColumn:
    """Returns a column of categories that a list names. Others get `default_value`, or by hash one of
    `num_oov_buckets` ids behind those of the list."""
    if vocabulary_list is None or len(vocabulary_list) < 1:
        raise ValueError(f"vocabulary_list {vocabulary_list} must be non-empty, column_name: {key}")
    if len(set(vocabulary_list)) != len(vocabulary_list):
        raise ValueError(f"Duplicate keys in vocabulary_list {vocabulary_list}, column_name: {key}")
    own = tf.as_dtype(np.array(vocabulary_list).dtype)
    _check_unknown(key, num_oov_buckets, default_value != -1)
    checks.check_string_or_int(own, f"column_name: {key} vocabulary")
    if dtype is None:
        dtype = own
    elif dtype.is_integer != own.is_integer:
        raise ValueError(
            f"dtype {dtype} and vocabulary dtype {own} do not match, column_name: {key}"
        )
    checks.check_string_or_int(dtype, f"column_name: {key}")
    checks.check_key(key)
    return VocabularyListCategoricalColumn(
        key, tuple(vocabulary_list), dtype, default_value, num_oov_buckets
    )


class WeightedCategoricalColumn(
    CategoricalColumn,
    namedtuple("WeightedCategoricalColumn", ["categorical_column", "weight_feature_key", "dtype"]),
):
    """Categories with a weight each, which another feature holds."""

    @property
    def name(self) -> str:
        return f"{self.categorical_column.name}_weighted_by_{self.weight_feature_key}"

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        spec = dict(self.categorical_column.parse_example_spec)
        if self.weight_feature_key in spec:
            raise ValueError(
                f"Parse config {spec[self.weight_feature_key]} already exists for "
                f"{self.weight_feature_key}."
            )
        spec[self.weight_feature_key] = tf.io.VarLenFeature(self.dtype)
        return spec

    @property
    def parents(self) -> list[Any]:
        return [self.categorical_column, self.weight_feature_key]

    @property
    def num_buckets(self) -> int:
        return self.categorical_column.num_buckets

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> Any:
        weights = transformation_cache.get(self.weight_feature_key, state_manager)
        if weights is None:
            raise ValueError(f"Missing weights {self.weight_feature_key}.")
        weights = tf.convert_to_tensor_or_sparse_tensor(weights)
        if self.dtype != weights.dtype.base_dtype:
            raise ValueError(f"Bad dtype, expected {self.dtype}, but got {weights.dtype}.")
        weights = to_sparse(weights, ignored=0.0)
        if not weights.dtype.is_floating:
            weights = tf.cast(weights, tf.float32)
        return transformation_cache.get(self.categorical_column, state_manager), weights

    def get_sparse_tensors(self, transformation_cache: Any, state_manager: Any) -> IdWeightPair:
        return IdWeightPair(*transformation_cache.get(self, state_manager))


@export("feature_column.weighted_categorical_column")
def weighted_categorical_column(
    categorical_column: Any, weight_feature_key: str, dtype: Any = tf.float32
) -> WeightedCategoricalColumn:
    """Returns a column of categories that another feature gives weights."""
    if dtype is None or not (dtype.is_integer or dtype.is_floating):
        raise ValueError(f"dtype {dtype} is not convertible to float.")
    return WeightedCategoricalColumn(categorical_column, weight_feature_key, dtype)
