"""A program compiled to run on one row of its arguments after the other, all rows in one call.

It is a loop of XLA around the program itself: state is handed from row to row, so that the rows see what calls one
by one would see, and the numbers are those that the calls would give. Where a check fails in a row the loop stops.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.engine import compiler
from weft.engine.compiler import CheckFailed, Executable
from weft.engine.namespace import jax_namespace, load_jax
from weft.engine.program import Program
from weft.engine.tracing import CannotCompile, Room


class RowsExecutable(Executable):
    """A program for known values of some inputs, and for rows of others.

    `varying` are the positions, among the inputs that are not known, of those that have a row for each run. They
    come with room for `most` rows; how many there are is told in each call.
    """

    def __init__(
        self,
        program: Program,
        known: dict[int, Any],
        varying: list[int],
        most: int,
        resources: Any,
        functions: Any,
        device: Any = None,
    ):
        super().__init__(program, known, resources, functions, Room(), device)
        self.varying, self.most = varying, most

    def prepare(self, args: list[Any]) -> None:
        """Finds out what state the program reads and writes: `reads` and `writes`."""
        jax = load_jax()
        self._discover(
            tuple(
                jax.ShapeDtypeStruct(a.shape[1:], a.dtype) if i in self.varying else a
                for i, a in enumerate(args)
            )
        )
        self.jitted = jax.jit(self._function, donate_argnums=2)

    def _function(self, args: tuple, read: tuple, written: tuple) -> tuple:
        compiler.compilations += 1
        jax, xp = load_jax(), jax_namespace()
        count, *given = args

        def row(i: Any) -> tuple:
            return tuple(
                jax.lax.dynamic_index_in_dim(a, i, keepdims=False) if k in self.varying else a
                for k, a in enumerate(given)
            )

        shapes, _, _ = jax.eval_shape(lambda: self._once(row(0), read, written))
        if self.references or any(not hasattr(s, "shape") for s in shapes):
            raise CannotCompile(None, "what a row gives is no array")
        outputs = [xp.zeros((self.most, *s.shape), s.dtype) for s in shapes]

        def goes_on(carried: tuple) -> Any:
            i, ok, _, _ = carried
            return (i < count) & ok

        def body(carried: tuple) -> tuple:
            i, _, outputs, cells = carried
            found, new, ok = self._once(row(i), read, tuple(cells))
            outputs = [
                jax.lax.dynamic_update_index_in_dim(o, v, i, 0) for o, v in zip(outputs, found)
            ]
            new = [v.astype(c.dtype) for v, c in zip(new, cells)]
            return i + 1, xp.asarray(True) if ok is None else ok, outputs, new

        start = (np.int32(0), xp.asarray(True), outputs, [xp.asarray(w) for w in written])
        _, ok, outputs, new = jax.lax.while_loop(goes_on, body, start)
        return outputs, new, ok

    def run(self, args: list[Any], count: int) -> list[Any]:
        """What the program gives for each of the first `count` rows; CheckFailed where a check fails in one."""
        args = [self._with_room(a) if i in self.varying else a for i, a in enumerate(args)]
        if self.device is not None:
            args = self._on_device(args)
        values = (np.int32(count), *args)
        if self.reads or self.writes:
            with self.resources.lock:
                outputs, new, ok = self.jitted(
                    values,
                    tuple([c.value for c in self.reads]),
                    tuple([c.value for c in self.writes]),
                )
                for cell, value in zip(self.writes, new):
                    cell.value = value
        else:
            outputs, _, ok = self.jitted(values, (), ())
        if (
            not ok
        ):  # which also waits: from now on the arrays that were given are the caller's again
            raise CheckFailed()
        return [np.asarray(v)[:count] for v in outputs]

    def _with_room(self, rows: np.ndarray) -> np.ndarray:
        if len(rows) == self.most:
            return rows
        larger = np.empty((self.most, *rows.shape[1:]), rows.dtype)
        larger[: len(rows)] = rows
        return larger
