"""FunctionCall: a function's body as a plan of its own, with the segments and tiers of a session's steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.engine import interpreter
from weft.framework import errors
from weft.runtime import executor
from weft.runtime.devices import local_devices
from weft.runtime.plan import Host, Plan


class FunctionCall:
    """Runs a function on arrays and references to state, one for each of its inputs.

    Nothing is fetched or fed: values stay where they are, on a device or in a cell. `on_host` keeps all of it from
    other devices.
    """

    resources: Any
    _config = None

    def __init__(
        self,
        function: Any,
        resources: Any,
        functions: Any,
        compiled: bool = False,
        on_host: bool = False,
    ):
        self.resources, self._functions = resources, functions
        self._steps: set[Any] = set()
        inputs = list(function.inputs)
        given = set(inputs)
        targets = [op for op in function.wanted_ops() if not any(t in given for t in op._outputs)]
        graph = getattr(function, "graph", function)
        self.plan = Plan(
            graph if hasattr(graph, "_ops") else function,
            list(function.outputs),
            targets,
            inputs,
            functions,
            local_devices()[: 1 if on_host else None],
            soft_placement=True,
        )
        self.name = function.name
        if compiled:
            self._compile_at_once()

    def _compile_at_once(self) -> None:
        for step in self.plan.steps:
            if isinstance(step, Host):
                raise errors.InvalidArgumentError(
                    None,
                    None,
                    f"Function {self.name} is to be compiled, but {step.node.op.name} ({step.node.decl.name}) runs "
                    "on the host only.",
                )
            step.compile_at_once = True

    def __call__(self, args: list[Any]) -> list[Any]:
        plan, resources = self.plan, self.resources
        step = executor.Step(self)
        ctx = interpreter.Context(resources, step, self._functions)
        template = plan.template
        if template is None or plan.epoch != resources.epoch:
            template = executor.prepare(plan, resources, ctx)
        values = template.copy()
        for slot, value in zip(plan.feed_slots, args):
            values[slot] = value
        try:
            with np.errstate(all="ignore"):
                executor.run_steps(plan, values, ctx)
        finally:
            step.end()
        return [values[slot] for slot in plan.fetch_slots]
