"""Which values a program must know while it is compiled.

A value that an op needs while compiling (the shape of a reshape) may follow from inputs by arithmetic; these
inputs are then part of the executable's key. Where it follows from state, or from a loop's variable, the node
is refused.
"""

from __future__ import annotations

import functools
from typing import Any

from weft.engine.program import Node, Program, named_positions

_BRANCHING = ("If", "StatelessIf", "Case")
_KNOWN = ("Const", "FakeParam")  # the latter stands for a value of the branch that was not taken
_LOOPS = ("While", "StatelessWhile")


def static_inputs(program: Program, functions: Any) -> tuple[list[int], set[Any]]:
    """Which inputs of a program must be known while compiling, and which nodes make that impossible."""
    known = program.memo.get("static")
    if known is not None:
        return known
    program.memo["static"] = ([], set())  # a function that calls itself is refused elsewhere
    sources = functools.partial(_sources, program, functions)
    wanted: set[int] = set()
    refused: set[Any] = set()
    for node in program.nodes:
        positions: Any = node.static
        if node.calls:
            inner = static_arguments(node, functions)
            if inner is None:
                refused.add(node)
                continue
            positions = [*positions, *inner]
        if node.decl.static_if_possible:
            optional = named_positions(node.op, node.decl.static_if_possible)
            wanted |= sources([node.inputs[i] for i in optional]) or set()
        if not positions:
            continue
        found = sources([node.inputs[i] for i in positions])
        if found is None:
            refused.add(node)
        else:
            wanted |= found
    result = program.memo["static"] = (sorted(wanted), refused)
    return result


def _sources(program: Program, functions: Any, stack: list[int]) -> set[int] | None:
    """The program's inputs that values follow from; None where they follow from state."""
    inputs, producer = _origins(program)
    seen: set[int] = set()
    found: set[int] = set()
    while stack:
        slot = stack.pop()
        if slot in seen:
            continue
        seen.add(slot)
        if slot in inputs:
            found.add(inputs[slot])
            continue
        source = producer[slot]
        if source.decl.shape_only or source.decl.name in _KNOWN:
            continue
        if source.decl.name in _BRANCHING:
            through = _through_branches(source, source.outputs.index(slot), functions)
            if through is None:
                return None
            stack.extend(through)
            continue
        if source.decl.stateful or source.derefs or source.wants_context:
            return None
        stack.extend(source.inputs)
    return found


def _origins(program: Program) -> tuple[dict[int, int], dict[int, Node]]:
    """Where values come from: the position of a slot among the inputs, or the node that makes it."""
    found = program.memo.get("origins")
    if found is None:
        found = program.memo["origins"] = (
            {slot: i for i, slot in enumerate(program.inputs)},
            {slot: node for node in program.nodes for slot in node.outputs if slot >= 0},
        )
    return found


def _through_branches(node: Node, output: int, functions: Any) -> list[int] | None:
    """What an output of a branching follows from: what chooses the branch, and what each branch makes it of."""
    slots = [node.inputs[0]]
    for name in node.calls:
        branch = functions.program(name)
        inner = _sources(branch, functions, [branch.outputs[output]])
        if inner is None:
            return None
        slots += [node.inputs[i + 1] for i in inner]
    return slots


def static_arguments(node: Node, functions: Any) -> list[int] | None:
    """Which inputs of a node must be known for the functions that it calls; None where that cannot be."""
    kind = node.decl.name
    wanted: set[int] = set()
    names = node.calls
    if kind == "SymbolicGradient":
        names = (functions.gradient_of(names[0]),)
    for name in names:
        program = functions.program(name)
        positions, refused = static_inputs(program, functions)
        if refused:
            return None
        if kind in _LOOPS:
            body = functions.program(node.op._attrs["body"].name)
            if any(not is_invariant(body, i) for i in positions):
                return None
        elif kind in _BRANCHING:
            positions = [i + 1 for i in positions]
        elif kind == "For":
            # Its first argument is the counter; start, limit and delta stand before the others.
            if any(i == 0 or program.outputs[i - 1] != program.inputs[i] for i in positions):
                return None
            positions = [i + 2 for i in positions]
        wanted.update(positions)
    return sorted(wanted)


def is_invariant(body: Program, i: int) -> bool:
    """Whether a loop passes its variable `i` on as it is."""
    return body.outputs[i] == body.inputs[i]
