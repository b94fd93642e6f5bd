"""Training: `tf.train`, the optimizers, the global step, and what keeps a training program going."""

from typing import Any

import weft.train.adagrad
import weft.train.adam
import weft.train.checkpoint
import weft.train.checkpoint_manager
import weft.train.checkpoint_reader
import weft.train.checkpoint_state
import weft.train.coordinator
import weft.train.decay
import weft.train.device_setter
import weft.train.gradient_descent
import weft.train.graph_io
import weft.train.hooks
import weft.train.monitored_session
import weft.train.moving_averages
import weft.train.proximal
import weft.train.python_state
import weft.train.queue_runner
import weft.train.rmsprop
import weft.train.saver
import weft.train.saving_hooks
import weft.train.scaffold
import weft.train.session_manager
import weft.train.session_run_hook
import weft.train.slot_creator
import weft.train.step_timer
import weft.train.steps
import weft.train.supervisor
import weft.train.sync_replicas  # noqa: F401
from weft.framework import export as _export


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return _export.find("train", name, __name__)


def __dir__() -> list[str]:
    return sorted(_export.exported("train"))
