"""Which values a program must know while it is compiled.

A value that an op needs while compiling (the shape of a reshape) may follow from inputs by arithmetic; these
inputs are then part of the executable's key. Where it follows from state, or from a loop's variable, the node
is refused.
"""

from __future__ import annotations

from typing import Any

from weft.engine.program import Node, Program, named_positions

_BRANCHING = ("If", "StatelessIf", "Case")
_LOOPS = ("While", "StatelessWhile")


def static_inputs(program: Program, functions: Any) -> tuple[list[int], set[Any]]:
    """Which inputs of a program must be known while compiling, and which nodes make that impossible."""
    known = program.memo.get("static")
    if known is not None:
        return known
    program.memo["static"] = ([], set())  # a function that calls itself is refused elsewhere
    producer: dict[int, Node] = {}
    for node in program.nodes:
        for slot in node.outputs:
            if slot >= 0:
                producer[slot] = node
    inputs = {slot: i for i, slot in enumerate(program.inputs)}
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
            wanted |= _sources([node.inputs[i] for i in optional], inputs, producer) or set()
        if not positions:
            continue
        found = _sources([node.inputs[i] for i in positions], inputs, producer)
        if found is None:
            refused.add(node)
        else:
            wanted |= found
    result = program.memo["static"] = (sorted(wanted), refused)
    return result


def _sources(
    stack: list[int], inputs: dict[int, int], producer: dict[int, Node]
) -> set[int] | None:
    """The program's inputs that values follow from; None where they follow from state."""
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
        if source.decl.shape_only or source.decl.name == "Const":
            continue
        if source.decl.stateful or source.derefs or source.wants_context:
            return None
        stack.extend(source.inputs)
    return found


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
