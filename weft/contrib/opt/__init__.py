"""`tf.contrib.opt`: optimizers that never left contrib."""

import weft.contrib.opt.adam_forms
import weft.contrib.opt.clipping
import weft.contrib.opt.lars
import weft.contrib.opt.moving_average
import weft.contrib.opt.signs
import weft.contrib.opt.weight_decay  # noqa: F401
from weft.framework.export import public as _public

__getattr__, __dir__ = _public("contrib.opt")
