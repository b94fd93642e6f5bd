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
# What moves tensors between tasks tells, and is told, whether they are dead.
SENDS = frozenset(("_Send", "_HostSend", "WeftSend"))
RECEIVES = frozenset(("_Recv", "_HostRecv", "WeftRecv"))
TRANSFERS = SENDS | RECEIVES


class _Dead:
    """The value of a tensor that is not there."""

    def __repr__(self) -> str:
        return "<dead>"


DEAD = _Dead()


class _Item:
    """An operation of the region, and who waits for it."""

    __slots__ = (
        "op",
        "node",
        "kind",
        "n_data",
        "n_control",
        "followers",
        "controls",
        "exits",
        "is_transfer",
    )

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
        self.is_transfer = self.kind in TRANSFERS


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
        self.enters: dict[bytes, int] = {}  # how many ways lead into a frame
        for item in self.items.values():
            if item.kind in ENTERS:
                name = item.op._attrs["frame_name"]
                self.enters[name] = self.enters.get(name, 0) + 1

    def run(self, ctx: Any, args: list[Any]) -> list[Any]:
        """Runs the region; an output that stayed dead is None."""
        node = ctx.node
        may_put_off = ctx.may_put_off is node
        root = _Frame(None, b"")
        root.iterations[0] = _Iteration(root, 0)
        run = _Run(self, ctx, root)
        iteration = root.iterations[0]
        for value, followers in zip(args, self.feeds):
            for item, at in followers:
                run.deliver(iteration, item, at, value)
        for item in self.items.values():
            if not item.n_data and not item.n_control:
                run.make_ready(iteration, item, False)
        waiting = run.go_on()
        while waiting is not None:
            if may_put_off:
                raise interpreter.PutOff(waiting)
            ctx.step.wait_for([waiting])
            waiting = run.go_on()
        return run.results


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
        "under_way",
    )

    def __init__(self, frame: _Frame, number: int):
        self.frame, self.number = frame, number
        self.waits: dict[_Item, int] = {}  # inputs that have not arrived
        self.dead: dict[_Item, int] = {}  # inputs that are dead
        self.values: dict[_Item, list[Any]] = {}
        self.merged: set[_Item] = set()  # merges that have their value
        self.ready: deque[tuple[_Item, bool]] = deque()
        self.is_active = False
        self.under_way = 0  # tensors that are to come from other tasks
        self.frames: dict[bytes, _Frame] = {}

    def path(self) -> tuple[tuple[int, str], ...]:
        """Where it is in loops: for each frame in which iteration around it was begun, and its name."""
        frame = self.frame
        if frame.around is None:
            return ()
        return (*frame.around.path(), (frame.around.number, frame.name.decode()))


class _Frame:
    """A loop that is under way."""

    __slots__ = (
        "around",
        "name",
        "depth",
        "iterations",
        "constants",
        "last",
        "dead_exits",
        "left",
        "entered",
    )

    def __init__(self, around: _Iteration | None, name: bytes):
        self.around, self.name = around, name
        self.depth: int = 0 if around is None else around.frame.depth + 1
        self.iterations: dict[int, _Iteration] = {}
        self.constants: list[tuple[_Item, Any]] = []  # loop invariants, for each iteration
        self.last = 0
        self.dead_exits: dict[_Item, None] = {}
        self.left: set[_Item] = set()  # exits that a value went through
        self.entered = 0  # how many of the ways into it something has come by


class _Run:
    """A run of a region. While it waits for other tasks it is what its executor waits for."""

    def __init__(self, region: Region, ctx: Any, root: _Frame):
        self.region, self.ctx, self.root = region, ctx, root
        self.node = ctx.node
        self.results: list[Any] = [None] * len(region.outputs)
        self.waiting: list[tuple[_Iteration, _Item, Any]] = []
        self.active: list[tuple[int, int, int, _Iteration]] = []  # iterations with work, as a heap
        self.count = 0

    # -- as an executor waits for it

    @property
    def done(self) -> bool:
        return any(arrival.done for _, _, arrival in self.waiting)

    def notify(self, wake: Any) -> None:
        for _, _, arrival in self.waiting:
            arrival.notify(wake)

    def cancel(self, error: Exception | None = None) -> None:
        for _, _, arrival in self.waiting:
            arrival.cancel(error)

    def result(self) -> Any:
        """What the region gives; `PutOff` is raised where it has to wait again."""
        waiting = self.go_on()
        if waiting is not None:
            raise interpreter.PutOff(waiting)
        return given(self.region, self.results, self.node.op)

    # -- running

    def go_on(self) -> _Run | None:
        """Runs what can be run; returns what has to be waited for, or None where all is done."""
        arrived = [w for w in self.waiting if w[2].done]
        self.waiting = [w for w in self.waiting if not w[2].done]
        for iteration, item, arrival in arrived:
            iteration.under_way -= 1
            values = [None] * (item.n_data + len(item.op._outputs))
            interpreter.finish_node(item.node, arrival, values)
            outputs = values[item.n_data :]
            self.send(iteration, item, outputs, outputs[0] is DEAD)
            self.awake(iteration)
        self.work(self.root)
        self.ctx.node = self.node
        return self if self.waiting else None

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
        self.awake(iteration)

    def awake(self, iteration: _Iteration) -> None:
        """Sees to it that an iteration is looked at again."""
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
        if iteration.under_way:
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
                if self.waiting and not self.is_at_rest(inner):
                    continue
                del iteration.frames[name]
                for item in inner.dead_exits:
                    if item not in inner.left:
                        self.hand_out(iteration, item, [DEAD] * len(item.op._outputs), True)
                if self.active:
                    return True
        return False

    def is_at_rest(self, frame: _Frame) -> bool:
        """Whether nothing more comes into a frame, and nothing is to come in it."""
        if frame.entered < self.region.enters[frame.name]:
            return False
        return not any(
            iteration.under_way or not all(map(self.is_at_rest, iteration.frames.values()))
            for iteration in frame.iterations.values()
        )

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
        if item.is_transfer:
            self.transfer(iteration, item, args, is_dead)
            return
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

    def transfer(self, iteration: _Iteration, item: _Item, args: list[Any], is_dead: bool) -> None:
        """Sends a tensor, dead or alive, or receives one, for which the rest does not wait."""
        ctx = self.ctx
        ctx.step.check()
        ctx.node = ctx.may_put_off = item.node
        ctx.position = (iteration.path(), iteration.number) if iteration.frame.depth else None
        values = [DEAD] * item.n_data if is_dead else args
        values = [*values, *([None] * len(item.op._outputs))]
        try:
            interpreter.run_node(item.node, values, ctx)
        except interpreter.PutOff as e:
            iteration.under_way += 1
            self.waiting.append((iteration, item, e.waiting))
            return
        finally:
            ctx.may_put_off = ctx.position = None
        outputs = values[item.n_data :]
        self.send(iteration, item, outputs, bool(outputs) and outputs[0] is DEAD)

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
            frame.entered += 1
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
    return given(op.region, op.region.run(ctx, list(inputs)), op)


def given(region: Region, results: list[Any], op: RegionOp) -> list[Any]:
    """What a region gives, if all that the step fetches is there."""
    for t, value in zip(region.outputs, results):
        if value is None and t in op.wanted:
            raise errors.InvalidArgumentError(
                t.op.node_def,
                t.op,
                f"Retval[0] does not have value: {t.name} is on a branch that was not taken.",
            )
    return results


_region_decl.kernel = _run_region

__all__ = ["DEAD", "OPS", "Region", "RegionOp"]
