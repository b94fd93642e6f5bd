"""`tf.contrib.tfprof`: the older names of `tf.profiler`."""

from weft.contrib.tfprof import model_analyzer as model_analyzer
from weft.contrib.tfprof import tfprof_logger as tfprof_logger
