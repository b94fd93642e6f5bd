"""Blocks: several elements of a dataset that go from walk to walk together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

Element = list[Any]


def row_of(column: Any, i: int) -> Any:
    """One row of an array, or of a list; of an array of variants what is in it."""
    if type(column) is list:
        return column[i]
    row = column[i : i + 1].reshape(column.shape[1:])
    if column.dtype == object and not row.ndim and not isinstance(row.item(), (bytes, str)):
        return row.item()
    return row


def as_column(rows: list[Any]) -> Any:
    """Rows as an array, where they are arrays of one shape and type; else as they are."""
    first = rows[0]
    if type(first) is not np.ndarray:
        return rows
    shape, dtype = first.shape, first.dtype
    for row in rows:
        if type(row) is not np.ndarray or row.shape != shape or row.dtype != dtype:
            return rows
    if shape:
        return np.stack(rows)
    if dtype.hasobject:
        return np.fromiter((row.item() for row in rows), object, len(rows))
    return np.array(rows, dtype)


class Block:
    """Elements as columns: for each component an array with an axis more, or a list where that cannot be.

    It is made of columns or of the elements themselves; each is made of the other when somebody asks.
    """

    __slots__ = ("count", "_columns", "_rows")

    def __init__(
        self, count: int, columns: list[Any] | None = None, rows: list[Element] | None = None
    ):
        self.count, self._columns, self._rows = count, columns, rows

    @classmethod
    def of(cls, rows: list[Element]) -> Block:
        """The block of some elements."""
        return cls(len(rows), rows=rows)

    @property
    def columns(self) -> list[Any]:
        """The components, each of all elements."""
        if self._columns is None:
            assert self._rows is not None
            self._columns = [as_column(list(parts)) for parts in zip(*self._rows, strict=True)]
        return self._columns

    @property
    def rows(self) -> list[Element]:
        """The elements. Their arrays may be views of the block."""
        if self._rows is None:
            assert self._columns is not None
            self._rows = [[row_of(c, i) for c in self._columns] for i in range(self.count)]
        return self._rows

    def own_rows(self) -> list[Element]:
        """The elements, for somebody who keeps some of them for long: none holds the memory of all."""
        if self.count == 1 or self._columns is None:
            return self.rows
        return [[_own(part) for part in row] for row in self.rows]

    def part(self, start: int, stop: int) -> Block:
        """Some of the elements."""
        if start == 0 and stop >= self.count:
            return self
        columns = self._columns and [column[start:stop] for column in self._columns]
        rows = self._rows and self._rows[start:stop]
        return Block(min(stop, self.count) - start, columns, rows)

    def those(self, wanted: np.ndarray) -> Block:
        """The elements for which an array of truths has it."""
        if wanted.all():
            return self
        numbers = np.flatnonzero(wanted).tolist()
        if self._columns is None:
            return Block.of([self.rows[i] for i in numbers])
        return Block(
            len(numbers),
            [
                column[wanted] if type(column) is not list else [column[i] for i in numbers]
                for column in self._columns
            ],
        )


def _own(value: Any) -> Any:
    return value.copy() if type(value) is np.ndarray and value.base is not None else value


def joined(blocks: Sequence[Block]) -> Block:
    """Blocks of elements of one kind, one behind the other, as one."""
    if len(blocks) == 1:
        return blocks[0]
    if all(b._columns is None for b in blocks):
        return Block.of([row for b in blocks for row in b.rows])
    columns: list[Any] = []
    for parts in zip(*(b.columns for b in blocks), strict=True):
        first = parts[0]
        if all(
            type(p) is np.ndarray and p.shape[1:] == first.shape[1:] and p.dtype == first.dtype
            for p in parts
        ):
            columns.append(np.concatenate(parts))
        else:
            columns.append([row_of(p, i) for p, b in zip(parts, blocks) for i in range(b.count)])
    return Block(sum(b.count for b in blocks), columns)


class OneByOne(Exception):
    """Raised by a function that is asked for rows and wants them one by one: nothing has happened yet."""


class Waiting:
    """Elements that were read and are still to be used, in their order; as a walk keeps them in its place."""

    def __init__(self) -> None:
        self._blocks: list[Block] = []  # the first is the last

    def __len__(self) -> int:
        return sum(b.count for b in self._blocks)

    def add(self, block: Block) -> None:
        """Puts elements behind the others."""
        self._blocks.insert(0, block)

    def take(self, most: int) -> Block:
        """Up to so many of the first elements, of which there are some."""
        block = self._blocks.pop()
        if block.count > most:
            self._blocks.append(block.part(most, block.count))
            block = block.part(0, most)
        return block

    def saved(self, freeze: Callable[[Any], Any]) -> Any:
        """The elements."""
        return freeze([row for block in reversed(self._blocks) for row in block.rows])

    def restore(self, rows: Iterable[Element]) -> None:
        """Has the elements that were saved."""
        rows = list(rows)
        self._blocks = [Block.of(rows)] if rows else []
