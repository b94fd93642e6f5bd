"""`tf.contrib.layers`: layers as functions, which share variables by scope."""

import weft.contrib.layers.convolutions
import weft.contrib.layers.dense
import weft.contrib.layers.embeddings
import weft.contrib.layers.initializers
import weft.contrib.layers.normalization
import weft.contrib.layers.optimizers
import weft.contrib.layers.pooling
import weft.contrib.layers.regularizers
import weft.contrib.layers.shapes
import weft.contrib.layers.summaries
import weft.contrib.layers.utils  # noqa: F401
from weft.framework.export import public as _public

__getattr__, __dir__ = _public("contrib.layers")
