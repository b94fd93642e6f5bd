"""The rest of a step in which a dead tensor has come from another task: from a branch there that was not taken.

An operation with a dead input, or behind one that did not run, does not run, and its outputs are dead. Merges are
not met here: what steers the flow is run by data flow.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.engine import interpreter
from weft.engine.cell import Cell, on_host
from weft.engine.dataflow import DEAD, SENDS, RegionOp
from weft.engine.program import Node


class Around:
    """Runs steps of a plan as `run` does, but for operations that do not run."""

    def __init__(self, run: Callable[[Any, list[Any], Any], Any]):
        self._run = run
        self.dead: set[Any] = set()  # operations that gave, or would have given, what is dead

    def _is_dead(self, node: Node, values: list[Any]) -> bool:
        if not self.dead.isdisjoint(node.op._control_inputs):
            return True
        return any(values[slot] is DEAD for slot in node.inputs)

    def __call__(self, item: Any, values: list[Any], here: Any) -> None:
        node = getattr(item, "node", None)
        if node is not None:
            if type(node.op) is RegionOp or not self._is_dead(node, values):
                self._run(item, values, here)
            else:
                self._skip(node, values, here)
            return
        nodes = item.program.nodes
        if all(values[slot] is not DEAD for slot in item.inputs) and all(
            self.dead.isdisjoint(n.op._control_inputs) for n in nodes
        ):
            self._run(item, values, here)
            return
        program = item.program
        table: list[Any] = [None] * program.n_slots
        for slot, source in zip(program.inputs, item.inputs):
            value = values[source]
            table[slot] = value if value is DEAD or type(value) is Cell else on_host([value])[0]
        for node in nodes:
            if self._is_dead(node, table):
                self._skip(node, table, here)
            else:
                here.node = node
                interpreter.run_node(node, table, here)
        for slot, source in zip(item.outputs, program.outputs):
            values[slot] = table[source]

    def _skip(self, node: Node, values: list[Any], here: Any) -> None:
        """An operation that does not run; what sends a tensor tells its receiver."""
        self.dead.add(node.op)
        if node.op.type in SENDS:
            here.node = node
            table = [DEAD] * len(node.inputs)
            interpreter.run_node(Node(node.op, tuple(range(len(table))), ()), table, here)
            return
        for slot in node.outputs:
            if slot >= 0:
                values[slot] = DEAD
