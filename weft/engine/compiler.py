"""The second tier: a program traced as a whole and compiled by XLA, one executable per shape.

A compiled call takes arrays and the values of the cells it touches, and gives outputs and the new values of
the cells it writes; those are donated, so XLA may update in place. Conditions that kernels check come out as
one flag: where it is false no cell has changed, and the interpreter runs the step again to say what is wrong.
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from weft.engine import interpreter, tracing
from weft.engine.cell import Cell, LocalCell
from weft.engine.namespace import jax_namespace, load_jax
from weft.engine.packing import pack
from weft.engine.program import Program
from weft.engine.static_values import static_inputs
from weft.engine.tracing import CannotCompile
from weft.ops.flow.list_value import TensorList
from weft.ops.flow.traced_list import TracedList

_LARGEST_ROOM = 1 << 22  # elements

compilations = 0  # how often a program was traced for XLA; tests and the studio read it


class Executable:
    """A program compiled for known values of its static inputs."""

    def __init__(
        self,
        program: Program,
        known: dict[int, Any],
        resources: Any,
        functions: Any,
        room: tracing.Room,
        device: Any = None,
    ):
        self.program, self.known, self.room, self.device = program, known, room, device
        self.resources, self.functions = resources, functions
        self.reads: list[Cell] = []
        self.writes: list[Cell] = []
        self.references: list[tuple[int, Any]] = []  # outputs that are no arrays, by position
        self.jitted: Any = None
        # Whether results have to come from a device with memory of its own.
        self.is_away = device is not None and device.platform != "cpu"
        self._is_first = device is not None and device == load_jax().devices()[0]
        # The cells' values that were found on the device, those that are read before those that are written.
        self._seen: list[Any] = []
        self.late_checks = False

    def _trace(self, args: tuple, state: tracing.State) -> tuple[list[Any], tracing.TraceContext]:
        ctx = tracing.TraceContext(self.resources, self.functions, state)
        ctx.defers = True
        ctx.room = self.room
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
        self.writes = [c for c in state.written if not isinstance(c, LocalCell)]
        self.reads = [
            c for c in state.read if c not in state.written and not isinstance(c, LocalCell)
        ]
        self._seen = [_nothing] * (len(self.reads) + len(self.writes))

    def _function(self, args: tuple, read: tuple, written: tuple) -> tuple:
        global compilations
        compilations += 1
        arrays, new, ok = self._once(args, read, written)
        if ok is None and (self.is_away or not arrays):
            ok = jax_namespace().asarray(True)  # something to wait for
        if self.is_away:
            return pack(load_jax(), [ok, *arrays]), new, None
        return arrays, new, ok

    def _once(self, args: tuple, read: tuple, written: tuple) -> tuple:
        """One run of the program: its outputs, the new values of the cells it writes, whether all checks hold."""
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
        # A reference that goes out (of an Assign that is fetched) is no array: it stays behind.
        self.references = [(i, v) for i, v in enumerate(outputs) if is_reference(v)]
        if any(hasattr(v, "only_in_trace") for _, v in self.references):
            raise CannotCompile(None, "a TensorArray is used outside of what is compiled together")
        # A value that goes out as it was read needs memory of its own: the next step may donate the cell's.
        held = {id(v) for v in (*read, *written)}
        arrays = [
            v.whole(ctx)
            if isinstance(v, TracedList)
            else xp.copy(v)
            if id(v) in held
            else xp.asarray(v)
            for v in outputs
            if not is_reference(v)
        ]
        return arrays, new, ok

    def __call__(self, args: list[Any], ctx: Any) -> list[Any]:
        if self.jitted is None:
            self._discover(tuple(args))
            self.jitted = load_jax().jit(self._function, donate_argnums=2)
        writes = self.writes
        if self.device is not None:
            args = self._on_device(args)
        if writes or self.reads:
            with self.resources.lock:
                outputs, new, ok = self.jitted(
                    tuple(args),
                    tuple([c.value for c in self.reads]),
                    tuple([c.value for c in writes]),
                )
                for cell, value in zip(writes, new):
                    cell.value = value
                if self.is_away:
                    self._seen[len(self.reads) :] = map(weakref.ref, new)
        else:
            outputs, _, ok = self.jitted(tuple(args), (), ())
        if self.is_away:
            ok, *outputs = outputs.unpack()
        # XLA may still be reading the arrays that were fed; when the step is over they are the caller's again.
        if ok is None:
            first = outputs[0]
            if isinstance(first, TracedList):
                load_jax().block_until_ready(first)
            else:
                first.block_until_ready()
        elif not ok:
            raise CheckFailed()
        for i, cell in self.references:
            outputs.insert(i, cell)
        return [v.to_host() if type(v) is TracedList else v for v in outputs]

    def _on_device(self, args: list[Any]) -> list[Any]:
        """The arguments on the device of the executable; its cells' values are moved there to stay."""
        jax, device = load_jax(), self.device
        cells = (*self.reads, *self.writes)
        follow = self._is_first
        for i, (cell, seen) in enumerate(zip(cells, self._seen)):
            value = cell.value
            if value is None:
                continue
            follow = True
            if seen() is not value:
                if not self._is_here(value):
                    value = cell.value = jax.device_put(value, device)
                self._seen[i] = weakref.ref(value)
        # Arrays of the host go where the call runs by themselves, much quicker than by device_put; what is
        # on a device stays where it is, so a value that is there already says where the call runs.
        return [
            a
            if (follow and isinstance(a, np.ndarray)) or self._is_here(a)
            else jax.device_put(a, device)
            for a in args
        ]

    def _is_here(self, value: Any) -> bool:
        """Whether a value lies on the executable's device."""
        return getattr(value, "device", None) == self.device


def _nothing() -> None:
    """Refers to no value."""


def is_reference(value: Any) -> bool:
    """Whether a value is state, or a handle of something: the same in every run of an executable."""
    return isinstance(value, Cell) or not (
        hasattr(value, "dtype") or isinstance(value, (TensorList, TracedList))
    )


class CheckFailed(Exception):
    """A condition of a compiled program did not hold; no cell has changed."""


_LEAST_ROOM = 64


def room_for(args: list[Any]) -> int:
    """The room that lists get where one executable serves many lengths: a power of two, with some to spare."""
    longest = max(a.length for a in args if type(a) is TensorList)
    room = _LEAST_ROOM
    while room < longest:
        room *= 2
    return room


def _unexpected(cell: Cell) -> Any:
    raise CannotCompile(None, f"state {cell.name} was not foreseen")


class CompiledProgram:
    """The executables of one program, by the values of its static inputs."""

    def __init__(self, program: Program, static: list[int], resources: Any, functions: Any):
        self.program, self.static = program, static
        self.resources, self.functions = resources, functions
        self.executables: dict[Any, Executable] = {}
        self.room = tracing.Room()
        self.pads_lists = False  # whether one executable serves lists of many lengths
        self.device: Any = None  # of JAX; None where there is only one

    @classmethod
    def for_args(
        cls,
        program: Program,
        args: list[Any],
        resources: Any,
        functions: Any,
        device: Any = None,
    ) -> CompiledProgram:
        """The compiled form of a program that takes arguments like these."""
        static, refused = static_inputs(program, functions)
        if refused:
            names = ", ".join(sorted(n.op.name for n in refused))
            raise CannotCompile(
                None, f"values that must be known while compiling follow from state: {names}"
            )
        # Texts (of assertions) are constants, and no arrays that XLA knows.
        handles = [
            i
            for i, a in enumerate(args)
            if is_reference(a) or type(a) is np.ndarray and a.dtype.kind == "O"
        ]
        compiled = cls(program, sorted({*static, *handles}), resources, functions)
        compiled.device = device
        return compiled

    def give_room(self) -> bool:
        """Gives lists more room, after a check failed that the interpreter does not confirm; False where
        no list's room was guessed."""
        if not self.room.is_guessed or self.room.size > _LARGEST_ROOM:
            return False
        self.room.size = max(128, 4 * self.room.size)
        self.executables.clear()
        return True

    def __call__(self, args: list[Any], ctx: Any) -> list[Any]:
        """Runs compiled; raises CannotCompile where it cannot, CheckFailed where a condition fails."""
        if any(type(a) is TensorList for a in args):
            try:
                room = room_for(args) if self.pads_lists else None
                args = [TracedList.from_host(a, room) if type(a) is TensorList else a for a in args]
            except ValueError as e:
                raise CannotCompile(None, str(e)) from None
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
            executable = Executable(
                self.program, known, self.resources, self.functions, self.room, self.device
            )
            self.executables[tuple(key)] = executable
        return executable(args, ctx)


__all__ = ["CheckFailed", "CompiledProgram", "CannotCompile", "interpreter", "static_inputs"]
