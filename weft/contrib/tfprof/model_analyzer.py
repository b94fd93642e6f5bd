"""`tf.contrib.tfprof.model_analyzer`: `tf.profiler.profile` by its older name, and options for it."""

from __future__ import annotations

from typing import Any

from weft.profiler import profiling
from weft.profiler.options import ProfileOptionBuilder
from weft.profiler.profiling import ALL_ADVICE as ALL_ADVICE
from weft.profiler.profiling import Profiler as Profiler

TRAINABLE_VARS_PARAMS_STAT_OPTIONS = ProfileOptionBuilder.trainable_variables_parameter()
FLOAT_OPS_OPTIONS = ProfileOptionBuilder.float_operation()
PRINT_ALL_TIMING_MEMORY = (
    ProfileOptionBuilder(ProfileOptionBuilder.time_and_memory()).order_by("name").build()
)


def print_model_analysis(
    graph: Any,
    run_meta: Any = None,
    op_log: Any = None,
    tfprof_cmd: str = "scope",
    tfprof_options: Any = 0,
) -> Any:
    """As `tf.profiler.profile`."""
    return profiling.profile(graph, run_meta, op_log, tfprof_cmd, tfprof_options)


def advise(graph: Any, run_meta: Any = None, tfprof_options: Any = 0) -> Any:
    """As `tf.profiler.advise`."""
    return profiling.advise(graph, run_meta, tfprof_options)
