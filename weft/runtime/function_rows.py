"""FunctionRows: a function called on many rows of arguments at once.

The plan of the function is walked once for all rows. What XLA takes runs as a loop over the rows; a host operation
that has a form for rows runs once; any other runs row by row. What comes out is what calls one by one would give:
where that cannot be promised, or something fails, everything is as before the call, and `OneByOne` asks for these
calls.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.engine import interpreter
from weft.engine.cell import Cell, on_host
from weft.engine.compiled_rows import RowsExecutable
from weft.engine.compiler import CheckFailed, is_reference
from weft.engine.tracing import CannotCompile, CannotRun
from weft.framework import errors
from weft.framework.func_graph import has_effect
from weft.ops.datasets.block import OneByOne, as_column, row_of
from weft.runtime import executor, segment
from weft.runtime.devices import jax_device
from weft.runtime.host_rows import HostRows, NodeRows, the_same, why_one_by_one
from weft.runtime.plan import Host
from weft.runtime.segment import Segment

_LEAST_ROOM = 16  # rows; the executables for one kind of them have room for more and more
# Estimated microseconds of a call of a function for one row, beyond what its segments do.
_CALL = 20.0
_LEAST_PART = 10_000.0  # of the same: work that is worth a thread,
_LARGEST_BLOCK = 200_000.0  # and so much that somebody who waits or cancels would notice


class FunctionRows:
    """Calls a function on columns: of each argument that differs from row to row an array with an axis more, or, where
    the rows differ in shape, a list."""

    def __init__(self, call: Any, shared: int):
        self._call, self._plan = call, call.plan
        self._segments: dict[Segment, SegmentRows] = {}
        self._hosts: dict[Host, HostRows] = {}
        self._waits_for_segments = False
        self._work = 0.0
        self.every_operation_has_rows = True
        self.refused = ""
        self._set_differing(len(call.plan.feed_slots) - shared)

    def _set_differing(self, count: int) -> None:
        """Notes which values of the plan differ from row to row: its first inputs, and what follows from them."""
        plan = self._plan
        if plan.many_devices:
            self.refused = "it runs on several devices"
        slots = self._differing = set(plan.feed_slots[:count])
        for item in plan.steps:
            if type(item) is Host:
                self.refused = self.refused or why_one_by_one(item.node.op, self._call._functions)
                if not slots.isdisjoint(item.node.inputs):
                    hosts = self._hosts[item] = HostRows(item.node, slots)
                    self.every_operation_has_rows &= hosts.is_there
                    slots.update(s for s in item.node.outputs if s >= 0)
            else:
                rows = self._segments[item] = SegmentRows(item, slots)
                self._waits_for_segments = True
                if rows.draws or not slots.isdisjoint(item.inputs):
                    slots.update(item.outputs)

    def __call__(self, columns: list[Any], rest: list[Any], count: int) -> list[Any]:
        """What the function gives for so many rows, as columns; `rest` are the arguments that all rows share."""
        if self.refused or segment.forced_tier == "interpret" or not self._is_hot(count):
            raise OneByOne
        call, plan, resources = self._call, self._plan, self._call.resources
        step = executor.Step(call)
        ctx = interpreter.Context(resources, step, call._functions)
        template = plan.template
        if template is None or plan.epoch != resources.epoch:
            template = executor.prepare(plan, resources, ctx)
        values = template.copy()
        for slot, value in zip(plan.feed_slots, [*columns, *rest]):
            values[slot] = value
        before: list[tuple[Cell, np.ndarray]] = []
        try:
            with np.errstate(all="ignore"):
                for item in plan.steps:
                    self._run_item(item, values, count, ctx, before)
        except OneByOne:
            _restore(before)
            raise
        except (errors.OpError, CheckFailed, CannotRun, CannotCompile) as e:
            _restore(before)
            raise OneByOne from e
        finally:
            step.end()
        return [
            values[slot] if slot in self._differing else the_same(values[slot], count)
            for slot in plan.fetch_slots
        ]

    @property
    def most(self) -> int:
        """How many rows are best called for at once, at most."""
        work = sum(s.work for s in self._segments.values() if s.differs)
        return max(1, int(_LARGEST_BLOCK / max(work, 1.0)))

    def parts(self, count: int, threads: int) -> int:
        """By how many threads so many rows are best shared, out of some; each then calls with a part of them."""
        segments = [s for s in self._segments.values() if s.differs]
        if threads == 1 or any(s.draws or not s.is_ready for s in segments):
            return 1
        work = count * sum(s.work for s in segments)
        return max(1, min(threads, count, int(work / _LEAST_PART)))

    def _is_hot(self, count: int) -> bool:
        """Whether it pays to compile loops. As for a segment, estimated work decides, never the clock."""
        if not self._waits_for_segments or segment.forced_tier == "compile":
            return True
        self._work += count * (_CALL + sum(s.work for s in self._segments.values()))
        if self._work < sum(s.cost for s in self._segments.values()):
            return False
        self._waits_for_segments = False
        return True

    def _run_item(self, item: Any, values: list[Any], count: int, ctx: Any, before: Any) -> None:
        inputs = item.node.inputs if type(item) is Host else item.inputs
        if type(item) is Host:
            if self._differing.isdisjoint(inputs):
                executor.run_item(item, values, ctx)
                return
            if self._hosts[item].run(values, ctx):
                return
        else:
            rows = self._segments[item]
            if not rows.draws and self._differing.isdisjoint(inputs):
                executor.run_item(item, values, ctx)
                return
            if rows.run(values, count, ctx, before):
                return
            if (
                rows.draws
            ):  # takes turns with other operations, so that each row draws as it would alone
                raise OneByOne
            if rows.nodes.run(values, count, ctx):
                return
        self._run_each(item, inputs, values, count, ctx)

    def _run_each(self, item: Any, inputs: Any, values: list[Any], count: int, ctx: Any) -> None:
        """Runs one step of the plan row by row."""
        outputs = item.outputs if type(item) is Segment else item.node.outputs
        table = values.copy()
        found: dict[int, list[Any]] = {slot: [] for slot in outputs if slot >= 0}
        columns = {slot: values[slot] for slot in inputs if slot in self._differing}
        for i in range(count):
            for slot, column in columns.items():
                table[slot] = row_of(column, i)
            executor.run_item(item, table, ctx)
            for slot, column in found.items():
                value = table[slot]
                if is_reference(value):
                    raise OneByOne
                column += on_host([value])
        for slot, column in found.items():
            values[slot] = as_column(column)


def _restore(before: list[tuple[Cell, np.ndarray]]) -> None:
    for cell, value in reversed(before):
        cell.value = value


class SegmentRows:
    """The loops over rows that a segment is compiled to, by what kind of rows they are."""

    def __init__(self, segment_: Segment, differing: set[int]):
        self._segment = segment_
        program = segment_.program
        self._differing = [i for i, slot in enumerate(segment_.inputs) if slot in differing]
        nodes = [n for n in program.nodes if n.decl.name != "Const"]
        self.nodes = NodeRows(segment_, differing)
        self.draws = any(n.calls or has_effect(n.op) and n.decl.name != "Assert" for n in nodes)
        self.work = segment._PER_NODE * len(nodes) + sum(map(segment.estimate_node, nodes))
        self.cost = segment._COMPILE + segment._COMPILE_PER_NODE * len(nodes)
        self._executables: dict[Any, list[RowsExecutable]] = {}
        self._kinds = 0.0  # of rows that were compiled for, and the work of others
        self._refused = False

    @property
    def differs(self) -> bool:
        """Whether it gives something else for each row."""
        return bool(self._differing)

    @property
    def is_ready(self) -> bool:
        """Whether it is compiled, for some kind of rows."""
        return bool(self._executables)

    def run(self, values: list[Any], count: int, ctx: Any, before: Any) -> bool:
        """Runs the segment for all rows; False where that cannot be. Notes in `before` what it changes."""
        segment_ = self._segment
        if self._refused or segment_.refused:
            return False
        if segment_.static is None:
            segment_._find_static(ctx)
            if segment_.refused:
                return False
        args = [values[slot] for slot in segment_.inputs]
        key = self._kind(args)
        if key is None:
            return False
        known = {
            i: a if is_reference(a) else np.asarray(a)
            for i, a in enumerate(args)
            if i not in self._differing
            and (
                i in (segment_.static or ())
                or is_reference(a)
                or getattr(a, "dtype", None) is np.dtype(object)
            )
        }
        executable = self._executable(key, known, args, count, ctx)
        if executable is None:
            return False
        before += [(cell, np.array(cell.value)) for cell in executable.writes]
        try:
            outputs = executable.run([a for i, a in enumerate(args) if i not in known], count)
        except (CannotCompile, TypeError, ValueError):  # as it was traced: nothing has run
            self._refused = True
            return False
        for slot, value in zip(segment_.outputs, outputs):
            values[slot] = value
        return True

    def _kind(self, args: list[Any]) -> Any:
        """What an executable is for; None where the rows have none."""
        key: list[Any] = []
        static = self._segment.static or ()
        for i, value in enumerate(args):
            if i in self._differing:
                if i in static or type(value) is not np.ndarray or value.dtype == object:
                    return None
                key.append((value.shape[1:], value.dtype))
            elif i in static and not is_reference(value):
                value = np.asarray(value)
                key.append((value.tobytes(), value.shape))
            elif is_reference(value):
                key.append(id(value))
            else:
                key.append(getattr(value, "shape", None))
        return tuple(key)

    def _executable(
        self, key: Any, known: dict[int, Any], args: list[Any], count: int, ctx: Any
    ) -> RowsExecutable | None:
        """The executable with the least room that is enough."""
        found = self._executables.setdefault(key, [])
        for executable in found:
            if executable.most >= count:
                return executable
        if not found and len(self._executables) > 1 and segment.forced_tier is None:
            # The more kinds of rows there are, the less often each of them will come again.
            self._kinds += count * (self.work + _CALL)
            if self._kinds < self.cost * len(self._executables):
                del self._executables[key]
                return None
            self._kinds = 0.0
        most = max(count, _LEAST_ROOM, 2 * found[-1].most if found else 0)
        positions = [i for i in range(len(args)) if i not in known]
        executable = RowsExecutable(
            self._segment.program,
            known,
            [positions.index(i) for i in self._differing],
            most,
            ctx.resources,
            ctx.functions,
            jax_device(self._segment.device),
        )
        try:
            executable.prepare([args[i] for i in positions])
        except CannotCompile:
            self._refused = True
            return None
        counters = set(ctx.resources.random.values())
        if any(cell not in counters for cell in executable.writes):
            self._refused = True  # variables that are written could not be given back their values
            return None
        found.append(executable)
        return executable
