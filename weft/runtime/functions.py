"""The functions of a graph's library, as programs that both tiers run."""

from __future__ import annotations

from typing import Any

from weft.engine.program import Program, order
from weft.framework import errors


class FunctionPrograms:
    """Programs of library functions, made at their first call."""

    def __init__(self, graph: Any):
        self._graph = graph
        self._programs: dict[str, tuple[Any, Program]] = {}

    def program(self, name: str) -> Program:
        found = self._programs.get(name)
        function = self._graph._get_function(name)
        if function is None:
            raise errors.NotFoundError(None, None, f"Function {name} is not defined.")
        if found is None or found[0] is not function:
            found = self._programs[name] = (function, function_program(function))
        return found[1]


def function_program(function: Any) -> Program:
    """The program of a function's body. Effects happen in the order the body was written."""
    ops = order(function.wanted_ops(), set(function.inputs))
    if all(hasattr(op, "_id") for op in ops):
        ops = in_order_of_creation(ops)
    return Program(ops, list(function.inputs), list(function.outputs), function.name)


def in_order_of_creation(ops: list[Any]) -> list[Any]:
    """The operations as the program wrote them, where that is an order they can run in."""
    by_id = sorted(ops, key=lambda op: op._id)
    position = {op: i for i, op in enumerate(by_id)}
    for i, op in enumerate(by_id):
        for t in op._inputs:
            if position.get(t._op, -1) >= i:
                return ops
        for c in op._control_inputs:
            if position.get(c, -1) >= i:
                return ops
    return by_id
