"""What `tf.contrib.eager` has for checkpoints by the names of variables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import weft as tf
from weft.framework import context, errors
from weft.framework.export import export, export_all
from weft.framework.tracked_structures import AutoTrackable
from weft.train.checkpoint import Checkpoint
from weft.train.checkpoint_reader import load_checkpoint
from weft.train.saver import Saver as GraphSaver

export_all("contrib.eager", Checkpoint=Checkpoint, Checkpointable=AutoTrackable)


@export("contrib.eager.Saver")
class Saver:
    """Saves variables under eager execution, where there is no session, as tf.train.Saver does."""

    def __init__(self, var_list: Any):
        if not context.executing_eagerly():
            raise RuntimeError(
                "tfe.Saver can only be used when eager execution is enabled. Use tf.train.Saver when building graphs."
            )
        self._saver = GraphSaver(var_list=var_list)

    def save(self, file_prefix: Any, global_step: Any = None) -> str | None:
        """Writes a checkpoint; gives the prefix by which it is restored."""
        return self._saver.save(None, file_prefix, write_meta_graph=False, global_step=global_step)

    def restore(self, file_prefix: Any) -> None:
        """Gives the variables the values that a checkpoint has."""
        self._saver.restore(None, file_prefix)


@export("contrib.eager.get_optimizer_variables")
def get_optimizer_variables(optimizer: Any) -> list[Any]:
    """The variables that an optimizer keeps."""
    return optimizer.variables()


@export("contrib.eager.restore_variables_on_create")
@contextmanager
def restore_variables_on_create(
    save_path: Any, map_func: Callable[[str], str] | None = None
) -> Iterator[None]:
    """Gives variables that are made within the values of a checkpoint; without a path it does nothing.

    `map_func` tells the name in the checkpoint from a variable's name.
    """
    if not context.executing_eagerly():
        raise ValueError(
            "Currently, restore_variables_on_create can only be used with eager execution enabled."
        )
    if map_func is not None and not callable(map_func):
        raise ValueError("map_func must be callable.")
    reader = load_checkpoint(save_path) if save_path else None

    def create(next_creator: Callable, **kwargs: Any) -> Any:
        variable = next_creator(**kwargs)
        name = variable._shared_name if map_func is None else map_func(variable._shared_name)
        assert reader is not None
        if not reader.has_tensor(name):
            raise errors.NotFoundError(None, None, f"{name} not found in checkpoint")
        variable.assign(reader.get_tensor(name))
        return variable

    with nullcontext() if reader is None else tf.variable_creator_scope(create):
        yield
