"""Plans of graphs with TensorFlow 1's control flow ops: Switch and Merge, Enter and Exit.

Where they make up ordinary branches and loops, as tf.cond and tf.while_loop of TensorFlow 1 built them, a plan has
If and While in their place, whose functions are cut out of the graph: what runs and compiles then is as for a
graph of weft's own. What is left is run by data flow (weft/engine/dataflow.py).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

from weft.engine import dataflow
from weft.engine.dataflow import ENTERS, EXITS, MERGES, NEXTS, SWITCHES
from weft.framework import errors, registry
from weft.framework.attributes import Func
from weft.framework.operation import Operation
from weft.framework.tensor import Tensor
from weft.runtime.functions import CutFunction, in_order_of_creation
from weft.runtime.regions import with_regions

_numbers = itertools.count()


class NotOrdinary(Exception):
    """Control flow that does not look like branches and loops."""


def has_control_flow(ops: Iterable[Operation]) -> bool:
    return any(op._decl.name in dataflow.OPS for op in ops)


def replace(
    graph: Any,
    ops: list[Operation],
    fetches: list[Tensor],
    targets: list[Operation],
    cut: set[Tensor],
    functions: Any,
) -> list[Operation]:
    """The operations of a plan, with others in place of those that steer the flow."""
    _check_frames(ops, cut)
    try:
        ops = _Scope(graph, ops, cut, functions, ()).lowered(fetches, targets)
    except NotOrdinary:
        pass
    if has_control_flow(ops):
        ops = with_regions(graph, ops, fetches, cut, in_order_of_creation)
    return ops


def _check_frames(ops: list[Operation], cut: set[Tensor]) -> None:
    """Raises InvalidArgumentError where an operation takes values of different loops."""
    frames: dict[Operation, tuple[bytes, ...]] = {}
    for op in ops:
        here: Any = None
        for source in [t._op for t in op._inputs if t not in cut] + op._control_inputs:
            if source not in frames:
                continue  # the end of an iteration, which the loop's Merge comes before
            frame = frames[source]
            if source.type in ("Exit", "RefExit"):
                frame = frame[:-1]
            if here is None:
                here, first = frame, source
            elif here != frame:
                names = [
                    (s.name, "/".join(f.decode() for f in at))
                    for s, at in ((first, here), (source, frame))
                ]
                raise errors.InvalidArgumentError(
                    op.node_def,
                    op,
                    f"{op.name} has inputs from different frames. "
                    + " ".join(f"The input {name} is in frame '{at}'." for name, at in names),
                )
        here = here or ()
        if op.type in ("Enter", "RefEnter"):
            here = (*here, op._attrs["frame_name"])
        frames[op] = here


class PlannedOp(Operation):
    """An operation of a plan that is none of the graph; its outputs are tensors of the graph."""

    def __init__(
        self,
        graph: Any,
        kind: str,
        inputs: list[Tensor],
        outputs: list[Tensor],
        attrs: dict[str, Any],
        controls: list[Operation],
        like: Operation,
        functions: list[CutFunction],
    ):
        self._graph, self._decl = graph, registry.get(kind)
        self._name = like._name
        self._inputs, self._outputs, self._attrs = inputs, outputs, attrs
        self._control_inputs, self._control_outputs = controls, []
        self._device, self._site, self._id = like._device, like._site, like._id
        self._original_op = None
        self.functions = functions  # which live as long as the plan does


def _stand_in(like: Tensor) -> Tensor:
    """A tensor that nobody reads, where a function has an input that it does not use."""
    tensor = Tensor(like._op, like._index, like._dtype)
    tensor._dims = like._dims
    return tensor


def _predicate(tensor: Tensor) -> Tensor:
    """The tensor that decides, through ops that pass it on."""
    while tensor._op._decl.name == "Identity":
        tensor = tensor._op._inputs[0]
    return tensor


def _frame_name(enter: Operation) -> str:
    return enter._attrs["frame_name"].decode()


class _Scope:
    """Operations of one level: a plan's, or those of a branch or a loop's body."""

    def __init__(
        self,
        graph: Any,
        ops: list[Operation],
        cut: set[Tensor],
        functions: Any,
        path: tuple[str, ...],
    ):
        self.graph, self.ops, self.cut, self.functions = graph, ops, cut, functions
        self.path = path
        self.source: dict[Tensor, Operation] = {t: op for op in ops for t in op._outputs}
        self.conditions: dict[Operation, frozenset] = {}
        self.merge_on: dict[Operation, Tensor] = {}  # Merge -> predicate
        self.run_once: set[Operation] = set()  # those of the branches that have state or effects

    def lowered(self, outputs: list[Tensor], targets: list[Operation]) -> list[Operation]:
        """The operations with If and While in place of others, in an order to run them in."""
        if not self.path and any(f for op, f in self._frames_of_transfers()):
            raise NotOrdinary  # a loop that other tasks take part in
        self._lower_loops()
        self._find_conditions()
        if any(op.type in dataflow.TRANSFERS and c for op, c in self.conditions.items()):
            raise NotOrdinary  # a branch that other tasks take part in
        self._lower_branches(outputs, targets)
        return in_order_of_creation(self._needed(outputs, targets))

    def _needed(self, outputs: list[Tensor], targets: list[Operation]) -> list[Operation]:
        """The operations that are still needed, now that others have taken the place of some."""
        place = {t: op for op in self.ops for t in op._outputs}
        place.update((t, op) for op in self.ops if type(op) is PlannedOp for t in op._outputs)
        swallowed = {t._op: op for op in self.ops if type(op) is PlannedOp for t in op._outputs}
        there = set(self.ops)
        found: dict[Operation, None] = {}
        stack = [place[t] for t in outputs if t not in self.cut and t in place]
        stack += [swallowed.get(op, op) for op in targets]
        while stack:
            op = stack.pop()
            if op in found:
                continue
            found[op] = None
            stack.extend(place[t] for t in op._inputs if t not in self.cut and t in place)
            for c in op._control_inputs:
                c = swallowed.get(c, c)
                if c in there:
                    stack.append(c)
        return list(found)

    def _take(self, swallowed: set[Operation], new: PlannedOp) -> None:
        self.ops = [op for op in self.ops if op not in swallowed]
        self.ops.append(new)
        for t in new._outputs:
            self.source[t] = new

    def _frames_of_transfers(self) -> list[tuple[Operation, tuple[str, ...]]]:
        """What moves tensors between tasks, with the frame that it is in."""
        if not any(op.type in dataflow.TRANSFERS for op in self.ops):
            return []
        frames = self._frames()
        return [(op, frames[op]) for op in self.ops if op.type in dataflow.TRANSFERS]

    # -- loops

    def _lower_loops(self) -> None:
        if not any(op._decl.name in ENTERS for op in self.ops):
            return
        frames = self._frames()
        depth = len(self.path)
        names = dict.fromkeys(f[depth] for f in frames.values() if len(f) > depth)
        for name in names:
            inner = (*self.path, name)
            members = [op for op in self.ops if frames.get(op, ())[: depth + 1] == inner]
            self._lower_loop(name, members, frames)

    def _frames(self) -> dict[Operation, tuple[str, ...]]:
        """The frame that each operation runs in."""
        frames: dict[Operation, tuple[str, ...]] = {}
        for op in in_order_of_creation(self.ops):
            frame = self.path
            sources = [self.source[t] for t in op._inputs if t not in self.cut and t in self.source]
            for source in (*sources, *op._control_inputs):
                if source not in frames:
                    continue  # the way back of a loop
                given = frames[source]
                kind = source._decl.name
                if kind in ENTERS:
                    given = (*given, _frame_name(source))
                elif kind in EXITS:
                    given = given[:-1]
                if len(given) > len(frame):
                    frame, given = given, frame
                if frame[: len(given)] != given:
                    raise NotOrdinary
            frames[op] = frame
        return frames

    def _lower_loop(
        self, name: str, members: list[Operation], frames: dict[Operation, tuple[str, ...]]
    ) -> None:
        inner = (*self.path, name)
        enters = [
            op
            for op in self.ops
            if op._decl.name in ENTERS and frames.get(op) == self.path and _frame_name(op) == name
        ]
        own = [op for op in members if frames[op] == inner]
        conditions = [op for op in own if op._decl.name == "LoopCond"]
        if len(conditions) != 1:
            raise NotOrdinary
        condition = conditions[0]
        merges = [
            op
            for op in own
            if op._decl.name in MERGES
            and len(op._inputs) == 2
            and op._inputs[0]._op._decl.name in ENTERS
            and op._inputs[1]._op._decl.name in NEXTS
        ]
        place = {m._outputs[0]: i for i, m in enumerate(merges)}
        switches: dict[int, Operation] = {}
        exits: dict[int, Operation] = {}
        for op in own:
            kind = op._decl.name
            if kind in SWITCHES and op._inputs[1] is condition._outputs[0]:
                i = place.get(op._inputs[0])
                if i is None or i in switches:
                    raise NotOrdinary
                switches[i] = op
        of_switch = {s._outputs[0]: i for i, s in switches.items()}
        for op in own:
            if op._decl.name in EXITS:
                i = of_switch.get(op._inputs[0])
                if i is None or i in exits:
                    raise NotOrdinary
                exits[i] = op
            elif any(t in of_switch for t in op._inputs):
                raise NotOrdinary
        used = set(_all_inputs(self.ops))
        if any(m._outputs[1] in used for m in merges):
            raise NotOrdinary
        variables = {m._inputs[0]._op for m in merges}
        constants = [e for e in enters if e not in variables]
        if len(variables) != len(merges) or any(m._inputs[0]._op not in enters for m in merges):
            raise NotOrdinary
        fixed = [e._outputs[0] for e in constants]
        at_start = [m._outputs[0] for m in merges] + fixed
        in_body = [
            switches[i]._outputs[1] if i in switches else _stand_in(m._outputs[0])
            for i, m in enumerate(merges)
        ] + fixed
        results = [m._inputs[1]._op._inputs[0] for m in merges] + fixed
        aliases = {m._outputs[0]: in_body[i] for i, m in enumerate(merges)}
        boundary = {*merges, *switches.values(), *enters, condition}
        members_set = set(members)
        cond = self._function(
            name + "_cond", members_set, boundary, at_start, [condition._inputs[0]], {}, inner
        )
        # What the next iteration waits for has to be done in this one.
        ends = {
            c
            for m in merges
            for c in m._inputs[1]._op._control_inputs
            if c in members_set and c not in boundary
        }
        body = self._function(
            name + "_body",
            members_set,
            boundary,
            in_body,
            results,
            aliases,
            inner,
            references=frozenset(i for i, m in enumerate(merges) if m._decl.name == "RefMerge"),
            ends=ends,
        )
        outputs = [
            exits[i]._outputs[0] if i in exits else _stand_in(m._outputs[0])
            for i, m in enumerate(merges)
        ] + [_stand_in(t) for t in fixed]
        inputs = [m._inputs[0]._op._inputs[0] for m in merges]
        inputs += [e._inputs[0] for e in constants]
        controls = [c for e in enters for c in e._control_inputs]
        new = PlannedOp(
            self.graph,
            "While",
            inputs,
            outputs,
            {
                "T": [t._dtype.base_dtype for t in inputs],
                "cond": Func(cond.name),
                "body": Func(body.name),
                "output_shapes": [t._dims for t in outputs],
                "parallel_iterations": 10,
            },
            list(dict.fromkeys(controls)),
            next(iter(exits.values()), merges[0] if merges else condition),
            [cond, body],
        )
        self._take({*members, *enters}, new)

    def _function(
        self,
        name: str,
        members: set[Operation],
        boundary: set[Operation],
        inputs: list[Tensor],
        outputs: list[Tensor],
        aliases: dict[Tensor, Tensor],
        path: tuple[str, ...],
        references: frozenset[int] = frozenset(),
        ends: Iterable[Operation] = (),
    ) -> CutFunction:
        """A function of the operations that lead from inputs to outputs, and to the operations `ends`. Of the
        outputs, `references` stay references; others are read as it returns."""
        cut = {*inputs, *aliases}
        found: dict[Operation, None] = {}
        stack = [self.source[t] for t in outputs if t not in cut]
        stack.extend(ends)
        while stack:
            op = stack.pop()
            if op in found:
                continue
            if op not in members or op in boundary:
                raise NotOrdinary
            found[op] = None
            for t in op._inputs:
                if t not in cut:
                    stack.append(self.source[t])
            for c in op._control_inputs:
                if c in members and c not in boundary:
                    stack.append(c)
        scope = _Scope(self.graph, list(found), cut, self.functions, path)
        ops = scope.lowered(outputs, list(found) if _has_effects(found) else [])
        if has_control_flow(ops):
            raise NotOrdinary
        read = [i for i, t in enumerate(outputs) if t._dtype._is_ref_dtype and i not in references]
        function = CutFunction(f"{name}_{next(_numbers)}", inputs, outputs, ops, aliases, read)
        self.functions.add_local(function)
        return function

    # -- branches

    def _find_conditions(self) -> None:
        """For each operation the outcomes of predicates under which it runs."""
        if not any(op._decl.name in SWITCHES for op in self.ops):
            return
        for op in in_order_of_creation(self.ops):
            if op._decl.name in MERGES:
                self.conditions[op] = self._of_merge(op)
                continue
            known: frozenset = frozenset()
            for t in op._inputs:
                known |= self._of(t)
            for c in op._control_inputs:
                known |= self.conditions.get(c, frozenset())
            self.conditions[op] = known

    def _of(self, tensor: Tensor) -> frozenset:
        op = self.source.get(tensor)
        if op is None or tensor in self.cut:
            return frozenset()
        known = self.conditions.get(op, frozenset())
        if op._decl.name in SWITCHES:
            known |= {(_predicate(op._inputs[1]), tensor._index)}
        return known

    def _of_merge(self, op: Operation) -> frozenset:
        if len(op._inputs) != 2:
            raise NotOrdinary
        first, second = (self._of(t) for t in op._inputs)
        common = first & second
        one, other = first - common, second - common
        if len(one) != 1 or len(other) != 1:
            raise NotOrdinary
        (p, i), (q, j) = next(iter(one)), next(iter(other))
        if p is not q or i == j:
            raise NotOrdinary
        self.merge_on[op] = p
        return common

    def _lower_branches(self, outputs: list[Tensor], targets: list[Operation]) -> None:
        groups: dict[Any, list[Operation]] = {}
        for op, predicate in self.merge_on.items():
            if not self.conditions[op]:  # inner ones are lowered with the branch they are in
                scope = op._name.rpartition("/")[0]
                groups.setdefault((id(predicate), scope), []).append(op)
        if not groups:
            return
        used = set(_all_inputs(self.ops)) | set(outputs)
        for merges in groups.values():
            if any(m._outputs[1] in used for m in merges):
                raise NotOrdinary
            self._lower_branch(merges)

    def _lower_branch(self, merges: list[Operation]) -> None:
        predicate = self.merge_on[merges[0]]
        entries: dict[Any, tuple[Tensor, dict[int, Tensor]]] = {}  # input outside, inside by branch
        controls: list[Operation] = []
        members: list[set[Operation]] = []
        results: list[list[Tensor]] = []
        for branch in (0, 1):
            ends = [
                next(t for t in m._inputs if (predicate, branch) in self._of(t)) for m in merges
            ]
            results.append(ends)
            found = self._branch_members(ends, predicate, branch, entries, controls)
            members.append(found)
            # What only computes may be computed again where the gradient needs it. A random number may not.
            once = {op for op in found if _has_effects([op])}
            if not once.isdisjoint(self.run_once):
                raise NotOrdinary
            self.run_once |= once
        inside: list[list[Tensor]] = [[], []]
        inputs = []
        for outer, by_branch in entries.values():
            inputs.append(outer)
            for branch in (0, 1):
                inside[branch].append(
                    by_branch[branch] if branch in by_branch else _stand_in(outer)
                )
        name = merges[0]._name.replace("/", "_")
        references = frozenset(i for i, m in enumerate(merges) if m._decl.name == "RefMerge")
        bodies = [
            self._function(
                f"{name}_{label}",
                members[b],
                set(),
                inside[b],
                results[b],
                {},
                self.path,
                references,
            )
            for b, label in enumerate(("false", "true"))
        ]
        tensors = [m._outputs[0] for m in merges]
        new = PlannedOp(
            self.graph,
            "If",
            [predicate, *inputs],
            tensors,
            {
                "Tcond": predicate._dtype.base_dtype,
                "Tin": [t._dtype.base_dtype for t in inputs],
                "Tout": [t._dtype.base_dtype for t in tensors],
                "then_branch": Func(bodies[1].name),
                "else_branch": Func(bodies[0].name),
                "output_shapes": [t._dims for t in tensors],
            },
            list(dict.fromkeys(controls)),
            merges[0],
            bodies,
        )
        self._take(set(merges), new)

    def _branch_members(
        self,
        ends: list[Tensor],
        predicate: Tensor,
        branch: int,
        entries: dict[Any, tuple[Tensor, dict[int, Tensor]]],
        controls: list[Operation],
    ) -> set[Operation]:
        """The operations of a branch; notes what enters it, and what runs before it."""
        here = (predicate, branch)
        found: set[Operation] = set()
        stack: list[Any] = list(ends)
        while stack:
            item = stack.pop()
            if isinstance(item, Tensor):
                op = self.source.get(item, item._op)
                if op._decl.name in SWITCHES and _predicate(op._inputs[1]) is predicate:
                    # What is switched again by the same predicate may be dead already.
                    again = any(p is predicate for p, _ in self._of(op._inputs[0]))
                    if item._index != branch or again:
                        raise NotOrdinary
                    outer, by_branch = entries.setdefault(op, (op._inputs[0], {}))
                    by_branch[branch] = item
                    controls.extend(op._control_inputs)
                    continue
                if item in self.cut or here not in self._of(item):
                    outer, by_branch = entries.setdefault(item, (item, {}))
                    by_branch[branch] = item
                    continue
            else:
                op = item
                if here not in self.conditions.get(op, ()):
                    if not (op._decl.name in SWITCHES and _predicate(op._inputs[1]) is predicate):
                        controls.append(op)
                    continue
            if op in found:
                continue
            found.add(op)
            stack.extend(op._inputs)
            stack.extend(op._control_inputs)
        return found


def _all_inputs(ops: Iterable[Operation]) -> Iterable[Tensor]:
    return (t for op in ops for t in op._inputs)


def _has_effects(ops: Iterable[Operation]) -> bool:
    return any(op._decl.stateful or any(a.is_ref for a in op._decl.signature.inputs) for op in ops)
