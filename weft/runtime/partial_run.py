"""Partial runs: one step whose feeds arrive, and whose fetches are asked for, in several calls."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.engine import interpreter
from weft.engine.program import Node, order
from weft.framework import errors
from weft.framework.operation import Operation
from weft.framework.tensor import Tensor
from weft.runtime.functions import in_order_of_creation


class PartialRun:
    """A step under way: what has run, and the values that are known."""

    def __init__(
        self, fetches: list[Tensor], targets: list[Operation], feeds: list[Tensor], plan: Any
    ):
        # Where there are several devices: on which one an operation runs.
        self.placed = plan.placed if plan.many_devices else {}
        self.pending_fetches, self.pending_targets = set(fetches), set(targets)
        self.pending_feeds = set(feeds)
        self._fetches, self._feeds = set(fetches), set(feeds)
        self._values: dict[Tensor, Any] = {}
        self._done: set[Operation] = set()

    @property
    def finished(self) -> bool:
        return not self.pending_fetches and not self.pending_targets

    def advance(
        self, fetches: list[Tensor], targets: list[Operation], feeds: dict[Tensor, Any], ctx: Any
    ) -> list[Any]:
        """Takes more feeds and runs what they and the asked-for fetches allow."""
        for t in feeds:
            if t not in self._feeds:
                raise _refused(f"The feed {t.name} was not specified in partial_run_setup.")
            if t not in self.pending_feeds:
                raise _refused(f"The feed {t.name} has already been fed.")
        for f in fetches:
            if f not in self._fetches:
                raise _refused(f"The fetch {f.name} was not specified in partial_run_setup.")
            if f not in self.pending_fetches:
                raise _refused(f"The fetch {f.name} has already been fetched.")
        self.pending_feeds -= set(feeds)
        self._values.update(feeds)
        wanted = [t._op for t in fetches if t not in self._values] + targets
        ops = in_order_of_creation(order(wanted, set(self._values)))
        for op in ops:
            for t in op._outputs:
                if t in self.pending_feeds:
                    raise errors.InvalidArgumentError(
                        None,
                        None,
                        f"Must feed all inputs of the fetches: {t.name} was not fed yet.",
                    )
        with np.errstate(all="ignore"):
            for op in ops:
                if op not in self._done and not all(
                    t in self._values for t in op._outputs or [None]
                ):
                    self._run(op, ctx)
        self.pending_fetches -= set(fetches)
        self.pending_targets -= set(targets)
        return [self._values[t] for t in fetches]

    def _run(self, op: Operation, ctx: Any) -> None:
        n = len(op._inputs)
        node = Node(op, tuple(range(n)), tuple(range(n, n + len(op._outputs))))
        table = [self._values[t] for t in op._inputs] + [None] * len(op._outputs)
        if self.placed:
            ctx = ctx.on(self.placed[op])
        ctx.node = node
        interpreter.run_node(node, table, ctx)
        for t, value in zip(op._outputs, table[n:]):
            self._values.setdefault(t, value)
        self._done.add(op)


def _refused(message: str) -> errors.OpError:
    return errors.InvalidArgumentError(None, None, message)
