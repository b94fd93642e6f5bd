"""`tf.estimator.tpu`: estimators of programs that were written for TPUs, as they act without one."""

import weft.estimator.tpu.config
import weft.estimator.tpu.estimators
import weft.estimator.tpu.host_calls  # noqa: F401
from weft.framework.export import public as _public

__getattr__, __dir__ = _public("estimator.tpu")
