"""CheckpointManager: keeps the newest checkpoints of a tf.train.Checkpoint, and deletes older ones."""

from __future__ import annotations

import numbers
import os
import time
from typing import Any

import weft as tf
from weft.framework import context, file_system
from weft.framework.export import export
from weft.train import checkpoint_state
from weft.train.steps import global_step


@export("train.CheckpointManager")
class CheckpointManager:
    """Writes checkpoints to a directory and keeps `max_to_keep` of them.

    Of those that would go, one for each `keep_checkpoint_every_n_hours` stays for good.
    """

    def __init__(
        self,
        checkpoint: Any,
        directory: Any,
        max_to_keep: int | None,
        keep_checkpoint_every_n_hours: float | None = None,
        checkpoint_name: str = "ckpt",
    ):
        if max_to_keep is not None and max_to_keep <= 0:
            raise ValueError(
                f"Expected a positive integer or `None` for `max_to_max_to_keep`, got {max_to_keep:d}."
            )
        self._checkpoint = checkpoint
        self._count: Any = None
        self._max_to_keep = max_to_keep
        self._keep_checkpoint_every_n_hours = keep_checkpoint_every_n_hours
        self._directory = file_system.path_text(directory)
        self._checkpoint_prefix = os.path.join(self._directory, checkpoint_name)
        # Those that may be deleted, the oldest first, with the times when they were written.
        self._maybe_delete: dict[str, float] = {}
        self._latest_checkpoint: str | None = None
        self._recover()

    def _recover(self) -> None:
        """Takes up what an earlier process has left."""
        state, now = checkpoint_state.get_checkpoint_state(self._directory), time.time()
        if state is None:
            self._last_preserved_timestamp = now - 1.0
            return
        self._latest_checkpoint = state.model_checkpoint_path
        preserved = state.last_preserved_timestamp
        if now < preserved:
            tf.logging.warning(
                "time.time() returned a value %f seconds behind the last preserved checkpoint timestamp.",
                preserved - now,
            )
            preserved = now
        self._last_preserved_timestamp = preserved
        paths = state.all_model_checkpoint_paths
        times = list(state.all_model_checkpoint_timestamps) or [preserved] * len(paths)
        for path, written in zip(paths, times):
            written = min(written, now)  # a clock may have been set back
            if written > preserved:
                self._maybe_delete[path] = written

    @property
    def latest_checkpoint(self) -> str | None:
        """The prefix of the newest checkpoint in the directory, to be given to `restore`; None without one."""
        return self._latest_checkpoint

    @property
    def checkpoints(self) -> list[str]:
        """The prefixes of the checkpoints that are kept until newer ones come, the oldest first."""
        return list(self._maybe_delete)

    def _sweep(self) -> None:
        hours = self._keep_checkpoint_every_n_hours
        while self._max_to_keep and len(self._maybe_delete) > self._max_to_keep:
            path = next(iter(self._maybe_delete))
            written = self._maybe_delete.pop(path)
            if hours and written - hours * 3600.0 >= self._last_preserved_timestamp:
                self._last_preserved_timestamp = written
                continue
            checkpoint_state.remove_checkpoint(path)

    def _record_state(self) -> None:
        assert self._latest_checkpoint is not None
        checkpoint_state.write_state(
            self._directory,
            self._latest_checkpoint,
            list(self._maybe_delete),
            save_relative_paths=True,
            all_model_checkpoint_timestamps=list(self._maybe_delete.values()),
            last_preserved_timestamp=self._last_preserved_timestamp,
        )

    def save(self, checkpoint_number: Any = None) -> str:
        """Writes a checkpoint, by the number of `save_counter` or another, and deletes what is old; gives its
        prefix."""
        session = None
        if context.executing_eagerly():
            counter = self._checkpoint.save_counter
            counter.assign_add(1)
        else:
            session = tf.get_default_session()
            with tf.variable_creator_scope(_initialising(session)):
                counter = self._checkpoint.save_counter
            if self._count is None:
                self._count = counter.assign_add(1, read_value=False)
            session.run(self._count)
        number = counter if checkpoint_number is None else checkpoint_number
        if not isinstance(number, numbers.Integral):
            number = global_step(session, number)
        path = self._checkpoint.write(f"{self._checkpoint_prefix}-{number:d}")
        self._maybe_delete.pop(path, None)  # it is the newest again
        self._maybe_delete[path] = time.time()
        self._latest_checkpoint = path
        # Before and after: a process that ends between leaves no checkpoint behind that nobody knows.
        self._record_state()
        self._sweep()
        self._record_state()
        return path


def _initialising(session: Any) -> Any:
    """A creator that initialises variables as they are made."""

    def create(next_creator: Any, **kwargs: Any) -> Any:
        variable = next_creator(**kwargs)
        session.run(variable.initializer)
        return variable

    return create
