"""`tf.profiler`: parameters, float operations, time and memory of graphs, in views of several kinds."""

import weft.profiler.options
import weft.profiler.profiling  # noqa: F401
from weft.framework.export import public

__getattr__, __dir__ = public("profiler")
