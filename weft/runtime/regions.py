"""Regions: what of a plan is run by data flow, since it cannot be seen as branches and loops."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from weft.engine import dataflow
from weft.engine.dataflow import EXITS, MERGES, RECEIVES, SENDS, SWITCHES, Region, RegionOp
from weft.framework.operation import Operation
from weft.framework.tensor import Tensor

# What the master of a part knows: of a tensor that it receives, that it may be dead; of what a branch or a
# loop gives, that it will be there.
UNCERTAIN, CERTAIN = "_weft_uncertain", "_weft_certain"


class _Edges:
    """Which operation is behind and before which, by data and by control."""

    def __init__(self, ops: list[Operation], cut: set[Tensor]):
        self.ops, self.cut = ops, cut
        self.source = {t: op for op in ops for t in op._outputs}
        self.after: dict[Operation, list[Operation]] = {op: [] for op in ops}
        self.before: dict[Operation, list[Operation]] = {op: [] for op in ops}
        for op in ops:
            sources = [self.source[t] for t in op._inputs if t not in cut and t in self.source]
            for s in (*sources, *op._control_inputs):
                if s in self.after:
                    self.after[s].append(op)
                    self.before[op].append(s)

    def between(self, inside: Iterable[Operation]) -> set[Operation]:
        """Operations with all that lies between two of them, which could not run before nor after them."""
        inside = set(inside)
        return closure(inside, self.after) & closure(inside, self.before)


def closure(start: Iterable[Operation], edges: dict[Operation, list[Operation]]) -> set[Operation]:
    """Operations with all that can be reached from them."""
    found = set(start)
    stack = list(found)
    while stack:
        for op in edges[stack.pop()]:
            if op not in found:
                found.add(op)
                stack.append(op)
    return found


def with_regions(
    graph: Any,
    ops: list[Operation],
    fetches: list[Tensor],
    cut: set[Tensor],
    in_order: Callable[[list[Operation]], list[Operation]],
) -> list[Operation]:
    """The operations with those that are run by data flow made one, or several."""
    edges = _Edges(ops, cut)
    found = _of_a_part(edges, in_order) or [_of_all(edges)]
    wanted = frozenset(fetches)
    swallowed: set[Operation] = set()
    new: list[Operation] = []
    for inside in found:
        members = [op for op in in_order(ops) if op in inside]
        new.append(_region_op(graph, members, inside, edges, wanted))
        swallowed |= inside
    return [op for op in ops if op not in swallowed] + new


def _of_all(edges: _Edges) -> set[Operation]:
    """One region around all that steers the flow, where nothing is known of what comes from other tasks."""
    after, before = edges.after, edges.before
    steering = [op for op in edges.ops if op._decl.name in dataflow.OPS]
    inside = closure(steering, after) & closure(steering, before)
    # What may not run at all belongs to it; a Merge ends that, as far as can be said without running.
    stack = [op for op in steering if op._decl.name in SWITCHES]
    while stack:
        for op in after[stack.pop()]:
            if op not in inside:
                inside.add(op)
                stack.append(op)
    size = 0
    while len(inside) > size:
        size = len(inside)
        # So do the transfers of its values: other tasks may wait for the one before they give the other.
        led, follow = closure(inside, before), closure(inside, after)
        inside |= {op for op in led if op.type in RECEIVES}
        inside |= {op for op in follow if op.type in SENDS}
        inside = edges.between(inside)
    return inside


def _of_a_part(
    edges: _Edges, in_order: Callable[[list[Operation]], list[Operation]]
) -> list[set[Operation]]:
    """A region for each branch and loop of a part whose master tells what is certain; none where it does not."""
    receives = [op for op in edges.ops if op.type in RECEIVES]
    told = [op for op in receives if op.type == "WeftRecv" or UNCERTAIN in op._attrs]
    if not receives or len(told) < len(receives):
        return []
    uncertain: set[Operation] = set()
    for op in in_order(edges.ops):
        kind = op._decl.name
        if kind in MERGES or kind in EXITS:
            if not op._attrs.get(CERTAIN):
                uncertain.add(op)
        elif (
            kind in dataflow.OPS
            or op._attrs.get(UNCERTAIN)
            or not uncertain.isdisjoint(edges.before[op])
        ):
            uncertain.add(op)
    parts: dict[Operation, set[Operation]] = {}
    for op in edges.ops:
        if op not in uncertain and op._decl.name not in dataflow.OPS:
            continue
        mine = parts.setdefault(op, {op})
        for s in edges.before[op]:
            if s in uncertain and parts.get(s) is not mine:
                other = parts.get(s, {s})
                mine |= other
                parts.update(dict.fromkeys(other, mine))
    steering = [op for op in edges.ops if op._decl.name in dataflow.OPS]
    return _apart([parts[op] for op in steering], edges)


def _apart(parts: list[set[Operation]], edges: _Edges) -> list[set[Operation]]:
    """Sets of operations that can each be run as one; those that need each other are one. None if that fails."""
    found: list[set[Operation]] = []
    for part in {id(p): p for p in parts}.values():
        part = edges.between(part)
        while True:
            others = [p for p in found if not p.isdisjoint(part)]
            if not others:
                break
            found = [p for p in found if p.isdisjoint(part)]
            part = edges.between(part.union(*others))
        found.append(part)
    # Each as one operation: is there an order to run them in?
    home = {op: i for i, part in enumerate(found) for op in part}
    waits: dict[Any, int] = {}
    followers: dict[Any, list[Any]] = {}
    for op in edges.ops:
        me = home.get(op, op)
        waits.setdefault(me, 0)
        for s in edges.before[op]:
            other = home.get(s, s)
            if other != me:
                waits[me] += 1
                followers.setdefault(other, []).append(me)
    ready = [item for item, n in waits.items() if not n]
    done = 0
    while ready:
        done += 1
        for item in followers.get(ready.pop(), ()):
            waits[item] -= 1
            if not waits[item]:
                ready.append(item)
    return found if done == len(waits) else []


def _region_op(
    graph: Any,
    members: list[Operation],
    inside: set[Operation],
    edges: _Edges,
    wanted: frozenset[Tensor],
) -> RegionOp:
    inputs: dict[Tensor, None] = {}
    outputs: dict[Tensor, None] = {}
    controls: dict[Operation, None] = {}
    for op in members:
        for t in op._inputs:
            if t in edges.cut or edges.source.get(t) not in inside:
                inputs.setdefault(t)
        for c in op._control_inputs:
            if c not in inside and c in edges.after:
                controls.setdefault(c)
    for op in edges.ops:
        if op in inside:
            continue
        for t in op._inputs:
            if t not in edges.cut and edges.source.get(t) in inside:
                outputs.setdefault(t)
        for c in op._control_inputs:
            if c in inside and c._outputs:  # by an output it is known who runs it
                outputs.setdefault(c._outputs[0])
    for t in wanted:
        if t not in edges.cut and edges.source.get(t) in inside:
            outputs.setdefault(t)
    steering = next(op for op in members if op._decl.name in dataflow.OPS)
    region = Region(members, list(inputs), list(outputs))
    new = RegionOp(graph, region, list(controls), steering)
    new.wanted = wanted
    return new
