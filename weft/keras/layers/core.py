"""Layers that do not slide windows: Dense, Dropout, Flatten."""

from __future__ import annotations

from typing import Any

import numpy as np

import weft as tf
from weft.framework import context, dtypes
from weft.framework.export import export
from weft.framework.sparse_tensor import SparseTensor
from weft.framework.tensor_shape import TensorShape
from weft.initializers import by_name as initializers
from weft.keras import activations, backend, constraints, regularizers
from weft.keras.engine.base_layer import Layer
from weft.keras.engine.input_spec import InputSpec
from weft.keras.layers.windows import normalize_data_format
from weft.ops.flow.cond import smart_cond


@export("keras.layers.Dense")
class Dense(Layer):
    """`activation(inputs @ kernel + bias)`, over the last axis of the inputs."""

    def __init__(
        self,
        units: int,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ):
        if "input_shape" not in kwargs and "input_dim" in kwargs:
            kwargs["input_shape"] = (kwargs.pop("input_dim"),)
        super().__init__(activity_regularizer=regularizers.get(activity_regularizer), **kwargs)
        self.units = int(units)
        self.activation = activations.get(activation)
        self.use_bias = use_bias
        self.kernel_initializer = initializers.get(kernel_initializer)
        self.bias_initializer = initializers.get(bias_initializer)
        self.kernel_regularizer = regularizers.get(kernel_regularizer)
        self.bias_regularizer = regularizers.get(bias_regularizer)
        self.kernel_constraint = constraints.get(kernel_constraint)
        self.bias_constraint = constraints.get(bias_constraint)
        self.supports_masking = True
        self.input_spec = InputSpec(min_ndim=2)

    def build(self, input_shape: Any) -> None:
        dtype = dtypes.as_dtype(self.dtype or backend.floatx())
        if not (dtype.is_floating or dtype.is_complex):
            raise TypeError(f"Unable to build `Dense` layer with non-floating point dtype {dtype}")
        width = TensorShape(input_shape).as_list()[-1]
        if width is None:
            raise ValueError(
                "The last dimension of the inputs to `Dense` should be defined. Found `None`."
            )
        self.input_spec = InputSpec(min_ndim=2, axes={-1: width})
        self.kernel = self.add_weight(
            "kernel",
            shape=[width, self.units],
            initializer=self.kernel_initializer,
            regularizer=self.kernel_regularizer,
            constraint=self.kernel_constraint,
            dtype=self.dtype,
            trainable=True,
        )
        self.bias = None
        if self.use_bias:
            self.bias = self.add_weight(
                "bias",
                shape=[self.units],
                initializer=self.bias_initializer,
                regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
                dtype=self.dtype,
                trainable=True,
            )
        self.built = True

    def call(self, inputs: Any) -> Any:
        rank = inputs.shape.ndims
        if rank is not None and rank > 2:
            outputs = tf.tensordot(inputs, self.kernel, [[rank - 1], [0]])
            if not context.executing_eagerly():
                outputs.set_shape([*inputs.shape.as_list()[:-1], self.units])
        elif isinstance(inputs, SparseTensor):
            outputs = tf.sparse.matmul(tf.cast(inputs, self.dtype), self.kernel)
        else:
            outputs = tf.matmul(tf.cast(inputs, self.dtype), self.kernel)
        if self.use_bias:
            outputs = tf.nn.bias_add(outputs, self.bias)
        return outputs if self.activation is None else self.activation(outputs)

    def compute_output_shape(self, input_shape: Any) -> Any:
        shape = TensorShape(input_shape).with_rank_at_least(2)
        if shape.as_list()[-1] is None:
            raise ValueError(
                f"The innermost dimension of input_shape must be defined, but saw: {input_shape}"
            )
        return shape[:-1].concatenate(self.units)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "units": self.units,
            "activation": activations.serialize(self.activation),
            "use_bias": self.use_bias,
            "kernel_initializer": initializers.serialize(self.kernel_initializer),
            "bias_initializer": initializers.serialize(self.bias_initializer),
            "kernel_regularizer": regularizers.serialize(self.kernel_regularizer),
            "bias_regularizer": regularizers.serialize(self.bias_regularizer),
            "activity_regularizer": regularizers.serialize(self.activity_regularizer),
            "kernel_constraint": constraints.serialize(self.kernel_constraint),
            "bias_constraint": constraints.serialize(self.bias_constraint),
        }


@export("keras.layers.Dropout")
class Dropout(Layer):
    """Sets a part of the inputs to zero while training, and scales up the others."""

    def __init__(self, rate: Any, noise_shape: Any = None, seed: int | None = None, **kwargs: Any):
        super().__init__(**kwargs)
        self.rate, self.noise_shape, self.seed = rate, noise_shape, seed
        self.supports_masking = True

    def _get_noise_shape(self, inputs: Any) -> Any:
        """The shape of what is drawn; sizes that are not given are those of the inputs."""
        if self.noise_shape is None:
            return None
        sizes = tf.shape(inputs)
        return tf.convert_to_tensor(
            [sizes[i] if size is None else size for i, size in enumerate(self.noise_shape)]
        )

    def call(self, inputs: Any, training: Any = None) -> Any:
        if training is None:
            training = backend.learning_phase()
        return smart_cond(
            training,
            lambda: tf.nn.dropout(
                inputs, noise_shape=self._get_noise_shape(inputs), seed=self.seed, rate=self.rate
            ),
            lambda: tf.identity(inputs),
        )

    def compute_output_shape(self, input_shape: Any) -> Any:
        return input_shape

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "rate": self.rate,
            "noise_shape": self.noise_shape,
            "seed": self.seed,
        }


@export("keras.layers.Flatten")
class Flatten(Layer):
    """Joins all axes after the first; with `channels_first` the channels become the last axis before."""

    def __init__(self, data_format: str | None = None, **kwargs: Any):
        super().__init__(**kwargs)
        self.data_format = normalize_data_format(data_format)
        self.input_spec = InputSpec(min_ndim=1)

    def call(self, inputs: Any) -> Any:
        rank = inputs.shape.ndims
        if self.data_format == "channels_first" and rank is not None and rank > 1:
            inputs = tf.transpose(inputs, [0, *range(2, rank), 1])
        sizes = inputs.shape.as_list()
        if None not in sizes[1:]:
            outputs = tf.reshape(inputs, (-1, int(np.prod(sizes[1:]))))
        else:
            first = tf.shape(inputs)[0] if sizes[0] is None else sizes[0]
            outputs = tf.reshape(inputs, (first, -1))
        if not context.executing_eagerly():
            outputs.set_shape(self.compute_output_shape(inputs.shape))
        return outputs

    def compute_output_shape(self, input_shape: Any) -> Any:
        sizes = TensorShape(input_shape).as_list()
        if not sizes:
            return TensorShape([1])
        known = None not in sizes[1:]
        return TensorShape([sizes[0], int(np.prod(sizes[1:])) if known else None])

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "data_format": self.data_format}
