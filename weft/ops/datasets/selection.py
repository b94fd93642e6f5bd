"""Datasets of elements of others: fewer of them, more often, in another order, side by side."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from weft.ops.datasets.dataset import (
    INFINITE,
    UNKNOWN,
    Dataset,
    Element,
    End,
    Rows,
    Run,
    Walk,
    as_dataset,
    dataset_op,
    invalid,
    scaled,
)
from weft.ops.datasets.sources import seeds_of
from weft.ops.random.word_stream import RandomWords

_MOST_EPOCHS_IN_BUFFER = 3


@dataset_op("TakeDataset", "input_dataset: variant, count: int64")
def take_dataset(ctx, input_dataset, count):
    """The first elements; all of them where the count is negative."""
    source, most = as_dataset(input_dataset), int(count)

    def walk(run: Run) -> Walk:
        before: Walk | None = source.walk(run) if most else None
        left = most

        def advance() -> Element:
            nonlocal before, left
            if before is None or left == 0:
                before = None  # threads and generators behind it end
                raise End
            element = before()
            left -= 1
            return element

        return advance

    known = source.cardinality
    if most >= 0 and known != UNKNOWN:
        known = most if known == INFINITE else min(known, most)
    return Dataset(walk, 0 if most == 0 else known, "TakeDataset")


@dataset_op("SkipDataset", "input_dataset: variant, count: int64")
def skip_dataset(ctx, input_dataset, count):
    """All but the first elements; none where the count is negative."""
    source, n = as_dataset(input_dataset), int(count)

    def walk(run: Run) -> Walk:
        before = source.walk(run)
        left = n

        def advance() -> Element:
            nonlocal left
            if n < 0:
                raise End
            while left:
                run.check()
                before()
                left -= 1
            return before()

        return advance

    known = source.cardinality
    if n < 0:
        known = 0
    elif known >= 0:
        known = max(known - n, 0)
    return Dataset(walk, known, "SkipDataset")


@dataset_op(
    "ShardDataset",
    "input_dataset: variant, num_shards: int64, index: int64",
    "require_non_empty: bool = false",
)
def shard_dataset(ctx, input_dataset, num_shards, index, *, require_non_empty):
    """Every so many-th element, beginning with the one at `index`."""
    source, n, mine = as_dataset(input_dataset), int(num_shards), int(index)
    if n <= 0:
        raise invalid(f"Number of shards must be greater than zero (currently num_shards = {n}).")
    if not 0 <= mine < n:
        raise invalid(
            f"Index must be between 0 and {n - 1} (currently index = {mine}, num_shards = {n})."
        )

    def walk(run: Run) -> Walk:
        before = source.walk(run)
        at = 0

        def following() -> Element:
            nonlocal at
            try:
                element = before()
            except End:
                if require_non_empty and at < n:
                    raise invalid(
                        "There aren't enough elements in this dataset for each shard to have at least one element "
                        f"(# elems = {at}, # shards = {n})."
                    ) from None
                raise
            at += 1
            return element

        def advance() -> Element:
            while True:
                element = following()
                if (at - 1) % n != mine:
                    continue
                while require_non_empty and at < n:  # whether the shards after this one have some
                    following()
                return element

        return advance

    known = source.cardinality
    if known >= 0:
        known = known // n + (mine < known % n)
    return Dataset(walk, known, "ShardDataset")


def repeated(source: Dataset, count: int) -> Dataset:
    """A dataset again and again."""
    total = scaled(source.cardinality, count)
    if source.rows is not None:
        return Dataset.of(_repeated_rows(source.rows, count), total, "RepeatDataset")

    def walk(run: Run) -> Walk:
        left, before = count, None if count == 0 else source.walk(run)
        seen = False

        def advance() -> Element:
            nonlocal left, before, seen
            while before is not None:
                try:
                    element = before()
                except End:
                    left -= 1
                    # A dataset without elements is over, or it would be for ever.
                    before = source.walk(run) if left != 0 and seen else None
                    seen = seen and count > 0
                    continue
                seen = True
                return element
            raise End

        return advance

    return Dataset(walk, total, "RepeatDataset")


def _repeated_rows(rows: Rows, count: int) -> Rows:
    def numbers(run: Run) -> Callable[[int], list[int]]:
        left, seen = count, False
        following = rows.numbers(run)

        def advance(n: int) -> list[int]:
            nonlocal left, seen, following
            found: list[int] = []
            while left and len(found) < n:
                some = following(n - len(found))
                found += some
                seen = seen or bool(some)
                if len(found) < n:
                    run.check()
                    left = left - 1 if seen else 0
                    if left:
                        following = rows.numbers(run)
                        seen = seen and count > 0
            return found

        return advance

    return Rows(rows.table, numbers)


@dataset_op("RepeatDataset", "input_dataset: variant, count: int64")
def repeat_dataset(ctx, input_dataset, count):
    """The elements again and again; without end where the count is negative."""
    return repeated(as_dataset(input_dataset), int(count))


@dataset_op("ConcatenateDataset", "input_dataset: variant, another_dataset: variant")
def concatenate_dataset(ctx, input_dataset, another_dataset):
    """The elements of one dataset, then those of another."""
    sources = [as_dataset(input_dataset), as_dataset(another_dataset)]

    def walk(run: Run) -> Walk:
        rest = sources[::-1]
        before = rest.pop().walk(run)

        def advance() -> Element:
            nonlocal before
            while True:
                try:
                    return before()
                except End:
                    if not rest:
                        raise
                before = rest.pop().walk(run)

        return advance

    known = [s.cardinality for s in sources]
    total = INFINITE if INFINITE in known else UNKNOWN if UNKNOWN in known else known[0] + known[1]
    return Dataset(walk, total, "ConcatenateDataset")


@dataset_op("ZipDataset", "input_datasets: N*variant", "N: int >= 1")
def zip_dataset(ctx, input_datasets):
    """Elements of several datasets side by side, until one of them ends."""
    sources = [as_dataset(d) for d in input_datasets]

    def walk(run: Run) -> Walk:
        walks = [s.walk(run) for s in sources]
        return lambda: [component for before in walks for component in before()]

    known = [s.cardinality for s in sources if s.cardinality != INFINITE]
    least = UNKNOWN if UNKNOWN in known else min(known, default=INFINITE)
    return Dataset(walk, least, "ZipDataset")


# -- another order --------------------------------------------------------------------------------------


def _shuffled(
    source: Dataset, buffer_size: int, epochs: int, words: Callable[[], RandomWords], kind: str
) -> Dataset:
    """Elements drawn from a buffer, with the numbers that TensorFlow draws.

    The buffer is a ring. Where epochs are repeated within, it may hold elements of several: each has a stretch of
    the ring, and those of the first go out before those of the next.
    """
    if buffer_size <= 0:
        raise invalid("buffer_size must be greater than zero.")

    def walk(run: Run) -> Walk:
        random = words()
        ring: dict[int, Element] = {}
        stretches = deque([[0, 0]])
        before: Walk | None = None
        epoch, first = 0, True

        def next_of_source() -> Element | None:
            nonlocal before, epoch, first
            while epochs < 0 or epoch < epochs:
                assert before is not None
                try:
                    element = before()
                except End:
                    if first and epochs < 0:
                        break
                    epoch += 1
                    stretches.append([stretches[-1][1]] * 2)
                    before = source.walk(run)
                    continue
                first = False
                return element
            before = None
            return None

        def fill() -> None:
            nonlocal before
            if before is None and first and epoch == 0:
                before = source.walk(run)
            while before is not None and len(ring) < buffer_size:
                run.check()
                element = next_of_source()
                if element is not None:
                    ring[stretches[-1][1] % buffer_size] = element
                    stretches[-1][1] += 1
                if len(stretches) > _MOST_EPOCHS_IN_BUFFER:
                    break

        def advance() -> Element:
            fill()
            if not ring:
                raise End
            while stretches[0][0] == stretches[0][1]:
                stretches.popleft()
            start, end = stretches[0]
            drawn = (start + random.next() % (end - start)) % buffer_size
            element, front = ring[drawn], ring.pop(start % buffer_size)
            if drawn != start % buffer_size:
                ring[drawn] = front
            stretches[0][0] += 1
            return element

        return advance

    return Dataset(walk, scaled(source.cardinality, epochs), kind)


def _shuffled_rows(source: Dataset, buffer_size: int, words: Callable[[], RandomWords]) -> Dataset:
    """As `_shuffled`, of one epoch of rows: numbers are drawn by the hundred."""
    assert source.rows is not None
    before = source.rows.numbers

    def numbers(run: Run) -> Callable[[int], list[int]]:
        random, following = words(), before(run)
        ring: list[int] = []
        start = 0
        over = False

        def end() -> None:
            nonlocal ring, over
            over = True
            # From now on the first is at the end, where it is cheap to remove.
            ring = (ring[start:] + ring[:start])[::-1]

        def advance(n: int) -> list[int]:
            nonlocal ring, start
            while not over and len(ring) < buffer_size:
                run.check()
                wanted = min(buffer_size - len(ring), 1 << 16)
                some = following(wanted)
                ring += some
                if len(some) < wanted:
                    end()
            found: list[int] = []
            while len(found) < n and not over:
                # The buffer stays full: what is new takes the place of the first, and that of the drawn one.
                wanted = n - len(found)
                new = following(wanted)
                steps = np.arange(start, start + len(new))
                drawn = (steps + random.some(len(new)) % buffer_size) % buffer_size
                for i, front, number in zip(
                    drawn.tolist(), (steps % buffer_size).tolist(), new, strict=True
                ):
                    found.append(ring[i])
                    ring[i] = ring[front]
                    ring[front] = number
                start = (start + len(new)) % buffer_size
                if len(new) < wanted:
                    end()
            wanted = min(n - len(found), len(ring))
            if over and wanted:
                left = np.arange(len(ring), len(ring) - wanted, -1)
                for i in (random.some(wanted) % left).tolist():
                    front = ring.pop()
                    if i:
                        found.append(ring[-i])
                        ring[-i] = front
                    else:
                        found.append(front)
            return found

        return advance

    return Dataset.of(Rows(source.rows.table, numbers), source.cardinality, "ShuffleDataset")


@dataset_op(
    "ShuffleDataset",
    "input_dataset: variant, buffer_size: int64, seed: int64, seed2: int64",
    "reshuffle_each_iteration: bool = true",
)
def shuffle_dataset(ctx, input_dataset, buffer_size, seed, seed2, *, reshuffle_each_iteration):
    """The elements in random order, in another one in each walk if that is wanted."""
    seeds = seeds_of(seed, seed2)
    of_walks = RandomWords(ctx.xp, *seeds)

    def words() -> RandomWords:
        if not reshuffle_each_iteration:
            return RandomWords(ctx.xp, *seeds)
        return RandomWords(ctx.xp, of_walks.next(), of_walks.next())

    source, size = as_dataset(input_dataset), int(buffer_size)
    if source.rows is not None and size > 0:
        return _shuffled_rows(source, size, words)
    return _shuffled(source, size, 1, words, "ShuffleDataset")


@dataset_op(
    "ShuffleAndRepeatDataset",
    "input_dataset: variant, buffer_size: int64, seed: int64, seed2: int64, count: int64",
)
def shuffle_and_repeat_dataset(ctx, input_dataset, buffer_size, seed, seed2, count):
    """The elements in random order, again and again, epochs running into each other in the buffer."""
    seeds = seeds_of(seed, seed2)
    return _shuffled(
        as_dataset(input_dataset),
        int(buffer_size),
        int(count),
        lambda: RandomWords(ctx.xp, *seeds),
        "ShuffleAndRepeatDataset",
    )


@dataset_op("SamplingDataset", "input_dataset: variant, rate: float, seed: int64, seed2: int64")
def sampling_dataset(ctx, input_dataset, rate, seed, seed2):
    """Each element with a probability."""
    source, seeds = as_dataset(input_dataset), seeds_of(seed, seed2)

    def walk(run: Run) -> Walk:
        before, words = source.walk(run), RandomWords(ctx.xp, *seeds)

        def advance() -> Element:
            while True:
                run.check()
                element = before()
                # As TensorFlow makes a float of a word: its low 23 bits behind the point.
                if (words.next() & 0x7FFFFF) / 2**23 < float(rate):
                    return element

        return advance

    return Dataset(walk, UNKNOWN, "SamplingDataset")


@dataset_op("UniqueDataset", "input_dataset: variant", old=True)
def unique_dataset(ctx, input_dataset):
    """Each element the first time that it comes."""
    source = as_dataset(input_dataset)

    def walk(run: Run) -> Walk:
        before = source.walk(run)
        seen: set[Any] = set()

        def advance() -> Element:
            while True:
                run.check()
                element = before()
                (value,) = element
                key = value.tobytes() if value.dtype != object else tuple(value.reshape(-1))
                if (value.shape, key) not in seen:
                    seen.add((value.shape, key))
                    return element

        return advance

    return Dataset(walk, UNKNOWN, "UniqueDataset")


@dataset_op(
    "DirectedInterleaveDataset",
    "selector_input_dataset: variant, data_input_datasets: N*variant",
    "N: int >= 1",
    old=True,
)
def directed_interleave_dataset(ctx, selector_input_dataset, data_input_datasets):
    """Elements of several datasets, as numbers of another one choose; those that have ended are passed over."""
    selector, sources = (
        as_dataset(selector_input_dataset),
        [as_dataset(d) for d in data_input_datasets],
    )

    def walk(run: Run) -> Walk:
        choose = selector.walk(run)
        walks: list[Walk | None] = [s.walk(run) for s in sources]

        def advance() -> Element:
            while any(walks):
                run.check()
                (number,) = choose()
                if not 0 <= number < len(walks):
                    raise invalid(f"Selector index out of range: {int(number)} >= {len(walks)}")
                before = walks[int(number)]
                if before is None:
                    continue
                try:
                    return before()
                except End:
                    walks[int(number)] = None
            raise End

        return advance

    return Dataset(walk, UNKNOWN, "DirectedInterleaveDataset")
