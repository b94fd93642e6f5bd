"""Dense columns made of categorical ones: learned vectors, and counts of each category."""

from __future__ import annotations

import math
from collections import namedtuple
from typing import Any

import weft as tf
from weft.feature_column import checks
from weft.feature_column.base import (
    CategoricalColumn,
    DenseColumn,
    FeatureColumn,
    IdWeightPair,
    SequenceDenseColumn,
    TensorSequenceLengthPair,
)
from weft.framework.export import export


class SequenceCategoricalColumn(
    CategoricalColumn, namedtuple("SequenceCategoricalColumn", ["categorical_column"])
):
    """Categories of the steps of sequences: ids [batch, time, any number]."""

    @property
    def name(self) -> str:
        return self.categorical_column.name

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        return self.categorical_column.parse_example_spec

    @property
    def parents(self) -> list[Any]:
        return [self.categorical_column]

    @property
    def num_buckets(self) -> int:
        return self.categorical_column.num_buckets

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> Any:
        return self.categorical_column.transform_feature(transformation_cache, state_manager)

    def get_sparse_tensors(self, transformation_cache: Any, state_manager: Any) -> IdWeightPair:
        pair = self.categorical_column.get_sparse_tensors(transformation_cache, state_manager)
        shape = tf.shape(pair.id_tensor)
        flat = [shape[0], shape[1], tf.reduce_prod(shape[2:])]
        weights = pair.weight_tensor
        return IdWeightPair(
            tf.sparse.reshape(pair.id_tensor, flat),
            None if weights is None else tf.sparse.reshape(weights, flat),
        )


def sequence_lengths(tensor: Any, elements: int = 1) -> Any:
    """The length of each row of a sparse tensor, `elements` of which are one step."""
    with tf.name_scope(None, "sequence_length") as scope:
        rows, last = tensor.indices[:, 0], tensor.indices[:, 1]
        lengths = tf.segment_max(last + tf.ones_like(last), segment_ids=rows)
        lengths = tf.cast(tf.math.ceil(lengths / elements), tf.int64)
        missing = tf.shape(tensor)[:1] - tf.shape(lengths)[:1]
        padding = tf.zeros(missing, dtype=lengths.dtype)
        return tf.concat([lengths, padding], axis=0, name=scope)


class OverCategories(DenseColumn, SequenceDenseColumn):
    """A dense column made of a categorical one, which for sequences must be one of sequences."""

    categorical_column: Any
    _kind = "embedding_column"

    @property
    def _is_v2_column(self) -> bool:  # type: ignore[override]
        column = self.categorical_column
        return isinstance(column, FeatureColumn) and column._is_v2_column

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        return self.categorical_column.parse_example_spec

    @property
    def parents(self) -> list[Any]:
        return [self.categorical_column]

    def dense(self, transformation_cache: Any, state_manager: Any) -> Any:
        """The dense tensor, of sequences or not."""
        raise NotImplementedError(f"{type(self).__name__}.dense")

    def _given(self) -> str:
        return f"Given (type {type(self.categorical_column)}): {self.categorical_column}"

    def get_dense_tensor(self, transformation_cache: Any, state_manager: Any) -> Any:
        if isinstance(self.categorical_column, SequenceCategoricalColumn):
            raise ValueError(
                f"In {self._kind}: {self.name}. categorical_column must not be of type "
                "SequenceCategoricalColumn. Use a categorical_column_with_* for an input layer or "
                f"DenseFeatures, or SequenceFeatures for sequences. {self._given()}"
            )
        return self.dense(transformation_cache, state_manager)

    def get_sequence_dense_tensor(
        self, transformation_cache: Any, state_manager: Any
    ) -> TensorSequenceLengthPair:
        if not isinstance(self.categorical_column, SequenceCategoricalColumn):
            raise ValueError(
                f"In {self._kind}: {self.name}. categorical_column must be of type "
                "SequenceCategoricalColumn to use SequenceFeatures. Use one of "
                f"sequence_categorical_column_with_*. {self._given()}"
            )
        ids = self.categorical_column.get_sparse_tensors(transformation_cache, state_manager)
        return TensorSequenceLengthPair(
            self.dense(transformation_cache, state_manager), sequence_lengths(ids.id_tensor)
        )


def parts_of(variable: Any) -> Any:
    """A variable, or the list of its parts."""
    parts = getattr(variable, "_get_variable_list", None)
    return variable if parts is None else parts()


def looked_up(
    column: Any, weights: Any, pair: IdWeightPair, checkpoint: Any, tensor_name: Any
) -> Any:
    """The combined rows of a table for each row of ids; the table may come from a checkpoint."""
    if checkpoint is not None:
        tf.train.init_from_checkpoint(checkpoint, {tensor_name: parts_of(weights)})
    return tf.nn.safe_embedding_lookup_sparse(
        embedding_weights=weights,
        sparse_ids=pair.id_tensor,
        sparse_weights=pair.weight_tensor,
        combiner=column.combiner,
        name=f"{column.name}_weights",
        max_norm=column.max_norm,
    )


def initializer_for(initializer: Any, dimension: int, about: str = "") -> Any:
    """The initializer of a table: normal numbers, the wider its rows the smaller."""
    if initializer is None:
        return tf.truncated_normal_initializer(mean=0.0, stddev=1 / math.sqrt(dimension))
    if not callable(initializer):
        raise ValueError(f"initializer must be callable if specified.{about}")
    return initializer


class EmbeddingColumn(
    OverCategories,
    namedtuple(
        "EmbeddingColumn",
        [
            "categorical_column",
            "dimension",
            "combiner",
            "initializer",
            "ckpt_to_load_from",
            "tensor_name_in_ckpt",
            "max_norm",
            "trainable",
        ],
    ),
):
    """A learned vector for each category; those of several categories are combined."""

    @property
    def name(self) -> str:
        return f"{self.categorical_column.name}_embedding"

    @property
    def variable_shape(self) -> Any:
        return tf.TensorShape([self.dimension])

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> Any:
        return transformation_cache.get(self.categorical_column, state_manager)

    def create_state(self, state_manager: Any) -> None:
        state_manager.create_variable(
            self,
            name="embedding_weights",
            shape=(self.categorical_column.num_buckets, self.dimension),
            dtype=tf.float32,
            trainable=self.trainable,
            use_resource=True,
            initializer=self.initializer,
        )

    def dense(self, transformation_cache: Any, state_manager: Any) -> Any:
        pair = self.categorical_column.get_sparse_tensors(transformation_cache, state_manager)
        weights = state_manager.get_variable(self, name="embedding_weights")
        return looked_up(self, weights, pair, self.ckpt_to_load_from, self.tensor_name_in_ckpt)


@export("feature_column.embedding_column")
def embedding_column(
    categorical_column: Any,
    dimension: int,
    combiner: str = "mean",
    initializer: Any = None,
    ckpt_to_load_from: Any = None,
    tensor_name_in_ckpt: Any = None,
    max_norm: Any = None,
    trainable: bool = True,
) -> EmbeddingColumn:
    """Returns a dense column of learned vectors, one for each category."""
    checks.check_embedding(dimension, ckpt_to_load_from, tensor_name_in_ckpt)
    about = f" Embedding of column_name: {categorical_column.name}"
    return EmbeddingColumn(
        categorical_column,
        dimension,
        combiner,
        initializer_for(initializer, dimension, about),
        ckpt_to_load_from,
        tensor_name_in_ckpt,
        max_norm,
        trainable,
    )


class IndicatorColumn(OverCategories, namedtuple("IndicatorColumn", ["categorical_column"])):
    """How often each category is there, or the sum of its weights."""

    _kind = "indicator_column"

    @property
    def name(self) -> str:
        return f"{self.categorical_column.name}_indicator"

    @property
    def variable_shape(self) -> Any:
        return tf.TensorShape([1, self.categorical_column.num_buckets])

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> Any:
        pair = self.categorical_column.get_sparse_tensors(transformation_cache, state_manager)
        count = self.categorical_column.num_buckets
        if pair.weight_tensor is None:
            ids = tf.sparse.to_dense(pair.id_tensor, default_value=-1)
            return tf.reduce_sum(
                tf.one_hot(ids, depth=count, on_value=1.0, off_value=0.0), axis=[-2]
            )
        weighted = tf.sparse.merge(pair.id_tensor, pair.weight_tensor, vocab_size=int(count))
        # Ids that stand for nothing are negative: they lie outside.
        weighted = tf.sparse.slice(weighted, [0, 0], weighted.dense_shape)
        return tf.scatter_nd(weighted.indices, weighted.values, weighted.dense_shape)

    def dense(self, transformation_cache: Any, state_manager: Any) -> Any:
        return transformation_cache.get(self, state_manager)


@export("feature_column.indicator_column")
def indicator_column(categorical_column: Any) -> IndicatorColumn:
    """Returns a dense column with the number of times that each category is there."""
    return IndicatorColumn(categorical_column)
