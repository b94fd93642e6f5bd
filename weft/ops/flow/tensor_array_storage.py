"""What is behind the handle of a TensorArray of TensorFlow 1: one array for the interpreter, one for a trace."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import errors
from weft.framework.dtypes import DType
from weft.framework.shape_rules import Shape, is_full, text
from weft.ops.flow.list_value import fits, invalid, zeros

_NAMES = {"float32": "float", "float64": "double", "float16": "half"}


def shown(dtype: DType) -> str:
    return _NAMES.get(dtype.name, dtype.name)


class TensorArrayStorage:
    """The elements of a TensorArray in one step, in the interpreter."""

    def __init__(
        self,
        name: str,
        element_dtype: DType,
        element_shape: Shape,
        size: int,
        dynamic: bool,
        clear_after_read: bool,
        identical: bool,
        is_grad: bool = False,
    ):
        self.name = name
        self.element_dtype, self.element_shape = element_dtype, element_shape
        self.dynamic, self.clear_after_read = dynamic, clear_after_read
        self.identical = identical  # the first element settles the shape of all
        self.is_grad = is_grad  # what is written to one place adds up
        self.items: list[Any] = [None] * size
        self.shapes: dict[int, tuple] = {}  # of elements that count as written; unless set, zeros
        self.were_read: set[int] = set()
        self.cleared: set[int] = set()
        self.closed = False
        self.grads: dict[str, TensorArrayStorage] = {}

    def __repr__(self) -> str:
        return f"<TensorArray {self.name}>"

    def _open(self) -> None:
        if self.closed:
            raise invalid(f"TensorArray {self.name} has already been closed.")

    def check_dtype(self, dtype: DType, verb: str) -> None:
        self._open()
        if dtype is not self.element_dtype:
            raise invalid(
                f"TensorArray dtype is {shown(self.element_dtype)} but Op {verb} dtype {shown(dtype)}."
            )

    def count(self, ctx: Any) -> np.ndarray:
        self._open()
        return np.asarray(len(self.items), np.int32)

    def write(self, ctx: Any, index: Any, value: np.ndarray) -> None:
        self._open()
        i = int(index)
        n = len(self.items)
        if i < 0 or i >= n and not self.dynamic:
            raise invalid(
                f"TensorArray {self.name}: Tried to write to index {i} but array is not resizeable and size is: "
                f"{n}"
            )
        if i >= n:
            self.items.extend([None] * (i + 1 - n))
        if not fits(self.element_shape, value.shape):
            raise invalid(
                f"TensorArray {self.name}: Could not write to TensorArray index {i} because the value shape is "
                f"{text(value.shape)} which is incompatible with the TensorArray's inferred element shape: "
                f"{text(self.element_shape)} (consider setting infer_shape=False)."
            )
        if self.identical and not is_full(self.element_shape):
            self.element_shape = value.shape
        if i in self.were_read:
            raise invalid(
                f"TensorArray {self.name}: Could not write to TensorArray index {i} because it has already been "
                "read."
            )
        if i in self.shapes:
            if not self.is_grad:
                raise invalid(
                    f"TensorArray {self.name}: Could not write to TensorArray index {i} because it has already "
                    "been written to."
                )
            if self.shapes[i] != value.shape:
                raise invalid(
                    f"TensorArray {self.name}: Could not aggregate to TensorArray index {i} because the existing "
                    f"shape is {text(self.shapes[i])} but the new input shape is {text(value.shape)}."
                )
            old = self.items[i]
            if old is not None:
                value = np.asarray(old + value, old.dtype)
        self.items[i] = value
        self.shapes[i] = value.shape

    def read(self, ctx: Any, index: Any) -> np.ndarray:
        self._open()
        i, n = int(index), len(self.items)
        if i < 0 or i >= n and not self.is_grad:
            raise invalid(f"Tried to read from index {i} but array size is: {n}")
        if i in self.cleared:
            raise invalid(
                f"TensorArray {self.name}: Could not read index {i} twice because it was cleared after a previous "
                "read (perhaps try setting clear_after_read = false?)."
            )
        value = self.items[i] if i < n else None
        if value is None:
            value = self._blank(i)
        self.were_read.add(i)
        if self.clear_after_read:
            self.items[i] = None
            self.cleared.add(i)
        return value

    def _blank(self, i: int) -> np.ndarray:
        shape = self.shapes.get(i)
        if shape is None and is_full(self.element_shape):
            shape = self.element_shape
        if shape is None:
            raise invalid(
                f"TensorArray {self.name}: Could not read from TensorArray index {i}.  Furthermore, the element "
                f"shape is not fully defined: {text(self.element_shape)}.  It is possible you are working with a "
                "resizeable TensorArray and stop_gradients is not allowing the gradients to be written.  If you "
                "set the full element_shape property on the forward TensorArray, the proper all-zeros tensor will "
                "be returned instead of incurring this error."
            )
        self.items.extend([None] * (i + 1 - len(self.items)))
        self.shapes[i] = shape
        return zeros(shape, self.element_dtype)

    def gather(self, ctx: Any, indices: np.ndarray, element_shape: Shape) -> np.ndarray:
        self._open()
        if not indices.size:
            shape = self.element_shape if is_full(self.element_shape) else element_shape
            if not is_full(shape):
                raise errors.UnimplementedError(
                    None,
                    None,
                    "TensorArray has size zero, but element shape is not fully defined. Currently only static "
                    "shapes are supported when packing zero-size TensorArrays.",
                )
            return zeros((0, *shape), self.element_dtype)  # type: ignore[misc]
        parts = [self.read(ctx, i) for i in indices.tolist()]
        for i, p in enumerate(parts):
            if p.shape != parts[0].shape:
                raise invalid(
                    f"TensorArray has inconsistent shapes.  Index 0 has shape: {text(parts[0].shape)} but index "
                    f"{i} has shape: {text(p.shape)}"
                )
        return np.stack(parts)

    def scatter(self, ctx: Any, indices: np.ndarray, value: np.ndarray) -> None:
        self._open()
        if indices.ndim != 1:
            raise invalid(
                f"Expected indices to be a vector, but received shape: {text(indices.shape)}"
            )
        if not value.ndim:
            raise invalid(
                f"Expected value to be at least a vector, but received shape: {text(value.shape)}"
            )
        if value.shape[0] != indices.shape[0]:
            raise invalid(
                f"Expected len(indices) == values.shape[0], but saw: {indices.shape[0]} vs. {value.shape[0]}"
            )
        n = len(self.items)
        most = int(indices.max()) + 1 if indices.size else 0
        if most > n and not self.dynamic:
            raise invalid(f"Max scatter index must be < array size ({most - 1} vs. {n})")
        for row, i in enumerate(indices.tolist()):
            self.write(ctx, i, value[row, ...])

    def concat(self, ctx: Any, rest: Shape) -> tuple[np.ndarray, np.ndarray]:
        self._open()
        if not self.items:
            if not is_full(rest):
                raise errors.UnimplementedError(
                    None,
                    None,
                    "TensorArray has size zero, but element_shape_except0 is not fully defined. Currently only "
                    "static shapes are supported when concatenating zero-size TensorArrays.",
                )
            return zeros((0, *rest), self.element_dtype), np.zeros(0, np.int64)  # type: ignore[misc]
        parts = [self.read(ctx, i) for i in range(len(self.items))]
        for i, p in enumerate(parts):
            if not p.ndim:
                raise invalid(
                    f"Concat saw a scalar shape at index {i} but requires at least vectors."
                )
            if p.shape[1:] != parts[0].shape[1:]:
                raise invalid(
                    "TensorArray has inconsistent shapes.  Index 0 has (excepting dimension 0) shape: "
                    f"{text(parts[0].shape[1:])} but index {i} has (excepting dimension 0) shape: "
                    f"{text(p.shape[1:])}"
                )
        return np.concatenate(parts), np.asarray([p.shape[0] for p in parts], np.int64)

    def split(self, ctx: Any, value: np.ndarray, lengths: np.ndarray) -> None:
        self._open()
        if lengths.ndim != 1:
            raise invalid(f"Expected lengths to be a vector, received shape: {text(lengths.shape)}")
        if not value.ndim:
            raise invalid(
                f"Expected value to be at least a vector, but received shape: {text(value.shape)}"
            )
        total = int(lengths.sum())
        if total != value.shape[0]:
            raise invalid(
                "Expected sum of lengths to be equal to values.shape[0], but sum of lengths is "
                f"{total} and value's shape is: {text(value.shape)} "
            )
        n = len(self.items)
        if len(lengths) > n and self.dynamic:
            self.items.extend([None] * (len(lengths) - n))
        elif len(lengths) != n:
            raise invalid(
                f"TensorArray's size is not equal to the size of lengths ({n} vs. {len(lengths)}), and the "
                "TensorArray is not marked as dynamically resizeable"
            )
        start = 0
        for i, k in enumerate(lengths.tolist()):
            self.write(ctx, i, value[start : start + k])
            start += k

    def close(self, ctx: Any) -> None:
        self.items, self.closed = [], True

    def gradient(self, ctx: Any, source: str, prepended: tuple = ()) -> TensorArrayStorage:
        """The array of the gradients, the same one for each call with this source."""
        found = self.grads.get(source)
        if found is None:
            self._open()
            self.dynamic = False
            shape = self.element_shape
            if shape is not None:
                shape = (*prepended, *shape)
            found = self.grads[source] = TensorArrayStorage(
                f"{self.name}@{source}",
                self.element_dtype,
                shape,
                len(self.items),
                dynamic=False,
                clear_after_read=True,
                identical=self.identical,
                is_grad=True,
            )
            found.shapes = {i: (*prepended, *s) for i, s in self.shapes.items()}
        return found


_BLANK, _WRITTEN, _READ = 0, 1, 2


class TracedArray:
    """The elements of a TensorArray while XLA compiles: a buffer in a cell of the trace.

    That an element is written or read once too often is seen where the array was made; of one that a branch
    or loop uses it is not told any more, since loops would have to carry the marks.
    """

    only_in_trace = True

    def __init__(
        self,
        ctx: Any,
        name: str,
        element_dtype: DType,
        element_shape: Shape,
        size: int,
        clear_after_read: bool,
        identical: bool,
        is_grad: bool = False,
    ):
        self.name = name
        self.element_dtype, self.element_shape = element_dtype, element_shape
        self.length, self.is_grad = size, is_grad
        self.clear_after_read, self.identical = clear_after_read, identical
        self._marks: Any = None if is_grad else np.zeros(size, np.int8)  # None: not told any more
        self._made_in = ctx  # the array of the gradients lives as long as this one
        self.cell = ctx.local_cell(name)
        self.grads: dict[str, TracedArray] = {}

    def check_dtype(self, dtype: DType, verb: str) -> None:
        if dtype is not self.element_dtype:
            raise invalid(
                f"TensorArray dtype is {shown(self.element_dtype)} but Op {verb} dtype {shown(dtype)}."
            )

    def count(self, ctx: Any) -> np.ndarray:
        return np.asarray(self.length, np.int32)

    def _buffer(self, ctx: Any, element_shape: Shape = None) -> Any:
        buffer = ctx.peek(self.cell)
        if buffer is not None:
            return buffer
        shape = self.element_shape if is_full(self.element_shape) else element_shape
        if not is_full(shape):
            raise ctx.cannot("the shape of the elements of a TensorArray is not known")
        return ctx.xp.zeros((self.length, *shape), self.element_dtype.np)  # type: ignore[misc]

    def _check(self, ctx: Any, index: Any) -> None:
        ctx.xp.check(
            (index >= 0) & (index < self.length), lambda: "an index is outside of a TensorArray"
        )

    def _seen(self, ctx: Any, index: Any) -> Any:
        """The marks of elements, None where they are not told."""
        if ctx is not self._made_in:
            self._marks = None
        if self._marks is None:
            return None
        if isinstance(index, np.ndarray):
            if ((index < 0) | (index >= self.length)).any():
                return None
            repeated = len(np.unique(index)) < index.size
            ctx.xp.check(
                not repeated or not self.clear_after_read, lambda: "an element is used twice"
            )
        return self._marks[index]

    def _mark(self, ctx: Any, index: Any, mark: int) -> None:
        if isinstance(index, np.ndarray) and isinstance(self._marks, np.ndarray):
            self._marks = self._marks.copy()
            self._marks[index] = mark
        else:
            self._marks = ctx.xp.asarray(self._marks).at[index].set(mark)

    def _note_write(self, ctx: Any, index: Any) -> None:
        seen = self._seen(ctx, index)
        if seen is not None:
            ctx.xp.check((seen == _BLANK).all(), lambda: "an element is written twice")
            self._mark(ctx, index, _WRITTEN)

    def _note_read(self, ctx: Any, index: Any) -> None:
        seen = self._seen(ctx, index)
        if seen is None:
            return
        if self.clear_after_read:
            ctx.xp.check((seen != _READ).all(), lambda: "an element is read twice")
        is_shape_known = is_full(self.element_shape) or (
            self.identical and ctx.peek(self.cell) is not None
        )
        if not is_shape_known:
            ctx.xp.check((seen != _BLANK).all(), lambda: "an element was never written")
        self._mark(ctx, index, _READ)

    def _changed(self, ctx: Any, index: Any, rows: Any, element_shape: Any) -> None:
        buffer = self._buffer(ctx, tuple(element_shape))
        if tuple(buffer.shape[1:]) != tuple(element_shape):
            raise ctx.cannot("the elements of a TensorArray have different shapes")
        at = ctx.xp.asarray(buffer).at[index]
        ctx.write(self.cell, at.add(rows) if self.is_grad else at.set(rows))

    def write(self, ctx: Any, index: Any, value: Any) -> None:
        self._check(ctx, index)
        self._note_write(ctx, index)
        self._changed(ctx, index, value, value.shape)

    def read(self, ctx: Any, index: Any) -> Any:
        self._check(ctx, index)
        self._note_read(ctx, index)
        return ctx.xp.lax.dynamic_index_in_dim(self._buffer(ctx), index, 0, keepdims=False)

    def gather(self, ctx: Any, indices: Any, element_shape: Shape) -> Any:
        self._check(ctx, indices)
        self._note_read(ctx, indices)
        buffer = self._buffer(ctx, element_shape)
        if isinstance(indices, np.ndarray) and np.array_equal(indices, np.arange(self.length)):
            return buffer
        return buffer[indices]

    def scatter(self, ctx: Any, indices: Any, value: Any) -> None:
        self._check(ctx, indices)
        self._note_write(ctx, indices)
        self._changed(ctx, indices, value, value.shape[1:])

    def concat(self, ctx: Any, rest: Shape) -> tuple[Any, Any]:
        self._note_read(ctx, np.arange(self.length))
        buffer = self._buffer(ctx)
        if buffer.ndim < 2:
            raise invalid("Concat saw a scalar shape at index 0 but requires at least vectors.")
        n, k = buffer.shape[:2]
        return buffer.reshape((n * k, *buffer.shape[2:])), np.full((n,), k, np.int64)

    def split(self, ctx: Any, value: Any, lengths: Any) -> None:
        if not isinstance(lengths, np.ndarray) or (lengths != lengths[:1]).any():
            raise ctx.cannot("a TensorArray is filled with pieces of different lengths")
        n = len(lengths)
        if n != self.length:
            raise invalid(
                f"TensorArray's size is not equal to the size of lengths ({self.length} vs. {n}), and the "
                "TensorArray is not marked as dynamically resizeable"
            )
        k = int(lengths[0]) if n else 0
        self._note_write(ctx, np.arange(n))
        rows = ctx.xp.asarray(value).reshape((n, k, *value.shape[1:]))
        self._changed(ctx, slice(None), rows, rows.shape[1:])

    def close(self, ctx: Any) -> None:
        pass

    def gradient(self, ctx: Any, source: str, prepended: tuple = ()) -> TracedArray:
        found = self.grads.get(source)
        if found is None:
            buffer = ctx.peek(self.cell)
            shape = self.element_shape if buffer is None else tuple(buffer.shape[1:])
            if shape is not None:
                shape = (*prepended, *shape)
            found = self.grads[source] = TracedArray(
                self._made_in,
                f"{self.name}@{source}",
                self.element_dtype,
                shape,
                self.length,
                clear_after_read=True,
                identical=self.identical,
                is_grad=True,
            )
        return found
