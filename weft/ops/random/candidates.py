"""Candidate sampling: classes drawn for losses over very many, and how often each is expected to be drawn."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from weft.framework import errors, file_system
from weft.framework.registry import op
from weft.framework.shape_rules import merge_dim, rank
from weft.ops.random import philox
from weft.ops.random.counters import take

_BLOCKS_PER_SAMPLE = 512  # what a run reserves for each sample, as TensorFlow does


def _invalid(message: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, message)


# -- numbers from a stream of words --------------------------------------------------------------------


class Stream:
    """The words of a generator from a place on, as often as they are asked for."""

    def __init__(self, xp: Any, key: Any, counter: Any):
        self._xp, self._key, self._counter = xp, key, counter

    def words(self, count: int) -> np.ndarray:
        return philox.words32(self._xp, self._key, self._counter, count)

    def doubles(self, count: int) -> np.ndarray:
        """Numbers from 0 to 1, of two words each."""
        pairs = self.words(2 * count).astype(np.uint64).reshape(-1, 2)
        mantissa = ((pairs[:, 0] & np.uint64(0xFFFFF)) << np.uint64(32)) | pairs[:, 1]
        return (mantissa | np.uint64(0x3FF0000000000000)).view(np.float64) - 1.0

    def below(self, limit: int, count: int, bits: int = 64) -> np.ndarray:
        """Integers below a limit, of one or two words each; words that would favour some are passed over."""
        size, dtype = (2, np.uint64) if bits == 64 else (1, np.uint32)
        power = limit & (limit - 1) == 0
        least = 0 if power else ((1 << bits) - 1) % limit + 1
        drawn = count
        while True:
            words = self.words(size * drawn)
            if size == 2:
                pairs = words.astype(np.uint64).reshape(-1, 2)
                words = pairs[:, 0] | (pairs[:, 1] << np.uint64(32))
            good = words[words >= dtype(least)]
            if len(good) >= count:
                return (good[:count] % dtype(limit)).astype(np.int64)
            drawn = 2 * drawn + 8

    def floats_and_below(self, limit: int, count: int) -> tuple[np.ndarray, np.ndarray]:
        """A number from 0 to 1 and an integer below a limit, `count` times, one after the other."""
        power = limit & (limit - 1) == 0
        least = 0 if power else 0xFFFFFFFF % limit + 1
        words = self.words(2 * count + 64)
        while True:  # each word that is passed over moves all that follow
            integers = words[1 : 2 * count : 2]
            late = np.flatnonzero(integers < np.uint32(least))
            if not len(late):
                break
            words = np.delete(words, 2 * late[0] + 1)
            if len(words) < 2 * count:
                words = np.delete(self.words(4 * count + 128), 2 * late[0] + 1)
        fractions = (words[0 : 2 * count : 2] & np.uint32(0x7FFFFF)) | np.uint32(0x3F800000)
        return fractions.view(np.float32) - np.float32(1), (integers % np.uint32(limit)).astype(
            np.int64
        )


# -- samplers: each draws classes, and knows how likely each is ------------------------------------------


class Uniform:
    """All classes alike."""

    def __init__(self, range_max: int):
        self.range = range_max

    def draw(self, stream: Stream, count: int) -> np.ndarray:
        return stream.below(self.range, count)

    def probability(self, classes: np.ndarray) -> np.ndarray:
        return np.full(classes.shape, 1.0 / self.range, np.float32)


class LogUniform(Uniform):
    """Small numbers are likely, as those of frequent words."""

    def draw(self, stream: Stream, count: int) -> np.ndarray:
        values = np.exp(stream.doubles(count) * np.log1p(self.range)).astype(np.int64) - 1
        return values % self.range

    def probability(self, classes: np.ndarray) -> np.ndarray:
        share = np.log((classes + 2.0) / (classes + 1.0)) / np.log1p(self.range)
        return share.astype(np.float32)


class Learned(Uniform):
    """As often as the classes were true in former runs, and once."""

    def __init__(self, range_max: int):
        super().__init__(range_max)
        self._weights = np.ones(range_max, np.int64)

    def draw(self, stream: Stream, count: int) -> np.ndarray:
        ends = np.cumsum(self._weights)
        return np.searchsorted(ends, stream.below(int(ends[-1]), count, bits=32), side="right")

    def probability(self, classes: np.ndarray) -> np.ndarray:
        inside = (classes >= 0) & (classes < self.range)
        weights = np.where(inside, self._weights[np.clip(classes, 0, self.range - 1)], 0)
        return (weights.astype(np.float32) / np.float32(self._weights.sum())).astype(np.float32)

    def learn(self, classes: np.ndarray) -> None:
        np.add.at(self._weights, classes.reshape(-1), 1)


class FixedUnigram(Uniform):
    """As often as given weights say: by the alias method."""

    def __init__(self, range_max: int, weights: np.ndarray):
        super().__init__(range_max)
        if len(weights) != range_max:
            raise _invalid(f"range_max is {range_max}, but there are {len(weights)} unigrams")
        self._weights = weights
        self._total = np.add.accumulate(weights, dtype=np.float32)[-1]
        self._threshold, self._alias = _alias_table(weights)

    def draw(self, stream: Stream, count: int) -> np.ndarray:
        fractions, bins = stream.floats_and_below(self.range, count)
        return np.where(fractions < self._threshold[bins], bins, self._alias[bins])

    def probability(self, classes: np.ndarray) -> np.ndarray:
        inside = (classes >= 0) & (classes < self.range)
        weights = self._weights[np.clip(classes, 0, self.range - 1)]
        return np.where(inside, weights / self._total, np.float32(0)).astype(np.float32)


def _alias_table(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each bin, up to where it gives itself, and what it gives beyond. Built once for an op."""
    n = len(weights)
    share = weights.astype(np.float64) * n / np.sum(weights.astype(np.float64))
    alias = np.arange(n)
    low = list(np.flatnonzero(share < 1.0))
    high = list(np.flatnonzero(share >= 1.0))
    while low and high:
        small, large = low.pop(), high.pop()
        alias[small] = large
        share[large] -= 1.0 - share[small]
        (low if share[large] < 1.0 else high).append(large)
    share[low + high] = 1.0
    return share.astype(np.float32), alias


def _weights(path: Any, given: list[float]) -> list[float]:
    """The weights of a vocabulary, given or from the last column of a file."""
    if not path and not given:
        raise _invalid("Must provide either vocab_file or unigrams.")
    if path and given:
        raise _invalid("Must only provide one of vocab_file and unigrams.")
    if path:
        for line in file_system.read_file(os.fsdecode(path)).decode().splitlines():
            try:
                given.append(float(line.rpartition(",")[2]))
            except ValueError:
                raise _invalid(f"Wrong vocabulary format at line: {line}") from None
    return given


def _of_shard(
    given: list[float], distortion: float, reserved: int, shards: int, shard: int
) -> np.ndarray:
    """The weights of the ids of a shard, distorted; reserved ids, which come first, have none."""
    weights = (np.asarray(given, np.float32) ** np.float32(distortion)).astype(np.float32)
    own = np.zeros(int((np.arange(reserved) % shards == shard).sum()), np.float32)
    # TensorFlow numbers the words from how many reserved ids this shard has, not from how many there are.
    words = (np.arange(len(given)) + len(own)) % shards == shard
    return np.concatenate([own, weights[words]])


def _unique(draw: Callable[[int], np.ndarray], count: int) -> tuple[np.ndarray, int]:
    """The first `count` classes that differ, and how many had to be drawn for them."""
    tried = 2 * count
    while True:
        drawn = draw(tried)
        _, first = np.unique(drawn, return_index=True)
        if len(first) >= count:
            first = np.sort(first)[:count]
            return drawn[first], int(first[-1]) + 1
        tried *= 2


def _expected(probability: np.ndarray, count: int, tries: int) -> np.ndarray:
    """How often a class is expected among the samples, after so many tries."""
    p = probability.astype(np.float64)
    expected = p * count if tries == count else -np.expm1(tries * np.log1p(-p))
    return expected.astype(np.float32)


def _checked(true_classes: np.ndarray, num_true: int) -> None:
    if true_classes.ndim != 2:
        raise _invalid("true_classes must be a matrix")
    if true_classes.shape[1] != num_true:
        raise _invalid(
            f"true_classes must have num_true columns, expected: {true_classes.shape[1]} was: {num_true}"
        )


def _sample(
    ctx: Any,
    make: Callable[[], Any],
    true_classes: np.ndarray,
    num_true: int,
    count: int,
    unique: bool,
    seeds: tuple[int, int],
) -> tuple:
    """The samples and both expected counts; the sampler of an op is made at its first run."""
    _checked(true_classes, num_true)
    key, counter = take(ctx, *seeds, count * _BLOCKS_PER_SAMPLE)
    store = ctx.resources
    sampler = store.get_or_create("candidate sampler", "", ctx.op, make)
    if unique and count > sampler.range:
        raise _invalid("Sampler's range is too small.")
    stream = Stream(ctx.xp, key, counter)
    with store.lock:
        if unique:
            samples, tries = _unique(lambda n: sampler.draw(stream, n), count)
        else:
            samples, tries = sampler.draw(stream, count), count
        expected = [
            _expected(sampler.probability(c), count, tries) for c in (true_classes, samples)
        ]
        if isinstance(sampler, Learned):
            sampler.learn(true_classes)
    return samples.astype(np.int64), *expected


_OUTPUTS = "true_classes: int64 -> sampled_candidates: int64, true_expected_count: float, sampled_expected_count: float"
_COUNTS = "num_true: int >= 1; num_sampled: int >= 1; unique: bool"
_SEEDS = "seed: int = 0; seed2: int = 0"


def _sampled_shapes(true_classes, *, num_true, num_sampled):
    rows = rank(true_classes, 2, "true_classes")[0]
    return (num_sampled,), (rows, num_true), (num_sampled,)


def _ranged(name: str, sampler: Callable[[int], Any], doc: str) -> Any:
    """The op of a sampler that needs to know the number of classes only."""

    def kernel(ctx, true_classes, *, num_true, num_sampled, unique, range_max, seed, seed2):
        return _sample(
            ctx,
            lambda: sampler(range_max),
            true_classes,
            num_true,
            num_sampled,
            unique,
            (seed, seed2),
        )

    kernel.__doc__ = doc
    attributes = f"{_COUNTS}; range_max: int >= 1; {_SEEDS}"
    decl = op(name, _OUTPUTS, attributes, stateful=True, host=True)(kernel)
    decl.shape(_sampled_shapes)
    decl.not_differentiable()
    return decl


uniform_op = _ranged("UniformCandidateSampler", Uniform, "Draws classes, all alike.")
log_uniform_op = _ranged(
    "LogUniformCandidateSampler", LogUniform, "Draws classes, small numbers more often."
)
learned_op = _ranged(
    "LearnedUnigramCandidateSampler", Learned, "Draws classes as often as they have been true."
)
thread_unsafe_op = _ranged(
    "ThreadUnsafeUnigramCandidateSampler", Learned, "Draws classes as often as they have been true."
)


@op(
    "FixedUnigramCandidateSampler",
    _OUTPUTS,
    f'{_COUNTS}; range_max: int >= 1; vocab_file: string = ""; distortion: float = 1.0; '
    "num_reserved_ids: int = 0; num_shards: int >= 1 = 1; shard: int >= 0 = 0; "
    f"unigrams: list(float) = []; {_SEEDS}",
    stateful=True,
    host=True,
)
def fixed_op(
    ctx,
    true_classes,
    *,
    num_true,
    num_sampled,
    unique,
    range_max,
    vocab_file,
    distortion,
    num_reserved_ids,
    num_shards,
    shard,
    unigrams,
    seed,
    seed2,
):
    """Draws classes as often as given weights say."""

    def make() -> FixedUnigram:
        weights = _weights(vocab_file, list(unigrams))
        own = _of_shard(weights, distortion, num_reserved_ids, num_shards, shard)
        return FixedUnigram(range_max, own)

    return _sample(ctx, make, true_classes, num_true, num_sampled, unique, (seed, seed2))


fixed_op.shape(_sampled_shapes)
fixed_op.not_differentiable()


@op("AllCandidateSampler", _OUTPUTS, f"{_COUNTS}; {_SEEDS}", stateful=True, host=True)
def all_op(ctx, true_classes, *, num_true, num_sampled, unique, seed, seed2):
    """All classes, each once."""
    _checked(true_classes, num_true)
    return (
        np.arange(num_sampled, dtype=np.int64),
        np.ones(true_classes.shape, np.float32),
        np.ones(num_sampled, np.float32),
    )


all_op.shape(_sampled_shapes)
all_op.not_differentiable()


@op(
    "ComputeAccidentalHits",
    "true_classes: int64, sampled_candidates: int64 -> indices: int32, ids: int64, weights: float",
    f"num_true: int; {_SEEDS}",
    host=True,
)
def accidental_hits_op(xp, true_classes, sampled_candidates, *, num_true, seed, seed2):
    """Where samples are true classes: row, place among the samples, and the least float as a weight."""
    if true_classes.ndim != 2 or true_classes.shape[1] != num_true:
        raise _invalid("true_candidates must be a batch_size * num_true matrix")
    if sampled_candidates.ndim != 1:
        raise _invalid(
            "sampled_candidates must be a vector, which is typically an output from CandidateSampler"
        )
    order = np.argsort(sampled_candidates, kind="stable")
    ordered = sampled_candidates[order]
    place = np.searchsorted(ordered, true_classes, side="right") - 1  # the last of equal samples
    if len(ordered):
        hit = (place >= 0) & (ordered[np.maximum(place, 0)] == true_classes)
    else:
        hit = np.zeros(true_classes.shape, bool)
    rows, columns = np.nonzero(hit)
    ids = order[place[rows, columns]].astype(np.int64)
    return rows.astype(np.int32), ids, np.full(len(rows), np.finfo(np.float32).min, np.float32)


@accidental_hits_op.shape
def _(true_classes, sampled_candidates, *, num_true, seed, seed2):
    merge_dim(rank(true_classes, 2, "true_classes")[1], num_true)
    rank(sampled_candidates, 1, "sampled_candidates")
    return (None,), (None,), (None,)


accidental_hits_op.not_differentiable()
