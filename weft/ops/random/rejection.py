"""Gamma, Poisson and binomial numbers: sampling in which each output draws until it accepts.

Every output ("lane") has a stretch of 256 blocks to itself, as in TensorFlow. Lanes are drawn side
by side; in NumPy those that have accepted leave, in XLA they wait.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from weft.ops.random import distributions, philox

_ONE = np.uint64(1)


def gamma(xp: Any, key: Any, counter: Any, shape: Sequence[int], alpha: Any) -> Any:
    """Numbers of shape `shape + alpha.shape`, gamma-distributed with rate 1 (Marsaglia, Tsang)."""
    lanes, start = _lanes(xp, shape, alpha)
    small = lanes < 1
    d = lanes + xp.where(small, 2.0 / 3, -1.0 / 3)
    c = (1.0 / 3) / xp.sqrt(d)

    def attempt(xp, _, start, alpha, d, c, used, *kept):
        stream = _Stream(xp, key, counter, start, used, *kept)
        x = stream.normal(xp.ones(d.shape, bool))
        v = 1 + c * x
        proceeds = ~(v <= 0)
        v = xp.where(proceeds, v * v * v, 1.0)
        u = stream.uniform(proceeds)
        quickly = u < 1 - 0.0331 * (x * x) * (x * x)
        accepted = proceeds & (quickly | (xp.log(u) < 0.5 * x * x + d * (1 - v + xp.log(v))))
        small = alpha < 1
        b = stream.uniform(accepted & small)
        value = d * v * xp.where(small, b ** (1 / alpha), 1.0)
        return (stream.used, *stream.kept), value, accepted

    nothing = xp.zeros(start.shape, xp.float64)
    kept = (xp.zeros(start.shape, bool), nothing, xp.zeros(start.shape, bool), nothing)
    result = _draw(xp, attempt, (start, lanes, d, c), (xp.zeros(start.shape, xp.uint64), *kept))
    exponential = -xp.log(1.0 - _uniforms(xp, key, counter, start)[0])
    result = xp.where(lanes == 1, exponential, result)
    if alpha.dtype == np.float16:
        result = result.astype(xp.float32)  # TensorFlow rounds twice
    return _arrange(xp, result, shape, alpha).astype(alpha.dtype)


def poisson(xp: Any, key: Any, counter: Any, shape: Sequence[int], rate: Any, dtype: Any) -> Any:
    """Numbers of shape `shape + rate.shape`, Poisson-distributed."""
    lanes, start = _lanes(xp, shape, rate)
    highest = _highest(dtype)
    by_products = lanes < 10
    few = xp.where(by_products, lanes, 1.0)
    many = xp.where(by_products | ~xp.isfinite(lanes), 10.0, lanes)
    b = 0.931 + 2.53 * xp.sqrt(many)

    def attempt(xp, block, start, rate, few, many, b, product, x):
        first, second = _uniforms(xp, key, counter, start + block)
        # Below 10: how many uniform numbers, multiplied, stay above exp(-rate). Two for each block.
        bound = xp.exp(-few)
        after_one, after_two = product * first, product * first * second
        one, two = after_one <= bound, after_two <= bound
        counted = xp.where(one, x, x + 1)
        # From 10 on: transformed rejection with squeeze (Hörmann's PTRS).
        a = -0.059 + 0.02483 * b
        u, v = first - 0.5, second
        side = 0.5 - xp.abs(u)
        k = xp.floor((2 * a / side + b) * u + many + 0.43)
        quickly = (side >= 0.07) & (v <= 0.9277 - 3.6224 / (b - 2))
        possible = ~((k < 0) | ((side < 0.013) & (v > side)))
        safe = xp.where(k < 0, 0.0, k)
        s = xp.log(v * (1.1239 + 1.1328 / (b - 3.4)) / (a / (side * side) + b))
        t = -many + safe * xp.log(many) - xp.special.gammaln(safe + 1)
        accepted = (k <= highest) & (quickly | (possible & (s <= t)))
        by_products = rate < 10
        value = xp.where(by_products, counted, xp.where(xp.isfinite(rate), k, rate))
        done = xp.where(by_products, one | two, accepted | ~xp.isfinite(rate))
        return (after_two, x + 2), value, done

    carried = (xp.ones(start.shape, xp.float64), xp.zeros(start.shape, xp.float64))
    result = _draw(xp, attempt, (start, lanes, few, many, b), carried)
    return _arrange(xp, result, shape, rate).astype(dtype)


def binomial(xp: Any, key: Any, counter: Any, counts: Any, probs: Any, dtype: Any) -> Any:
    """One number for each pair of count and probability (of equal shapes)."""
    n, p = (xp.asarray(v).astype(xp.float64).reshape(-1) for v in (counts, probs))
    start = xp.arange(n.size, dtype=xp.uint64) * np.uint64(philox.BLOCKS_PER_OUTPUT)
    trivial = ~((n > 0) & (p > 0) & (p < 1))
    q = xp.where(trivial, 0.5, xp.where(p > 0.5, 1 - p, p))
    m = xp.where(trivial, 1.0, n)
    by_gaps = m * q < 10

    def attempt(xp, block, start, n, q, by_gaps, total, x):
        first, second = _uniforms(xp, key, counter, start + block)
        # Few successes: the gaps between them are geometric.
        one = total + xp.ceil(xp.log(first) / xp.log1p(-q))
        two = one + xp.ceil(xp.log(second) / xp.log1p(-q))
        counted = xp.where(one > n, x, x + 1)
        accepted, k = _btrs(
            xp, xp.where(by_gaps, 100.0, n), xp.where(by_gaps, 0.5, q), first, second
        )
        value = xp.where(by_gaps, counted, k)
        return (two, x + 2), value, xp.where(by_gaps, (one > n) | (two > n), accepted)

    zero = xp.zeros(start.shape, xp.float64)
    drawn = _draw(xp, attempt, (start, m, q, by_gaps), (zero, zero))
    drawn = xp.where(p > 0.5, n - drawn, drawn)
    certain = xp.where((n <= 0) | (p <= 0), 0.0, xp.where(p >= 1, n, xp.nan))
    return xp.where(trivial, certain, drawn).reshape(counts.shape).astype(dtype)


def _btrs(xp: Any, n: Any, p: Any, u: Any, v: Any) -> tuple[Any, Any]:
    """Hörmann's transformed rejection for the binomial distribution: whether, and what."""
    deviation = xp.sqrt(n * p * (1 - p))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * p
    u = u - 0.5
    side = 0.5 - xp.abs(u)
    k = xp.floor((2 * a / side + b) * u + n * p + 0.5)
    possible = (k >= 0) & (k <= n)
    j = xp.where(possible, k, 0.0)
    odds = p / (1 - p)
    mode = xp.floor((n + 1) * p)
    weight = xp.log(v * (2.83 + 5.1 / b) * deviation / (a / (side * side) + b))
    bound = (
        (mode + 0.5) * xp.log((mode + 1) / (odds * (n - mode + 1)))
        + (n + 1) * xp.log((n - mode + 1) / (n - j + 1))
        + (j + 0.5) * xp.log(odds * (n - j + 1) / (j + 1))
        + _stirling_tail(xp, mode)
        + _stirling_tail(xp, n - mode)
        - _stirling_tail(xp, j)
        - _stirling_tail(xp, n - j)
    )
    quickly = (side >= 0.07) & (v <= 0.92 - 4.2 / b)
    return quickly | (possible & (weight <= bound)), k


def _stirling_tail(xp: Any, k: Any) -> Any:
    """What Stirling's formula leaves out of log(k!)."""
    return xp.special.gammaln(k + 1) - (
        (k + 0.5) * xp.log(k + 1) - (k + 1) + 0.5 * math.log(2 * math.pi)
    )


class _Stream:
    """The numbers that each lane takes from its blocks: pairs, the second used first."""

    def __init__(self, xp: Any, key: Any, counter: Any, start: Any, used: Any, *kept: Any):
        self.xp, self.key, self.counter, self.start = xp, key, counter, start
        self.used, self.kept = used, kept  # (has a normal number, it, has a uniform number, it)

    def normal(self, wanted: Any) -> Any:
        return self._take(
            wanted, 0, lambda words: distributions.normal_blocks(self.xp, words, np.float64)
        )

    def uniform(self, wanted: Any) -> Any:
        return self._take(
            wanted, 2, lambda words: distributions.uniform_blocks(self.xp, words, np.float64)
        )

    def _take(self, wanted: Any, slot: int, numbers: Callable) -> Any:
        xp, (has, number) = self.xp, self.kept[slot : slot + 2]
        words = philox.words_at(xp, self.key, self.counter, self.start + self.used)
        earlier, later = numbers(words)
        opens = wanted & ~has
        value = xp.where(has, number, later)
        kept = (xp.where(wanted, ~has, has), xp.where(opens, earlier, number))
        self.kept = (*self.kept[:slot], *kept, *self.kept[slot + 2 :])
        self.used = self.used + opens.astype(xp.uint64)
        return value


def _uniforms(xp: Any, key: Any, counter: Any, block: Any) -> tuple[Any, Any]:
    """The two uniform numbers of a block in the order in which they are used: from the back."""
    words = philox.words_at(xp, key, counter, block)
    earlier, later = distributions.uniform_blocks(xp, words, np.float64)
    return later, earlier


def _lanes(xp: Any, shape: Sequence[int], parameter: Any) -> tuple[Any, Any]:
    """The parameter of each lane, in float64, and the block where the lane starts: parameter by
    parameter."""
    each = xp.asarray(parameter).astype(xp.float64).reshape(-1)
    lanes = xp.repeat(each, math.prod(shape))
    return lanes, xp.arange(lanes.size, dtype=xp.uint64) * np.uint64(philox.BLOCKS_PER_OUTPUT)


def _arrange(xp: Any, lanes: Any, shape: Sequence[int], parameter: Any) -> Any:
    by_parameter = lanes.reshape(parameter.size, math.prod(shape))
    return by_parameter.T.reshape((*shape, *parameter.shape))


def _highest(dtype: Any) -> float:
    dtype = np.dtype(dtype)
    return float(np.iinfo(dtype).max if dtype.kind in "iu" else np.finfo(dtype).max)


def _draw(xp: Any, attempt: Callable, parameters: tuple, carried: tuple) -> Any:
    """Makes attempts, `attempt(xp, number, *parameters, *carried) -> (carried, value, accepted)`,
    until each lane has accepted a value."""
    count = parameters[0].size
    if xp.is_numpy:
        result, lane, number = np.empty(count, np.float64), np.arange(count), 0
        with np.errstate(all="ignore"):
            while lane.size:
                carried, value, accepted = attempt(xp, np.uint64(number), *parameters, *carried)
                result[lane[accepted]] = value[accepted]
                open_ = ~accepted
                lane = lane[open_]
                parameters = tuple(p[open_] for p in parameters)
                carried = tuple(c[open_] for c in carried)
                number += 1
        return result

    def again(state: tuple) -> tuple:
        number, done, result, carried = state
        carried, value, accepted = attempt(xp, number, *parameters, *carried)
        return number + _ONE, done | accepted, xp.where(done, result, value), carried

    state = (xp.uint64(0), xp.zeros(count, bool), xp.zeros(count, xp.float64), carried)
    return xp.lax.while_loop(lambda s: ~s[1].all(), again, state)[2]
