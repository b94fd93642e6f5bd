"""The base of columns, and how they get at features: each is transformed once for all columns that want it.

A column says what it makes of features by `transform_feature(cache, state)`; what it has learned lies with
`state`. TensorFlow's first interface, of methods with an underscore, is the same with the state in variable
scopes; the methods below stand for it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import weft as tf
from weft.feature_column.state import ScopeState


class IdWeightPair(NamedTuple):
    """Ids, and their weights or None, both sparse."""

    id_tensor: Any
    weight_tensor: Any


class TensorSequenceLengthPair(NamedTuple):
    """A dense tensor [batch, time, ...], and the length of each sequence."""

    dense_tensor: Any
    sequence_length: Any


class FeatureColumn:
    """A feature, or what is made of one or more."""

    _is_v2_column = True

    @property
    def name(self) -> str:
        """What it is called, and its variables with it."""
        raise NotImplementedError(f"{type(self).__name__}.name")

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """What `tf.io.parse_example` must read for it, by key."""
        raise NotImplementedError(f"{type(self).__name__}.parse_example_spec")

    @property
    def parents(self) -> list[Any]:
        """The columns and keys that it is made of."""
        raise NotImplementedError(f"{type(self).__name__}.parents")

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> Any:
        """What it makes of features."""
        raise NotImplementedError(f"{type(self).__name__}.transform_feature")

    def create_state(self, state_manager: Any) -> None:
        """Makes its variables."""

    def _get_config(self) -> dict[str, Any]:
        """Its arguments as what JSON can hold."""
        from weft.feature_column import configs

        return configs.arguments_of(self)

    @classmethod
    def _from_config(
        cls, config: dict[str, Any], custom_objects: Any = None, columns_by_name: Any = None
    ) -> Any:
        """A column with the arguments that `_get_config` gave."""
        from weft.feature_column import configs

        return configs.column_with(cls, config, custom_objects, columns_by_name)

    def __lt__(self, other: Any) -> bool:
        return str(self) < str(other)

    def __gt__(self, other: Any) -> bool:
        return str(self) > str(other)

    @property
    def _var_scope_name(self) -> str:
        return self.name

    @property
    def _parse_example_spec(self) -> dict[str, Any]:
        return self.parse_example_spec

    def _transform_feature(self, inputs: Any) -> Any:
        return self.transform_feature(inputs, None)


class DenseColumn(FeatureColumn):
    """A column that gives a dense tensor [batch, *variable_shape]."""

    @property
    def variable_shape(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__}.variable_shape")

    def get_dense_tensor(self, transformation_cache: Any, state_manager: Any) -> Any:
        return transformation_cache.get(self, state_manager)

    @property
    def _variable_shape(self) -> Any:
        return self.variable_shape

    def _get_dense_tensor(
        self, inputs: Any, weight_collections: Any = None, trainable: Any = None
    ) -> Any:
        state = ScopeState(weight_collections, trainable)
        self.create_state(state)
        return self.get_dense_tensor(inputs, state)


class CategoricalColumn(FeatureColumn):
    """A column that gives ids from 0 to `num_buckets`."""

    IdWeightPair = IdWeightPair

    @property
    def num_buckets(self) -> int:
        raise NotImplementedError(f"{type(self).__name__}.num_buckets")

    def get_sparse_tensors(self, transformation_cache: Any, state_manager: Any) -> tuple[Any, Any]:
        return IdWeightPair(transformation_cache.get(self, state_manager), None)

    @property
    def _num_buckets(self) -> int:
        return self.num_buckets

    def _get_sparse_tensors(
        self, inputs: Any, weight_collections: Any = None, trainable: Any = None
    ) -> tuple[Any, Any]:
        return self.get_sparse_tensors(inputs, None)


class SequenceDenseColumn(FeatureColumn):
    """A column that gives a dense tensor for each step of sequences."""

    TensorSequenceLengthPair = TensorSequenceLengthPair

    def get_sequence_dense_tensor(
        self, transformation_cache: Any, state_manager: Any
    ) -> tuple[Any, Any]:
        raise NotImplementedError(f"{type(self).__name__}.get_sequence_dense_tensor")

    def _get_sequence_dense_tensor(
        self, inputs: Any, weight_collections: Any = None, trainable: Any = None
    ) -> tuple[Any, Any]:
        state = ScopeState(weight_collections, trainable)
        self.create_state(state)
        return self.get_sequence_dense_tensor(inputs, state)


def is_feature_column_v2(feature_columns: Any) -> bool:
    """Whether all are columns of the second interface, with all that they are made of."""
    return all(isinstance(c, FeatureColumn) and c._is_v2_column for c in feature_columns)


class FeatureTransformationCache:
    """Features by key, and what columns have made of them."""

    def __init__(self, features: dict[Any, Any]):
        self._features = features.copy()
        self._made: dict[Any, Any] = {}

    def get(self, key: Any, state_manager: Any = None) -> Any:
        """The feature of a key, at least of rank 2, or what a column makes of features."""
        if key in self._made:
            return self._made[key]
        if key in self._features:
            made = _with_rank_two(key, self._features[key])
        elif isinstance(key, str):
            raise ValueError(f"Feature {key} is not in features dictionary.")
        elif not isinstance(key, FeatureColumn):
            raise TypeError(f'"key" must be either a "str" or "FeatureColumn". Provided: {key}')
        else:
            made = key.transform_feature(self, state_manager)
            if made is None:
                raise ValueError(f"Column {key.name} is not supported.")
        self._made[key] = made
        return made


def _with_rank_two(key: Any, feature: Any) -> Any:
    """A feature as a tensor; a vector becomes a matrix of one column."""
    tensor = tf.convert_to_tensor_or_sparse_tensor(feature)

    def column() -> Any:
        if isinstance(tensor, tf.SparseTensor):
            return tf.sparse.reshape(tensor, [tf.shape(tensor)[0], 1])
        return tf.expand_dims(tensor, -1)

    message = f"Feature (key: {key}) cannot have rank 0. Given: {tensor}"
    rank = tensor.get_shape().ndims
    if rank == 0:
        raise ValueError(message)
    if rank is not None:
        return column() if rank == 1 else tensor
    with tf.control_dependencies([tf.debugging.assert_positive(tf.rank(tensor), message=message)]):
        return tf.cond(tf.equal(1, tf.rank(tensor)), column, lambda: tensor)


def flattened(tensor: Any, width: int) -> Any:
    """A tensor as a matrix of that many columns."""
    if tensor.shape.ndims == 2 and tensor.shape.as_list()[1] == width:
        return tensor
    return tf.reshape(tensor, [tf.shape(tensor)[0], width])


def to_sparse(tensor: Any, ignored: Any = None) -> Any:
    """A tensor as a sparse one without the elements that stand for nothing: "", -1 or 0."""
    tensor = tf.convert_to_tensor_or_sparse_tensor(tensor)
    if isinstance(tensor, tf.SparseTensor):
        return tensor
    with tf.name_scope(None, "to_sparse_input", (tensor, ignored)):
        if ignored is None:
            ignored = "" if tensor.dtype == tf.string else -1 if tensor.dtype.is_integer else 0
        ignored = tf.cast(ignored, tensor.dtype, name="ignore_value")
        indices = tf.where_v2(tf.not_equal(tensor, ignored), name="indices")
        return tf.SparseTensor(
            indices,
            tf.gather_nd(tensor, indices, name="values"),
            tf.shape(tensor, out_type=tf.int64, name="dense_shape"),
        )
