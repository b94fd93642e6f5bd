"""The executor: runs a plan's steps over one table of values."""

from __future__ import annotations

import itertools
import threading
from typing import Any

import numpy as np

from weft.engine import interpreter
from weft.engine.cell import Cell
from weft.framework import errors
from weft.runtime.plan import Host, Plan

_step_ids = itertools.count(1)


class Step:
    """One run of a plan: its id, and whether it was told to stop."""

    __slots__ = ("id", "stopped", "error", "session", "_waiting", "extra", "__weakref__")

    def __init__(self, session: Any):
        self.id = next(_step_ids)
        self.session = session
        self.stopped = False
        self.error: Exception | None = None
        self._waiting: list[threading.Condition] = []
        self.extra: dict[str, Any] = {}

    def cancel(self, error: Exception) -> None:
        """Makes the step stop at its next op, and wakes what waits in it."""
        self.error = self.error or error
        self.stopped = True
        for condition in list(self._waiting):
            with condition:
                condition.notify_all()

    def check(self) -> None:
        """Raises the error that the step was stopped with."""
        if self.stopped and self.error is not None:
            raise self.error

    def wait(self, condition: threading.Condition, timeout: float | None = None) -> None:
        """Waits on a condition (held by the caller), and is woken when the step is told to stop."""
        self._waiting.append(condition)
        try:
            self.check()
            condition.wait(timeout)
            self.check()
        finally:
            self._waiting.remove(condition)


def prepare(plan: Plan, resources: Any, ctx: Any) -> list[Any]:
    """The table that a step starts from: constants and references to state."""
    template: list[Any] = [None] * plan.n_slots
    for slot, value in plan.constants:
        template[slot] = value
    for slot, node in plan.handles:
        ctx.node = node
        interpreter.run_node(node, template, ctx)
    constant_slots = {slot for slot, _ in plan.constants}
    for item in plan.steps:
        if not isinstance(item, Host):
            item.note_constants(constant_slots)
    plan.template, plan.epoch = template, resources.epoch
    return template


def run(
    session: Any, plan: Plan, feeds: list[Any], options: Any = None, metadata: Any = None
) -> list[Any]:
    """Runs a plan and returns the values of its fetches, which the caller owns."""
    resources = session.resources
    step = Step(session)
    ctx = interpreter.Context(resources, step, session._functions)
    template = plan.template
    if template is None or plan.epoch != resources.epoch:
        template = prepare(plan, resources, ctx)
    values = template.copy()
    for slot, value in zip(plan.feed_slots, feeds):
        values[slot] = value
    session._steps.add(step)
    try:
        with np.errstate(all="ignore"):
            for item in plan.steps:
                if step.stopped:
                    step.check()
                if type(item) is Host:
                    node = item.node
                    ctx.node = node
                    if node.inputs:
                        _to_numpy(node.inputs, values)
                    interpreter.run_node(node, values, ctx)
                else:
                    if not item.ready:
                        _to_numpy(item.inputs, values)
                    item.run(values, ctx)
    finally:
        session._steps.discard(step)
    return [_fetched(values[slot], ctx, t) for slot, t in zip(plan.fetch_slots, plan.fetches)]


def _to_numpy(slots: Any, values: list[Any]) -> None:
    """Host ops take NumPy arrays."""
    for slot in slots:
        value = values[slot]
        if type(value) is not np.ndarray and hasattr(value, "unsafe_buffer_pointer"):
            values[slot] = np.asarray(value)


def _fetched(value: Any, ctx: Any, tensor: Any) -> Any:
    """A fetched value, as a NumPy array or scalar that nobody else writes into."""
    if type(value) is Cell:
        if tensor._dtype._is_ref_dtype:
            value = value.numpy()
            if value is None:
                op = tensor.op
                raise errors.FailedPreconditionError(
                    op.node_def, op, f"Attempting to use uninitialized value {op.name}"
                )
        else:
            return value
    if type(value) is np.ndarray:
        if value.ndim == 0:
            return value[()]
        return value.copy()
    if hasattr(value, "unsafe_buffer_pointer"):
        array = np.array(value)
        return array[()] if array.ndim == 0 else array
    return value
