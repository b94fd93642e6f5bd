"""`tf.layers`: Dense, Dropout, Flatten."""

from __future__ import annotations

from typing import Any

from weft.framework.export import export
from weft.initializers.values import Zeros
from weft.keras.layers import core
from weft.keras.layers.convolutional import given
from weft.layers.base import Layer
from weft.layers.functions import function_of

ZEROS = Zeros()


@export("layers.Dense")
class Dense(core.Dense, Layer):
    """`activation(inputs @ kernel + bias)`, over the last axis of the inputs."""

    def __init__(
        self,
        units: int,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = None,
        bias_initializer: Any = ZEROS,
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ):
        super().__init__(**given(locals()))


@export("layers.Dropout")
class Dropout(core.Dropout, Layer):
    """Sets a part of the inputs to zero while training, and scales up the others."""

    def __init__(
        self,
        rate: Any = 0.5,
        noise_shape: Any = None,
        seed: int | None = None,
        name: str | None = None,
        **kwargs: Any,
    ):
        super().__init__(**given(locals()))

    def call(self, inputs: Any, training: Any = False) -> Any:
        return super().call(inputs, training=training)


@export("layers.Flatten")
class Flatten(core.Flatten, Layer):
    """Joins all axes after the first; with `channels_first` the channels become the last axis before."""


dense = function_of(Dense, "dense")
dropout = function_of(Dropout, "dropout", reuse=False, training_before="name")


@export("layers.flatten")
def flatten(inputs: Any, name: str | None = None, data_format: str = "channels_last") -> Any:
    """Joins all axes after the first."""
    return Flatten(name=name, data_format=data_format)(inputs)
