"""`tf.contrib.tfprof.tfprof_logger`: `tf.profiler.write_op_log` by its older name."""

from weft.profiler.profiling import write_op_log as write_op_log
