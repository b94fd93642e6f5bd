"""Runs a region of a graph by data flow: each operation as its inputs arrive. This is for graphs with TensorFlow
1's control flow ops that cannot be seen as branches and loops.

A Switch leaves one of its outputs *dead*; an operation with a dead input does not run, and its outputs are
dead; a Merge passes on the first input that is alive. Between Enter and Exit there is a *frame*, in which
operations run once in each iteration; NextIteration passes a value to the next one.
"""

from __future__ import annotations

import heapq
from collections import deque
from typing import Any

from weft.engine import interpreter
from weft.engine.program import Node
from weft.framework import errors
from weft.framework.operation import Operation
from weft.framework.registry import OpDecl
from weft.framework.tensor import Tensor

MERGES = frozenset(("Merge", "RefMerge"))
SWITCHES = frozenset(("Switch", "RefSwitch"))
ENTERS = frozenset(("Enter", "RefEnter"))
EXITS = frozenset(("Exit", "RefExit"))
NEXTS = frozenset(("NextIteration", "RefNextIteration"))
OPS = MERGES | SWITCHES | ENTERS | EXITS | NEXTS | {"LoopCond"}


class _Dead:
    """The value of a tensor that is not there."""

    def __repr__(self) -> str:
        return "<dead>"


DEAD = _Dead()


class _Item:
    """An operation of the region, and who waits for it."""

    __slots__ = ("op", "node", "kind", "n_data", "n_control", "followers", "controls", "exits")

    def __init__(self, op: Operation):
        self.op = op
        self.kind = op._decl.name
        n, m = len(op._inputs), len(op._outputs)
        self.node = Node(op, tuple(range(n)), tuple(range(n, n + m)))
        self.n_data = n
        self.n_control = 0
        self.followers: list[list[tuple[_Item, int]]] = [[] for _ in range(m)]
        self.controls: list[_Item] = []
        self.exits: list[tuple[int, int]] = []  # (output, place among the region's outputs)


class Region:
    """Operations that are run by data flow, from some tensors outside to some inside."""

    def __init__(self, ops: list[Operation], inputs: list[Tensor], outputs: list[Tensor]):
        self.inputs, self.outputs = inputs, outputs
        self.items = {op: _Item(op) for op in ops}
        self.feeds: list[list[tuple[_Item, int]]] = [[] for _ in inputs]
        place = {t: i for i, t in enumerate(inputs)}
        # Not `t._op`: the outputs of an If or While that was made of others are tensors of these.
        source = {
            t: (item, k) for item in self.items.values() for k, t in enumerate(item.op._outputs)
        }
        for item in self.items.values():
            for at, t in enumerate(item.op._inputs):
                if t in place:
                    self.feeds[place[t]].append((item, at))
                else:
                    found, k = source[t]
                    found.followers[k].append((item, at))
            for c in item.op._control_inputs:
                if c in self.items:
                    item.n_control += 1
                    self.items[c].controls.append(item)
        for i, t in enumerate(outputs):
            if t not in place:
                found, k = source[t]
                found.exits.append((k, i))

    def run(self, ctx: Any, args: list[Any]) -> list[Any]:
        """Runs the region; an output that stayed dead is None."""
        results: list[Any] = [None] * len(self.outputs)
        node = ctx.node
        root = _Frame(None, "")
        root.iterations[0] = _Iteration(root, 0)
        run = _Run(self, ctx, results)
        iteration = root.iterations[0]
        for value, followers in zip(args, self.feeds):
            for item, at in followers:
                run.deliver(iteration, item, at, value)
        for item in self.items.values():
            if not item.n_data and not item.n_control:
                run.make_ready(iteration, item, False)
        run.work(root)
        ctx.node = node
        return results


class _Iteration:
    """One iteration of a frame: what has arrived in it."""

    __slots__ = (
        "frame",
        "number",
        "waits",
        "dead",
        "values",
        "merged",
        "ready",
        "frames",
        "is_active",
    )

    def __init__(self, frame: _Frame, number: int):
        self.frame, self.number = frame, number
        self.waits: dict[_Item, int] = {}  # inputs that have not arrived
        self.dead: dict[_Item, int] = {}  # inputs that are dead
        self.values: dict[_Item, list[Any]] = {}
        self.merged: set[_Item] = set()  # merges that have their value
        self.ready: deque[tuple[_Item, bool]] = deque()
        self.is_active = False
        self.frames: dict[str, _Frame] = {}


class _Frame:
    """A loop that is under way."""

    __slots__ = ("around", "name", "depth", "iterations", "constants", "last", "dead_exits", "left")

    def __init__(self, around: _Iteration | None, name: str):
        self.around, self.name = around, name
        self.depth: int = 0 if around is None else around.frame.depth + 1
        self.iterations: dict[int, _Iteration] = {}
        self.constants: list[tuple[_Item, Any]] = []  # loop invariants, for each iteration
        self.last = 0
        self.dead_exits: dict[_Item, None] = {}
        self.left: set[_Item] = set()  # exits that a value went through


class _Run:
    def __init__(self, region: Region, ctx: Any, results: list[Any]):
        self.region, self.ctx, self.results = region, ctx, results
        self.active: list[tuple[int, int, int, _Iteration]] = []  # iterations with work, as a heap
        self.count = 0

    def work(self, root: _Frame) -> None:
        """Runs what can be run, inner loops and earlier iterations first, until nothing is left."""
        while True:
            while self.active:
                iteration = heapq.heappop(self.active)[-1]
                iteration.is_active = False
                while iteration.ready:
                    self.run_item(iteration, *iteration.ready.popleft())
                self.tidy(iteration)
            if not self.close_frames(root):
                return

    def make_ready(self, iteration: _Iteration, item: _Item, is_dead: bool) -> None:
        iteration.ready.append((item, is_dead))
        if not iteration.is_active:
            iteration.is_active = True
            self.count += 1
            heapq.heappush(
                self.active, (-iteration.frame.depth, iteration.number, self.count, iteration)
            )

    def tidy(self, iteration: _Iteration) -> None:
        """Forgets an iteration that is over, and a loop that was left and has come to rest."""
        frame = iteration.frame
        if frame.around is None or iteration.frames or any(iteration.waits.values()):
            return
        if iteration.number < frame.last:
            frame.iterations.pop(iteration.number, None)
        elif frame.left and len(frame.iterations) == 1:
            frame.around.frames.pop(frame.name, None)

    def close_frames(self, frame: _Frame) -> bool:
        """Ends loops that have come to rest: exits that nothing left by are dead."""
        for iteration in list(frame.iterations.values()):
            for name, inner in list(iteration.frames.items()):
                if self.close_frames(inner):
                    return True
                del iteration.frames[name]
                for item in inner.dead_exits:
                    if item not in inner.left:
                        self.hand_out(iteration, item, [DEAD] * len(item.op._outputs), True)
                if self.active:
                    return True
        return False

    def deliver(
        self, iteration: _Iteration, item: _Item, at: int, value: Any, enters: bool = False
    ) -> None:
        """Gives an operation one of its inputs."""
        if item.kind in MERGES:
            if value is DEAD:
                dead = iteration.dead[item] = iteration.dead.get(item, 0) + 1
                # A loop that is not entered, on a branch that was not taken, has no next iteration to wait for.
                if (enters or dead == item.n_data) and item not in iteration.merged:
                    self._merge_when_ready(iteration, item, [DEAD] * item.n_data)
            elif item not in iteration.merged:
                values: list[Any] = [DEAD] * item.n_data
                values[at] = value
                self._merge_when_ready(iteration, item, values)
            return
        values = iteration.values.setdefault(item, [DEAD] * item.n_data)
        values[at] = value
        self.arrived(iteration, item, value is DEAD)

    def _merge_when_ready(self, iteration: _Iteration, item: _Item, values: list[Any]) -> None:
        iteration.merged.add(item)
        iteration.values[item] = values
        if not iteration.waits.setdefault(item, item.n_control):
            self.make_ready(iteration, item, all(v is DEAD for v in values))

    def arrived(self, iteration: _Iteration, item: _Item, is_dead: bool) -> None:
        waits = iteration.waits.get(item, item.n_data + item.n_control) - 1
        iteration.waits[item] = waits
        if is_dead:
            iteration.dead[item] = iteration.dead.get(item, 0) + 1
        if not waits:
            self.make_ready(iteration, item, item in iteration.dead)

    def control(self, iteration: _Iteration, item: _Item, is_dead: bool) -> None:
        """Tells an operation that one it waits for is done."""
        if item.kind not in MERGES:
            self.arrived(iteration, item, is_dead)
            return
        waits = iteration.waits[item] = iteration.waits.get(item, item.n_control) - 1
        if not waits and item in iteration.merged:
            values = iteration.values[item]
            self.make_ready(iteration, item, all(v is DEAD for v in values))

    def run_item(self, iteration: _Iteration, item: _Item, is_dead: bool) -> None:
        args = iteration.values.pop(item, [])
        outputs: list[Any]
        if is_dead and item.kind != "ControlTrigger":
            outputs = [DEAD] * len(item.op._outputs)
        else:
            is_dead = False
            step = self.ctx.step
            if step is not None and step.stopped:
                step.check()
            self.ctx.node = item.node
            if item.kind in MERGES:
                args = [None if a is DEAD else a for a in args]
            values = [*args, *([None] * len(item.op._outputs))]
            interpreter.run_node(item.node, values, self.ctx)
            outputs = values[item.n_data :]
            if item.kind in SWITCHES:
                outputs = [DEAD if v is None else v for v in outputs]
        self.send(iteration, item, outputs, is_dead)

    def send(self, iteration: _Iteration, item: _Item, outputs: list[Any], is_dead: bool) -> None:
        """Passes outputs on, to wherever they belong."""
        kind = item.kind
        target: _Iteration | None = iteration
        if kind in ENTERS:
            name = item.op._attrs["frame_name"]
            frame = iteration.frames.get(name)
            if frame is None:
                frame = iteration.frames[name] = _Frame(iteration, name)
                frame.iterations[0] = _Iteration(frame, 0)
            if item.op._attrs["is_constant"]:
                frame.constants.append((item, outputs[0]))
                for inner in list(frame.iterations.values()):
                    self.hand_out(inner, item, outputs, is_dead)
                return
            target = frame.iterations.get(0)
        elif kind in EXITS and iteration.frame.around is not None:
            frame = iteration.frame
            if is_dead:
                frame.dead_exits.setdefault(item)
                return
            frame.left.add(item)
            target = frame.around
        elif kind in NEXTS:
            if is_dead:
                return
            target = self.next_iteration(iteration)
        if target is not None:
            self.hand_out(target, item, outputs, is_dead)

    def next_iteration(self, iteration: _Iteration) -> _Iteration:
        frame = iteration.frame
        number = iteration.number + 1
        found = frame.iterations.get(number)
        if found is None:
            found = frame.iterations[number] = _Iteration(frame, number)
            frame.last = max(frame.last, number)
            frame.dead_exits.clear()
            for item, value in frame.constants:
                self.hand_out(found, item, [value], value is DEAD)
        return found

    def hand_out(
        self, iteration: _Iteration, item: _Item, outputs: list[Any], is_dead: bool
    ) -> None:
        enters = item.kind in ENTERS
        for value, followers in zip(outputs, item.followers):
            for follower, at in followers:
                self.deliver(iteration, follower, at, value, enters)
        for follower in item.controls:
            self.control(iteration, follower, is_dead)
        if item.exits and iteration.frame.around is None:
            for at, i in item.exits:
                if outputs[at] is not DEAD:
                    self.results[i] = outputs[at]


class RegionOp(Operation):
    """A region as one operation of a plan. It is no part of the graph."""

    wanted: frozenset[Tensor] = frozenset()  # the outputs that the step fetches

    def __init__(self, graph: Any, region: Region, controls: list[Operation], like: Operation):
        self._graph, self._decl, self._name = (
            graph,
            _region_decl,
            f"control flow around {like._name}",
        )
        self._inputs, self._outputs = list(region.inputs), list(region.outputs)
        self._control_inputs, self._control_outputs = controls, []
        self._attrs = {
            "T": [t.dtype.base_dtype for t in region.inputs],
            "U": [t.dtype.base_dtype for t in region.outputs],
        }
        self._device, self._site, self._id = like._device, like._site, like._id
        self._original_op = None
        self.region = region


_region_decl = OpDecl(
    "ControlFlowRegion",
    "inputs: T -> outputs: U",
    "T: list(type); U: list(type)",
    stateful=True,
    host=True,
    passes_references=True,
)


def _run_region(ctx: Any, inputs: list[Any]) -> list[Any]:
    op = ctx.op
    results = op.region.run(ctx, list(inputs))
    for t, value in zip(op.region.outputs, results):
        if value is None and t in op.wanted:
            raise errors.InvalidArgumentError(
                t.op.node_def,
                t.op,
                f"Retval[0] does not have value: {t.name} is on a branch that was not taken.",
            )
    return results


_region_decl.kernel = _run_region

__all__ = ["DEAD", "OPS", "Region", "RegionOp"]
