"""Datasets of elements of others: fewer of them, more often, in another order, side by side."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from weft.framework import errors
from weft.framework.registry import op
from weft.ops.datasets.block import Block, Element, Waiting
from weft.ops.datasets.dataset import (
    INFINITE,
    UNKNOWN,
    Dataset,
    End,
    Place,
    Rows,
    Run,
    Walk,
    as_dataset,
    dataset_op,
    invalid,
    scaled,
)
from weft.ops.datasets.sources import seeds_of
from weft.ops.queues.handles import held
from weft.ops.random.word_stream import RandomWords

_MOST_EPOCHS_IN_BUFFER = 3
_MOST_SKIPPED = 1024  # at once; and read into a buffer


@dataset_op("TakeDataset", "input_dataset: variant, count: int64")
def take_dataset(ctx, input_dataset, count):
    """The first elements; all of them where the count is negative."""
    source, most = as_dataset(input_dataset), int(count)

    def walk(run: Run) -> Walk:
        def advance(at: Place) -> Element:
            if at.before is None or at.left == 0:
                at.before = None  # threads and generators behind it end
                raise End
            element = at.before()
            at.left -= 1
            return element

        def several(at: Place, wanted: int) -> Block:
            if at.before is None or at.left == 0:
                return Block.of([advance(at)])
            block = at.before.some(wanted if at.left < 0 else min(wanted, at.left))
            at.left -= block.count
            return block

        at = Place(run, source.walk, left=most)
        at.before = at.begin() if most else None
        return Walk(advance, at).in_blocks(several)

    known = source.cardinality
    if most >= 0 and known != UNKNOWN:
        known = most if known == INFINITE else min(known, most)
    kind = "FiniteTakeDataset" if most else "EmptyTakeDataset"  # as TensorFlow names what it makes
    return Dataset(walk, 0 if most == 0 else known, kind)


@dataset_op("SkipDataset", "input_dataset: variant, count: int64")
def skip_dataset(ctx, input_dataset, count):
    """All but the first elements; none where the count is negative."""
    source, n = as_dataset(input_dataset), int(count)

    def walk(run: Run) -> Walk:
        def skip(at: Place) -> Walk:
            if n < 0:
                raise End
            while at.left:
                run.check()
                at.left -= at.before.some(min(at.left, _MOST_SKIPPED)).count
            return at.before

        at = Place(run, source.walk, left=n)
        at.before = at.begin()
        return Walk(lambda at: skip(at)(), at).in_blocks(lambda at, most: skip(at).some(most))

    known = source.cardinality
    if n < 0:
        known = 0
    elif known >= 0:
        known = max(known - n, 0)
    return Dataset(walk, known, "EmptySkipDataset" if n < 0 else "FiniteSkipDataset")


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
        def following(at: Place) -> Element:
            try:
                element = at.before()
            except End:
                if require_non_empty and at.row < n:
                    raise invalid(
                        "There aren't enough elements in this dataset for each shard to have at least one element "
                        f"(# elems = {at.row}, # shards = {n})."
                    ) from None
                raise
            at.row += 1
            return element

        def advance(at: Place) -> Element:
            while True:
                element = following(at)
                if (at.row - 1) % n != mine:
                    continue
                while require_non_empty and at.row < n:  # whether later shards have some
                    following(at)
                return element

        def several(at: Place, most: int) -> Block:
            if require_non_empty and at.row < n:
                return Block.of([advance(at)])
            while True:
                # As far as the last one that is wanted.
                block = at.before.some((mine - at.row) % n + 1 + (most - 1) * n)
                at.row += block.count
                rows = np.arange(at.row - block.count, at.row)
                found = block.those(rows % n == mine)
                if found.count:
                    return found

        at = Place(run, source.walk, row=0)
        at.before = at.begin()
        return Walk(advance, at).in_blocks(several)

    known = source.cardinality
    if known >= 0:
        known = known // n + (mine < known % n)
    return Dataset(walk, known, "ShardDataset")


def repeated(source: Dataset, count: int) -> Dataset:
    """A dataset again and again."""
    total = scaled(source.cardinality, count)
    kind = ("Forever" if count < 0 else "Finite" if count else "Empty") + "RepeatDataset"
    if source.rows is not None:
        return Dataset.of(_repeated_rows(source.rows, count), total, kind)

    def walk(run: Run) -> Walk:
        def several(at: Place, most: int) -> Block:
            while at.before is not None:
                try:
                    block = at.before.some(most)
                except End:
                    at.left -= 1
                    # A dataset without elements is over, or it would be for ever.
                    at.before = at.begin() if at.left != 0 and at.seen else None
                    at.seen = at.seen and count > 0
                    continue
                at.seen = True
                return block
            raise End

        at = Place(run, source.walk, left=count, seen=False)
        at.before = at.begin() if count else None
        return Walk.of_blocks(several, at)

    return Dataset(walk, total, kind)


def _repeated_rows(rows: Rows, count: int) -> Rows:
    def numbers(run: Run) -> Walk:
        def advance(at: Place, n: int) -> list[int]:
            found: list[int] = []
            while at.left and len(found) < n:
                some = at.before(n - len(found))
                found += some
                at.seen = at.seen or bool(some)
                if len(found) < n:
                    run.check()
                    at.left = at.left - 1 if at.seen else 0
                    if at.left:
                        at.before = at.begin()
                        at.seen = at.seen and count > 0
            return found

        at = Place(run, rows.numbers, left=count, seen=False)
        at.before = at.begin()
        return Walk(advance, at)

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
        def several(at: Place, most: int) -> Block:
            while True:
                try:
                    return at.before.some(most)
                except End:
                    if at.before.recipe == len(sources) - 1:
                        raise
                at.before = at.begin(at.before.recipe + 1)

        at = Place(run, *(s.walk for s in sources))
        at.before = at.begin()
        return Walk.of_blocks(several, at)

    known = [s.cardinality for s in sources]
    total = INFINITE if INFINITE in known else UNKNOWN if UNKNOWN in known else known[0] + known[1]
    return Dataset(walk, total, "ConcatenateDataset")


@dataset_op("ZipDataset", "input_datasets: N*variant", "N: int >= 1")
def zip_dataset(ctx, input_datasets):
    """Elements of several datasets side by side, until one of them ends."""
    sources = [as_dataset(d) for d in input_datasets]

    known = [s.cardinality for s in sources if s.cardinality != INFINITE]
    least = UNKNOWN if UNKNOWN in known else min(known, default=INFINITE)

    def walk(run: Run) -> Walk:
        # Which of them ends first has to be known, or nobody may notice what was read behind the end.
        guessed = least == UNKNOWN and any(run.has_state(s) for s in sources)

        def several(at: Place, most: int) -> Block:
            most = 1 if guessed else min(most, max(at.left, 1)) if least >= 0 else most
            for i, (before, waiting) in enumerate(zip(at.walks, at.waiting)):
                if not waiting:
                    try:
                        waiting.add(before.some(most))
                    except (End, errors.OpError):
                        for other in at.waiting[:i]:  # what was to stand beside it
                            other.take(1)
                        raise
            count = min(map(len, at.waiting))
            at.left -= count
            columns = [c for waiting in at.waiting for c in waiting.take(count).columns]
            return Block(count, columns)

        at = Place(run, *(s.walk for s in sources), left=least)
        at.walks = [at.begin(i) for i in range(len(sources))]
        at.waiting = [Waiting() for _ in sources]
        return Walk.of_blocks(several, at)

    return Dataset(walk, least, "ZipDataset")


# -- another order --------------------------------------------------------------------------------------


def _shuffled(
    source: Dataset,
    buffer_size: int,
    epochs: int,
    words: Callable[[], RandomWords],
    kind: str,
    **shared: Any,
) -> Dataset:
    """Elements drawn from a buffer, with the numbers that TensorFlow draws.

    The buffer is a ring. Where epochs are repeated within, it may hold elements of several: each has a stretch of
    the ring, and those of the first go out before those of the next.
    """
    if buffer_size <= 0:
        raise invalid("buffer_size must be greater than zero.")

    def read(at: Place, most: int) -> None:
        """Reads elements that are to come into the buffer, all of one epoch."""
        while epochs < 0 or at.epoch < epochs:
            try:
                block = at.before.some(min(most, _MOST_SKIPPED))
            except End:
                if at.first and epochs < 0:
                    break
                at.epoch += 1
                at.stretches.append([at.stretches[-1][1]] * 2)
                at.before = at.begin()
                continue
            at.first = False
            at.new = block.own_rows()[::-1]
            return
        at.before = None

    def fill(at: Place, more: int) -> None:
        if at.before is None and at.first and at.epoch == 0:
            at.before = at.begin()
        while len(at.ring) < buffer_size and (at.new or at.before is not None):
            at.run.check()
            if not at.new:
                read(at, buffer_size - len(at.ring) + more)
            if at.new:
                at.ring[at.stretches[-1][1] % buffer_size] = at.new.pop()
                at.stretches[-1][1] += 1
            if len(at.stretches) > _MOST_EPOCHS_IN_BUFFER:
                break

    def several(at: Place, most: int) -> Block:
        found = [draw(at, most - 1)]
        # As long as nothing has to be read.
        while len(found) < most and (
            at.ring if at.before is None else len(at.new) >= buffer_size - len(at.ring)
        ):
            found.append(draw(at, 0))
        return Block.of(found)

    def draw(at: Place, more: int) -> Element:
        """An element of the buffer, of which `more` will be drawn at once."""
        fill(at, more)
        if not at.ring:
            raise End
        while at.stretches[0][0] == at.stretches[0][1]:
            at.stretches.popleft()
        start, end = at.stretches[0]
        drawn = (start + at.random.next() % (end - start)) % buffer_size
        element, front = at.ring[drawn], at.ring.pop(start % buffer_size)
        if drawn != start % buffer_size:
            at.ring[drawn] = front
        at.stretches[0][0] += 1
        return element

    def walk(run: Run) -> Walk:
        at = Place(run, source.walk, random=words(), ring={}, stretches=deque([[0, 0]]))
        at.before, at.epoch, at.first, at.new = None, 0, True, []
        return Walk.of_blocks(several, _sharing(at, shared))

    return Dataset(walk, scaled(source.cardinality, epochs), kind)


def _sharing(at: Place, shared: dict[str, Any]) -> Place:
    """A place that has also what all walks over a dataset share."""
    vars(at).update(shared)
    return at


def _shuffled_rows(
    source: Dataset, buffer_size: int, words: Callable[[], RandomWords], **shared: Any
) -> Dataset:
    """As `_shuffled`, of one epoch of rows: numbers are drawn by the hundred."""
    assert source.rows is not None
    before = source.rows.numbers

    def end(at: Place) -> None:
        at.over = True
        # From now on the first is at the end, where it is cheap to remove.
        at.ring = (at.ring[at.start :] + at.ring[: at.start])[::-1]

    def advance(at: Place, n: int) -> list[int]:
        while not at.over and len(at.ring) < buffer_size:
            at.run.check()
            wanted = min(buffer_size - len(at.ring), 1 << 16)
            some = at.before(wanted)
            at.ring += some
            if len(some) < wanted:
                end(at)
        found: list[int] = []
        while len(found) < n and not at.over:
            # The buffer stays full: what is new takes the place of the first, and that of the drawn one.
            wanted = n - len(found)
            new, ring = at.before(wanted), at.ring
            steps = np.arange(at.start, at.start + len(new))
            drawn = (steps + at.random.some(len(new)) % buffer_size) % buffer_size
            for i, front, number in zip(
                drawn.tolist(), (steps % buffer_size).tolist(), new, strict=True
            ):
                found.append(ring[i])
                ring[i] = ring[front]
                ring[front] = number
            at.start = (at.start + len(new)) % buffer_size
            if len(new) < wanted:
                end(at)
        ring = at.ring
        wanted = min(n - len(found), len(ring))
        if at.over and wanted:
            left = np.arange(len(ring), len(ring) - wanted, -1)
            for i in (at.random.some(wanted) % left).tolist():
                front = ring.pop()
                if i:
                    found.append(ring[-i])
                    ring[-i] = front
                else:
                    found.append(front)
        return found

    def numbers(run: Run) -> Walk:
        at = Place(run, before, random=words(), ring=[], start=0, over=False)
        at.before = at.begin()
        return Walk(advance, _sharing(at, shared))

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
    if reshuffle_each_iteration:
        return _of_seeds(ctx, input_dataset, buffer_size, of_walks)
    return _in_an_order(
        input_dataset, buffer_size, lambda: RandomWords(ctx.xp, *seeds), of_walks=of_walks
    )


def _of_seeds(ctx: Any, input_dataset: Any, buffer_size: Any, of_walks: RandomWords) -> Dataset:
    """Each walk in an order of its own, whose seeds are the next two words."""
    return _in_an_order(
        input_dataset,
        buffer_size,
        lambda: RandomWords(ctx.xp, of_walks.next(), of_walks.next()),
        of_walks=of_walks,
    )


def _in_an_order(
    input_dataset: Any, buffer_size: Any, words: Callable[[], RandomWords], **shared: Any
) -> Dataset:
    source, size = as_dataset(input_dataset), int(buffer_size)
    if source.rows is not None and size > 0:
        return _shuffled_rows(source, size, words, **shared)
    return _shuffled(source, size, 1, words, "ShuffleDataset", **shared)


@op(
    "AnonymousRandomSeedGenerator",
    "seed: int64, seed2: int64 -> handle: resource, deleter: variant",
    host=True,
    stateful=True,
)
def anonymous_random_seed_generator(ctx, seed, seed2):
    """A stream of words that several datasets take their seeds from, and what deletes it."""
    words = RandomWords(ctx.xp, *seeds_of(seed, seed2))
    return words, words


@op("DeleteRandomSeedGenerator", "handle: resource, deleter: variant", host=True, stateful=True)
def delete_random_seed_generator(ctx, handle, deleter):
    """Forgets a stream of words: nothing is to be done, it goes with those who have it."""


anonymous_random_seed_generator.shape(lambda *inputs: [(), ()])
delete_random_seed_generator.shape(lambda *inputs: [])
for _decl in (anonymous_random_seed_generator, delete_random_seed_generator):
    _decl.not_differentiable()


@dataset_op(
    "ShuffleDatasetV2",
    "input_dataset: variant, buffer_size: int64, seed_generator: resource",
    stateful=True,
)
def shuffle_dataset_v2(ctx, input_dataset, buffer_size, seed_generator):
    """The elements in random order, in another one in each walk, whose seeds a stream of words gives."""
    dataset = _of_seeds(ctx, input_dataset, buffer_size, held(seed_generator, RandomWords))
    dataset.shares = "its random seed generator"
    return dataset


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
        def advance(at: Place) -> Element:
            while True:
                run.check()
                element = at.before()
                # As TensorFlow makes a float of a word: its low 23 bits behind the point.
                if (at.words.next() & 0x7FFFFF) / 2**23 < float(rate):
                    return element

        at = Place(run, source.walk, words=RandomWords(ctx.xp, *seeds))
        at.before = at.begin()
        return Walk(advance, at)

    return Dataset(walk, UNKNOWN, "SamplingDataset")


@dataset_op("UniqueDataset", "input_dataset: variant", old=True)
def unique_dataset(ctx, input_dataset):
    """Each element the first time that it comes."""
    source = as_dataset(input_dataset)

    def walk(run: Run) -> Walk:
        def advance(at: Place) -> Element:
            while True:
                run.check()
                element = at.before()
                (value,) = element
                key = value.tobytes() if value.dtype != object else tuple(value.reshape(-1))
                if (value.shape, key) not in at.seen:
                    at.seen.add((value.shape, key))
                    return element

        at = Place(run, source.walk, seen=set())
        at.before = at.begin()
        return Walk(advance, at)

    return Dataset(walk, UNKNOWN, "UniqueDataset")


@dataset_op(
    "DirectedInterleaveDataset",
    "selector_input_dataset: variant, data_input_datasets: N*variant",
    "N: int >= 1",
    old=True,
)
def directed_interleave_dataset(ctx, selector_input_dataset, data_input_datasets):
    """Elements of several datasets, as numbers of another one choose; those that have ended are passed over."""
    selector = as_dataset(selector_input_dataset)
    sources = [as_dataset(d) for d in data_input_datasets]

    def walk(run: Run) -> Walk:
        def advance(at: Place) -> Element:
            while any(at.walks):
                run.check()
                (number,) = at.choose()
                if not 0 <= number < len(sources):
                    raise invalid(f"Selector index out of range: {int(number)} >= {len(sources)}")
                before = at.walks[int(number)]
                if before is None:
                    continue
                try:
                    return before()
                except End:
                    at.walks[int(number)] = None
            raise End

        at = Place(run, *(s.walk for s in sources), selector.walk)
        at.walks = [at.begin(i) for i in range(len(sources))]
        at.choose = at.begin(len(sources))
        return Walk(advance, at)

    return Dataset(walk, UNKNOWN, "DirectedInterleaveDataset")
