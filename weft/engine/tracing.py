"""The second tier's walk: runs a program's kernels over traced arrays, so that XLA sees one function.

A node whose inputs are all known is evaluated with NumPy on the spot: shape arithmetic folds away, and
`reshape` and its like see constants. State is threaded through: reading a cell gives its traced value, writing
one makes that value an output. Conditions that kernels check become outputs as well.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from weft.engine import interpreter
from weft.engine.cell import Cell, LocalCell, random_cell
from weft.engine.namespace import jax_namespace, numpy_namespace
from weft.engine.program import Node, Program
from weft.framework import errors, shape_inference
from weft.framework.shape_rules import ShapeError, num_elements

_LARGEST_FOLDED = (
    1 << 14
)  # elements; larger known results are left to XLA rather than baked into the program


class CannotCompile(Exception):
    """A node that XLA cannot take; the segment stays with the interpreter."""

    def __init__(self, node: Node | None, why: str):
        super().__init__(why)
        self.node, self.why = node, why


class CannotRun(Exception):
    """A node that fails in every step, whatever the values: `error` tells why."""

    def __init__(self, error: errors.OpError):
        super().__init__(error.message)
        self.error = error


class Traced(threading.local):
    context: Any = None


_current = Traced()


def current_context() -> Any:
    return _current.context


def note_check(ok: Any, message: Any, error: Any) -> None:
    """Records a condition of the trace that is under way."""
    ctx = _current.context
    if ctx is not None:
        ctx.note_check(ok)


class State:
    """The values of cells during a trace.

    A write is *masked* when it leaves the old value by itself where a condition fails; it holds good for the
    conditions that were known as it was made, whose number is kept (-1: not masked). So writes are `pending`
    until somebody asks for the value, or the trace ends: then most conditions, or all, are known.
    """

    def __init__(self, initial: dict[Cell, Any], find: Callable[[Cell], Any]):
        self.values = dict(initial)
        self.read: dict[Cell, None] = {}
        self.written: dict[Cell, None] = {}
        self.masked: dict[Cell, int] = {}
        self.pending: dict[Cell, list[Pending]] = {}
        self._find = find

    def get(self, cell: Cell) -> Any:
        value = self.values.get(cell, self)
        if value is self:
            value = self.values[cell] = self._find(cell)
        self.read.setdefault(cell)
        return value

    def set(self, cell: Cell, value: Any, conditions: int = -1) -> None:
        self.values[cell] = value
        self.masked[cell] = min(conditions, self.masked.get(cell, conditions))
        self.written.setdefault(cell)


class Pending:
    """A write that waits: a whole new value, or a change of some elements."""

    __slots__ = ("value", "change")

    def __init__(self, value: Any = None, change: Callable[[Any, Any], Any] | None = None):
        self.value, self.change = value, change

    def apply(self, xp: Any, old: Any, ok: Any) -> tuple[Any, bool]:
        """The new value, and whether it is the old one where `ok` is false."""
        if self.change is not None:
            return self.change(old, ok), True
        value = self.value
        if ok is None:
            return value, True
        if old is None or old.shape != value.shape or value is old:
            return value, value is old
        return xp.where(ok, value, old), True


class Room:
    """The room that lists of unknown length get in an executable."""

    __slots__ = ("size", "is_guessed")

    def __init__(self, size: int = 0):
        self.size = size
        self.is_guessed = False


class TraceContext:
    """A kernel's `ctx` while a segment is traced."""

    tracing = True
    new_cell = Cell

    def __init__(self, resources: Any, functions: Any, state: State):
        self.xp = jax_namespace()
        self.resources, self.functions, self.state = resources, functions, state
        self.checks: list[Any] = []
        self.n_checks = 0
        self.step = None
        self.defers = False  # whether `finish` will be called, so that updates may wait for it
        self.node: Node = None  # type: ignore[assignment]
        self.settles = False  # whether what is computed now are whole new values of variables
        self._settled: dict[int, Any] = {}
        self.is_nested = False  # whether this is a body that may not run
        self.created: set[Cell] = set()  # cells made during the trace of this body
        self.trip_bound: int | None = None  # of the loop whose body is traced
        self.room = Room()
        self.program: Program = None  # type: ignore[assignment]
        self._padded: dict[int, tuple[Any, Any]] = {}  # by id: (indices, how many of them count)

    @property
    def op(self) -> Any:
        return self.node.op

    def note_check(self, ok: Any) -> None:
        xp = self.xp
        if isinstance(ok, (bool, np.bool_)):
            if ok:
                return
            ok = xp.asarray(ok)
        self.n_checks += 1
        self.checks.append(xp.all(ok))

    def ok(self) -> Any:
        """Whether all conditions noted so far hold; None where there are none."""
        if not self.checks:
            return None
        if len(self.checks) > 1:
            self.checks = [self.xp.stack(self.checks).all()]
        return self.checks[0]

    # -- state

    lock = contextlib.nullcontext()  # the executable holds the lock as it runs

    def read(self, cell: Cell) -> Any:
        value = self.peek(cell)
        if value is None:
            raise interpreter.uninitialized(cell)
        return value

    def peek(self, cell: Cell) -> Any:
        if cell in self.state.pending:
            self._apply_pending(cell)
        return self.state.get(cell)

    def shape(self, cell: Cell) -> tuple:
        """The shape of a cell's value."""
        for pending in reversed(self.state.pending.get(cell, ())):
            if pending.value is not None:
                return pending.value.shape
        value = self.state.get(cell)
        if value is None:
            raise interpreter.uninitialized(cell)
        return value.shape

    def write(self, cell: Cell, value: Any, masked: bool = False) -> None:
        """Gives a cell a new value. Where a condition fails the old one stays; a kernel that sees to that
        itself (an update of some rows, dropped by `ctx.ok()`) says `masked`."""
        if self.defers and not masked and hasattr(value, "shape"):
            self.state.written.setdefault(cell)
            self.state.pending[cell] = [Pending(value)]
            return
        self.state.pending.pop(cell, None)
        self.state.set(cell, value, self.n_checks if masked else -1)

    def settled(self, new: Any, old: Any) -> Any:
        """What `write` keeps of a new value that is written as `masked`."""
        ok = self.ok()
        if not self.settles or ok is None or id(new) in self._settled or new.shape != old.shape:
            return new
        value = self.xp.where(ok, new, old)
        self._settled[id(value)] = value
        return value

    def scatter(self, cell: Cell, index: tuple, updates: Any, how: str = "update") -> None:
        """Changes the elements of a cell at `index`, as `xp.scatter` does, but touches these only."""
        self.shape(cell)
        if how == "div" and np.dtype(cell.dtype.np).kind in "iu":
            raise CannotCompile(self.node, "integers are divided one after the other")
        position = next((i for i, part in enumerate(index) if hasattr(part, "dtype")), None)
        if position is None:  # slices: there is no position to move out of bounds
            self.write(cell, self.xp.scatter(self.read(cell), index, updates, how))
            return

        def change(old: Any, ok: Any) -> Any:
            where = list(index)
            if ok is not None:
                where[position] = self.xp.where(ok, where[position], old.shape[position])
            return self.xp.scatter(old, tuple(where), updates, how)

        if self.defers:
            self.state.written.setdefault(cell)
            self.state.pending.setdefault(cell, []).append(Pending(change=change))
        else:
            self.state.set(cell, change(self.state.get(cell), self.ok()), self.n_checks)

    def mark_padded(self, indices: Any, count: Any) -> None:
        """Notes that only the first `count` of these indices are meant."""
        self._padded[id(indices)] = (indices, count)

    def is_padded(self, indices: Any) -> bool:
        return id(indices) in self._padded

    def meant(self, indices: Any, outside: int) -> Any:
        """The indices, those that only pad replaced by one that is out of bounds."""
        found = self._padded.get(id(indices))
        if found is None:
            return indices
        return self.xp.where(np.arange(indices.shape[0]) < found[1], indices, outside)

    def _apply_pending(self, cell: Cell) -> None:
        for pending in self.state.pending.pop(cell):
            old = self.state.get(cell)
            value, is_masked = pending.apply(self.xp, old, self.ok())
            self.state.set(cell, value, self.n_checks if is_masked else -1)

    def finish(self) -> set[Cell]:
        """Applies what is pending. Gives the cells that keep their old value by themselves where a condition
        fails, whichever it is."""
        for cell in list(self.state.pending):
            self._apply_pending(cell)
        return {c for c, n in self.state.masked.items() if n == self.n_checks}

    def random_cell(self, make: Any) -> Cell:
        return random_cell(self.resources.random, self.node.op, make)

    # -- functions

    def call(self, name: str, args: list[Any]) -> list[Any]:
        from weft.engine import traced_flow

        return traced_flow.call(self, name, args)

    def branch(self, index: Any, cases: list[tuple[str, list[Any]]]) -> list[Any]:
        from weft.engine import traced_flow

        return traced_flow.branch(self, index, cases)

    def loop(self, cond: str, body: str, args: list[Any]) -> list[Any]:
        from weft.engine import traced_flow

        return traced_flow.loop(self, cond, body, args)

    def count(self, body: str, start: Any, limit: Any, delta: Any, args: list[Any]) -> list[Any]:
        from weft.engine import traced_flow

        return traced_flow.count(self, body, start, limit, delta, args)

    def missing(self, dtype: Any, shape: Any) -> Any:
        """What stands for a value that nobody reads."""
        from weft.engine import traced_flow

        return traced_flow.Missing(dtype, shape)

    def local_cell(self, name: str) -> Cell:
        """State that lives as long as the trace of this body."""
        cell = LocalCell(name)
        self.created.add(cell)
        self.state.values[cell] = None
        return cell

    def nested(self, state: State) -> TraceContext:
        """A context for the body of a branch or loop, with conditions of its own."""
        ctx = TraceContext(self.resources, self.functions, state)
        ctx.node, ctx.trip_bound, ctx.room = self.node, self.trip_bound, self.room
        ctx.is_nested = True
        return ctx

    # -- lists

    def room_for_list(self, at_first: int) -> int:
        """How many elements a list of unknown length gets room for."""
        if self.trip_bound is not None:
            return max(self.trip_bound, self.room.size)
        return max(at_first, self.room.size)

    def check_room(self, ok: Any) -> None:
        """Notes that a list has room for what is put into it. Where it has not, the interpreter runs the step,
        and the next one is compiled with more room."""
        self.room.is_guessed = True
        self.note_check(ok)

    def cannot(self, why: str) -> CannotCompile:
        return CannotCompile(self.node, why)


def trace(program: Program, args: list[Any], ctx: TraceContext) -> list[Any]:
    """Runs a program over traced values and host constants."""
    values: list[Any] = [None] * program.n_slots
    for slot, value in zip(program.inputs, args):
        values[slot] = value
    outer_node, outer_context, outer_program = ctx.node, _current.context, ctx.program
    _current.context, ctx.program = ctx, program
    try:
        for node in program.nodes:
            ctx.node = node
            trace_node(node, values, ctx)
            for slot in node.frees:
                values[slot] = None
        return interpreter.read_outputs(program, values, ctx)
    finally:
        ctx.node, _current.context, ctx.program = outer_node, outer_context, outer_program


def is_known(value: Any) -> bool:
    """Whether a value of a trace is a host constant."""
    return isinstance(value, np.ndarray)


def trace_node(node: Node, values: list[Any], ctx: TraceContext) -> None:
    args = [values[i] for i in node.inputs]
    decl = node.decl
    try:
        for i in node.derefs:
            if type(args[i]) is Cell:
                args[i] = ctx.read(args[i])
        if node.recheck:
            _recheck(node, args)
        known = not decl.stateful and all(map(is_known, args))
        for i in node.static:
            if not is_known(args[i]):
                raise CannotCompile(node, f"needs the value of input {i} while compiling")
        if node.groups is not None:
            args = [args[g] for g in node.groups]
        if known and node.kernel is not None and not node.wants_context and _is_small(node):
            result = node.kernel(numpy_namespace, *args, **node.kwargs)
            flat = _flat(node, result, numpy=True)
            if all(getattr(v, "size", 0) <= _LARGEST_FOLDED for v in flat):
                _store(node, flat, values)
                return
        if node.xla_kernel is None:
            raise CannotCompile(node, f"op {decl.name} has no kernel")
        result = node.xla_kernel(
            ctx if node.xla_wants_context else ctx.xp, *args, **node.xla_kwargs
        )
    except CannotCompile:
        raise
    except errors.FailedPreconditionError as e:
        error = interpreter.located(e, node, args)
        if ctx.is_nested or error is e:
            raise error from e
        raise CannotRun(error) from e  # not initialised: told before anything has run
    except errors.OpError as e:
        raise interpreter.located(e, node, args) from e
    except CannotRun:
        raise
    except Exception as e:
        raise CannotCompile(node, f"{decl.name} cannot be traced: {type(e).__name__}: {e}") from e
    _store(node, _flat(node, result, numpy=False), values)


def _is_small(node: Node) -> bool:
    for t in node.op._outputs:
        n = num_elements(t._dims)
        if n is not None and n > _LARGEST_FOLDED:
            return False
    return True


def _flat(node: Node, result: Any, numpy: bool) -> list[Any]:
    flat = (
        shape_inference.flatten_outputs(node.decl.signature, result)
        if node.flat_outputs
        else [result]
    )
    if numpy:
        return [
            v if type(v) is np.ndarray or d is None else interpreter.as_array(v, d)
            for v, d in zip(flat, node.dtypes)
        ]
    return [
        v
        if d is None
        or isinstance(v, (np.ndarray, Cell))
        or not isinstance(v, (int, float, bool, complex, np.generic))
        else np.asarray(v, d)
        for v, d in zip(flat, node.dtypes)
    ]


def _store(node: Node, flat: list[Any], values: list[Any]) -> None:
    for slot, value in zip(node.outputs, flat):
        if slot >= 0:
            values[slot] = value


def _recheck(node: Node, args: list[Any]) -> None:
    shapes = [getattr(a, "shape", None) for a in args]
    const = _KnownInputs(
        shape_inference.grouped(node.decl.signature.inputs, args, node.op._attrs),
        node.decl.signature.inputs,
    )
    try:
        shape_inference.run_rule(node.decl, shapes, node.op._attrs, const)
    except ShapeError as e:
        raise errors.InvalidArgumentError(None, None, str(e)) from None


class _KnownInputs(shape_inference.ActualInputs):
    """Values where the trace knows them."""

    def __call__(self, which: str | int) -> Any:
        value = self._tensor(which)
        return value if is_known(value) else None

    def each(self, which: str | int, k: int) -> Any:
        value = self._tensor(which)[k]
        return value if is_known(value) else None

    def shape(self, which: str | int) -> Any:
        value = self(which)
        if value is None:
            n = self._tensor(which).shape
            return (None,) * n[0] if n else None
        return tuple(None if d < 0 else int(d) for d in value)
