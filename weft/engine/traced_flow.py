"""Branches and loops while a program is traced: they become XLA's own conditionals and loops.

Each body is traced once, into a jaxpr that closes over the values around it. State that a body writes leaves
it as a further result (and goes round a loop as a further variable); the conditions that its kernels check
come out as one flag, which also ends a loop.

Values are of four kinds: host constants (NumPy arrays) stay known inside; traced arrays; lists of tensors,
which are trees of traced arrays; and opaque ones (references, handles), which a body must pass on as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weft.engine import tracing
from weft.engine.cell import Cell, LocalCell
from weft.engine.deferred_products import Product, defer
from weft.engine.namespace import load_jax
from weft.engine.program import Program
from weft.engine.static_values import is_invariant
from weft.engine.tracing import CannotCompile, State, TraceContext, is_known
from weft.engine.trip_count import trip_bound
from weft.ops.flow.traced_list import TracedList

_MOST_TRIES = 8


class Missing:
    """What a branch returns in place of a value that only another branch has."""

    def __init__(self, dtype: Any, shape: Any):
        self.dtype, self.shape = dtype, shape


def is_opaque(value: Any) -> bool:
    if isinstance(value, (Cell, Missing)):
        return True
    return not (hasattr(value, "dtype") or isinstance(value, TracedList))


def by_value(ctx: TraceContext, program: Program, args: list[Any]) -> list[Any]:
    """The arguments, references replaced by values where the function takes values."""
    return [
        ctx.read(a) if type(a) is Cell and i in program.value_inputs else a
        for i, a in enumerate(args)
    ]


def call(ctx: TraceContext, name: str, args: list[Any]) -> list[Any]:
    program = ctx.functions.program(name)
    return tracing.trace(program, by_value(ctx, program, args), ctx)


class _Body:
    """A function traced into a jaxpr, and what is known of its results."""

    def __init__(
        self,
        ctx: TraceContext,
        function: Callable[[TraceContext, list[Any]], list[Any]],
        cells: dict[Cell, Any],
        operands: list[Any],
    ):
        """Traces `function` over values like `operands`, and values of `cells` like these."""
        jax = load_jax()
        from jax.extend.core import jaxpr_as_fun

        flat, tree = jax.tree.flatten((operands, list(cells.values())))
        self.outputs: list[Any] = []
        self.written: list[Cell] = []
        self.ok: Any = None

        def run(*leaves: Any) -> Any:
            values, written = jax.tree.unflatten(tree, leaves)
            state = State(dict(zip(cells, written)), ctx.peek)
            inner = ctx.nested(state)
            self.outputs = function(inner, values)
            inner.finish()
            self.written = [c for c in state.written if c not in inner.created]
            self.ok = inner.ok()
            traced = [v for v in self.outputs if _is_traced(v)]
            new = [state.values[c] for c in self.written]
            leaves_out, self.out_tree = jax.tree.flatten((traced, new, self.ok))
            return [ctx.xp.asarray(v) for v in leaves_out]

        self._closed = closed = jax.make_jaxpr(run)(*flat)
        self.avals = list(closed.out_avals)
        self._run = jaxpr_as_fun(closed)
        self._jax = jax
        self.products: list[Product] = []
        # The tracers of the trace are gone; shapes and dtypes stay.
        self.specs = jax.tree.unflatten(self.out_tree, self.avals)

    def __call__(self, operands: list[Any]) -> tuple[list[Any], list[Any], Any]:
        """Runs it: (outputs, new values of the written cells, whether its conditions hold)."""
        return self.run(operands)[:3]

    def run(self, operands: list[Any]) -> tuple[list[Any], list[Any], Any, list[Any]]:
        """As a call; the last result are the factors of products that are left for later."""
        leaves = self._run(*self._jax.tree.leaves(operands))
        n = len(self.avals)
        traced, new, ok = self._jax.tree.unflatten(self.out_tree, leaves[:n])
        found = iter(traced)
        outputs = [next(found) if _is_traced(v) else v for v in self.outputs]
        return outputs, new, ok, leaves[n:]

    def defer_products(self, carried: list[Any], bound: int) -> None:
        """Leaves sums of products over the iterations of a loop for after it."""
        from jax.extend.core import jaxpr_as_fun

        def places(values: list[Any]) -> list[int | None]:
            """Where the leaf of each array is among those of all."""
            found: list[int | None] = []
            at = 0
            for v in values:
                found.append(None if isinstance(v, TracedList) or not _is_traced(v) else at)
                at += len(self._jax.tree.leaves(v)) if _is_traced(v) else 0
            return found

        # The first output says whether the loop goes on.
        pairs = zip(places(carried), places(self.outputs)[1:])
        variables = {
            start: (end, i)
            for i, (start, end) in enumerate(pairs)
            if start is not None and end is not None
        }
        self._closed, self.products = defer(self._closed, variables, bound)
        self._run = jaxpr_as_fun(self._closed)

    def output_specs(self) -> list[Any]:
        """The outputs, with shapes and dtypes in place of traced arrays."""
        found = iter(self.specs[0])
        return [next(found) if _is_traced(v) else v for v in self.outputs]


def _is_traced(value: Any) -> bool:
    return isinstance(value, TracedList) or not (is_known(value) or is_opaque(value))


# -- branches ---------------------------------------------------------------------------------------------


def _calling(name: str, args: list[Any]) -> Callable[[TraceContext, list[Any]], list[Any]]:
    return lambda inner, _: call(inner, name, args)


def branch(ctx: TraceContext, index: Any, cases: list[tuple[str, list[Any]]]) -> list[Any]:
    """Traces all branches, or only the one that is known to be taken."""
    if is_known(index):
        name, args = cases[int(index)]
        return call(ctx, name, args)
    jax, xp = load_jax(), ctx.xp
    bodies = []
    for name, args in cases:
        bodies.append(_Body(ctx, _calling(name, args), {}, []))
    merged = [_merge(ctx, list(parts)) for parts in zip(*[b.output_specs() for b in bodies])]
    cells = list(dict.fromkeys(c for b in bodies for c in b.written))
    for b in bodies:
        _start_local_cells(ctx, b)
    before = [ctx.peek(c) for c in cells]
    if any(b is None for b in before):
        raise CannotCompile(ctx.node, "a branch initialises state")
    has_check = any(b.ok is not None for b in bodies)

    def adapted(body: _Body) -> Callable[[], Any]:
        def run() -> Any:
            outputs, new, ok = body([])
            written = dict(zip(body.written, new))
            values = [m.adapt(ctx, v) for m, v in zip(merged, outputs) if m.is_traced]
            states = [_like(ctx, written.get(c, old), old, c.name) for c, old in zip(cells, before)]
            flag = [xp.asarray(True) if ok is None else ok] if has_check else []
            return values, states, flag

        return run

    functions = [adapted(b) for b in bodies]
    if len(functions) == 2:
        values, states, flag = jax.lax.cond(index, functions[1], functions[0])
    else:
        values, states, flag = jax.lax.switch(index, functions)
    for cell, value in zip(cells, states):
        ctx.write(cell, value)
    if flag:
        ctx.note_check(flag[0])
    found = iter(values)
    return [next(found) if m.is_traced else m.value for m in merged]


def _like(ctx: TraceContext, value: Any, old: Any, name: str) -> Any:
    value = ctx.xp.asarray(value)
    if value.shape != old.shape or value.dtype != old.dtype:
        raise CannotCompile(ctx.node, f"a branch or loop changes the shape of {name}")
    return value


class _Merged:
    """One output of branches: its value where it is the same in all, else what all are made like."""

    def __init__(self, is_traced: bool, value: Any):
        self.is_traced, self.value = is_traced, value

    def adapt(self, ctx: TraceContext, value: Any) -> Any:
        xp, like = ctx.xp, self.value
        if isinstance(like, TracedList):
            if isinstance(value, Missing):
                return like.empty_like(xp)
            return value.shaped_like(ctx, like)
        if isinstance(value, Missing):
            return xp.zeros(like.shape, like.dtype)
        return xp.asarray(value)


def _merge(ctx: TraceContext, parts: list[Any]) -> _Merged:
    there = [p for p in parts if not isinstance(p, Missing)]
    if not there:
        return _Merged(False, parts[0])
    first = there[0]
    if any(isinstance(p, TracedList) for p in there):
        merged = first
        for p in there[1:]:
            merged = merged.merged(ctx, p)
        return _Merged(True, merged)
    if is_opaque(first):
        if any(p is not first for p in there):
            raise CannotCompile(None, "branches return different references")
        return _Merged(False, first)
    if all(map(is_known, parts)) and all(_same_constant(p, first) for p in there):
        return _Merged(False, first)
    for p in there[1:]:
        if p.shape != first.shape or p.dtype != first.dtype:
            raise CannotCompile(
                None, f"branches return different shapes, {tuple(first.shape)} and {tuple(p.shape)}"
            )
    return _Merged(True, first)


def _same_constant(a: np.ndarray, b: np.ndarray) -> bool:
    return a is b or (
        a.dtype == b.dtype and a.shape == b.shape and a.size <= 64 and a.tobytes() == b.tobytes()
    )


# -- loops --------------------------------------------------------------------------------------------------


def loop(ctx: TraceContext, cond: str, body: str, args: list[Any]) -> list[Any]:
    """Traces a loop, whose variables keep their shapes."""
    cond_program, body_program = ctx.functions.program(cond), ctx.functions.program(body)
    args = by_value(ctx, body_program, args)
    first = tracing.trace(cond_program, args, ctx)[0]
    if is_known(first) and not first.any():
        return args
    bound: int | None = None
    finals: dict[int, Any] = {}
    if any(isinstance(a, TracedList) for a in args):  # which need room
        bound, finals = trip_bound(cond_program, body_program, args)
    fixed = [is_invariant(body_program, i) or (is_opaque(a)) for i, a in enumerate(args)]

    def step(inner: TraceContext, varying: list[Any]) -> list[Any]:
        found = iter(varying)
        values = [a if f else next(found) for a, f in zip(args, fixed)]
        results = tracing.trace(body_program, values, inner)
        for i, f in enumerate(fixed):
            if f and results[i] is not args[i]:
                raise CannotCompile(ctx.node, "a loop changes a reference")
        going = tracing.trace(cond_program, results, inner)[0]
        return [going, *(r for r, f in zip(results, fixed) if not f)]

    results = _run_loop(
        ctx, first, [a for a, f in zip(args, fixed) if not f], step, body_program, bound
    )
    found = iter(results)
    out = [a if f else next(found) for a, f in zip(args, fixed)]
    for i, value in finals.items():
        out[i] = value  # known without running
    return out


def count(
    ctx: TraceContext, body: str, start: Any, limit: Any, delta: Any, args: list[Any]
) -> list[Any]:
    """Traces a loop that counts."""
    xp = ctx.xp
    program = ctx.functions.program(body)
    args = by_value(ctx, program, [np.asarray(0, np.int32), *args])[1:]
    known = all(map(is_known, (start, limit, delta)))
    trips = len(range(int(start), int(limit), int(delta))) if known else None
    if trips == 0:
        return args
    if not known:
        xp.check(delta != 0, lambda: "A counter cannot go by 0.")
    up = delta > 0

    def going(i: Any) -> Any:
        return xp.where(up, i < limit, i > limit)

    def step(inner: TraceContext, varying: list[Any]) -> list[Any]:
        i, *values = varying
        results = tracing.trace(program, [i, *values], inner)
        return [going(i + delta), i + delta, *results]

    first = xp.asarray(start)
    return _run_loop(ctx, going(first), [first, *args], step, program, trips)[1:]


def _run_loop(
    ctx: TraceContext,
    first: Any,
    values: list[Any],
    step: Callable[[TraceContext, list[Any]], list[Any]],
    program: Program,
    bound: int | None,
) -> list[Any]:
    """Runs `step` on `values` until its first result is false."""
    jax, xp = load_jax(), ctx.xp
    outer_bound, ctx.trip_bound = ctx.trip_bound, bound
    try:
        carried = [
            (v.materialized(ctx) if v.entry is not None else v)
            if isinstance(v, TracedList)
            else _strong(xp, v)
            for v in values
        ]
        # Cells that the body was seen to write before; those of a step's own are others in each trace.
        before = program.memo.setdefault("cells", {})
        wanted = dict(before)
        for _ in range(_MOST_TRIES):
            cells = {c: ctx.peek(c) for c in wanted}
            uninitialized = next((c for c, v in cells.items() if v is None), None)
            if uninitialized is not None:
                raise CannotCompile(ctx.node, f"a loop initialises {uninitialized.name}")
            cells = {c: _strong(xp, v) for c, v in cells.items()}
            body = _Body(ctx, step, cells, carried)
            more = [c for c in body.written if c not in cells]
            _start_local_cells(ctx, body)
            for cell in more:
                wanted.setdefault(cell)
                if not isinstance(cell, LocalCell):
                    before.setdefault(cell)
            changed = _fit(ctx, carried, body.output_specs()[1:])
            if not more and not changed:
                break
        else:
            raise CannotCompile(ctx.node, "the variables of a loop do not settle on one shape")
    finally:
        ctx.trip_bound = outer_bound
    written = list(cells)
    has_check = body.ok is not None
    if bound is not None:
        body.defer_products(carried, bound)

    def run(carry: Any) -> Any:
        _, old, old_cells, _, (i, kept) = carry
        outputs, new, ok, factors = body.run([old, old_cells])
        new_cells = dict(zip(body.written, new))
        out_cells = [_like(ctx, new_cells.get(c, v), v, c.name) for c, v in zip(written, old_cells)]
        going = xp.asarray(outputs[0]).reshape(())
        results = [
            v.shaped_like(ctx, o) if isinstance(o, TracedList) else _strong(xp, v)
            for v, o in zip(outputs[1:], old)
        ]
        kept = [jax.lax.dynamic_update_index_in_dim(b, f, i, 0) for b, f in zip(kept, factors)]
        return going, results, out_cells, [ok] if has_check else [], (i + 1, kept)

    def going(carry: Any) -> Any:
        return carry[0] & carry[3][0] if has_check else carry[0]

    start = (
        xp.asarray(first).reshape(()),
        carried,
        [cells[c] for c in written],
        [xp.asarray(True)] if has_check else [],
        (np.int32(0), [b for p in body.products for b in p.buffers(xp, bound)]),  # type: ignore[arg-type]
    )
    _, results, states, flag, (_, kept) = jax.lax.while_loop(going, run, start)
    for n, p in enumerate(body.products):
        results[p.at] = results[p.at] + p.total((kept[2 * n], kept[2 * n + 1]))
    for cell, value in zip(written, states):
        if cell in body.written:
            ctx.write(cell, value)
    if flag:
        ctx.note_check(flag[0])
    return results


def _start_local_cells(ctx: TraceContext, body: _Body) -> None:
    """Gives cells of the trace that a body is the first to write zeros to start with."""
    for cell, spec in zip(body.written, body.specs[1]):
        if isinstance(cell, LocalCell) and ctx.peek(cell) is None:
            ctx.write(cell, ctx.xp.zeros(spec.shape, spec.dtype))


def _strong(xp: Any, value: Any) -> Any:
    """The value as an array of a settled dtype."""
    if getattr(getattr(value, "aval", None), "weak_type", False):
        return xp.lax.convert_element_type(value, value.dtype)
    return xp.asarray(value)


def _fit(ctx: TraceContext, carried: list[Any], specs: list[Any]) -> bool:
    """Makes lists that enter a loop as they are when they come round; True if one had to change."""
    changed = False
    for i, (value, spec) in enumerate(zip(carried, specs)):
        if isinstance(value, TracedList) or isinstance(spec, TracedList):
            merged = value.merged(ctx, spec)
            if not merged.is_like(value):
                carried[i] = value.shaped_like(ctx, merged)
                changed = True
        elif is_opaque(spec):
            raise CannotCompile(ctx.node, "a loop turns a tensor into a reference")
        elif tuple(value.shape) != tuple(spec.shape) or value.dtype != spec.dtype:
            raise CannotCompile(
                ctx.node,
                f"a variable of a loop changes its shape, {tuple(value.shape)} to {tuple(spec.shape)}",
            )
    return changed
