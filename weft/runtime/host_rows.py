"""Host operations on many rows at once: by a form of their own for rows, or row by row."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.engine import interpreter
from weft.engine.cell import on_host
from weft.engine.program import Node
from weft.framework.func_graph import has_effect
from weft.framework.registry import wants_context
from weft.framework.shape_inference import flatten_outputs, keyword_attrs
from weft.ops.datasets.block import as_column, row_of

_PYTHON = ("PyFunc", "EagerPyFunc", "PyFuncStateless")


def why_one_by_one(op: Any, functions: Any) -> str:
    """Why an operation has to be run for one row after the other, each with all others of its function; "" if not."""
    seen: set[str] = set()
    rest = [op]
    while rest:
        op = rest.pop()
        decl = op._decl
        calls = Node(op, (0,) * len(op._inputs), (0,) * len(op._outputs)).calls
        if calls:
            for name in calls:
                if name not in seen:
                    seen.add(name)
                    rest += [node.op for node in functions.program(name).nodes]
        elif decl.name == "Assert" or decl.rows_kernel is not None:
            continue
        elif has_effect(op) or decl.blocking or decl.name in _PYTHON:
            return f"{op._name} ({decl.name}) has effects"
    return ""


class HostRows:
    """The form for rows of one operation, where it has one for the inputs that differ from row to row."""

    def __init__(self, node: Node, differing: set[int]):
        self._node = node
        self._kernel = node.decl.rows_kernel
        names = [a.name for a in node.decl.signature.inputs]
        groups = node.groups or range(len(node.inputs))
        rows = node.decl.rows_inputs
        self._columns = [i for i, slot in enumerate(node.inputs) if slot in differing]
        self._scalars: list[int] = []  # inputs that go with every element of the columns
        for name, group in zip(names, groups, strict=True):
            positions = list(range(len(node.inputs)))[group] if type(group) is slice else [group]
            for i in positions:
                if (i in self._columns) == (name in rows):
                    continue
                if i in self._columns or not node.decl.is_elementwise:
                    self._kernel = None
                else:
                    self._scalars.append(i)
        self._attributes = (
            keyword_attrs(self._kernel, node.op._attrs, node.decl) if self._kernel else {}
        )

    @property
    def is_there(self) -> bool:
        """Whether there is a form for rows."""
        return self._kernel is not None

    def run(self, values: list[Any], ctx: Any) -> bool:
        """Runs it over a table of values; False where it does not fit these, or fails: not in the right words."""
        node = self._node
        if self._kernel is None or any(np.ndim(values[node.inputs[i]]) for i in self._scalars):
            return False
        args = [values[slot] for slot in node.inputs]
        columns = [args[i] for i in self._columns]
        ctx.node = node
        try:
            if node.recheck:
                row = list(args)
                for i in self._columns:
                    row[i] = row_of(args[i], 0)
                interpreter.recheck(node, row)
            if node.decl.rows_may_be_lists or all(type(c) is np.ndarray for c in columns):
                if node.decl.is_elementwise and len({c.ndim for c in columns}) > 1:
                    return False
                results = self._call(args, ctx)
            elif node.decl.is_elementwise and len(columns) == 1:
                results = self._flat(args, columns[0], ctx)
            else:
                return False
        except Exception:
            return False
        for slot, column in zip(node.outputs, results, strict=True):
            if slot >= 0:
                values[slot] = column
        return True

    def _call(self, args: list[Any], ctx: Any) -> list[Any]:
        node, kernel = self._node, self._kernel
        assert kernel is not None
        if node.groups is not None:
            args = [args[g] for g in node.groups]
        result = kernel(ctx if wants_context(kernel) else ctx.xp, *args, **self._attributes)
        return flatten_outputs(node.decl.signature, result) if node.flat_outputs else [result]

    def _flat(self, args: list[Any], rows: list[np.ndarray], ctx: Any) -> list[list[np.ndarray]]:
        """Rows of different shapes: their elements go through the kernel as one vector."""
        args = list(args)
        args[self._columns[0]] = np.concatenate([row.reshape(-1) for row in rows])
        ends = np.cumsum([row.size for row in rows])[:-1]
        return [
            [part.reshape(row.shape + part.shape[1:]) for part, row in zip(parts, rows)]
            for parts in (np.split(found, ends) for found in self._call(args, ctx))
        ]


class NodeRows:
    """What is compiled elsewhere, node by node on all rows: for rows that differ in shape, where nodes have forms for
    these."""

    def __init__(self, segment: Any, differing: set[int]):
        self._segment, program = segment, segment.program
        slots = {
            slot for slot, source in zip(program.inputs, segment.inputs) if source in differing
        }
        self._nodes: list[tuple[Node, HostRows | None]] = []
        for node in program.todo:
            differs = not slots.isdisjoint(node.inputs)
            self._nodes.append((node, HostRows(node, slots) if differs else None))
            if differs:
                slots.update(s for s in node.outputs if s >= 0)
        self._differing = slots
        self._is_there = any(rows is not None and rows.is_there for _, rows in self._nodes)

    def run(self, values: list[Any], count: int, ctx: Any) -> bool:
        """Runs it over a table of values; False where nothing would be gained."""
        if not self._is_there:
            return False
        segment, program = self._segment, self._segment.program
        table = program.table.copy()
        for slot, source in zip(program.inputs, segment.inputs):
            (table[slot],) = on_host([values[source]])
        for node, rows in self._nodes:
            if rows is None:
                ctx.node = node
                interpreter.run_node(node, table, ctx)
            elif not rows.run(table, ctx):
                run_each(node, table, self._differing, count, ctx)
        for slot, source in zip(segment.outputs, program.outputs):
            value = table[source]
            values[slot] = value if source in self._differing else the_same(value, count)
        return True


def run_each(node: Node, values: list[Any], differing: set[int], count: int, ctx: Any) -> None:
    """Runs a node row by row."""
    table = values.copy()
    found: dict[int, list[Any]] = {slot: [] for slot in node.outputs if slot >= 0}
    columns = {slot: values[slot] for slot in node.inputs if slot in differing}
    ctx.node = node
    for i in range(count):
        for slot, column in columns.items():
            table[slot] = row_of(column, i)
        interpreter.run_node(node, table, ctx)
        for slot, rows in found.items():
            rows.append(table[slot])
    for slot, rows in found.items():
        values[slot] = as_column(rows)


def the_same(value: Any, count: int) -> Any:
    """A column whose rows are the same."""
    (value,) = on_host([value])
    if type(value) is np.ndarray:
        return np.broadcast_to(value, (count, *value.shape))
    return [value] * count
