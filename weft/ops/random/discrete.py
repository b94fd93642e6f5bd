"""Permutations and draws from categories: TensorFlow's numbers for a key and a counter."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.ops.random import distributions, philox


def shuffle_blocks(size: int) -> int:
    """How many blocks the shuffling of `size` rows takes."""
    return (size - 1 + 3) // 4 if size > 1 else 0


def permutation(xp: Any, key: Any, counter: Any, size: int) -> Any:
    """The order (int64) into which TensorFlow shuffles `size` rows: row i changes places with a row
    from i on.

    The exchanges are not made one after the other. What lies at place p before exchange i was put
    there by the latest exchange t < i with partner p, which moved what lay at place t: so each row
    is found by following those links to their end, for all rows at once, in steps that double.
    """
    if size <= 1:
        return xp.arange(size, dtype=xp.int64)
    i = xp.arange(size, dtype=xp.int64)
    words = philox.words32(xp, key, counter, size - 1)
    choices = xp.arange(size, 1, -1, dtype=xp.uint32)
    partner = xp.concatenate([i[:-1] + (words % choices).astype(xp.int64), i[-1:]])

    order = xp.argsort(partner, stable=True)  # exchanges by partner, then by time
    first = xp.searchsorted(partner[order], i, side="left")
    end = xp.searchsorted(partner[order], i, side="right")
    # The latest exchange before the t-th whose partner is t; none of them is later than the t-th
    # itself.
    is_own = (end > first) & (order[xp.maximum(end - 1, 0)] == i)
    latest = order[xp.maximum(end - 1 - is_own, 0)]
    root = xp.where(end - is_own > first, latest, i)
    for _ in range((size - 1).bit_length()):
        root = root[root]
    # The latest exchange before the i-th with the same partner.
    position = xp.scatter(xp.zeros_like(order), (order,), i)
    previous = order[xp.maximum(position - 1, 0)]
    return xp.where(position > first[partner], root[previous], partner)


def multinomial(xp: Any, key: Any, counter: Any, logits: Any, count: int, dtype: Any) -> Any:
    """For each row of unnormalised log-probabilities `count` categories."""
    rows, classes = logits.shape
    finite = xp.isfinite(logits)
    wide = logits.astype(xp.float64)
    greatest = xp.where(finite, wide, -xp.inf).max(axis=1, keepdims=True)
    weights = xp.where(finite, xp.exp(xp.where(finite, wide - greatest, 0.0)), 0.0)
    cumulative = xp.cumsum(weights, axis=1)
    pairs = philox.word_pairs(xp, key, counter, rows * count)
    sought = distributions.unit_double(xp, *pairs).reshape(rows, count) * cumulative[:, -1:]
    # The first category whose cumulative weight exceeds what is sought, by bisection.
    low = xp.zeros((rows, count), xp.int64)
    high = xp.full((rows, count), classes, xp.int64)
    for _ in range(classes.bit_length()):
        middle = (low + high) // 2
        found = xp.take_along_axis(cumulative, xp.minimum(middle, classes - 1), axis=1) > sought
        open_ = low < high
        low, high = (
            xp.where(open_ & ~found, middle + 1, low),
            xp.where(open_ & found, middle, high),
        )
    return low.astype(dtype)


def crop_offsets(xp: Any, key: Any, counter: Any, extra_rows: int, extra_columns: int) -> tuple:
    """Where a random crop begins, given how many rows and columns more than wanted there are."""
    words = iter(philox.words32(xp, key, counter, 2).astype(np.int64))
    column = next(words) % (extra_columns + 1) if extra_columns else 0
    row = next(words) % (extra_rows + 1) if extra_rows else 0
    return row, column
