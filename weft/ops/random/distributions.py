"""Uniform and normal numbers from the Philox generator: TensorFlow's bits for a key and a counter.

Every function gives `shape` numbers and leaves the counter alone; `philox.reserve` advances it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from weft.ops.random import elementary, philox

_NUMPY_CHUNK = 1 << 15  # outputs; temporaries then stay in the cache
_LEAST_UNIFORM = 1.0e-7  # TensorFlow's bound, so that the logarithm stays finite


def uniform(xp: Any, key: Any, counter: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Numbers in [0, 1), of any float dtype."""
    return _fill(xp, _uniform, key, counter, shape, dtype)


def uniform_int(
    xp: Any, key: Any, counter: Any, shape: tuple[int, ...], low: Any, high: Any, dtype: Any
) -> Any:
    """Integers in [low, high), int32 or int64; that low < high is the caller's to check."""

    def draw(xp: Any, key: Any, counter: Any, count: int, dtype: Any) -> Any:
        unsigned = _unsigned(dtype)
        lowest = xp.asarray(low).astype(unsigned)
        span = xp.asarray(high).astype(unsigned) - lowest
        return (_bits(xp, key, counter, count, dtype) % span + lowest).astype(dtype)

    with np.errstate(over="ignore"):  # NumPy minds when scalars wrap around, which they have to
        return _fill(xp, draw, key, counter, shape, dtype)


def full_int(xp: Any, key: Any, counter: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Integers over the whole range of a 32 or 64-bit dtype."""
    return _fill(xp, lambda *a: _bits(*a).astype(a[-1]), key, counter, shape, dtype)


def normal(xp: Any, key: Any, counter: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Numbers of mean 0 and variance 1, of any float dtype."""
    return _fill(xp, _normal, key, counter, shape, dtype)


def outputs_per_block(dtype: Any) -> int:
    """How many numbers of a dtype one block gives: 4, or 2 of 64 bits."""
    return 2 if np.dtype(dtype).itemsize == 8 else 4


def unit_float(xp: Any, word: Any) -> Any:
    """The float32 in [0, 1) that a word stands for."""
    # Through int32, for which processors have an instruction; both steps are exact.
    return (word & np.uint32(0x7FFFFF)).astype(xp.int32).astype(xp.float32) * np.float32(2.0**-23)


def unit_double(xp: Any, word0: Any, word1: Any) -> Any:
    """The float64 in [0, 1) that two words stand for."""
    high = (word0 & np.uint32(0xFFFFF)).astype(xp.float64) * 2.0**-20
    return high + word1.astype(xp.float64) * 2.0**-52


def normal_blocks(xp: Any, words: tuple, dtype: Any) -> list:
    """The normal numbers that blocks of words stand for, in the order of their use: 4 arrays, or 2
    of float64."""
    if np.dtype(dtype) == np.float64:
        radius, angle = _polar_double(xp, *words)
        return [xp.sin(angle) * radius, xp.cos(angle) * radius]
    values = []
    for x0, x1 in (words[:2], words[2:]):
        radius, angle = _polar_float(xp, x0, x1)
        for is_cosine in (False, True):
            kind = xp.full(angle.shape, is_cosine)
            values.append((elementary.sin_or_cos(xp, angle, kind) * radius).astype(dtype))
    return values


def uniform_blocks(xp: Any, words: tuple, dtype: Any) -> list:
    """The uniform numbers that blocks of words stand for, in order: 4 arrays, or 2 of float64."""
    if np.dtype(dtype) == np.float64:
        return [unit_double(xp, *words[:2]), unit_double(xp, *words[2:])]
    return [_unit(xp, word, np.dtype(dtype)) for word in words]


def normal_at(xp: Any, key: Any, counter: Any, block: Any, place: Any, dtype: Any) -> Any:
    """The normal number at `place` (0 to 3, of float64 0 or 1) in the block, elementwise."""
    # Each element computes its whole block and takes one number of it. That is four times the
    # integer arithmetic, but one fused, multi-threaded loop, without a pass that interleaves
    # (measured: half the time).
    is_cosine = (place & np.uint64(1)) != 0
    w0, w1, w2, w3 = philox.words_at(xp, key, counter, block)
    if np.dtype(dtype) == np.float64:
        radius, angle = _polar_double(xp, w0, w1, w2, w3)
        return xp.where(is_cosine, xp.cos(angle), xp.sin(angle)) * radius
    late = (place & np.uint64(2)) != 0
    radius, angle = _polar_float(xp, xp.where(late, w2, w0), xp.where(late, w3, w1))
    return (elementary.sin_or_cos(xp, angle, is_cosine) * radius).astype(dtype)


def _fill(
    xp: Any, draw: Callable, key: Any, counter: Any, shape: tuple[int, ...], dtype: Any
) -> Any:
    count = math.prod(shape)
    if count == 0:
        return xp.zeros(shape, dtype)
    if not xp.is_numpy or count <= _NUMPY_CHUNK:
        return draw(xp, key, counter, count, dtype).reshape(shape)
    result = np.empty(count, dtype)
    blocks = _NUMPY_CHUNK // outputs_per_block(dtype)
    for part, start in enumerate(range(0, count, _NUMPY_CHUNK)):
        piece = result[start : start + _NUMPY_CHUNK]
        piece[:] = draw(xp, key, philox.advance(xp, counter, part * blocks), len(piece), dtype)
    return result.reshape(shape)


def _unsigned(dtype: Any) -> Any:
    return np.dtype(f"u{np.dtype(dtype).itemsize}")


def _bits(xp: Any, key: Any, counter: Any, count: int, dtype: Any) -> Any:
    if np.dtype(dtype).itemsize == 4:
        return philox.words32(xp, key, counter, count)
    return philox.join(xp, *philox.word_pairs(xp, key, counter, count))


def _uniform(xp: Any, key: Any, counter: Any, count: int, dtype: Any) -> Any:
    if np.dtype(dtype) == np.float64:
        return unit_double(xp, *philox.word_pairs(xp, key, counter, count))
    return _unit(xp, philox.words32(xp, key, counter, count), np.dtype(dtype))


def _unit(xp: Any, word: Any, dtype: np.dtype) -> Any:
    if dtype == np.float32:
        return unit_float(xp, word)
    digits = 10 if dtype == np.float16 else 7  # of the mantissa: float16, bfloat16
    low = (word & np.uint32((1 << digits) - 1)).astype(xp.int32).astype(xp.float32)
    return (low * np.float32(2.0**-digits)).astype(dtype)


def _normal(xp: Any, key: Any, counter: Any, count: int, dtype: Any) -> Any:
    if xp.is_numpy:
        per_block = outputs_per_block(dtype)
        words = philox.words(xp, key, counter, -(-count // per_block))
        return np.stack(normal_blocks(xp, words, dtype), -1).reshape(-1)[:count]
    per_block = outputs_per_block(dtype)
    i = xp.arange(count, dtype=xp.uint64)
    place = i & np.uint64(per_block - 1)
    return normal_at(xp, key, counter, i >> np.uint64(per_block.bit_length() - 1), place, dtype)


def _polar_float(xp: Any, x0: Any, x1: Any) -> tuple[Any, Any]:
    u = xp.maximum(unit_float(xp, x0), np.float32(_LEAST_UNIFORM))
    radius = xp.sqrt(np.float32(-2) * elementary.log(xp, u))
    angle = (unit_float(xp, x1).astype(xp.float64) * (2 * np.pi)).astype(xp.float32)
    return radius, angle


def _polar_double(xp: Any, x0: Any, x1: Any, x2: Any, x3: Any) -> tuple[Any, Any]:
    u = xp.maximum(unit_double(xp, x0, x1), _LEAST_UNIFORM)
    return xp.sqrt(-2.0 * xp.log(u)), unit_double(xp, x2, x3) * (2 * np.pi)
