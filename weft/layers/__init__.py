"""`tf.layers`: layers whose variables are found by variable scope."""

import weft.layers.base
import weft.layers.convolutional
import weft.layers.core
import weft.layers.normalization
import weft.layers.pooling  # noqa: F401
from weft.framework.export import public as _public

__getattr__, __dir__ = _public("layers")
