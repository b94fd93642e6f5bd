"""What an input function is told: whose input it makes."""

from __future__ import annotations

import enum

from weft.framework.export import export


@export("distribute.InputReplicationMode", "compat.v2.distribute.InputReplicationMode")
class InputReplicationMode(enum.Enum):
    """Whose input an input function makes: PER_WORKER, that of all replicas of a worker."""

    PER_WORKER = "PER_WORKER"


@export("distribute.InputContext", "compat.v2.distribute.InputContext")
class InputContext:
    """What an input function needs to know to make its part of the input."""

    def __init__(
        self,
        num_input_pipelines: int = 1,
        input_pipeline_id: int = 0,
        num_replicas_in_sync: int = 1,
    ):
        self._num_input_pipelines = num_input_pipelines
        self._input_pipeline_id = input_pipeline_id
        self._num_replicas_in_sync = num_replicas_in_sync

    @property
    def num_replicas_in_sync(self) -> int:
        """How many replicas there are in all."""
        return self._num_replicas_in_sync

    @property
    def input_pipeline_id(self) -> int:
        """Which of the input pipelines this is."""
        return self._input_pipeline_id

    @property
    def num_input_pipelines(self) -> int:
        """How many input pipelines there are."""
        return self._num_input_pipelines

    def get_per_replica_batch_size(self, global_batch_size: int) -> int:
        """The size of a replica's part of a batch; ValueError where it is no whole number."""
        if global_batch_size % self._num_replicas_in_sync:
            raise ValueError(
                f"The `global_batch_size` {global_batch_size} is not divisible by `num_replicas_in_sync` "
                f"{self._num_replicas_in_sync} "
            )
        return global_batch_size // self._num_replicas_in_sync
