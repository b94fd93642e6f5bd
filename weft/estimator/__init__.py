"""`tf.estimator`: models that a function makes, trained, evaluated, used and exported from a folder."""

import weft.estimator.canned.baseline
import weft.estimator.canned.combined
import weft.estimator.canned.linear
import weft.estimator.canned.networks
import weft.estimator.canned.parsing
import weft.estimator.early_stopping
import weft.estimator.estimator
import weft.estimator.exporters
import weft.estimator.heads.labels
import weft.estimator.heads.several
import weft.estimator.in_memory_evaluation
import weft.estimator.input_functions
import weft.estimator.more_metrics
import weft.estimator.receivers
import weft.estimator.training
import weft.estimator.v2
import weft.train.hooks
import weft.train.saving_hooks
import weft.train.step_timer  # noqa: F401
from weft.framework.export import public as _public

__getattr__, __dir__ = _public("estimator")
