"""`tf.contrib.distributions`: those of `tf.distributions`, and more."""

import weft.contrib.distributions.counting
import weft.contrib.distributions.deterministic
import weft.contrib.distributions.functions
import weft.contrib.distributions.independent
import weft.contrib.distributions.mixture
import weft.contrib.distributions.multivariate_normal
import weft.contrib.distributions.one_hot
import weft.contrib.distributions.real
import weft.contrib.distributions.relaxed
import weft.contrib.distributions.statistics
import weft.contrib.distributions.transformed
import weft.distributions  # noqa: F401
from weft.framework.export import public as _public

__getattr__, __dir__ = _public("contrib.distributions")
