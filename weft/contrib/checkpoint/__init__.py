"""`tf.contrib.checkpoint`: structures of trackable objects, and looking into checkpoints of objects."""

import weft.contrib.checkpoint.inspection
import weft.contrib.checkpoint.numpy_state
import weft.contrib.checkpoint.split
import weft.contrib.checkpoint.structures  # noqa: F401
from weft.framework.export import public as _public

__getattr__, __dir__ = _public("contrib.checkpoint")
