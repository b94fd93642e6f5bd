"""`tf.contrib.training`: training operations, and evaluations of checkpoints as they come."""

import weft.contrib.training.bucketing
import weft.contrib.training.device_setter
import weft.contrib.training.evaluation
import weft.contrib.training.hparam
import weft.contrib.training.sampling
import weft.contrib.training.training  # noqa: F401
from weft.framework.export import public as _public

__getattr__, __dir__ = _public("contrib.training")
