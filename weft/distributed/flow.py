"""What is known of TensorFlow 1's control flow in a step that is cut: which operations are in which loops, and
which may not run."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

from weft.engine.dataflow import ENTERS, EXITS, MERGES, NEXTS, OPS, SWITCHES
from weft.framework.operation import Operation
from weft.framework.tensor import Tensor
from weft.runtime.devices import Device

Path = tuple[bytes, ...]  # the names of frames, from outside in


class Condition(NamedTuple):
    """What decides whether a loop goes on."""

    op: Operation
    parallel_iterations: int


class Flow:
    """The frames of a step's operations, and under which conditions these run."""

    def __init__(self, ops: list[Operation], cut: Collection[Tensor]):
        self.conditions: dict[Path, Condition] = {}
        self._frames: dict[Operation, Path] = {}
        self._guards: dict[Operation, frozenset] = {}  # (predicate, outcome) that it runs under
        self._cut = cut
        if any(op.type in OPS for op in ops):
            parallel: dict[Path, int] = {}
            for op in ops:
                self._look_at(op, parallel)

    def _look_at(self, op: Operation, parallel: dict[Path, int]) -> None:
        frame: Path = ()
        guards: frozenset = frozenset()
        of_inputs = []
        for item in (*op._inputs, *op._control_inputs):
            source = item._op if type(item) is Tensor else item
            if item in self._cut or source not in self._frames:
                continue  # fed, or the end of an iteration
            given = self.after(source)
            frame = given if len(given) > len(frame) else frame
            of_inputs.append(self._of(item))
            guards |= of_inputs[-1]
        if op.type in MERGES and len(of_inputs) == 2:
            first, second = of_inputs
            one, other = first - second, second - first
            if len(one) == len(other) == 1:
                (p, i), (q, j) = *one, *other
                if p is q and i != j:
                    guards = first & second
        if op.type in ENTERS:
            frame = (*frame, op._attrs["frame_name"])
            parallel[frame] = op._attrs["parallel_iterations"]
        if op.type == "LoopCond":
            self.conditions[frame] = Condition(op, parallel.get(frame, 10))
        self._frames[op], self._guards[op] = frame, guards

    def _of(self, item: Any) -> frozenset:
        source = item._op if type(item) is Tensor else item
        guards = self._guards[source]
        if type(item) is Tensor and source.type in SWITCHES:
            predicate = source._inputs[1]
            while predicate._op.type == "Identity":
                predicate = predicate._op._inputs[0]
            if predicate._op.type != "LoopCond":  # whose loop is what decides
                guards |= {(predicate, item._index)}
        return guards

    def after(self, op: Operation) -> Path:
        """The frame that an operation's outputs are in."""
        frame = self._frames.get(op, ())
        return frame[:-1] if op.type in EXITS else frame

    def around(self, op: Operation) -> Path:
        """The frame that an operation's inputs are in."""
        frame = self._frames.get(op, ())
        return frame[:-1] if op.type in ENTERS else frame

    def is_certain(self, item: Any) -> bool:
        """Whether a tensor, or the end of an operation, comes in every step, and once."""
        source = item._op if type(item) is Tensor else item
        if source not in self._frames:
            return True
        return not self.after(source) and not self._of(item)


def colocate(ops: list[Operation], placed: dict[Operation, Device]) -> None:
    """Moves what steers the flow to where its data is: fewer tensors cross, and fewer tasks take part in a loop."""
    if not any(op.type in OPS for op in ops):
        return
    users: dict[Operation, Operation] = {}
    for op in ops:
        for t in op._inputs:
            users.setdefault(t._op, op)
    for op in ops:
        if op.type in SWITCHES or op.type in EXITS:
            placed[op] = placed.get(op._inputs[0]._op, placed[op])
    for op in reversed(ops):
        is_reference = op._inputs and op._inputs[0]._dtype._is_ref_dtype
        if (op.type in ENTERS and not is_reference) or op.type in NEXTS:
            if op in users:
                placed[op] = placed[users[op]]
