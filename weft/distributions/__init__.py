"""`tf.distributions`: probability distributions as objects."""

import weft.distributions.base
import weft.distributions.bernoulli
import weft.distributions.beta
import weft.distributions.categorical
import weft.distributions.dirichlet
import weft.distributions.divergence
import weft.distributions.gamma
import weft.distributions.laplace
import weft.distributions.multinomial
import weft.distributions.normal
import weft.distributions.student_t
import weft.distributions.uniform  # noqa: F401
from weft.framework.export import public as _public

__getattr__, __dir__ = _public("distributions")
