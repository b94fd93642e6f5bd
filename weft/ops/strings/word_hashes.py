"""Hashes that take a string in words of eight bytes, of many strings at once: TensorFlow's Hash64 and SipHash."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from weft.ops.strings.packed import Packed

_SEED = 0xDECAFCAFFE
_MULTIPLIER = np.uint64(0xC6A4A7935BD1E995)
_SHIFT = np.uint64(47)


def _u64(value: int) -> np.uint64:
    return np.uint64(value & 0xFFFFFFFFFFFFFFFF)


def _whole_words(s: Packed) -> Iterator[tuple[int, np.ndarray]]:
    """Word after word: how many strings have it, which are the first ones, and the words.

    The strings with many words must come first.
    """
    counts = s.lengths >> 3
    for k in range(int(counts.max(initial=0))):
        m = int(np.searchsorted(-counts, -k))
        yield m, s.words(s.starts[:m] + 8 * k)[0]


def _tail(s: Packed) -> np.ndarray:
    """The bytes behind the last whole word, as a number."""
    rest = s.lengths & 7
    (word,) = s.words(s.starts + (s.lengths - rest))
    return word & ((np.uint64(1) << (rest << 3).view(np.uint64)) - np.uint64(1))


def _in_order(s: Packed) -> tuple[np.ndarray, Packed]:
    order = np.argsort(-(s.lengths >> 3), kind="stable")
    return order, s.part(order)


def hash64(strings: Packed) -> np.ndarray:
    """The hash that StringToHashBucket goes by, as uint64."""
    order, s = _in_order(strings)
    h = _u64(_SEED) ^ (s.lengths.astype(np.uint64) * _MULTIPLIER)
    for m, word in _whole_words(s):
        word = word * _MULTIPLIER
        word = (word ^ (word >> _SHIFT)) * _MULTIPLIER
        h[:m] = (h[:m] ^ word) * _MULTIPLIER
    h = np.where(s.lengths & 7, (h ^ _tail(s)) * _MULTIPLIER, h)
    h = (h ^ (h >> _SHIFT)) * _MULTIPLIER
    out = np.empty_like(h)
    out[order] = h ^ (h >> _SHIFT)
    return out


def sip_hash(strings: Packed, key: list[int]) -> np.ndarray:
    """SipHash-2-4 by a key of two words, as uint64."""
    order, s = _in_order(strings)
    k0, k1 = (_u64(k) for k in key)
    n = len(s.lengths)
    state = np.empty((4, n), np.uint64)
    state[0], state[1] = k0 ^ _u64(0x736F6D6570736575), k1 ^ _u64(0x646F72616E646F6D)
    state[2], state[3] = k0 ^ _u64(0x6C7967656E657261), k1 ^ _u64(0x7465646279746573)
    for m, word in _whole_words(s):
        _absorb(state[:, :m], word)
    _absorb(state, _tail(s) | (s.lengths.astype(np.uint64) << np.uint64(56)))
    state[2] ^= np.uint64(0xFF)
    _mix(state, 4)
    out = np.empty(n, np.uint64)
    out[order] = np.bitwise_xor.reduce(state, 0)
    return out


def _absorb(state: np.ndarray, word: np.ndarray) -> None:
    state[3] ^= word
    _mix(state, 2)
    state[0] ^= word


def _rotated(x: np.ndarray, n: int) -> np.ndarray:
    return (x << np.uint64(n)) | (x >> np.uint64(64 - n))


def _mix(state: np.ndarray, rounds: int) -> None:
    a, b, c, d = state
    for _ in range(rounds):
        a, c = a + b, c + d
        b, d = _rotated(b, 13) ^ a, _rotated(d, 16) ^ c
        a = _rotated(a, 32)
        c, a = c + b, a + d
        b, d = _rotated(b, 17) ^ c, _rotated(d, 21) ^ a
        c = _rotated(c, 32)
    state[:] = a, b, c, d
