"""TracedList: a list of tensors while XLA compiles: a buffer with room for some elements, and a length.

The buffer appears when the shape of the elements is known. Until then the list is all zeros, with at most
one element set; adding such a list to another touches that element only, which keeps the gradient of reading
one element in a loop as cheap as the read. Elements may be lists themselves: a buffer is a tree of arrays.

An element that is set to zeros is marked, and its place in the buffer left as it is: the gradient of a loop that
fills a list sets each element to zeros after reading it, and XLA would copy the whole buffer for that, twice in
each iteration, since the old one is still read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weft.framework.dtypes import DType
from weft.framework.shape_rules import Shape, is_full
from weft.ops.flow.list_value import TensorList, invalid, merged_shape

_AT_FIRST = (
    32  # elements that a list of unknown length has room for; doubled where they do not suffice
)


class TracedList:
    """A list of tensors of one shape, in a trace."""

    __slots__ = (
        "element_dtype",
        "element_shape",
        "max_elements",
        "buffer",
        "entry",
        "length",
        "capacity",
        "cleared",
    )

    def __init__(
        self,
        element_dtype: DType,
        element_shape: Shape,
        buffer: Any = None,
        length: Any = 0,
        capacity: int | None = None,
        entry: Any = None,
        max_elements: int = -1,
        cleared: Any = None,
    ):
        self.element_dtype, self.element_shape = element_dtype, element_shape
        self.buffer = buffer  # a tree of arrays, each with the elements along its first axis
        self.entry = (
            entry  # (index, element): the only one that is not zero, while there is no buffer
        )
        self.length = np.asarray(length, np.int32) if isinstance(length, int) else length
        self.capacity = capacity  # None: not settled yet
        self.cleared = (
            cleared  # flags for the elements that are zeros whatever the buffer has, if any
        )
        self.max_elements = max_elements

    # -- as a tree

    def flatten(self) -> tuple[tuple, tuple]:
        known = self.length if isinstance(self.length, np.ndarray) else None
        length = None if known is not None else self.length
        children = (self.buffer, self.entry, length, self.cleared)
        return children, (
            self.element_dtype,
            self.element_shape,
            None if known is None else int(known),
            self.capacity,
            self.max_elements,
        )

    @classmethod
    def unflatten(cls, aux: tuple, children: tuple) -> TracedList:
        dtype, shape, known, capacity, most = aux
        buffer, entry, length, cleared = children
        length = length if known is None else known
        return cls(dtype, shape, buffer, length, capacity, entry, most, cleared)

    def _with(self, **changes: Any) -> TracedList:
        fields = {name: getattr(self, name) for name in self.__slots__}
        return TracedList(**{**fields, **changes})

    # -- parts

    @property
    def known_length(self) -> int | None:
        return int(self.length) if isinstance(self.length, np.ndarray) else None

    @property
    def room(self) -> int:
        """How many elements the buffer of a list that has one can take."""
        assert self.capacity is not None
        return self.capacity

    def _shape(self, element_shape: Shape = None) -> Shape:
        return merged_shape(self.element_shape, element_shape)

    def materialized(self, ctx: Any, like: Any = None) -> TracedList:
        """The list with a buffer that has all of it; `like` is an element."""
        if self.buffer is not None:
            return self.whole(ctx)
        xp, jax = ctx.xp, ctx.xp.jax
        if like is None and self.entry is not None:
            like = self.entry[1]
        capacity = self._settled_capacity(ctx)
        if like is None:
            if not is_full(self.element_shape) or self.element_dtype.np is None:
                raise ctx.cannot("the shape of the elements of a list is not known")
            like = xp.jax.ShapeDtypeStruct(self.element_shape, self.element_dtype.np)
        buffer = jax.tree.map(lambda x: xp.zeros((capacity, *x.shape), x.dtype), like)
        if self.entry is not None:
            buffer = _put(jax, buffer, *self.entry)
        return self._with(buffer=buffer, entry=None, capacity=capacity)

    def whole(self, ctx: Any) -> TracedList:
        """The list with zeros in its buffer where elements were cleared."""
        if self.cleared is None:
            return self
        flags = self.cleared.reshape((-1,) + (1,) * (self.buffer.ndim - 1))
        return self._with(
            buffer=ctx.xp.where(flags, ctx.xp.zeros_like(self.buffer), self.buffer), cleared=None
        )

    def _read(self, ctx: Any, i: Any) -> Any:
        xp = ctx.xp
        item = xp.jax.tree.map(
            lambda x: xp.lax.dynamic_index_in_dim(x, i, 0, keepdims=False), self.buffer
        )
        if self.cleared is None:
            return item
        return xp.where(self.cleared[i], xp.zeros_like(item), item)

    @property
    def actual_shape(self) -> Shape:
        """The shape of the elements, where it is known."""
        if self.buffer is not None and hasattr(self.buffer, "shape"):
            return tuple(self.buffer.shape[1:])
        if self.entry is not None and hasattr(self.entry[1], "shape"):
            return tuple(self.entry[1].shape)
        return self.element_shape

    def _settled_capacity(self, ctx: Any) -> int:
        if self.capacity is not None:
            return self.capacity
        if self.max_elements >= 0:
            return self.max_elements
        return self.known_length or ctx.room_for_list(_AT_FIRST)

    def _check_index(self, ctx: Any, i: Any, message: Callable[[], str]) -> None:
        ctx.xp.check((i >= 0) & (i < self.length), message)

    def at(self, ctx: Any, i: Any, element_shape: Shape = None) -> Any:
        self._check_index(
            ctx, i, lambda: f"Trying to access element {i} in a list with {self.length} elements."
        )
        shape = self._shape(element_shape)
        if self.buffer is None and self.entry is None and is_full(shape):
            return ctx.xp.zeros(shape, self.element_dtype.np)
        full = self if self.buffer is not None else self.materialized(ctx)
        return full._read(ctx, i)

    def with_item(self, ctx: Any, i: Any, x: Any, is_zero: bool = False) -> TracedList:
        """The list with another element; `is_zero` if that is known to be zeros."""
        self._check_index(
            ctx, i, lambda: f"Trying to modify element {i} in a list with {self.length} elements."
        )
        self._check_item(x)
        if self.buffer is None and self.entry is None:
            return self._with(entry=(ctx.xp.asarray(i), x))
        full = self if self.buffer is not None else self.materialized(ctx, x)
        if is_zero and hasattr(full.buffer, "shape"):
            cleared = full._flags(ctx.xp) if full.cleared is None else full.cleared
            return full._with(cleared=cleared.at[i].set(True))
        if full.cleared is not None:
            full = full._with(cleared=full.cleared.at[i].set(False))
        return full._with(buffer=_put(ctx.xp.jax, full.buffer, i, x))

    def _flags(self, xp: Any) -> Any:
        return xp.zeros(self.capacity, np.bool_)

    def _check_item(self, x: Any) -> None:
        shape = getattr(x, "shape", None)
        if hasattr(self.buffer, "shape") and shape is not None:
            if tuple(self.buffer.shape[1:]) != tuple(shape):
                raise invalid("The elements of a compiled list have different shapes.")

    def pushed(self, ctx: Any, x: Any) -> TracedList:
        xp = ctx.xp
        self._check_item(x)
        if self.buffer is None:
            # A list that grows has more room than elements.
            self = self._with(capacity=self._room(ctx)).materialized(ctx, x)
        self = self.whole(ctx)
        if self.max_elements >= 0:
            xp.check(self.length < self.max_elements, lambda: "Tried to push item into a full list")
        n = self.known_length
        if n is None:
            ctx.check_room(self.length < self.room)
        elif n >= self.room:
            self = self._grown(ctx, max(2 * self.room, 8))
        return self._with(
            buffer=_put(xp.jax, self.buffer, self.length, x), length=self.length + np.int32(1)
        )

    def _room(self, ctx: Any) -> int:
        if self.capacity is not None:
            return self.capacity
        if self.max_elements >= 0:
            return self.max_elements
        n = self.known_length
        return ctx.room_for_list(_AT_FIRST) + (n or 0)

    def popped(self, ctx: Any, element_shape: Shape = None) -> tuple[TracedList, Any]:
        xp = ctx.xp
        xp.check(self.length > 0, lambda: "Trying to pop from an empty list.")
        last = self.length - np.int32(1)
        shape = self._shape(element_shape)
        if self.buffer is None and self.entry is None:
            if not is_full(shape) or self.element_dtype.np is None:
                raise ctx.cannot("the shape of the elements of a list is not known")
            return self._with(length=last), xp.zeros(shape, self.element_dtype.np)
        full = self if self.buffer is not None else self.materialized(ctx)
        return full._with(length=last), full._read(ctx, last)

    # -- the whole

    def stacked(self, ctx: Any, element_shape: Shape, num_elements: int = -1) -> Any:
        n = self.known_length
        if n is None:
            if num_elements < 0:
                raise ctx.cannot("the length of a list is not known, and so the shape of its stack")
            ctx.xp.check(
                self.length == num_elements,
                lambda: (
                    f"Operation expected a list with {num_elements} elements but got a list of "
                    "another length."
                ),
            )
            n = num_elements
        elif num_elements >= 0 and n != num_elements:
            raise invalid(
                f"Operation expected a list with {num_elements} elements but got a list with {n} elements."
            )
        full = self._with(element_shape=self._shape(element_shape)).materialized(ctx)
        if isinstance(full.buffer, TracedList):
            raise ctx.cannot("a list of lists is stacked")
        return full.buffer[:n] if n != full.capacity else full.buffer

    def gathered(self, ctx: Any, indices: Any, element_shape: Shape) -> Any:
        self._check_index(ctx, indices, lambda: "Trying to access an element outside of a list.")
        full = self._with(element_shape=self._shape(element_shape)).materialized(ctx)
        return full.buffer[indices]

    def scattered(self, ctx: Any, indices: Any, rows: Any) -> TracedList:
        self._check_index(ctx, indices, lambda: "Trying to scatter outside of a list.")
        full = self.materialized(ctx, ctx.xp.jax.ShapeDtypeStruct(rows.shape[1:], rows.dtype))
        return full._with(buffer=full.buffer.at[indices].set(rows))

    def resized(self, ctx: Any, n: Any) -> TracedList:
        xp = ctx.xp
        xp.check(n >= 0, lambda: "TensorListResize expects size to be non-negative.")
        if self.buffer is None:
            if self.entry is None:
                return self._with(length=n, capacity=int(n) if isinstance(n, np.ndarray) else None)
            self = self.materialized(ctx)
        self = self.whole(ctx)
        if isinstance(n, np.ndarray) and int(n) > self.room:
            self = self._grown(ctx, int(n))
        elif not isinstance(n, np.ndarray):
            ctx.check_room(n <= self.capacity)
        # What lies behind the old length may have been something before it was popped.
        old = self.length
        keep = xp.arange(self.capacity) < old
        buffer = xp.jax.tree.map(
            lambda x: xp.where(keep.reshape((-1,) + (1,) * (x.ndim - 1)), x, xp.zeros_like(x)),
            self.buffer,
        )
        return self._with(buffer=buffer, length=n)

    def _grown(self, ctx: Any, capacity: int) -> TracedList:
        xp = ctx.xp

        def grow(x: Any) -> Any:
            more = xp.zeros((capacity - x.shape[0], *x.shape[1:]), x.dtype)
            return xp.concatenate([x, more])

        cleared = None if self.cleared is None else grow(self.cleared)
        return self._with(
            buffer=xp.jax.tree.map(grow, self.buffer), capacity=capacity, cleared=cleared
        )

    def added(self, ctx: Any, other: TracedList) -> TracedList:
        """The elementwise sum."""
        a, b = self.whole(ctx), other.whole(ctx)
        if a.known_length is None or b.known_length is None:
            ctx.xp.check(
                a.length == b.length, lambda: "Trying to add two lists of different lengths"
            )
        elif a.known_length != b.known_length:
            raise invalid(
                "Trying to add two lists of tensors with different lengths. One is "
                f"{a.known_length} and the other is {b.known_length}"
            )
        if a.known_length is None and b.known_length is not None:
            a = a._with(length=b.length)
        if a.buffer is None and (b.buffer is not None or a.entry is None):
            a, b = b._with(length=a.length), a
        if b.buffer is None:
            if b.entry is None:
                return a
            a = a.materialized(ctx, b.entry[1])
            i, x = b.entry
            # The index may be a guess of a list with nothing set; then the element is zero.
            return a._with(buffer=_put(ctx.xp.jax, a.buffer, i, x, add=True))
        if a.room < b.room:
            a, b = b._with(length=a.length), a
        if b.room < a.room:
            b = b._grown(ctx, a.room)
        tree = ctx.xp.jax.tree
        return a._with(buffer=tree.map(lambda x, y: x + y, a.buffer, b.buffer))

    def total(self, xp: Any, others: list[TracedList]) -> TracedList:
        """The elementwise sum with other lists."""
        result = self
        for other in others:
            result = result.added(xp.context, other)
        return result

    def zeros_like(self) -> TracedList:
        """A list of as many zeros."""
        import jax

        if self.buffer is None:
            return self._with(entry=None)
        return self._with(buffer=jax.tree.map(jax.numpy.zeros_like, self.buffer), cleared=None)

    # -- making two alike, at the ends of branches and round a loop

    def merged(self, ctx: Any, other: Any) -> TracedList:
        """What both can be made like: a list of specs, whose leaves have no values."""
        if not isinstance(other, TracedList):
            raise invalid("A list and a tensor cannot stand for each other.")
        a, b = self._spec(ctx), other._spec(ctx)
        if a.buffer is None and b.buffer is not None:
            a, b = b, a
        known = a.known_length
        capacity = max((c for c in (a.capacity, b.capacity) if c is not None), default=None)
        return a._with(
            element_shape=a.element_shape if a.element_shape == b.element_shape else None,
            length=_LENGTH if known is None or known != b.known_length else known,
            capacity=capacity,
            max_elements=max(a.max_elements, b.max_elements),
            cleared=a.cleared if b.cleared is None else b.cleared,
        )

    def _spec(self, ctx: Any) -> TracedList:
        """The list with a buffer of specs if it has a buffer, or one element that is set."""
        if self.buffer is not None:
            tree = ctx.xp.jax.tree
            return self._with(buffer=tree.map(lambda x: _Spec(x.shape, x.dtype), self.buffer))
        if self.entry is None:
            return self
        capacity = self._settled_capacity(ctx)
        buffer = ctx.xp.jax.tree.map(lambda x: _Spec((capacity, *x.shape), x.dtype), self.entry[1])
        return self._with(buffer=buffer, entry=None, capacity=capacity)

    def is_like(self, like: TracedList) -> bool:
        """Whether the list has the form that `merged` gave."""
        return (
            (self.buffer is None) == (like.buffer is None)
            and self.entry is None
            and self.capacity == like.capacity
            and (self.known_length is None) == (like.known_length is None)
            and self.element_shape == like.element_shape
            and self.max_elements == like.max_elements
            and (self.cleared is None) == (like.cleared is None)
        )

    def shaped_like(self, ctx: Any, like: TracedList) -> TracedList:
        """The same list in the form of another."""
        out: TracedList = self
        if like.buffer is not None:
            if out.buffer is None:
                element = ctx.xp.jax.tree.map(lambda x: _Spec(x.shape[1:], x.dtype), like.buffer)
                out = out._with(capacity=out.capacity or like.capacity).materialized(ctx, element)
            if out.capacity < like.capacity:  # type: ignore[operator]
                out = out._grown(ctx, like.capacity)  # type: ignore[arg-type]
        else:
            out = out._with(capacity=like.capacity)
        if like.cleared is None:
            out = out.whole(ctx)
        elif out.cleared is None:
            out = out._with(cleared=out._flags(ctx.xp))
        if like.known_length is None:
            out = out._with(length=ctx.xp.asarray(out.length))
        return out._with(element_shape=like.element_shape, max_elements=like.max_elements)

    def empty_like(self, xp: Any) -> TracedList:
        """A list of this form that nobody reads."""
        buffer = xp.jax.tree.map(lambda x: xp.zeros(x.shape, x.dtype), self.buffer)
        length = self.length if self.known_length is not None else xp.zeros((), np.int32)
        cleared = None if self.cleared is None else self._flags(xp)
        return self._with(buffer=buffer, length=length, cleared=cleared)

    # -- in and out of the interpreter

    @classmethod
    def from_host(cls, value: TensorList, room: int | None = None) -> TracedList:
        """A list of the interpreter as arguments of a compiled program; ValueError where shapes differ.

        With `room` the list is padded to that many elements and its length is a value of the program, so
        that one executable serves lists of any length up to it.
        """
        known = value._buffer
        if known is not None and room is not None and known.capacity == room:
            return known._with(length=_traced(value.length))
        items = value.items
        shape = value.element_shape
        n = len(items)
        there = [x for x in items if x is not None]
        if any(isinstance(x, TensorList) for x in there):
            raise ValueError("a list of lists comes from the interpreter")
        if there and any(x.shape != there[0].shape for x in there):
            raise ValueError("the elements of a list have different shapes")
        most = value.max_elements
        if room is None:
            if not there:
                return cls(value.element_dtype, shape, None, n, max_elements=most)
            buffer = np.stack(value.filled(there[0].shape))
            return cls(value.element_dtype, shape, buffer, n, n, max_elements=most)
        length = _traced(n)
        if not there:
            return cls(value.element_dtype, shape, None, length, room, max_elements=most)
        padded = np.zeros((room, *there[0].shape), there[0].dtype)
        for i, item in enumerate(items):
            if item is not None:
                padded[i] = item
        return cls(value.element_dtype, shape, padded, length, room, max_elements=most)

    def to_host(self) -> TensorList:
        """The list as the interpreter has it."""
        n = int(self.length)
        if self.buffer is None:
            few = {} if self.entry is None else {int(self.entry[0]): np.asarray(self.entry[1])}
            return TensorList(
                self.element_dtype, self.element_shape, None, self.max_elements, n, few
            )
        items: list[Any]
        if isinstance(self.buffer, TracedList):
            items = [_element(self.buffer, i).to_host() for i in range(n)]
        else:
            return TensorList.of_buffer(self, n)
        return TensorList(self.element_dtype, self.element_shape, items, self.max_elements)


def _traced(n: int) -> Any:
    """A length as a value of a program: a NumPy array would be part of the program."""
    return np.int32(n)


class _Spec:
    def __init__(self, shape: tuple, dtype: Any):
        self.shape, self.dtype = tuple(shape), dtype


_LENGTH: Any = _Spec((), np.int32)  # stands for a length that is traced


def _put(jax: Any, buffer: Any, i: Any, x: Any, add: bool = False) -> Any:
    def one(b: Any, e: Any) -> Any:
        if add:
            e = e + jax.lax.dynamic_index_in_dim(b, i, 0, keepdims=False)
        return jax.lax.dynamic_update_index_in_dim(b, e.astype(b.dtype), i, 0)

    return jax.tree.map(one, buffer, x)


def _element(stack: TracedList, i: int) -> TracedList:
    """Element `i` of a buffer of lists."""
    import jax

    return jax.tree.map(lambda x: x[i], stack)
