"""Normal numbers within two standard deviations, by TensorFlow's rejection sampling.

Each group of four outputs (two of float64) has a stretch of 256 (128) blocks to itself and keeps
the first numbers in it that lie within the bound: so every group can be drawn by itself, and most
need one block.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from weft.ops.computed_once import computed_once
from weft.ops.random import philox
from weft.ops.random.distributions import normal_at, normal_blocks, outputs_per_block

BOUND = 2.0
_NUMPY_GROUPS = 1 << 13  # drawn at once; temporaries then stay in the cache
_XLA_ROW = 512  # groups among which one laggard is served at a time
_XLA_BLOCKS = 2  # drawn for every group; one group in 100,000 needs more


def truncated_normal(xp: Any, key: Any, counter: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Normal numbers of mean 0 and deviation 1 of which those beyond 2 are drawn again."""
    count = math.prod(shape)
    if count == 0:
        return xp.zeros(shape, dtype)
    size = outputs_per_block(dtype)
    groups = -(-count // size)
    if not xp.is_numpy:
        return _xla_groups(xp, key, counter, groups, size, dtype).reshape(-1)[:count].reshape(shape)
    result = np.empty((groups, size), dtype)
    for first in range(0, groups, _NUMPY_GROUPS):
        _numpy_groups(xp, key, counter, first, result[first : first + _NUMPY_GROUPS])
    return result.reshape(-1)[:count].reshape(shape)


def _drawing_dtype(dtype: Any) -> Any:
    # What is rejected is decided before a number is rounded to a half-width dtype.
    return np.dtype(np.float64 if np.dtype(dtype) == np.float64 else np.float32)


def _candidates(
    xp: Any, key: Any, counter: Any, group: Any, block: Any, size: int, dtype: Any
) -> list:
    """The normal numbers of the given block in the stretch of each group."""
    index = group.astype(xp.uint64) * np.uint64(philox.BLOCKS_PER_OUTPUT // 4 * size)
    words = philox.words_at(xp, key, counter, index + xp.asarray(block).astype(xp.uint64))
    return normal_blocks(xp, words, _drawing_dtype(dtype))


def _numpy_groups(xp: Any, key: Any, counter: Any, first: int, result: np.ndarray) -> None:
    groups, size = result.shape
    filled = np.zeros(groups, np.int64)
    open_ = np.arange(groups)
    block = 0
    while open_.size:
        drawn = np.stack(
            _candidates(xp, key, counter, open_ + first, block, size, result.dtype), -1
        )
        accepted = np.abs(drawn) < BOUND
        place = filled[open_, None] + np.cumsum(accepted, axis=1) - 1
        row, column = np.nonzero(accepted & (place < size))
        result[open_[row], place[row, column]] = drawn[row, column]
        filled[open_] += accepted.sum(axis=1)
        open_ = open_[filled[open_] < size]
        block += 1


def _xla_groups(xp: Any, key: Any, counter: Any, groups: int, size: int, dtype: Any) -> Any:
    drawn_dtype = _drawing_dtype(dtype)
    shift, last = np.uint64(size.bit_length() - 1), np.uint64(size - 1)

    def draw(group: Any, block: Any) -> Any:
        """One block of numbers for each group; `group` lists each `size` times, None means all
        groups."""
        count = groups * size if group is None else group.size
        i = xp.arange(count, dtype=xp.uint64)
        start = (i >> shift if group is None else group) * np.uint64(
            philox.BLOCKS_PER_OUTPUT // 4 * size
        )
        return normal_at(xp, key, counter, start + block, i & last, drawn_dtype)

    # Measured with and without: 200 and 770 ms of processor time for ten million numbers.
    first_blocks = computed_once(
        xp, lambda: [draw(None, np.uint64(b)) for b in range(_XLA_BLOCKS)], counter
    )
    result = xp.zeros((groups, size), drawn_dtype)
    filled = xp.zeros((groups, 1), xp.int32)
    for drawn in first_blocks:
        result, filled = _keep_accepted(xp, result, filled, drawn)

    # The few groups that are still open: of each row of groups one at a time.
    rows = -(-groups // _XLA_ROW)
    padding = rows * _XLA_ROW - groups
    first_of_row = xp.arange(rows) * _XLA_ROW

    def serve(state: tuple) -> tuple:
        result, filled = state
        open_ = xp.pad(filled < size, (0, padding)).reshape(rows, _XLA_ROW)
        group = xp.where(open_.any(axis=1), first_of_row + xp.argmax(open_, axis=1), groups)
        repeated = xp.repeat(group.astype(xp.uint64), size)

        def draw_again(state: tuple) -> tuple:
            block, row, have = state
            return block + np.uint64(1), *_keep_accepted(xp, row, have, draw(repeated, block))

        have = filled.at[group].get(mode="fill", fill_value=size)[:, None]
        state = (xp.uint64(_XLA_BLOCKS), result.at[group].get(mode="clip"), have)
        row = xp.lax.while_loop(lambda s: (s[2] < size).any(), draw_again, state)[1]
        return result.at[group].set(row, mode="drop"), filled.at[group].set(size, mode="drop")

    state = (result, filled[:, 0])
    return xp.lax.while_loop(lambda s: (s[1] < size).any(), serve, state)[0].astype(dtype)


def _keep_accepted(xp: Any, result: Any, filled: Any, drawn: Any) -> tuple[Any, Any]:
    """Appends to each row of `result`, whose first `filled` numbers are right, what of `drawn` is
    accepted."""
    drawn = drawn.reshape(result.shape)
    column = xp.arange(result.shape[1], dtype=xp.int32)
    for k in range(result.shape[1]):
        value = drawn[:, k : k + 1]
        accepted = xp.abs(value) < BOUND
        result = xp.where(accepted & (filled == column), value, result)
        filled = filled + accepted.astype(xp.int32)
    return result, filled
