"""The executor: runs a plan's steps over one table of values."""

from __future__ import annotations

import functools
import itertools
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from weft.engine import interpreter
from weft.engine.cell import Cell, on_host
from weft.engine.dataflow import DEAD
from weft.framework import errors
from weft.ops.queues.waiting import wait_for_one
from weft.runtime.alarm import Alarm, Limit
from weft.runtime.dead_values import Around
from weft.runtime.plan import Host, Plan
from weft.runtime.resources import DEFAULT_CONTAINER
from weft.runtime.step_stats import ConstantNode, Recorder

_step_ids = itertools.count(1)


class Step:
    """One run of a plan: its id, and whether it was told to stop."""

    __slots__ = (
        "id",
        "stopped",
        "error",
        "session",
        "_conditions",
        "_waits",
        "_endings",
        "carrier",
        "extra",
        "__weakref__",
    )

    def __init__(self, session: Any):
        self.id = next(_step_ids)
        self.session = session
        self.stopped = False
        self.error: Exception | None = None
        self._conditions: list[threading.Condition] = []
        self._waits: list[Any] = []
        self._endings: list[Callable[[], Any]] = []
        # What brings the step's tensors from elsewhere, if the step reads them itself while it waits.
        self.carrier: Any = None
        self.extra: dict[str, Any] = {}

    def at_end(self, function: Callable[[], Any]) -> None:
        """Calls a function when the step has ended, however it does."""
        self._endings.append(function)

    def end(self) -> None:
        """Tells that the step has ended."""
        while self._endings:
            self._endings.pop()()

    def cancel(self, error: Exception) -> None:
        """Makes the step stop at its next op, and wakes what waits in it."""
        self.error = self.error or error
        self.stopped = True
        for waiting in list(self._waits):
            waiting.cancel(error)
        for condition in list(self._conditions):
            with condition:
                condition.notify_all()
        if self.carrier is not None:
            self.carrier.interrupt(self.error)

    def check(self) -> None:
        """Raises the error that the step was stopped with."""
        if self.stopped and self.error is not None:
            raise self.error

    def holds(self, work: Any) -> None:
        """Makes work elsewhere belong to the step: it is cancelled with it."""
        self._waits.append(work)
        if self.stopped:
            work.cancel(self.error)

    def wait(self, condition: threading.Condition, timeout: float | None = None) -> None:
        """Waits on a condition (held by the caller), and is woken when the step is told to stop."""
        if self.carrier is not None:
            self.carrier.leave_reading()
        self._conditions.append(condition)
        try:
            self.check()
            condition.wait(timeout)
            self.check()
        finally:
            self._conditions.remove(condition)

    def wait_for(self, waits: list[Any]) -> None:
        """Returns once one of several waiting operations is done; when the step is told to stop, all are."""
        self._waits.extend(waits)
        try:
            if self.stopped:
                for waiting in waits:
                    waiting.cancel(self.error)
            if self.carrier is None or not self.carrier.wait_for(waits):
                wait_for_one(waits)
        finally:
            for waiting in waits:
                self._waits.remove(waiting)


def prepare(plan: Plan, resources: Any, ctx: Any) -> list[Any]:
    """The table that a step starts from: constants and references to state."""
    template: list[Any] = [None] * plan.n_slots
    for slot, value in plan.constants:
        template[slot] = value
    for _, node in plan.handles:
        here = ctx.on(plan.placed[node.op]) if plan.many_devices else ctx
        here.node = node
        interpreter.run_node(node, template, here)
    constant_slots = {slot for slot, _ in plan.constants}
    for item in plan.steps:
        if not isinstance(item, Host):
            item.note_constants(constant_slots)
    plan.template, plan.epoch = template, resources.epoch
    return template


def run(
    session: Any,
    plan: Plan,
    feeds: list[Any],
    options: Any = None,
    metadata: Any = None,
    step: Step | None = None,
) -> list[Any]:
    """Runs a plan and returns the values of its fetches, which the caller owns."""
    resources = session.resources
    if step is None:
        step = Step(session)
    ctx = interpreter.Context(resources, step, session._functions)
    ctx.adopts = True
    if plan.many_devices:
        ctx = ContextOfDevice(session, step, ctx)  # type: ignore[assignment]
    template = plan.template
    if template is None or plan.epoch != resources.epoch:
        template = prepare(plan, resources, ctx)
    values = template.copy()
    for slot, value in zip(plan.feed_slots, feeds):
        values[slot] = value
    session._steps.add(step)
    alarm = _alarm(step, session, options)
    recorder = None
    plan.runs += 1
    costs = metadata is not None and _measures_costs(plan, session._config)
    if costs or (options is not None and metadata is not None and options.trace_level):
        recorder = Recorder()
    try:
        with np.errstate(all="ignore"):
            if recorder is not None:
                _run_recorded(plan, values, ctx, recorder)
            else:
                run_steps(plan, values, ctx)
    finally:
        session._steps.discard(step)
        step.end()
        if alarm is not None:
            alarm.cancel()
    if metadata is not None:
        metadata.Clear()
        if recorder is not None:
            if options is not None and options.trace_level:
                recorder.fill(metadata)
            if costs:
                recorder.fill_cost_graph(metadata, plan)
        if options is not None and options.output_partition_graphs:
            for graph in partition_graphs(plan):
                metadata.partition_graphs.add().CopyFrom(graph)
    return [fetched(values[slot], ctx, t) for slot, t in zip(plan.fetch_slots, plan.fetches)]


class ContextOfDevice:
    """The contexts of a step that runs on several devices: their state may have several owners."""

    def __init__(self, session: Any, step: Step, ctx: Any):
        self.step, self._session, self._main = step, session, ctx
        self._contexts: dict[int, Any] = {id(ctx.resources): ctx}

    def on(self, device: Any) -> Any:
        store = self._session._behind.store_of(device)
        found = self._contexts.get(id(store))
        if found is None:
            found = interpreter.Context(store, self.step, self._session._functions)
            self._contexts[id(store)] = found
        return found


def run_steps(plan: Plan, values: list[Any], ctx: Any, run: Any = None) -> None:
    """Runs the steps of a plan over a table of values, each by `run`."""
    run = run or run_item
    step = ctx.step
    for item in plan.steps:
        if step.stopped:
            step.check()
        try:
            run(item, values, ctx.on(item.device) if plan.many_devices else ctx)
        except interpreter.PutOff as put_off:
            _run_around(plan, item, put_off.waiting, values, ctx, run)
            return


def run_item(item: Any, values: list[Any], here: Any) -> None:
    """Runs one step of a plan; `PutOff` is raised by what would have to wait."""
    if type(item) is Host:
        node = here.node = item.node
        here.device = item.device
        if node.inputs:
            _to_numpy(node.inputs, values)
        here.may_put_off = node
        interpreter.run_node(node, values, here)
    else:
        item.run(values, here)


def _run_around(plan: Plan, item: Any, waiting: Any, values: list[Any], ctx: Any, run: Any) -> None:
    """Runs the rest of a plan while one of its operations waits: first what does not depend on it."""
    needs = plan.dependencies()
    at = plan.steps.index(item)
    put_off = {item: waiting}
    todo = plan.steps[at + 1 :]
    missing = {item, *todo}
    try:
        while todo or put_off:
            later = []
            for item in todo:
                if not needs[item].isdisjoint(missing):
                    later.append(item)
                    continue
                ctx.step.check()
                try:
                    run(item, values, ctx.on(item.device) if plan.many_devices else ctx)
                except interpreter.PutOff as e:
                    put_off[item] = e.waiting
                else:
                    missing.discard(item)
            todo = later
            if put_off:
                ctx.step.wait_for(list(put_off.values()))
            for item, waiting in list(put_off.items()):
                if waiting.done:
                    try:
                        interpreter.finish_node(item.node, waiting, values)
                    except interpreter.PutOff as e:
                        put_off[item] = e.waiting
                        continue
                    del put_off[item]
                    missing.discard(item)
                    if any(s >= 0 and values[s] is DEAD for s in item.node.outputs):
                        run = run if type(run) is Around else Around(run)
                        run.dead.add(item.node.op)
    finally:
        for waiting in put_off.values():
            waiting.cancel()


def _alarm(step: Step, session: Any, options: Any) -> Alarm | None:
    """Stops the step when its time is up."""
    ms = options.timeout_in_ms if options is not None else 0
    if not ms and session._config is not None:
        ms = session._config.operation_timeout_in_ms
    return Limit(ms).alarm(step.cancel) if ms > 0 else None


def _measures_costs(plan: Plan, config: Any) -> bool:
    """Whether the run of a plan that has begun is one of those whose costs a session wants to know."""
    if config is None or config.graph_options.build_cost_model <= 0:
        return False
    measured = plan.runs - config.graph_options.build_cost_model_after
    return measured > 0 and measured % config.graph_options.build_cost_model == 0


def _run_recorded(plan: Plan, values: list[Any], ctx: Any, recorder: Recorder) -> None:
    """Runs a plan, noting when each op ran. A compiled segment is one entry: XLA fused its ops."""
    for slot, value in plan.constants:
        now = recorder.now()
        recorder.add(
            plan.placed[plan.producer[slot]].name,
            ConstantNode(plan.producer[slot]),
            now,
            now,
            [value],
        )
    for slot, node in plan.handles:
        now = recorder.now()
        recorder.add(plan.placed[node.op].name, node, now, now, [values[slot]])
    run_steps(plan, values, ctx, functools.partial(_run_item_recorded, recorder))


def _run_item_recorded(recorder: Recorder, item: Any, values: list[Any], here: Any) -> None:
    if type(item) is Host:
        _to_numpy(item.node.inputs, values)
        here.may_put_off, here.device = item.node, item.device
        _timed(item.device.name, item.node, values, here, recorder)
        return
    if item.ready:
        start = recorder.now()
        item.run(values, here)
        _to_numpy(item.outputs, values)
        recorder.add(
            item.device.name, item, start, recorder.now(), [values[s] for s in item.outputs]
        )
        return
    _to_numpy(item.inputs, values)
    program = item.program
    table: list[Any] = [None] * program.n_slots
    for slot, source in zip(program.inputs, item.inputs):
        table[slot] = values[source]
    for node in program.nodes:
        if node.decl.name == "Const":  # noted with the plan's constants
            interpreter.run_node(node, table, here)
        else:
            _timed(item.device.name, node, table, here, recorder)
    for slot, source in zip(item.outputs, program.outputs):
        values[slot] = table[source]


def _timed(device: str, node: Any, values: list[Any], ctx: Any, recorder: Recorder) -> None:
    ctx.node = node
    start = recorder.now()
    try:
        interpreter.run_node(node, values, ctx)
    except interpreter.PutOff:  # it has tried, and gives nothing yet
        recorder.add(device, node, start, recorder.now(), [])
        raise
    recorder.add(device, node, start, recorder.now(), [values[s] for s in node.outputs if s >= 0])


def partition_graphs(plan: Plan) -> list[Any]:
    """The GraphDef of each device's part of a plan."""
    from weft import proto
    from weft.framework import graph_def

    graphs: dict[str, Any] = {}
    for op in plan.ops:
        device = plan.placed[op].name
        graph = graphs.setdefault(device, proto.GraphDef())
        node = graph.node.add()
        node.CopyFrom(graph_def.node_def(op))
        node.device = device
    return list(graphs.values())


def _to_numpy(slots: Any, values: list[Any]) -> None:
    """Host ops take NumPy arrays."""
    for slot in slots:
        value = values[slot]
        if type(value) is not np.ndarray and type(value) is not Cell:
            (values[slot],) = on_host([value])


def fetched(value: Any, ctx: Any, tensor: Any) -> Any:
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
    if value is DEAD:
        op = tensor.op
        raise errors.InvalidArgumentError(
            op.node_def, op, f"The tensor returned for {tensor.name} was not valid: it is dead."
        )
    if tensor._dtype._is_ref_dtype:
        # A handle as older graphs have it: what is shown of it says where the resource is, and its name.
        return np.array([DEFAULT_CONTAINER.encode(), getattr(value, "name", "").encode()], object)
    return value
