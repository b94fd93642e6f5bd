"""`tf.contrib.estimator`: heads under their older names, and estimators made of others."""

import weft.contrib.estimator.extenders
import weft.contrib.estimator.heads
import weft.contrib.estimator.same  # noqa: F401
from weft.framework.export import public as _public

__getattr__, __dir__ = _public("contrib.estimator")
