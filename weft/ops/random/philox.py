"""The Philox 4x32-10 generator as TensorFlow's CPU kernels use it: a key and a 128-bit block
counter.

One block of the counter gives four 32-bit words. A key is a `uint64`, a counter a `uint64[2]` (low
half first); both are small host values, so that a compiled step takes the counter as an argument
and its owner stores the advanced one. Nothing here has state: the same key and counter give the
same words in NumPy and in XLA.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

BLOCKS_PER_OUTPUT = 256  # what one output may use up; a run reserves this for each, needed or not

_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
_ROUNDS = 10
_MASK = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_SCRAMBLE_KEY = np.uint64(0x02461E29_3EC8F720)  # TensorFlow's, for seeds of stateless ops
_NUMPY_MULTIPLIERS = np.array(_MULTIPLIERS, np.uint64)[:, None]
_NUMPY_KEY_STEPS = np.array(_KEY_STEPS, np.uint64) * np.arange(_ROUNDS, dtype=np.uint64)[:, None]


def key_and_counter(seed: int, seed2: int) -> tuple[np.uint64, np.ndarray]:
    """The generator that an op with attributes `seed` and `seed2` starts from; two zeros mean
    unpredictable."""
    if seed == 0 and seed2 == 0:
        seed, seed2 = (int.from_bytes(os.urandom(8), "little") for _ in range(2))
    return np.uint64(seed & (2**64 - 1)), np.array([0, seed2 & (2**64 - 1)], np.uint64)


def stateless_key_and_counter(xp: Any, seed: Any) -> tuple[Any, Any]:
    """The generator of a stateless op: its two seeds, scrambled by one block."""
    halves = xp.asarray(seed).astype(xp.int64).astype(xp.uint64)
    w0, w1, w2, w3 = words(xp, _SCRAMBLE_KEY, halves, 1)
    key = join(xp, w0, w1)[0]
    return key, xp.concatenate([xp.zeros(1, xp.uint64), join(xp, w2, w3)])


def advance(xp: Any, counter: Any, blocks: Any) -> Any:
    """The counter after `blocks` more blocks (a count of at most 64 bits)."""
    counter = xp.asarray(counter)
    blocks = xp.asarray(blocks).astype(xp.uint64).reshape(1)
    low = counter[:1] + blocks
    return xp.concatenate([low, counter[1:] + (low < blocks).astype(xp.uint64)])


def reserve(xp: Any, counter: Any, outputs: Any) -> Any:
    """The counter after a run that gave `outputs` numbers, as nearly all of TensorFlow's ops
    advance it."""
    return advance(
        xp, counter, xp.asarray(outputs).astype(xp.uint64) * np.uint64(BLOCKS_PER_OUTPUT)
    )


def words(xp: Any, key: Any, counter: Any, count: int, first: Any = 0) -> tuple[Any, Any, Any, Any]:
    """The four words (uint32) of each of `count` blocks from block `first` on."""
    index = xp.arange(count, dtype=xp.uint64)
    if not (isinstance(first, int) and first == 0):
        index = index + xp.asarray(first).astype(xp.uint64)
    return words_at(xp, key, counter, index)


def words_at(xp: Any, key: Any, counter: Any, index: Any) -> tuple[Any, Any, Any, Any]:
    """The four words of the blocks that lie `index` (uint64) blocks beyond the counter."""
    counter = xp.asarray(counter)
    low = counter[0] + index
    high = counter[1] + (low < index).astype(xp.uint64)
    key = xp.asarray(key).astype(xp.uint64)
    if xp.is_numpy:
        return _numpy_rounds(key, low, high)
    return _xla_rounds(xp, key, low, high)


def _numpy_rounds(key: np.uint64, low: np.ndarray, high: np.ndarray) -> tuple:
    # Both products of a round in one array operation; words stay in 64-bit lanes.
    even = np.stack([low & _MASK, high & _MASK])
    odd = np.stack([low >> _HALF, high >> _HALF])
    shape = even.shape
    even, odd = even.reshape(2, -1), odd.reshape(2, -1)
    halves = np.array([key & _MASK, key >> _HALF], np.uint64)
    for round_key in ((halves + _NUMPY_KEY_STEPS) & _MASK)[:, :, None]:
        product = (even * _NUMPY_MULTIPLIERS)[::-1]
        odd ^= round_key
        even = product >> _HALF
        even ^= odd
        odd = product & _MASK
    even, odd = even.astype(np.uint32).reshape(shape), odd.astype(np.uint32).reshape(shape)
    return even[0], odd[0], even[1], odd[1]


def _xla_rounds(xp: Any, key: Any, low: Any, high: Any) -> tuple:
    # 32-bit words and widening products: this is the form that LLVM turns into vector code.
    def word(x: Any) -> Any:
        return x.astype(xp.uint32)

    def product(factor: int, x: Any) -> tuple[Any, Any]:
        wide = x.astype(xp.uint64) * np.uint64(factor)
        return word(wide >> _HALF), word(wide)

    c0, c1, c2, c3 = word(low), word(low >> _HALF), word(high), word(high >> _HALF)
    for step0, step1 in _NUMPY_KEY_STEPS:
        k0, k1 = word(key + step0), word((key >> _HALF) + step1)
        high0, low0 = product(_MULTIPLIERS[0], c0)
        high1, low1 = product(_MULTIPLIERS[1], c2)
        c0, c1, c2, c3 = high1 ^ c1 ^ k0, low1, high0 ^ c3 ^ k1, low0
    return c0, c1, c2, c3


def join(xp: Any, low: Any, high: Any) -> Any:
    """The uint64 that two words make."""
    return low.astype(xp.uint64) | (high.astype(xp.uint64) << _HALF)


def words32(xp: Any, key: Any, counter: Any, count: int) -> Any:
    """The first `count` words of the stream, one after the other."""
    if xp.is_numpy:
        return np.stack(words(xp, key, counter, -(-count // 4)), -1).reshape(-1)[:count]
    # Each element computes its whole block, see `distributions.normal_at`.
    i = xp.arange(count, dtype=xp.uint64)
    w0, w1, w2, w3 = words_at(xp, key, counter, i >> np.uint64(2))
    odd, late = (i & np.uint64(1)) != 0, (i & np.uint64(2)) != 0
    return xp.where(late, xp.where(odd, w3, w2), xp.where(odd, w1, w0))


def word_pairs(xp: Any, key: Any, counter: Any, count: int) -> tuple[Any, Any]:
    """The first and the second words of the first `count` pairs of the stream."""
    if xp.is_numpy:
        w0, w1, w2, w3 = words(xp, key, counter, -(-count // 2))
        first, second = (np.stack(w, -1).reshape(-1)[:count] for w in ((w0, w2), (w1, w3)))
        return first, second
    i = xp.arange(count, dtype=xp.uint64)
    w0, w1, w2, w3 = words_at(xp, key, counter, i >> np.uint64(1))
    late = (i & np.uint64(1)) != 0
    return xp.where(late, w2, w0), xp.where(late, w3, w1)
