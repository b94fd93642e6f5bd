"""`tf.layers`: batch normalization."""

from __future__ import annotations

from typing import Any

from weft.framework.export import export
from weft.initializers.values import Ones, Zeros
from weft.keras.layers import normalization
from weft.keras.layers.convolutional import given
from weft.layers.base import Layer
from weft.layers.functions import function_of

ZEROS, ONES = Zeros(), Ones()


@export("layers.BatchNormalization")
class BatchNormalization(normalization.BatchNormalization, Layer):
    """Makes mean 0 and variance 1 of each channel: those of the batch while training, else their moving averages."""

    def __init__(
        self,
        axis: Any = -1,
        momentum: float = 0.99,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = ZEROS,
        gamma_initializer: Any = ONES,
        moving_mean_initializer: Any = ZEROS,
        moving_variance_initializer: Any = ONES,
        beta_regularizer: Any = None,
        gamma_regularizer: Any = None,
        beta_constraint: Any = None,
        gamma_constraint: Any = None,
        renorm: bool = False,
        renorm_clipping: Any = None,
        renorm_momentum: float = 0.99,
        fused: bool | None = None,
        trainable: bool = True,
        virtual_batch_size: int | None = None,
        adjustment: Any = None,
        name: str | None = None,
        **kwargs: Any,
    ):
        super().__init__(**given(locals()))

    def call(self, inputs: Any, training: Any = False) -> Any:
        return super().call(inputs, training=training)


batch_normalization = function_of(
    BatchNormalization,
    "batch_normalization",
    training_before="trainable",
    order="training trainable name reuse renorm renorm_clipping renorm_momentum fused virtual_batch_size adjustment",
)
