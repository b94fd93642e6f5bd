"""`tf.contrib.slim`: `tf.contrib.layers`, with the scopes of arguments and the variables of
`tf.contrib.framework`."""

import weft.contrib.framework
import weft.contrib.layers  # noqa: F401
from weft.contrib import losses as losses
from weft.contrib import metrics as metrics
from weft.framework.export import public as _public

__getattr__, __dir__ = _public("contrib.slim")
