"""`tfgan.features`: conditions, pools of generated data, clipped and normalized weights."""

import weft.contrib.gan.features.conditioning
import weft.contrib.gan.features.pool
import weft.contrib.gan.features.spectral
import weft.contrib.gan.features.virtual_batch_norm
import weft.contrib.opt.clipping  # noqa: F401
from weft.framework.export import public as _public

__getattr__, __dir__ = _public("contrib.gan.features")
