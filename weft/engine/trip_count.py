"""How often a loop goes round, where it follows from values that are known while compiling.

The part of the loop that its condition depends on, a counter as a rule, is run on the host beforehand. What
it depends on besides may be unknown: under `counter < limit and unknown` the count is still a bound.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.engine.namespace import numpy_namespace
from weft.engine.program import Node, Program
from weft.engine.static_values import is_invariant
from weft.framework import shape_inference

_LONGEST = 5_000  # iterations; longer loops are not counted
_LARGEST_SLICE = 24  # nodes
_LARGEST_VALUE = 64  # elements


def trip_bound(
    cond: Program, body: Program, args: list[Any]
) -> tuple[int | None, dict[int, np.ndarray]]:
    """The greatest number of iterations, and, where the number is exact, the last values of the variables
    that were counted along."""
    needed = _needed_variables(cond, body)
    needed |= {i for i, a in enumerate(args) if i not in needed and _counts_alone(body, i, a)}
    known = {
        i: args[i]
        for i in needed
        if isinstance(args[i], np.ndarray) and args[i].size <= _LARGEST_VALUE
    }
    if not known:
        return None, {}
    cond_nodes = _slice(cond, [cond.outputs[0]])
    varying = [i for i in known if not is_invariant(body, i)]
    body_nodes = _slice(body, [body.outputs[i] for i in varying])
    if cond_nodes is None or body_nodes is None:
        return None, {}
    key = tuple((i, v.dtype.str, v.shape, v.tobytes()) for i, v in sorted(known.items()))
    found = body.memo.get("trips")
    if found is None or found[0] != key:
        found = body.memo["trips"] = (
            key,
            _count(cond, body, known, varying, cond_nodes, body_nodes),
        )
    return found[1]


def _count(
    cond: Program,
    body: Program,
    known: dict[int, Any],
    varying: list[int],
    cond_nodes: list[Node],
    body_nodes: list[Node],
) -> tuple[int | None, dict[int, np.ndarray]]:
    exact = True
    for trips in range(_LONGEST):
        values = _run(cond, cond_nodes, known)
        if values is None:
            return None, {}
        going = values.get(cond.outputs[0])
        if going is None:
            exact = False
            if not _has_known_part(cond, cond_nodes, values):
                return None, {}
        elif not going.any():
            finals = {i: known[i] for i in varying if i in known} if exact else {}
            return trips, finals
        values = _run(body, body_nodes, known)
        if values is None:
            return None, {}
        for i in varying:
            value = values.get(body.outputs[i])
            if value is None:
                known.pop(i, None)
            else:
                known[i] = value
    return None, {}


def _needed_variables(cond: Program, body: Program) -> set[int]:
    """The loop's variables that its condition depends on."""
    position = {slot: i for i, slot in enumerate(body.inputs)}
    found = _inputs_of(cond, [cond.outputs[0]])
    stack = list(found)
    while stack:
        i = stack.pop()
        more = (
            [position[body.outputs[i]]]
            if body.outputs[i] in position
            else _inputs_of(body, [body.outputs[i]])
        )
        for j in more:
            if j not in found:
                found.add(j)
                stack.append(j)
    return found


def _counts_alone(body: Program, i: int, value: Any) -> bool:
    """Whether a variable is a counter besides, as the one that the gradient of a loop goes by."""
    return (
        isinstance(value, np.ndarray)
        and value.size == 1
        and value.dtype.kind in "iu"
        and _inputs_of(body, [body.outputs[i]]) == {i}
    )


def _producers(program: Program) -> dict[int, Node]:
    found = program.memo.get("producers")
    if found is None:
        found = program.memo["producers"] = {
            slot: node for node in program.nodes for slot in node.outputs if slot >= 0
        }
    return found


def _inputs_of(program: Program, slots: list[int]) -> set[int]:
    position = {slot: i for i, slot in enumerate(program.inputs)}
    producers = _producers(program)
    seen: set[int] = set()
    stack = list(slots)
    while stack:
        slot = stack.pop()
        if slot not in seen:
            seen.add(slot)
            if slot in producers:
                stack.extend(producers[slot].inputs)
    return {position[s] for s in seen if s in position}


def _slice(program: Program, slots: list[int]) -> list[Node] | None:
    """The nodes that slots depend on, in order; None where they are too many."""
    producers = _producers(program)
    wanted: set[Node] = set()
    stack = [s for s in slots if s in producers]
    while stack:
        node = producers[stack.pop()]
        if node not in wanted:
            wanted.add(node)
            if len(wanted) > _LARGEST_SLICE:
                return None
            stack.extend(s for s in node.inputs if s in producers)
    return [n for n in program.nodes if n in wanted]


def _run(program: Program, nodes: list[Node], known: dict[int, Any]) -> dict[int, Any] | None:
    """The values that follow from what is known; None where a kernel refuses them."""
    values = {program.inputs[i]: v for i, v in known.items()}
    for node in nodes:
        args = [values.get(s) for s in node.inputs]
        if node.decl.name == "LogicalAnd" and any(a is not None and not a.all() for a in args):
            values[node.outputs[0]] = np.asarray(False)
            continue
        kernel = node.kernel
        if kernel is None or any(a is None for a in args) or not _is_pure(node):
            continue
        if node.groups is not None:
            args = [args[g] for g in node.groups]
        try:
            result = kernel(numpy_namespace, *args, **node.kwargs)
        except Exception:  # the run will say it, with the op
            return None
        flat = (
            shape_inference.flatten_outputs(node.decl.signature, result)
            if node.flat_outputs
            else [result]
        )
        for slot, value, dtype in zip(node.outputs, flat, node.dtypes):
            value = np.asarray(value, dtype)
            if value.size <= _LARGEST_VALUE:
                values[slot] = value
    return values


def _is_pure(node: Node) -> bool:
    return (
        node.kernel is not None
        and not node.wants_context
        and not node.decl.stateful
        and not node.calls
        and None not in node.dtypes
    )


def _has_known_part(program: Program, nodes: list[Node], values: dict[int, Any]) -> bool:
    """Whether a condition that is not known has a part that is, which may end the loop later."""
    producers = {slot: node for node in nodes for slot in node.outputs}
    slot = program.outputs[0]
    while slot in producers and producers[slot].decl.name == "Identity":
        slot = producers[slot].inputs[0]
    node = producers.get(slot)
    return (
        node is not None
        and node.decl.name == "LogicalAnd"
        and any(s in values or _part(s, producers, values) for s in node.inputs)
    )


def _part(slot: int, producers: dict[int, Node], values: dict[int, Any]) -> bool:
    node = producers.get(slot)
    return (
        node is not None
        and node.decl.name == "LogicalAnd"
        and any(s in values for s in node.inputs)
    )
