"""Which parameter server takes a variable: strategies for `tf.train.replica_device_setter`."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np

from weft.framework.export import export
from weft.framework.tensor_shape import TensorShape


@export("contrib.training.RandomStrategy")
class RandomStrategy:
    """Chooses a task by the name of the operation: at random, but the same one each time."""

    def __init__(self, num_ps_tasks: int, seed: int = 0):
        self._tasks, self._seed = num_ps_tasks, seed

    def __call__(self, op: Any) -> int:
        """Returns the task for an operation."""
        digest = hashlib.md5(f"{op.name}_{self._seed}".encode(), usedforsecurity=False).digest()
        return int.from_bytes(digest, "big") % self._tasks


@export("contrib.training.GreedyLoadBalancingStrategy")
class GreedyLoadBalancingStrategy:
    """Chooses the task that has least to bear so far.

    Args:
      load_fn: gives what an operation adds to its task, in whatever unit.
    """

    def __init__(self, num_tasks: int, load_fn: Callable[[Any], float]):
        self._load_fn, self._loads = load_fn, np.zeros(num_tasks)

    def __call__(self, op: Any) -> int:
        """Returns the task for an operation, which counts as placed there."""
        task = int(np.argmin(self._loads))
        self._loads[task] += self._load_fn(op)
        return task


@export("contrib.training.byte_size_load_fn")
def byte_size_load_fn(op: Any) -> int:
    """Returns the bytes of the only output of an operation, for a variable those that it holds."""
    if len(op.outputs) != 1:
        raise ValueError(f"Op {op.name} must have a single output, but it has {len(op.outputs)}")
    (output,) = op.outputs
    shape = output.get_shape()
    if not shape.is_fully_defined():  # a variable may tell its shape by an attribute only
        shape = TensorShape(op.get_attr("shape"))
        shape.assert_is_fully_defined()
    return shape.num_elements() * output.dtype.size
