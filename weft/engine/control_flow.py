"""Branches and loops in the interpreter. A loop that turns out to be hot goes on compiled, in its first run.

The rule counts iterations and estimated work, never the clock, so that a run can be repeated exactly; both
tiers give the same numbers, those of random counters included.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.engine import interpreter
from weft.engine.cell import Cell, on_host
from weft.engine.program import Program, node_program
from weft.framework import errors

# Estimated microseconds.
_PER_NODE = 1.5
_PER_ELEMENT = 0.001
_COMPILE = 15_000.0
_COMPILE_PER_NODE = 400.0


def call(ctx: Any, name: str, args: list[Any]) -> list[Any]:
    """Runs a function; a reference that is passed for a value is read now."""
    program = ctx.functions.program(name)
    return interpreter.run(program, by_value(ctx, program, args), ctx)


def by_value(ctx: Any, program: Program, args: list[Any]) -> list[Any]:
    """The arguments, references replaced by values where the function takes values."""
    for i in program.value_inputs:
        if type(args[i]) is Cell:
            args = list(args)
            break
    else:
        return args
    for i in program.value_inputs:
        if type(args[i]) is Cell:
            args[i] = ctx.read(args[i])
    return args


class LoopTier:
    """How a While operation has run so far, and its compiled form."""

    def __init__(self, node: Any):
        self.node = node
        self.runs = 0
        self.work = 0.0  # estimated work of all interpreted iterations
        self.compiled: Any = None
        self.refused = ""

    @property
    def work_per_run(self) -> float:
        """The estimated work of one run."""
        return self.work / self.runs if self.runs else 200.0


def run_loop(ctx: Any, cond: str, body: str, args: list[Any]) -> list[Any]:
    """Runs a loop over values of its variables."""
    functions, step, node = ctx.functions, ctx.step, ctx.node
    cond_program, body_program = functions.program(cond), functions.program(body)
    values = by_value(ctx, body_program, args)
    tier = _tier_of(node)
    to_compile = None if functions.stays_interpreted else tier
    if to_compile is not None and to_compile.compiled is not None and not to_compile.refused:
        results = _run_compiled(to_compile, values, ctx)
        if results is not None:
            return results
    if to_compile is not None and to_compile.refused:
        to_compile = None
    budget = _COMPILE + _COMPILE_PER_NODE * _size(functions, cond_program, body_program)
    per_iteration = _PER_NODE * (len(cond_program.nodes) + len(body_program.nodes))
    per_iteration += _PER_ELEMENT * sum(v.size for v in values if type(v) is np.ndarray)
    work = 0.0
    run = interpreter.run
    while True:
        if step is not None and step.stopped:
            step.check()
        if not is_true(run(cond_program, values, ctx)[0]):
            break
        values = run(body_program, values, ctx)
        if to_compile is not None:
            work += per_iteration
            if to_compile.work + work >= budget:
                to_compile.work, work = to_compile.work + work, 0.0
                results = _run_compiled(to_compile, values, ctx)
                if results is not None:
                    values = results
                    break
                if to_compile.refused:
                    to_compile = None
                budget *= 2
    if tier is not None:
        tier.work += work
        tier.runs += 1
    return values


def is_true(value: Any) -> bool:
    """A tensor as a condition."""
    if value.ndim:
        if value.size == 1:
            return bool(value.reshape(-1)[0])
        raise errors.InvalidArgumentError(
            None,
            None,
            f"The condition of a loop must be a scalar, but has shape {list(value.shape)}.",
        )
    return bool(value)


def run_counter(ctx: Any, body: str, start: Any, limit: Any, delta: Any, args: list[Any]) -> list:
    """Runs a loop that counts."""
    start, limit, delta = int(start), int(limit), int(delta)
    if delta == 0 or (limit - start) * delta < 0 and limit != start:
        raise errors.InvalidArgumentError(
            None, None, f"A counter cannot go from {start} to {limit} by {delta}."
        )
    program, step = ctx.functions.program(body), ctx.step
    values = by_value(ctx, program, [np.asarray(0, np.int32), *args])[1:]
    for i in range(start, limit, delta):
        if step is not None and step.stopped:
            step.check()
        values = interpreter.run(program, [np.asarray(i, np.int32), *values], ctx)
    return values


def _tier_of(node: Any) -> LoopTier | None:
    memo = getattr(node, "memo", None)
    if memo is None:
        if not hasattr(node, "inputs"):
            return None  # an op that runs eagerly, once
        memo = node.memo = LoopTier(node)
    return memo


def _size(functions: Any, *programs: Program) -> int:
    """The number of nodes of programs, with those that they call."""
    count = 0
    seen: set[Program] = set()
    stack = list(programs)
    while stack:
        program = stack.pop()
        if program in seen:
            continue
        seen.add(program)
        count += len(program.nodes)
        stack.extend(functions.program(name) for node in program.nodes for name in node.calls)
    return count


def _run_compiled(tier: LoopTier, values: list[Any], ctx: Any) -> list[Any] | None:
    """The rest of a loop compiled; None where it has to go on in the interpreter."""
    from weft.engine import compiler, tracing

    if tier.compiled is None:
        why = ctx.functions.why_interpreted(tier.node.op)
        if why:
            tier.refused = why
            return None
    node = ctx.node
    try:
        if tier.compiled is None:
            tier.compiled = compiler.CompiledProgram.for_args(
                node_program(node.op), values, ctx.resources, ctx.functions
            )
            tier.compiled.pads_lists = True
        results = tier.compiled(list(values), ctx)
        return on_host(results)
    except compiler.CannotCompile as e:
        tier.refused = e.why
    except compiler.CheckFailed:
        # No state has changed: the interpreter goes on from here, and says what is wrong.
        tier.compiled.give_room()
    except (errors.OpError, tracing.CannotRun):
        tier.refused = "an error was found as it was compiled"
    finally:
        ctx.node = node
    return None
