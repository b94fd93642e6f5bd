"""`tf.contrib.losses`: losses with their arguments in the order of before `tf.losses`."""

import weft.contrib.losses.losses  # noqa: F401
from weft.framework.export import public as _public

__getattr__, __dir__ = _public("contrib.losses")
