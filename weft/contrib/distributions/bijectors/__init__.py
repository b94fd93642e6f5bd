"""`tf.contrib.distributions.bijectors`: functions that have an inverse, by which distributions are transformed."""

import weft.contrib.distributions.bijectors.affine
import weft.contrib.distributions.bijectors.base
import weft.contrib.distributions.bijectors.composed
import weft.contrib.distributions.bijectors.elementwise
import weft.contrib.distributions.bijectors.rearranging  # noqa: F401
from weft.framework.export import public as _public

__getattr__, __dir__ = _public("contrib.distributions.bijectors")
