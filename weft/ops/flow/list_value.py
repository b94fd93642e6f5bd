"""TensorList: the value of a variant tensor that is a list of tensors, in the interpreter.

Lists are values: an op that changes one gives a new list, and the old one stays as it was. So that a loop
which appends does not copy the list each time, versions share one Python list, which belongs to the newest;
an older version keeps what to undo, and takes the Python list back if somebody looks at it after all.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import errors
from weft.framework.dtypes import DType
from weft.framework.shape_rules import Shape, is_full, text

_SPARSE = 2  # a reserved list with so few elements set keeps these only


def invalid(message: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, message)


def merged_shape(a: Shape, b: Shape) -> Shape:
    """What is known when both shapes describe the elements."""
    if a is None:
        return b
    if b is None or a == b:
        return a
    if len(a) != len(b):
        raise invalid(f"Incompatible ranks during merge: {len(a)} vs. {len(b)}")
    for x, y in zip(a, b):
        if x is not None and y is not None and x != y:
            raise invalid(f"Incompatible shapes during merge: {text(a)} vs. {text(b)}")
    return tuple(y if x is None else x for x, y in zip(a, b))


def fits(a: Shape, b: Shape) -> bool:
    if a is None or b is None:
        return True
    return len(a) == len(b) and all(x is None or y is None or x == y for x, y in zip(a, b))


class TensorList:
    """An immutable list of arrays; None is an element that was never set."""

    __slots__ = (
        "element_dtype",
        "element_shape",
        "max_elements",
        "length",
        "_items",
        "_undo",
        "_few",
        "_buffer",
    )

    def __init__(
        self,
        element_dtype: DType,
        element_shape: Shape,
        items: list[Any] | None = None,
        max_elements: int = -1,
        length: int | None = None,
        few: dict[int, Any] | None = None,
    ):
        self.element_dtype, self.element_shape = element_dtype, element_shape
        self.max_elements = max_elements
        self._items: Any = items  # of the newest version; None in the others
        self._few = few  # or the few elements that were set
        self._buffer: Any = None  # or the compiled program's list, which it was
        self._undo: Any = None  # or (newer version, how to make its items those of this one)
        if length is None:
            length = len(items or ())
        self.length = length

    def __repr__(self) -> str:
        return (
            f"<list of {self.length} {self.element_dtype.name} tensors {text(self.element_shape)}>"
        )

    @property
    def items(self) -> list[Any]:
        """The elements; not to be changed."""
        if self._items is None:
            self._take_back()
        return self._items

    @classmethod
    def of_buffer(cls, buffer: Any, length: int) -> TensorList:
        """The list that a compiled program gave; its elements are taken apart when one is asked for."""
        out = cls(buffer.element_dtype, buffer.element_shape, None, buffer.max_elements, length)
        out._buffer = buffer
        return out

    def dense(self, element_shape: Shape) -> np.ndarray:
        """All elements as one array."""
        if self._buffer is not None and hasattr(self._buffer.buffer, "shape"):
            return np.asarray(self._buffer.buffer)[: self.length]
        return np.stack(self.filled(element_shape))

    def _take_back(self) -> None:
        if self._buffer is not None:
            array = np.asarray(self._buffer.buffer)
            self._items = [array[i, ...] for i in range(self.length)]
            return
        if self._few is not None:
            items: list[Any] = [None] * self.length
            for i, x in self._few.items():
                items[i] = x
            self._items, self._few = items, None
            return
        chain = [self]
        while chain[-1]._items is None:
            chain.append(chain[-1]._undo[0])
        chain.reverse()
        for newer, older in zip(chain, chain[1:]):
            items = newer._items
            _, action, i, x = older._undo
            if action == "drop":
                newer._undo = (older, "append", None, items.pop())
            elif action == "append":
                items.append(x)
                newer._undo = (older, "drop", None, None)
            else:
                newer._undo = (older, "set", i, items[i])
                items[i] = x
            newer._items, older._items, older._undo = None, items, None

    def _newer(self, length: int) -> TensorList:
        new = TensorList(self.element_dtype, self.element_shape, None, self.max_elements, length)
        new._items, self._items = self.items, None
        return new

    # -- one element

    def has(self, i: int) -> bool:
        """Whether an element was set."""
        if self._few is not None:
            return i in self._few
        return self.items[i] is not None

    def at(self, i: int, element_shape: Shape = None) -> Any:
        """An element; zeros where it was not set, if its shape is known."""
        x = self._few.get(i) if self._few is not None else self.items[i]
        return self._zeros(element_shape) if x is None else x

    def _zeros(self, element_shape: Shape) -> Any:
        shape = merged_shape(self.element_shape, element_shape)
        if not is_full(shape):
            shape = next((x.shape for x in self.items if hasattr(x, "shape")), shape)
        if not is_full(shape):
            raise invalid(
                "Trying to read an uninitialized tensor but element_shape is not fully defined"
                f": {text(shape)}"
            )
        return zeros(shape, self.element_dtype)

    def with_item(self, i: int, x: Any) -> TensorList:
        if self._few is not None and (len(self._few) < _SPARSE or i in self._few):
            return TensorList(
                self.element_dtype,
                self.element_shape,
                None,
                self.max_elements,
                self.length,
                {**self._few, i: x},
            )
        new = self._newer(self.length)
        items = new._items
        self._undo = (new, "set", i, items[i])
        items[i] = x
        return new

    def pushed(self, x: Any) -> TensorList:
        new = self._newer(self.length + 1)
        new._items.append(x)
        self._undo = (new, "drop", None, None)
        return new

    def popped(self) -> TensorList:
        new = self._newer(self.length - 1)
        self._undo = (new, "append", None, new._items.pop())
        return new

    # -- the whole

    def resized(self, n: int) -> TensorList:
        if n == self.length:
            return self
        if n == self.length + 1:
            return self.pushed(None)
        items = self.items[:n]
        return self.with_items(items + [None] * (n - len(items)))

    def with_items(self, items: list[Any]) -> TensorList:
        return TensorList(self.element_dtype, self.element_shape, items, self.max_elements)

    def filled(self, element_shape: Shape) -> list[Any]:
        """All elements, zeros where one was not set; `element_shape` is what is known besides."""
        items = self.items
        if any(x is None for x in items):
            shape = element_shape
            if not is_full(shape):
                shape = next((x.shape for x in items if x is not None), shape)
            blank = zeros(shape, self.element_dtype)
            items = [blank if x is None else x for x in items]
        return items

    def added(self, other: TensorList) -> TensorList:
        """The elementwise sum; an element that was not set counts as zeros."""
        if not fits(self.element_shape, other.element_shape):
            raise invalid(
                "Trying to add two lists of tensors with incompatible element shapes. One is "
                f"{text(self.element_shape)} and the other is {text(other.element_shape)}"
            )
        if self.length != other.length:
            raise invalid(
                "Trying to add two lists of tensors with different lengths. One is "
                f"{self.length} and the other is {other.length}"
            )
        if self._few is not None and other._few is None:
            self, other = other, self
        if other._few is not None:
            result = self
            for i, x in other._few.items():
                result = result.with_item(i, add(result.at(i), x) if result.has(i) else x)
            return result
        pairs = zip(self.items, other.items)
        return self.with_items(
            [y if x is None else x if y is None else add(x, y) for x, y in pairs]
        )

    def total(self, xp: Any, others: list[TensorList]) -> TensorList:
        """The elementwise sum with other lists."""
        result = self
        for other in others:
            result = result.added(other)
        return result

    def zeros_like(self) -> TensorList:
        """A list of as many zeros."""
        items = [
            x.zeros_like() if isinstance(x, TensorList) else None if x is None else np.zeros_like(x)
            for x in self.items
        ]
        return self.with_items(items)


def add(x: Any, y: Any) -> Any:
    if isinstance(x, TensorList):
        return x.added(y)
    return np.asarray(x + y, x.dtype)


def zeros(shape: Any, dtype: DType) -> Any:
    if dtype.np is None:
        raise invalid(f"An element of a list of {dtype.name} was never set.")
    if dtype.np == np.object_:
        out = np.empty(shape, object)
        out.fill(b"")
        return out
    return np.zeros(shape, dtype.np)
