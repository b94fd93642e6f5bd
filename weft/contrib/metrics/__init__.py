"""`tf.contrib.metrics`: `tf.metrics` with predictions before labels, and more."""

import weft.contrib.metrics.areas
import weft.contrib.metrics.batches
import weft.contrib.metrics.best
import weft.contrib.metrics.rates
import weft.contrib.metrics.statistics
import weft.contrib.metrics.swapped  # noqa: F401
from weft.framework.export import public as _public

__getattr__, __dir__ = _public("contrib.metrics")
