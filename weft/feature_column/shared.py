"""Embeddings that several columns share: one table, kept in a collection of the graph."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import weft as tf
from weft.feature_column import checks
from weft.feature_column.base import CategoricalColumn
from weft.feature_column.categorical import WeightedCategoricalColumn
from weft.feature_column.embedding import OverCategories, initializer_for, looked_up
from weft.framework.export import export


class SharedEmbeddingColumn(
    OverCategories,
    namedtuple(
        "SharedEmbeddingColumn",
        [
            "categorical_column",
            "dimension",
            "combiner",
            "initializer",
            "shared_embedding_collection_name",
            "ckpt_to_load_from",
            "tensor_name_in_ckpt",
            "max_norm",
            "trainable",
        ],
    ),
):
    """A column of a shared table for `input_layer` and `linear_model`: the first of them makes the table."""

    _is_v2_column = False  # type: ignore[assignment]
    _kind = "embedding_column"

    @property
    def name(self) -> str:
        return f"{self.categorical_column.name}_shared_embedding"

    @property
    def _var_scope_name(self) -> str:
        return self.shared_embedding_collection_name

    @property
    def variable_shape(self) -> Any:
        return tf.TensorShape([self.dimension])

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> Any:
        return transformation_cache.get(self.categorical_column, state_manager)

    def create_state(self, state_manager: Any) -> None:
        collection = self.shared_embedding_collection_name
        shape = (self.categorical_column.num_buckets, self.dimension)
        there = tf.get_collection(collection)
        if not there:
            variable = state_manager.create_variable(
                self,
                name="embedding_weights",
                shape=shape,
                dtype=tf.float32,
                trainable=self.trainable,
                initializer=self.initializer,
            )
            tf.add_to_collection(collection, variable)
            return
        if len(there) > 1:
            raise ValueError(
                f"Collection {collection} can only contain one variable, found {there}. Use a "
                "shared_embedding_collection_name that no other collection has."
            )
        if tuple(there[0].get_shape().as_list()) != shape:
            raise ValueError(
                f"Shared embedding collection {collection} contains variable {there[0].name} of unexpected "
                f"shape {there[0].get_shape()}. Expected shape is {shape}. Use a "
                "shared_embedding_collection_name that no other collection has."
            )
        state_manager.add_variable(self, "embedding_weights", there[0])

    def dense(self, transformation_cache: Any, state_manager: Any) -> Any:
        with tf.name_scope(None, default_name=self.name):
            pair = self.categorical_column.get_sparse_tensors(transformation_cache, state_manager)
            weights = state_manager.get_variable(self, "embedding_weights")
            return looked_up(self, weights, pair, self.ckpt_to_load_from, self.tensor_name_in_ckpt)


class SharedTable:
    """The table of columns that share it, made in each graph when it is first wanted."""

    def __init__(self, settings: dict[str, Any], checkpoint: Any, tensor_name: Any):
        self.settings = settings
        self.checkpoint, self.tensor_name = checkpoint, tensor_name
        self._by_graph: dict[Any, Any] = {}

    @property
    def dimension(self) -> int:
        return self.settings["shape"][1]

    @property
    def embedding_weights(self) -> Any:
        graph = tf.get_default_graph()
        if graph not in self._by_graph:
            self._by_graph[graph] = tf.get_variable(dtype=tf.float32, **self.settings)
        return self._by_graph[graph]

    def __deepcopy__(self, memo: Any) -> SharedTable:
        return self  # copies of a column share its table too


class SharedEmbeddingColumnV2(
    OverCategories,
    namedtuple(
        "SharedEmbeddingColumn",
        ["categorical_column", "shared_embedding_column_creator", "combiner", "max_norm"],
    ),
):
    """A column of a shared table for `DenseFeatures` and `SequenceFeatures`."""

    @property
    def name(self) -> str:
        return f"{self.categorical_column.name}_shared_embedding"

    @property
    def variable_shape(self) -> Any:
        return tf.TensorShape([self.shared_embedding_column_creator.dimension])

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> Any:
        return transformation_cache.get(self.categorical_column, state_manager)

    def dense(self, transformation_cache: Any, state_manager: Any) -> Any:
        table = self.shared_embedding_column_creator
        with tf.name_scope(None, default_name=self.name):
            pair = self.categorical_column.get_sparse_tensors(transformation_cache, state_manager)
            return looked_up(
                self, table.embedding_weights, pair, table.checkpoint, table.tensor_name
            )

    def _refuse(self, *args: Any, **kwargs: Any) -> Any:
        raise ValueError(
            "SharedEmbeddingColumns are not supported in `linear_model` or `input_layer`. Please use "
            "`DenseFeatures` or `LinearModel` instead."
        )

    _get_dense_tensor = _get_sequence_dense_tensor = _transform_feature = _refuse
    _parse_example_spec = _variable_shape = property(_refuse)  # type: ignore[assignment]


def _check_shared(columns: Any, dimension: Any, checkpoint: Any, tensor_name: Any) -> list[Any]:
    """The columns sorted by name; they must be of one kind, with the same number of categories."""
    if tf.executing_eagerly():
        raise RuntimeError(
            "shared_embedding_columns are not supported when eager execution is enabled."
        )
    checks.check_embedding(dimension, checkpoint, tensor_name)
    ordered = sorted(columns, key=lambda column: column.name)
    first = ordered[0]
    if not isinstance(first, CategoricalColumn):
        raise ValueError(
            "All categorical_columns must be subclasses of CategoricalColumn. Given: "
            f"{first}, of type: {type(first)}"
        )
    kind = _without_weights(first)
    for column in ordered[1:]:
        plain = _without_weights(column)
        if not isinstance(plain, type(kind)):
            raise ValueError(
                "To use shared_embedding_column, all categorical_columns must have the same type, or be "
                f"weighted_categorical_column of the same type. Given column: {kind} of type: {type(kind)} "
                f"does not match given column: {plain} of type: {type(plain)}"
            )
        if plain.num_buckets != first.num_buckets:
            raise ValueError(
                "To use shared_embedding_column, all categorical_columns must have the same number of "
                f"buckets. Given column: {kind} with buckets: {first.num_buckets} does not match column: "
                f"{plain} with buckets: {plain.num_buckets}"
            )
    return ordered


def _without_weights(column: Any) -> Any:
    return column.categorical_column if isinstance(column, WeightedCategoricalColumn) else column


def _shared_name(given: str | None, ordered: list[Any]) -> str:
    return given or "_".join(column.name for column in ordered) + "_shared_embedding"


@export("feature_column.shared_embedding_columns")
def shared_embedding_columns(
    categorical_columns: Any,
    dimension: int,
    combiner: str = "mean",
    initializer: Any = None,
    shared_embedding_collection_name: str | None = None,
    ckpt_to_load_from: Any = None,
    tensor_name_in_ckpt: Any = None,
    max_norm: Any = None,
    trainable: bool = True,
) -> list[SharedEmbeddingColumn]:
    """Returns a dense column for each categorical one; the vectors of all are those of one table."""
    ordered = _check_shared(categorical_columns, dimension, ckpt_to_load_from, tensor_name_in_ckpt)
    initializer = initializer_for(initializer, dimension)
    return [
        SharedEmbeddingColumn(
            column,
            dimension,
            combiner,
            initializer,
            _shared_name(shared_embedding_collection_name, ordered),
            ckpt_to_load_from,
            tensor_name_in_ckpt,
            max_norm,
            trainable,
        )
        for column in categorical_columns
    ]


@export("compat.v2.feature_column.shared_embeddings")
def shared_embeddings(
    categorical_columns: Any,
    dimension: int,
    combiner: str = "mean",
    initializer: Any = None,
    shared_embedding_collection_name: str | None = None,
    ckpt_to_load_from: Any = None,
    tensor_name_in_ckpt: Any = None,
    max_norm: Any = None,
    trainable: bool = True,
) -> list[SharedEmbeddingColumnV2]:
    """Returns a dense column for each categorical one; the vectors of all are those of one table."""
    ordered = _check_shared(categorical_columns, dimension, ckpt_to_load_from, tensor_name_in_ckpt)
    table = SharedTable(
        {
            "name": _shared_name(shared_embedding_collection_name, ordered),
            "shape": (ordered[0].num_buckets, dimension),
            "initializer": initializer_for(initializer, dimension),
            "trainable": trainable,
        },
        ckpt_to_load_from,
        tensor_name_in_ckpt,
    )
    return [
        SharedEmbeddingColumnV2(column, table, combiner, max_norm) for column in categorical_columns
    ]
