"""Old names of what has others now, and the iterator over a data set."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import weft as tf
from weft.data.iterator import EagerIterator
from weft.framework.export import export, export_all
from weft.framework.tracked_structures import AutoTrackable
from weft.variables.resource import ResourceVariable

export_all(
    "contrib.eager",
    Checkpoint=tf.train.Checkpoint,
    Checkpointable=AutoTrackable,
    GradientTape=tf.GradientTape,
    Iterator=EagerIterator,
    TensorSpec=tf.TensorSpec,
    Variable=ResourceVariable,
    custom_gradient=tf.custom_gradient,
    enable_eager_execution=tf.enable_eager_execution,
    executing_eagerly=tf.executing_eagerly,
    function=tf.function,
    in_eager_mode=tf.executing_eagerly,
    make_template=tf.make_template,
    DEVICE_PLACEMENT_EXPLICIT=0,
    DEVICE_PLACEMENT_WARN=1,
    DEVICE_PLACEMENT_SILENT=2,
    SYNC=0,
    ASYNC=1,
)


@export("contrib.eager.defun")
def defun(
    func: Callable | None = None,
    input_signature: Any = None,
    autograph: bool = True,
    experimental_autograph_options: Any = None,
    experimental_relax_shapes: bool = False,
) -> Any:
    """A function as one graph; without a function, a decorator."""
    return tf.function(
        func,
        input_signature=input_signature,
        autograph=autograph,
        experimental_autograph_options=experimental_autograph_options,
        experimental_relax_shapes=experimental_relax_shapes,
    )


@export("contrib.eager.list_devices")
def list_devices() -> list[str]:
    """The names of all devices."""
    return [device.name for device in tf.config.list_logical_devices()]


@export("contrib.eager.num_gpus")
def num_gpus() -> int:
    """How many GPUs there are."""
    return len(tf.config.list_logical_devices("GPU"))


@export("contrib.eager.get_optimizer_variables")
def get_optimizer_variables(optimizer: Any) -> list[Any]:
    """The variables of an optimizer."""
    return optimizer.variables()


@export("contrib.eager.run")
def run(main: Any = None, argv: Any = None) -> None:
    """Runs a program's main function eagerly."""
    tf.enable_eager_execution()
    tf.app.run(main, argv)


@export("contrib.eager.execution_mode")
@contextlib.contextmanager
def execution_mode(mode: Any) -> Iterator[None]:
    """Operations here run one after the other, whatever the mode: the results are the same in both."""
    if mode not in (None, 0, 1):
        raise ValueError("mode should be None/SYNC/ASYNC. Got unexpected value: " + str(mode))
    yield
