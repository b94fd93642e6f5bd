"""Seeds of random ops: that of the graph, that of the op, and what follows from them."""

from __future__ import annotations

import random
import threading
from typing import Any

from weft.framework import context
from weft.framework.export import export

DEFAULT_GRAPH_SEED = 87654321
_LARGEST = 2**31 - 1


class _EagerSeed(threading.local):
    """The seed of eager execution, and the numbers that ops without a seed draw from it."""

    def __init__(self) -> None:
        self.seed: int | None = None
        self.random: random.Random | None = None

    def set(self, seed: int | None) -> None:
        self.seed = seed
        self.random = None if seed is None else random.Random(seed)
        for listener in on_eager_seed:
            listener()

    def next(self) -> int:
        assert self.random is not None
        return self.random.randint(0, _LARGEST)


eager_seed = _EagerSeed()
on_eager_seed: list[Any] = []  # called when the eager seed is set, so that generators start anew


def _truncated(seed: int) -> int:
    return seed % _LARGEST


@export("get_seed", "random.get_seed")
def get_seed(op_seed: int | None) -> tuple[int | None, int | None]:
    """Returns the two seeds of an op: both None where neither the graph nor the op has one."""
    eager = context.executing_eagerly()
    graph_seed = eager_seed.seed if eager else context.get_default_graph().seed
    if graph_seed is not None:
        if op_seed is None:
            # Without a seed of its own an op gets one by its place in the program.
            op_seed = eager_seed.next() if eager else context.get_default_graph().version
        seeds = _truncated(graph_seed), _truncated(op_seed)
    elif op_seed is not None:
        seeds = DEFAULT_GRAPH_SEED, _truncated(op_seed)
    else:
        return None, None
    return (0, _LARGEST) if seeds == (0, 0) else seeds


@export("set_random_seed", "random.set_random_seed")
def set_random_seed(seed: int) -> None:
    """Sets the graph-level seed of the default graph, or the seed of eager execution."""
    if context.executing_eagerly():
        eager_seed.set(seed)
    else:
        context.get_default_graph().seed = seed
