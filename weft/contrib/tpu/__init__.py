"""`tf.contrib.tpu`: programs that were written for TPUs, as they act without one."""

import weft.contrib.tpu.cross_shard
import weft.estimator.tpu  # noqa: F401
from weft.framework.export import public as _public

__getattr__, __dir__ = _public("contrib.tpu")
