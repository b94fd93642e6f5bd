"""map_fn, foldl, foldr and scan: functions of the rows of tensors, one after another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weft.framework import context, conversion, nest
from weft.framework.export import export
from weft.framework.scopes import name_scope
from weft.framework.shape_rules import merge_dim
from weft.framework.sparse_tensor import SparseTensor
from weft.framework.tensor import Tensor
from weft.ops.by_name import raw
from weft.ops.flow.tensor_array import TensorArray
from weft.ops.flow.while_loop import while_loop


class _Rows:
    """The rows of a structure of tensors."""

    def __init__(self, elems: Any):
        self.structure = elems
        self.tensors = [conversion.convert_to_tensor(e, name="elem") for e in nest.flatten(elems)]
        first = self.tensors[0]
        self.static: int | None = None
        for t in self.tensors:
            if t._dims is not None:
                if not t._dims:
                    raise ValueError(
                        "elems must be a 1+ dimensional Tensor, not a scalar"
                        if len(self.tensors) == 1
                        else "elements in elems must be 1+ dimensional Tensors, not scalars"
                    )
                self.static = merge_dim(self.static, t._dims[0], "Numbers of rows must be equal")
        self.count: Any = self.static
        if first._dims is None or first._dims[0] is None:
            self.count = raw.StridedSlice(
                raw.Shape(first),
                np.asarray([0], np.int32),
                np.asarray([1], np.int32),
                np.asarray([1], np.int32),
                shrink_axis_mask=1,
            )
        self._arrays: list[TensorArray] = []

    def unstack(self) -> _Rows:
        self._arrays = [
            TensorArray(
                dtype=t.dtype,
                size=self.count,
                element_shape=None if t._dims is None else t._dims[1:],
            ).unstack(t)
            for t in self.tensors
        ]
        return self

    def flat(self, i: Any) -> list[Tensor]:
        return [a.read(i) for a in self._arrays]

    def at(self, i: Any) -> Any:
        return self.packed(self.flat(i))

    def packed(self, flat: list[Any]) -> Any:
        return packed(self.structure, flat)

    def counted(self, results: list[Tensor]) -> list[Tensor]:
        """Results with a row for each row, and so with what is known of their number."""
        for r in results:
            if r._dims is not None and not context.executing_eagerly():
                r._dims = (merge_dim(r._dims[0], self.static), *r._dims[1:])
        return results


def packed(structure: Any, flat: list[Any]) -> Any:
    return nest.pack_sequence_as(structure, flat) if nest.is_nested(structure) else flat[0]


def _scope(name: str | None, default: str, elems: Any) -> name_scope:
    return name_scope(name, default, nest.flatten(elems))


@export("map_fn")
def map_fn(
    fn: Callable,
    elems: Any,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: str | None = None,
) -> Any:
    """Returns `fn` of each row of `elems` (a tensor or structure of tensors), stacked.

    `dtype` is the structure of dtypes that `fn` returns, if it is not that of its argument.
    """
    if not callable(fn):
        raise TypeError("fn must be callable.")
    if isinstance(elems, SparseTensor):
        raise TypeError(
            "To perform a map on the values of a sparse tensor use either "
            " SparseTensor(input.indices, fn(input.values), input.dense_shape) or "
            " SparseTensor(input.indices, map_fn(fn, input.values), input.dense_shape)"
        )
    with _scope(name, "map", elems):
        rows = _Rows(elems).unstack()
        wanted = dtype if dtype is not None else rows.packed([t.dtype for t in rows.tensors])
        results = [
            TensorArray(dtype=t, size=rows.count, infer_shape=infer_shape)
            for t in nest.flatten(wanted)
        ]

        def body(i: Any, arrays: list[Any]) -> Any:
            values = fn(rows.at(i))
            nest.assert_same_structure(wanted, values)
            return i + 1, [a.write(i, v) for a, v in zip(arrays, nest.flatten(values))]

        _, arrays = while_loop(
            lambda i, _: i < rows.count,
            body,
            (_start(0), results),
            parallel_iterations=parallel_iterations or 10,
            back_prop=back_prop,
            swap_memory=swap_memory,
        )
        return packed(wanted, rows.counted([a.stack() for a in arrays]))


def _start(i: Any) -> Any:
    return conversion.convert_to_tensor(i)


def _fold(
    scope: str,
    fn: Callable,
    elems: Any,
    initializer: Any,
    backwards: bool,
    parallel_iterations: int,
    back_prop: bool,
    swap_memory: bool,
    name: str | None,
) -> Any:
    if not callable(fn):
        raise TypeError("fn must be callable.")
    with _scope(name, scope, elems):
        rows = _Rows(elems).unstack()
        n = rows.count
        if backwards:
            if initializer is None:
                last = n - 1
                i, value = last, rows.at(last)
            else:
                i, value = n, initializer

            def body(i: Any, a: Any) -> Any:
                return [i - 1, fn(a, rows.at(i - 1))]

            cond = lambda i, a: i > 0  # noqa: E731
        else:
            if initializer is None:
                i, value = 1, rows.at(0)
            else:
                i, value = 0, initializer

            def body(i: Any, a: Any) -> Any:
                return [i + 1, fn(a, rows.at(i))]

            cond = lambda i, a: i < n  # noqa: E731
        _, result = while_loop(
            cond,
            body,
            [_start(i), value],
            parallel_iterations=parallel_iterations,
            back_prop=back_prop,
            swap_memory=swap_memory,
        )
        return result


@export("foldl")
def foldl(
    fn: Callable,
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """Returns `fn(... fn(fn(initializer, row 0), row 1) ...)`; it starts with row 0 where no initializer is
    given."""
    return _fold(
        "foldl", fn, elems, initializer, False, parallel_iterations, back_prop, swap_memory, name
    )


@export("foldr")
def foldr(
    fn: Callable,
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """As `foldl`, but from the last row to the first."""
    return _fold(
        "foldr", fn, elems, initializer, True, parallel_iterations, back_prop, swap_memory, name
    )


@export("scan")
def scan(
    fn: Callable,
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    reverse: bool = False,
    name: str | None = None,
) -> Any:
    """Returns all the values that `foldl` (with `reverse`, `foldr`) goes through, stacked."""
    if not callable(fn):
        raise TypeError("fn must be callable.")
    structure = elems if initializer is None else initializer
    with _scope(name, "scan", elems):
        rows = _Rows(elems).unstack()
        n = rows.count
        end = n - 1 if reverse else 0
        if initializer is None:
            first = rows.flat(end)
        else:
            first = [conversion.convert_to_tensor(v) for v in nest.flatten(initializer)]
        arrays = [
            TensorArray(
                dtype=v.dtype,
                size=n,
                element_shape=v.shape if infer_shape else None,
                infer_shape=infer_shape,
            )
            for v in first
        ]
        if initializer is None:
            arrays = [a.write(end, v) for a, v in zip(arrays, first)]

        def body(i: Any, flat: list[Any], arrays: list[Any]) -> Any:
            out = fn(packed(structure, flat), rows.at(i))
            nest.assert_same_structure(structure, out)
            values = nest.flatten(out)
            arrays = [a.write(i, v) for a, v in zip(arrays, values)]
            return (i - 1 if reverse else i + 1), values, arrays

        done = 0 if initializer is not None else 1
        _, _, arrays = while_loop(
            (lambda i, _1, _2: i >= 0) if reverse else (lambda i, _1, _2: i < n),
            body,
            (_start(n - 1 - done if reverse else done), first, arrays),
            parallel_iterations=parallel_iterations,
            back_prop=back_prop,
            swap_memory=swap_memory,
        )
        return packed(structure, rows.counted([a.stack() for a in arrays]))
