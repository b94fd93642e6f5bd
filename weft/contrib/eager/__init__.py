"""`tf.contrib.eager`: what eager programs used before it moved to the public names, under its old names."""

import weft.contrib.eager.gradients
import weft.contrib.eager.names  # noqa: F401
from weft.framework.export import public as _public

__getattr__, __dir__ = _public("contrib.eager")
