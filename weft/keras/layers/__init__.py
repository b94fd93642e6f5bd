"""The layers of `tf.keras.layers`."""

import weft.keras.engine.base_layer
import weft.keras.engine.input_spec
import weft.keras.layers.convolutional
import weft.keras.layers.core
import weft.keras.layers.normalization
import weft.keras.layers.pooling
import weft.keras.layers.separable
import weft.keras.layers.transposed  # noqa: F401
from weft.framework.export import public as _public

__getattr__, __dir__ = _public("keras.layers")
