"""`tf.contrib.tpu.CrossShardOptimizer`, where there is one shard."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.framework.export import export
from weft.train.optimizer import Optimizer


@export("contrib.tpu.CrossShardOptimizer", "tpu.CrossShardOptimizer")
class CrossShardOptimizer(Optimizer):
    """Wraps an optimizer: gradients of all shards make one update. Without TPUs there is one shard, and its
    gradients are those of all."""

    def __init__(
        self,
        opt: Optimizer,
        reduction: str = "weighted_mean",
        name: str = "CrossShardOptimizer",
        group_assignment: Any = None,
    ):
        if reduction not in (tf.losses.Reduction.SUM, tf.losses.Reduction.MEAN):
            raise ValueError(f"Unsupported reduction: {reduction}.")
        if group_assignment:
            if not isinstance(group_assignment, list) or not all(
                isinstance(group, list) for group in group_assignment
            ):
                raise ValueError(f"group_assignment must be a list of list. Got {group_assignment}")
            if group_assignment != [[0]]:
                raise ValueError(
                    f"group_assignment must be a permutation of range(1). Got group_assignment={group_assignment}"
                )
        super().__init__(False, name)
        self._opt = opt

    def compute_gradients(self, *args: Any, **kwargs: Any) -> Any:
        """As the wrapped optimizer's."""
        return self._opt.compute_gradients(*args, **kwargs)

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Any:
        """As the wrapped optimizer's."""
        return self._opt.apply_gradients(grads_and_vars, global_step, name)

    def get_slot(self, *args: Any, **kwargs: Any) -> Any:
        """As the wrapped optimizer's."""
        return self._opt.get_slot(*args, **kwargs)

    def get_slot_names(self, *args: Any, **kwargs: Any) -> Any:
        """As the wrapped optimizer's."""
        return self._opt.get_slot_names(*args, **kwargs)

    def variables(self) -> Any:
        """As the wrapped optimizer's."""
        return self._opt.variables()
