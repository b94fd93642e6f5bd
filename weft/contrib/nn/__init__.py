"""`tf.contrib.nn`: losses with their arguments the other way round, dropout for SELU, samplers."""

import weft.contrib.nn.functions  # noqa: F401
from weft.framework.export import public as _public

__getattr__, __dir__ = _public("contrib.nn")
