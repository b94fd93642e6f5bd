"""Layers of features: `DenseFeatures` and, of sequences, `SequenceFeatures`."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.feature_column import checks, configs
from weft.feature_column.base import (
    DenseColumn,
    FeatureColumn,
    FeatureTransformationCache,
    SequenceDenseColumn,
)
from weft.feature_column.state import StateManager
from weft.framework.export import export
from weft.keras.engine.base_layer import Layer


class LayerState(StateManager):
    """Variables that are weights of a layer."""

    def __init__(self, layer: Layer, **how: Any):
        super().__init__()
        self._layer, self._how = layer, how

    def make(self, name: str, **settings: Any) -> Any:
        """A weight of the layer."""
        settings["trainable"] = bool(self._layer.trainable) and settings["trainable"]
        return self._layer.add_weight(name=name, **settings, **self._how)


class _Features(Layer):
    """What columns of one kind make of features."""

    _column_type: Any = FeatureColumn
    _is_feature_layer = True

    def __init__(
        self, feature_columns: Any, trainable: bool = True, name: str | None = None, **kwargs: Any
    ):
        super().__init__(name=name, trainable=trainable, **kwargs)
        self._feature_columns = checks.checked_columns(
            feature_columns, FeatureColumn, "FeatureColumn"
        )
        self._state_manager = self._state()
        for column in self._feature_columns:
            if not (isinstance(column, self._column_type) and column._is_v2_column):
                raise ValueError(
                    f"Items of feature_columns must be a {self._column_type.__name__}. You can wrap a "
                    f"categorical column with an embedding_column or indicator_column. Given: {column}"
                )

    def _state(self) -> StateManager:
        return LayerState(self, getter=tf.get_variable)

    def build(self, input_shape: Any) -> None:
        """Makes the variables of the columns, in variable scopes of their names."""
        for column in self._feature_columns:
            with (
                tf.variable_scope(self.name, auxiliary_name_scope=False),
                tf.variable_scope(column.name, auxiliary_name_scope=False),
            ):
                column.create_state(self._state_manager)
        self.built = True

    def _target(self, shape: Any, width: int) -> list[Any]:
        raise NotImplementedError("_target")

    def compute_output_shape(self, input_shape: Any) -> Any:
        width = sum(c.variable_shape.num_elements() for c in self._feature_columns)
        return tuple(self._target(input_shape, width))

    def _flat(self, column: Any, tensor: Any) -> Any:
        width = column.variable_shape.num_elements()
        return tf.reshape(tensor, self._target(tf.shape(tensor), width))

    def _cache(self, features: Any) -> FeatureTransformationCache:
        if not isinstance(features, dict):
            raise ValueError("We expected a dictionary here. Instead we got: ", features)
        return FeatureTransformationCache(features)

    def _joined(self, outputs: list[Any]) -> Any:
        checks.check_batch_sizes(outputs, self._feature_columns)
        return tf.concat(outputs, -1)

    def get_config(self) -> dict[str, Any]:
        columns = [configs.config_of(column) for column in self._feature_columns]
        return {**super().get_config(), "feature_columns": columns}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        known: dict[str, Any] = {}
        columns = [configs.column_of(c, custom_objects, known) for c in config["feature_columns"]]
        return cls(**{**config, "feature_columns": columns})


@export("keras.layers.DenseFeatures")
class DenseFeatures(_Features):
    """Gives a dense tensor [batch, width]: what dense columns make of features, one after another by name."""

    _column_type = DenseColumn

    def _target(self, shape: Any, width: int) -> list[Any]:
        return [shape[0], width]

    def call(self, features: Any, cols_to_output_tensors: dict | None = None) -> Any:
        """Features are given by key; each column's part is put into `cols_to_output_tensors`."""
        cache = self._cache(features)
        outputs = []
        for column in self._feature_columns:
            with tf.name_scope(column.name):
                tensor = column.get_dense_tensor(cache, self._state_manager)
                outputs.append(self._flat(column, tensor))
            if cols_to_output_tensors is not None:
                cols_to_output_tensors[column] = outputs[-1]
        return self._joined(outputs)


@export("compat.v2.keras.layers.DenseFeatures")
class DenseFeaturesV2(DenseFeatures):
    """As `DenseFeatures`, with variables that only the layer knows."""

    def _state(self) -> StateManager:
        return LayerState(self)

    def build(self, input_shape: Any) -> None:
        """Makes the variables of the columns, in name scopes of their names."""
        for column in self._feature_columns:
            with tf.name_scope(column.name):
                column.create_state(self._state_manager)
        self.built = True


DenseFeaturesV2.__name__ = "DenseFeatures"  # which its layers are named after


@export("keras.experimental.SequenceFeatures")
class SequenceFeatures(_Features):
    """Gives a dense tensor [batch, time, width] of what columns of sequences make of features, and the lengths."""

    _column_type = SequenceDenseColumn

    def _target(self, shape: Any, width: int) -> list[Any]:
        return [shape[0], shape[1], width]

    def call(self, features: Any) -> Any:
        """Features are given by key; the lengths of a sequence must be the same for all columns."""
        cache = self._cache(features)
        outputs, lengths = [], []
        for column in self._feature_columns:
            with tf.name_scope(column.name):
                pair = column.get_sequence_dense_tensor(cache, self._state_manager)
                outputs.append(self._flat(column, pair.dense_tensor))
                lengths.append(pair.sequence_length)
        checks.check_batch_sizes(lengths, self._feature_columns)
        return self._joined(outputs), _same(lengths)


def _same(tensors: list[Any]) -> Any:
    """The first of tensors that must be equal."""
    if len(tensors) == 1:
        return tensors[0]
    with tf.name_scope(None, "assert_all_equal", tensors):
        equal = [tf.debugging.assert_equal(tensors[0], t) for t in tensors[1:]]
        with tf.control_dependencies([check for check in equal if check is not None]):
            return tf.identity(tensors[0])
