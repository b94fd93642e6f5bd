"""`tf.contrib.learn`: experiments and their configuration, over the estimators of `tf.estimator`."""

import weft.contrib.learn.configuration
import weft.contrib.learn.experiment
import weft.contrib.learn.export_strategy
import weft.contrib.learn.runner  # noqa: F401
from weft.framework.export import public as _public

__getattr__, __dir__ = _public("contrib.learn")
