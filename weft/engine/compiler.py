"""The second tier: a program traced as a whole and compiled by XLA, one executable per shape.

A compiled call takes arrays and the values of the cells it touches, and gives outputs and the new values of
the cells it writes; those are donated, so XLA may update in place. Conditions that kernels check come out as
one flag: where it is false no cell has changed, and the interpreter runs the step again to say what is wrong.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.engine import interpreter, tracing
from weft.engine.cell import Cell
from weft.engine.namespace import jax_namespace, load_jax
from weft.engine.program import Program
from weft.engine.tracing import CannotCompile

compilations = 0  # how often a program was traced for XLA; tests and the studio read it


class Executable:
    """A program compiled for known values of its static inputs."""

    def __init__(self, program: Program, known: dict[int, Any], resources: Any, functions: Any):
        self.program, self.known = program, known
        self.resources, self.functions = resources, functions
        self.reads: list[Cell] = []
        self.writes: list[Cell] = []
        self.jitted: Any = None
        self.late_checks = False

    def _trace(self, args: tuple, state: tracing.State) -> tuple[list[Any], tracing.TraceContext]:
        ctx = tracing.TraceContext(self.resources, self.functions, state)
        ctx.defers = True
        full = list(args)
        for i in sorted(self.known):
            full.insert(i, self.known[i])
        return tracing.trace(self.program, full, ctx), ctx

    def _discover(self, args: tuple) -> None:
        """Traces once to learn which cells the program reads and writes."""
        jax = load_jax()
        state = tracing.State(
            {}, lambda cell: None if cell.value is None else xp.asarray(cell.value)
        )
        xp = jax_namespace()

        def probe(*args: Any) -> tuple:
            self._trace(args, state)
            return ()

        jax.eval_shape(probe, *args)
        self.writes = list(state.written)
        self.reads = [c for c in state.read if c not in state.written]

    def _function(self, args: tuple, read: tuple, written: tuple) -> tuple:
        global compilations
        compilations += 1
        initial: dict[Cell, Any] = dict(zip(self.reads, read))
        initial.update(zip(self.writes, written))
        state = tracing.State(initial, _unexpected)
        outputs, ctx = self._trace(args, state)
        xp = ctx.xp
        masked = ctx.finish()
        ok = ctx.ok()
        new = []
        for cell, old in zip(self.writes, written):
            value = xp.asarray(state.values[cell])
            if cell in masked or value is old or old is None or old.shape != value.shape:
                new.append(value)
                continue
            if ok is not None:
                value = xp.where(ok, value, old)
            new.append(value)
        return [xp.asarray(v) for v in outputs], new, ok

    def __call__(self, args: list[Any], ctx: Any) -> list[Any]:
        if self.jitted is None:
            self._discover(tuple(args))
            self.jitted = load_jax().jit(self._function, donate_argnums=2)
        writes = self.writes
        if writes or self.reads:
            with self.resources.lock:
                outputs, new, ok = self.jitted(
                    tuple(args),
                    tuple([c.value for c in self.reads]),
                    tuple([c.value for c in writes]),
                )
                for cell, value in zip(writes, new):
                    cell.value = value
        else:
            outputs, _, ok = self.jitted(tuple(args), (), ())
        if ok is not None and not ok:
            raise CheckFailed()
        return outputs


class CheckFailed(Exception):
    """A condition of a compiled program did not hold; no cell has changed."""


def _unexpected(cell: Cell) -> Any:
    raise CannotCompile(None, f"state {cell.name} was not foreseen")


class CompiledProgram:
    """The executables of one program, by the values of its static inputs."""

    def __init__(self, program: Program, static: list[int], resources: Any, functions: Any):
        self.program, self.static = program, static
        self.resources, self.functions = resources, functions
        self.executables: dict[Any, Executable] = {}
        self.refused: CannotCompile | None = None

    def __call__(self, args: list[Any], ctx: Any) -> list[Any]:
        """Runs compiled; raises CannotCompile where it cannot, CheckFailed where a condition fails."""
        if self.static:
            known: dict[int, Any] = {}
            key = []
            for i in self.static:
                value = args[i]
                if not isinstance(value, (np.ndarray, Cell)):
                    value = np.asarray(value) if hasattr(value, "dtype") else value
                known[i] = value
                key.append(
                    (value.tobytes(), value.shape) if isinstance(value, np.ndarray) else id(value)
                )
            executable = self.executables.get(tuple(key))
            args = [a for i, a in enumerate(args) if i not in known]
        else:
            known, key = {}, []
            executable = self.executables.get(())
        if executable is None:
            executable = Executable(self.program, known, self.resources, self.functions)
            self.executables[tuple(key)] = executable
        return executable(args, ctx)


def static_inputs(program: Program, is_host_value: Any) -> tuple[list[int], set[Any]]:
    """Which inputs of a program must be known while compiling, and which nodes make that impossible.

    A value that an op needs while compiling (the shape of a reshape) may follow from inputs by arithmetic;
    these inputs are then part of the executable's key. Where it follows from state, the node is refused.
    """
    producer: dict[int, Any] = {}
    for node in program.nodes:
        for slot in node.outputs:
            if slot >= 0:
                producer[slot] = node
    inputs = {slot: i for i, slot in enumerate(program.inputs)}
    wanted: set[int] = set()
    refused: set[Any] = set()
    for node in program.nodes:
        if not node.static:
            continue
        stack = [node.inputs[i] for i in node.static]
        seen: set[int] = set()
        found: set[int] = set()
        possible = True
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
                possible = False
                break
            stack.extend(source.inputs)
        if possible:
            wanted |= found
        else:
            refused.add(node)
    return sorted(wanted), refused


__all__ = ["CheckFailed", "CompiledProgram", "CannotCompile", "interpreter", "static_inputs"]
