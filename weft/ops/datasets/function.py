"""Functions of the graph, called on elements of datasets: one by one, or on blocks of them."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from weft.framework import errors
from weft.ops.datasets.block import Block, OneByOne, Waiting, joined
from weft.ops.datasets.dataset import (
    Dataset,
    Element,
    End,
    Place,
    Run,
    Walk,
)

# Of the ops that have such a function.
FUNCTION = "f: func; Targuments: list(type) >= 0"
ARGS = "input_dataset: variant, other_arguments: Targuments"


class Function:
    """A function of the graph on elements; `ends`: whether its OutOfRangeError is the end of the dataset."""

    _MOST = 128  # elements at once, and the bytes of what they are made of
    _MOST_BYTES = 1 << 23

    def __init__(self, run: Run, f: Any, captured: list[Any], ends: bool = False, threads: int = 1):
        self._call = run.function(f.name)
        self._on_rows = functools.partial(run.on_rows, f.name, len(captured))
        self._captured, self._ends = captured, ends
        self._threads = min(threads, run.threads or threads, os.cpu_count() or 1)
        self._most = self._MOST

    def __call__(self, element: Element) -> Element:
        try:
            return self._call([*element, *self._captured])
        except errors.OutOfRangeError as e:
            if self._ends:
                raise End from None
            raise errors.InvalidArgumentError(
                e.node_def, e.op, f"Function invocation produced OutOfRangeError: {e.message}"
            ) from e

    @functools.cached_property
    def _rows(self) -> Any:
        return self._on_rows()

    @property
    def takes_blocks(self) -> bool:
        """Whether elements may be read before the function is called on those in front of them."""
        return self._rows is not None

    @property
    def is_best_on_blocks(self) -> bool:
        """Whether nothing in the function is run for one element after the other, so that threads have no use."""
        return self._rows is not None and self._rows.every_operation_has_rows

    def place(self, run: Run, source: Dataset, made: Any = None) -> Place:
        """The place of a walk that calls the function on the elements of a dataset."""
        at = Place(run, source.walk, made=made, waiting=Waiting())
        at.before = at.begin()
        return at

    def walk(
        self,
        at: Place,
        advance: Callable[[Place], Element],
        several: Callable[[Place, int], Block],
    ) -> Walk:
        """A walk, in blocks if the function takes them."""
        walk = Walk(advance, at)
        return walk.in_blocks(several) if self.takes_blocks else walk

    def following(self, at: Place) -> Element:
        """The next element to call the function on."""
        return at.waiting.take(1).rows[0] if at.waiting else at.before()

    def some(self, at: Place, most: int) -> tuple[Block, Block]:
        """The next elements and what the function makes of them, several if the function takes these at once."""
        if not at.waiting:
            if self.takes_blocks:
                block = at.before.some(min(most, self._most, self._rows.most))
            else:
                block = Block.of([at.before()])
            if block.count > 1:
                try:
                    results = self._on_block(block)
                except OneByOne:
                    pass
                else:
                    self._limit(block, results)
                    return block, results
            at.waiting.add(block)
        block = at.waiting.take(1)
        return block, Block.of([self(block.rows[0])])

    def _on_block(self, block: Block) -> Block:
        parts = self._rows.parts(block.count, self._threads)
        if parts == 1:
            return self._on_part(block)
        size = -(-block.count // parts)
        blocks = [block.part(i, i + size) for i in range(0, block.count, size)]
        return joined(list(_threads().map(self._on_part, blocks)))

    def _on_part(self, block: Block) -> Block:
        return Block(block.count, self._rows(block.columns, self._captured, block.count))

    def _limit(self, *blocks: Block) -> None:
        """Asks for fewer elements where they are large."""
        size = sum(getattr(c, "nbytes", 0) for b in blocks for c in b.columns)
        self._most = max(1, min(self._MOST, self._MOST_BYTES * blocks[0].count // max(size, 1)))


@functools.cache
def _threads() -> ThreadPoolExecutor:
    """The threads that share large blocks."""
    return ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="weft-rows")
