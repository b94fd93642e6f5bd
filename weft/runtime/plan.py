"""Plan: what one kind of step does. prune -> segment; immutable, cached by the session, printable.

The executor runs this object, and what is drawn or printed of a step is drawn from it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.engine.program import Node, Program, order
from weft.framework import dtypes
from weft.framework.operation import Operation
from weft.framework.tensor import Tensor
from weft.runtime import v1_control_flow
from weft.runtime.devices import Device
from weft.runtime.functions import in_order_of_creation
from weft.runtime.late_reads import late_readers
from weft.runtime.placement import place
from weft.runtime.segment import Segment, can_compile

_LARGE_CONSTANT = (
    1 << 12
)  # elements; larger constants are passed to an executable, not baked into it


class Host:
    """One host operation of a plan."""

    __slots__ = ("node", "level", "device")

    def __init__(self, node: Node, level: int, device: Device):
        self.node, self.level, self.device = node, level, device


class Plan:
    """The steps that compute some tensors and run some operations, given others."""

    def __init__(
        self,
        graph: Any,
        fetches: list[Tensor],
        targets: list[Operation],
        feeds: list[Tensor],
        functions: Any,
        devices: list[Device],
        soft_placement: bool = True,
    ):
        self.graph = graph
        self.fetches, self.targets, self.feeds = fetches, targets, feeds
        cut = set(feeds)
        wanted = [t._op for t in fetches if t not in cut] + targets
        ops = order(wanted, cut)
        self.pruned = len(graph._ops) - len(ops)
        if v1_control_flow.has_control_flow(ops):
            ops = v1_control_flow.replace(graph, ops, fetches, targets, cut, functions)
        ops = in_order_of_creation(ops)
        self.ops = ops
        # Operations that stand for others of the graph give tensors of these.
        self.source: dict[Operation, Operation] = {
            t._op: op for op in ops if type(op) is not Operation for t in op._outputs
        }
        self.compilable = {op: can_compile(op, functions) for op in ops}
        self.placed = place(ops, devices, soft_placement, self.compilable.__getitem__)
        # Where an operation computes, with others: the CPU devices of a process are the same CPU and memory.
        self.home = self.placed
        if len(devices) > 1:
            homes = _homes(devices)
            self.home = {op: homes.get(device, device) for op, device in self.placed.items()}
        self._read_late(cut)
        ops = self.ops
        self.users: dict[Tensor, list[Operation]] = {}
        for op in ops:
            for t in op._inputs:
                self.users.setdefault(t, []).append(op)
        # Where a step has one device its state has one owner, and that is the session's own.
        self.many_devices = any(d is not devices[0] for d in self.placed.values())
        # Slots are shared by the whole plan: feeds first.
        self.slot_of: dict[Tensor, int] = {}
        for t in feeds:
            self.slot_of.setdefault(t, len(self.slot_of))
        self.constants: list[tuple[int, Any]] = []  # (slot, array), the same in every step
        self.producer: dict[int, Operation] = {}  # of the constants
        self.handles: list[tuple[int, Node]] = []  # (slot, node)
        self.steps: list[Any] = []
        self._segment(ops, cut, functions)
        self.fetch_slots = [self.slot_of[t] for t in fetches]
        self.feed_slots = [self.slot_of[t] for t in feeds]
        self.n_slots = len(self.slot_of)
        self.runs = 0
        self.template: list[Any] | None = None
        self.epoch = -1
        self._dependencies: dict[Any, set[Any]] | None = None

    def _read_late(self, cut: set[Tensor]) -> None:
        """Puts operations that read variables when they run in the place of those that must."""
        late = late_readers(self.ops, cut, self.home)
        if not late:
            return
        self.ops = [late.get(op, op) for op in self.ops]
        for op, reader in late.items():
            self.compilable[reader] = self.compilable[op]
            self.placed[reader] = self.placed[op]
            if self.home is not self.placed:
                self.home[reader] = self.home[op]
            self.source.update(dict.fromkeys([op, *(t._op for t in op._outputs)], reader))

    def _slot(self, tensor: Tensor) -> int:
        return self.slot_of.setdefault(tensor, len(self.slot_of))

    def _segment(self, ops: list[Operation], cut: set[Tensor], functions: Any) -> None:
        out_level: dict[Operation, int] = {}
        groups: dict[int, dict[tuple[Device, frozenset], list[Operation]]] = {}
        placed, home = self.placed, self.home
        hosts: dict[int, list[Operation]] = {}
        small: set[Operation] = set()
        constant: set[Operation] = set()
        # Behind which operations that may wait an operation is. What is behind different ones is in different
        # segments, so that one that waits holds up only what needs it.
        behind: dict[Operation, frozenset] = {}
        for op in ops:
            if op._outputs and all(t in cut for t in op._outputs) and not op._control_inputs:
                continue
            kind = op._decl.name
            if kind == "Const" and not op._control_inputs:
                value = op._attrs["value"]
                out_level[op] = 0
                if isinstance(value, np.ndarray):
                    constant.add(op)
                    self.producer[self._slot(op._outputs[0])] = op
                    self.constants.append((self._slot(op._outputs[0]), value))
                    if value.size <= _LARGE_CONSTANT and value.dtype != object:
                        small.add(op)
                    continue
            if op._decl.handle and not op._control_inputs:
                out_level[op] = 0
                self.handles.append(
                    (self._slot(op._outputs[0]), Node(op, (), (self._slot(op._outputs[0]),)))
                )
                continue
            level = 0
            waits: frozenset = frozenset()
            for source in [t._op for t in op._inputs if t not in cut] + op._control_inputs:
                source = self.source.get(source, source)
                before = out_level.get(source, 0)
                if source in behind and behind[source] != waits:
                    waits |= behind[source]
                # An edge between devices is a transfer: what is behind it is of a later level.
                if source not in constant and home.get(source) is not home[op]:
                    before += 1
                level = max(level, before)
            if op._decl.blocking:
                # What comes from other tasks in one round is waited for together: it is needed together.
                waits |= {op._attrs.get("_weft_level", op)}
            if waits:
                behind[op] = waits
            if self.compilable[op]:
                groups.setdefault(level, {}).setdefault((home[op], waits), []).append(op)
                out_level[op] = level
            else:
                hosts.setdefault(level, []).append(op)
                out_level[op] = level + 1
        for level in sorted(set(groups) | set(hosts)):
            # One segment may need another of its level that waits for less.
            for device, waits in sorted(groups.get(level, {}), key=lambda key: len(key[1])):
                members = groups[level][device, waits]
                self._add_segment(members, level, small, cut, device)
            for op in hosts.get(level, ()):
                outputs = tuple(-1 if t in cut else self._slot(t) for t in op._outputs)
                node = Node(op, tuple(self._slot(t) for t in op._inputs), outputs)
                self.steps.append(Host(node, level, placed[op]))

    def _add_segment(
        self,
        ops: list[Operation],
        level: int,
        small: set[Operation],
        cut: set[Tensor],
        device: Device,
    ) -> None:
        inside = set(ops)
        constants: dict[Operation, None] = {}
        inputs: dict[Tensor, None] = {}
        for op in ops:
            for t in op._inputs:
                if t._op in small and t not in cut:
                    constants.setdefault(t._op)
                elif self.source.get(t._op, t._op) not in inside or t in cut:
                    inputs.setdefault(t)
        wanted = set(self.fetches)
        outputs: dict[Tensor, None] = {}
        for op in ops:
            for t in op._outputs:
                if t in cut:
                    continue
                if t in wanted or any(c not in inside for c in self.users.get(t, ())):
                    outputs.setdefault(t)
        program = Program([*constants, *ops], list(inputs), list(outputs), f"segment {level}")
        self.steps.append(
            Segment(
                program,
                [self._slot(t) for t in inputs],
                [self._slot(t) for t in outputs],
                list(inputs),
                level,
                device,
            )
        )

    def dependencies(self) -> dict[Any, set[Any]]:
        """For each step of the plan those of its steps that must have run before."""
        if self._dependencies is None:
            members = {
                step: [step.node.op]
                if isinstance(step, Host)
                else [
                    n.op
                    for n in step.program.nodes
                    if n.decl.name != "Const" or n.op._control_inputs
                ]
                for step in self.steps
            }
            step_of = {op: step for step, ops in members.items() for op in ops}
            fed = set(self.feeds)
            found: dict[Any, set[Any]] = {}
            for step, ops in members.items():
                needed = found[step] = set()
                for op in ops:
                    sources = [t._op for t in op._inputs if t not in fed] + op._control_inputs
                    for source in sources:
                        before = step_of.get(self.source.get(source, source))
                        if before is not None and before is not step:
                            needed.add(before)
            self._dependencies = found
        return self._dependencies

    def describe(self) -> str:
        """Tells what the step does: what was pruned, which ops form a segment, on which tier and why."""
        lines = [
            f"plan: {len(self.fetches)} fetches, {len(self.targets)} targets, {len(self.feeds)} feeds; "
            f"{len(self.ops)} operations run, {self.pruned} pruned"
        ]
        if self.feeds:
            lines.append("  fed: " + ", ".join(t.name for t in self.feeds))
        if self.handles:
            lines.append("  state: " + ", ".join(n.op.name for _, n in self.handles))
        for step in self.steps:
            if isinstance(step, Host):
                lines.append(
                    f"  level {step.level}, {step.device.name}: host op {step.node.op.name} ({step.node.decl.name})"
                )
            else:
                lines.extend("  " + line for line in step.describe())
        return "\n".join(lines)


def _homes(devices: list[Device]) -> dict[Device, Device]:
    """For each CPU device the first one of its task."""
    first: dict[str, Device] = {}
    return {
        d: first.setdefault(d.name.rpartition("/device:")[0], d) for d in devices if d.kind == "CPU"
    }


def is_string(dtype: dtypes.DType) -> bool:
    return dtype.base_dtype is dtypes.string
