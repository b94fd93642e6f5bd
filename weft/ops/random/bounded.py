"""Normal numbers between given bounds: TensorFlow's three samplers, by where the bounds lie.

Bounds around the mean: normal numbers, of which those outside are rejected. A narrow interval:
uniform numbers, accepted with the density. A tail: exponential numbers. Samples come in batches
that share parameters; each batch takes what it accepts, in order, from a stretch of the generator
of its own. (So does TensorFlow if it gives each batch to another thread; a thread that draws
several goes on where it stopped, so there numbers depend on the machine.)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.ops.random import distributions, philox

MAX_REJECTIONS = 1000  # in succession; then the bounds are taken to be out of reach
_WIDE = 1.3  # deviations inside the bounds from which on plain normal numbers are quick enough


class NoSampleAccepted(ArithmeticError):
    """The sampler gave up."""


def blocks(batches: int, samples: int) -> int:
    """How many blocks the drawing of `samples` numbers in each of `batches` batches takes."""
    return batches * 2 * MAX_REJECTIONS * (samples + 3) // 4


def bounded_normal(
    xp: Any,
    key: np.uint64,
    counter: np.ndarray,
    samples: int,
    mean: np.ndarray,
    deviation: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
) -> np.ndarray:
    """[batches, samples] normal numbers in [low, high]; the parameters have one value for each
    batch.

    For the host only. Raises NoSampleAccepted where TensorFlow's samplers give up.
    """
    dtype = mean.dtype
    batches = len(mean)
    result = np.empty((batches, samples), dtype)
    flipped = ((low < 0) & np.isinf(low)) | (high < mean)
    low, high = np.where(flipped, high, low), np.where(flipped, low, high)
    deviation = np.where(flipped, -deviation, deviation)
    with np.errstate(all="ignore"):
        least, most = (low - mean) / deviation, (high - mean) / deviation
        half = dtype.type(0.5)
        root = np.sqrt(least * least + dtype.type(4))
        exponent = half + least * (least - root) / dtype.type(4)
        cutoff = dtype.type(2) * np.exp(exponent) / (least + root)
        wide = dtype.type(_WIDE)
        around = ((least < -wide) & (most >= 0)) | ((most > wide) & (least <= 0))
        narrow = ~around & (most - least < cutoff)
        for sampler, chosen in ((_around, around), (_narrow, narrow), (_tail, ~around & ~narrow)):
            batch = np.nonzero(chosen)[0]
            if batch.size:
                start = (
                    batch.astype(np.uint64)
                    * np.uint64(2 * MAX_REJECTIONS * (samples + 3))
                    // np.uint64(4)
                )
                make = sampler(xp, dtype, least[batch, None], most[batch, None])
                drawn = _accept(xp, key, counter, start, samples, make, dtype)
                result[batch] = drawn * deviation[batch, None] + mean[batch, None]
    return result


def _around(xp: Any, dtype: np.dtype, least: np.ndarray, most: np.ndarray) -> tuple:
    def candidates(words: tuple) -> tuple:
        z = _in_order(distributions.normal_blocks(xp, words, dtype))
        return z, (z >= least) & (z <= most)

    return 1, candidates


def _narrow(xp: Any, dtype: np.dtype, least: np.ndarray, most: np.ndarray) -> tuple:
    plus = np.where(least < 0, dtype.type(0), least * least)

    def candidates(words: tuple) -> tuple:
        numbers = distributions.uniform_blocks(xp, words, dtype)
        z = _in_order([x[:, 0::2] for x in numbers]) * (most - least) + least
        u = _in_order([x[:, 1::2] for x in numbers])
        return z, u <= np.exp((plus - z * z) / dtype.type(2))

    return 2, candidates


def _tail(xp: Any, dtype: np.dtype, least: np.ndarray, most: np.ndarray) -> tuple:
    alpha = (least + np.sqrt(least * least + dtype.type(4))) / dtype.type(2)

    def candidates(words: tuple) -> tuple:
        numbers = distributions.uniform_blocks(xp, words, dtype)
        z = -np.log(_in_order(numbers[0::2])) / alpha + least
        x = np.where(least < alpha, alpha - z, least - alpha)
        accepted = (_in_order(numbers[1::2]) <= np.exp(-x * x / dtype.type(2))) & (z < most)
        return z, accepted

    return 1, candidates


def _in_order(numbers: list) -> np.ndarray:
    """[batches, numbers], from one [batches, blocks] array for each number of a block."""
    stacked = np.stack(numbers, -1)
    return stacked.reshape(len(stacked), -1)


def _accept(
    xp: Any, key: Any, counter: Any, start: np.ndarray, samples: int, make: tuple, dtype: np.dtype
) -> np.ndarray:
    blocks_each, candidates = make
    result = np.empty((len(start), samples), dtype)
    filled = np.zeros((len(start), 1), np.int64)
    at_once = blocks_each * max(samples // 2, 4)
    barren = np.zeros(len(start), np.int64)
    first = 0
    while True:
        index = start[:, None] + np.arange(first, first + at_once, dtype=np.uint64)
        z, accepted = candidates(philox.words_at(xp, key, counter, index))
        place = filled + np.cumsum(accepted, axis=1) - 1
        row, column = np.nonzero(accepted & (place < samples))
        result[row, place[row, column]] = z[row, column]
        filled = filled + accepted.sum(axis=1, keepdims=True)
        open_ = filled[:, 0] < samples
        if not open_.any():
            return result
        barren = np.where(accepted.any(axis=1), 0, barren + accepted.shape[1])
        if (open_ & (barren > MAX_REJECTIONS)).any():
            raise NoSampleAccepted
        first += at_once
