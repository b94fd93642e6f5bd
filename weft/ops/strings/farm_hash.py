"""FarmHash's Fingerprint64 of many strings at once: grouped by length, each group by array arithmetic.

There are wheels of FarmHash, but a call for each string takes twice the time that this does for all of them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from weft.ops.strings.packed import Packed

_K0 = np.uint64(0xC3A5C85C97CB3127)
_K1 = np.uint64(0xB492B66FBE98F273)
_K2 = np.uint64(0x9AE16A3B2F90404F)
_HALF = np.uint64(0xFFFFFFFF)
_BLOCK = 64
_AT_ONCE = 16384  # strings: what is computed of these stays in the processor's cache

U64 = np.ndarray  # of uint64; arithmetic is modulo 2 ** 64
Pair = tuple[U64, U64]


def fingerprint64(strings: Packed) -> np.ndarray:
    """The fingerprint of each string, as uint64."""
    out = np.empty(len(strings.lengths), np.uint64)
    for i in range(0, len(out), _AT_ONCE):
        rows = slice(i, i + _AT_ONCE)
        out[rows] = _of_few(strings.part(rows))
    return out


def _of_few(strings: Packed) -> U64:
    shortest, longest = strings.lengths.min(), strings.lengths.max()
    first, last = np.searchsorted(_LIMITS, (shortest, longest))
    if first == last:
        return _CLASSES[first](strings)
    which = _CLASS_OF.take(np.minimum(strings.lengths, _BLOCK + 1))
    out = np.empty(len(which), np.uint64)
    for k in range(first, last + 1):
        rows = np.flatnonzero(which == k)
        if len(rows):
            out[rows] = _CLASSES[k](strings.part(rows))
    return out


def _rotated(x: U64, n: int) -> U64:
    """Bits rotated to the right."""
    out = x >> np.uint64(n)
    out |= x << np.uint64(64 - n)
    return out


def _mixed(x: U64) -> U64:
    x ^= x >> np.uint64(47)  # each caller gives a number that nobody else has
    return x


def _combined(u: U64, v: U64, mul: U64) -> U64:
    a = u ^ v
    a *= mul
    b = v ^ _mixed(a)
    b *= mul
    _mixed(b)
    b *= mul
    return b


def _multiplier(lengths: np.ndarray) -> U64:
    return (lengths.view(np.uint64) << np.uint64(1)) + _K2


def _empty(s: Packed) -> U64:
    return np.full(len(s.lengths), _K2)


def _up_to_3(s: Packed) -> U64:
    first = s.data[s.starts].astype(np.uint64)
    middle = s.data[s.starts + (s.lengths >> 1)].astype(np.uint64)
    last = s.data[s.starts + s.lengths - 1].astype(np.uint64)
    y = first + (middle << np.uint64(8))
    z = s.lengths.astype(np.uint64) + (last << np.uint64(2))
    return _mixed(y * _K2 ^ z * _K0) * _K2


def _up_to_7(s: Packed) -> U64:
    (first,) = s.words(s.starts)
    (last,) = s.words(s.starts + (s.lengths - 4))
    first, last = first & _HALF, last & _HALF
    length = s.lengths.astype(np.uint64)
    return _combined(length + (first << np.uint64(3)), last, _multiplier(s.lengths))


def _up_to_16(s: Packed) -> U64:
    mul = _multiplier(s.lengths)
    (a,) = s.words(s.starts)
    (b,) = s.words(s.starts + (s.lengths - 8))
    a += _K2
    c = _rotated(b, 37)
    c *= mul
    c += a
    d = _rotated(a, 25)
    d += b
    d *= mul
    return _combined(c, d, mul)


def _halves(s: Packed, mul: U64, factor: np.uint64) -> tuple[U64, U64, U64]:
    """What both ends of a string of 17 to 64 bytes give: (a, y, the partner of y)."""
    a, b = s.words(s.starts, 2)
    d, c = s.words(s.starts + (s.lengths - 16), 2)
    a, c, d = a * factor, c * mul, d * _K2
    return a, _rotated(a + b, 43) + _rotated(c, 30) + d, a + _rotated(b + _K2, 18) + c


def _up_to_32(s: Packed) -> U64:
    mul = _multiplier(s.lengths)
    _, y, z = _halves(s, mul, _K1)
    return _combined(y, z, mul)


def _up_to_64(s: Packed) -> U64:
    mul = _multiplier(s.lengths)
    a, y, z = _halves(s, mul, _K2)
    z = _combined(y, z, mul)
    e, f = s.words(s.starts + 16, 2)
    g, h = s.words(s.starts + (s.lengths - 32), 2)
    e, g, h = e * mul, (y + g) * mul, (z + h) * mul
    return _combined(_rotated(e + f, 43) + _rotated(g, 30) + h, e + _rotated(f + a, 18) + g, mul)


def _weak(words: list[U64], a: U64, b: U64) -> Pair:
    """A quick hash of 32 bytes and two seeds."""
    w, x, y, z = words
    a = a + w
    b = _rotated(b + a + z, 21)
    sum_ = a + x + y
    return sum_ + z, b + _rotated(sum_, 44) + a


def _longer(s: Packed) -> U64:
    """Blocks of 64 bytes one after the other, all strings that have a further block at once."""
    n = len(s.lengths)
    blocks = (s.lengths - 1) // _BLOCK
    order = np.argsort(-blocks, kind="stable")  # those with many blocks first
    s = s.part(order)
    blocks = blocks[order]
    seed = np.full(n, 81, np.uint64)
    x = seed * _K2 + s.words(s.starts)[0]
    y = seed * _K1 + np.uint64(113)
    z = _mixed(y * _K2 + np.uint64(113)) * _K2
    v = np.zeros(n, np.uint64), np.zeros(n, np.uint64)
    w = np.zeros(n, np.uint64), np.zeros(n, np.uint64)
    state = (x, y, z, *v, *w)
    for k in range(int(blocks[0])):
        m = int(np.searchsorted(-blocks, -k))  # how many have this block
        now = tuple(part[:m] for part in state)
        after = _block(s, s.starts[:m] + k * _BLOCK, now, _K1, np.uint64(1))
        for part, value in zip(now, after):
            part[...] = value
    x, y, z, v0, v1, w0, w1 = state
    mul = _K1 + ((z & np.uint64(0xFF)) << np.uint64(1))
    w0 = w0 + ((s.lengths - 1) & (_BLOCK - 1)).astype(np.uint64)
    v0 = v0 + w0
    w0 = w0 + v0
    last = s.starts + s.lengths - _BLOCK
    x, y, z, v0, v1, w0, w1 = _block(s, last, (x, y, z, v0, v1, w0, w1), mul, np.uint64(9))
    out = np.empty(n, np.uint64)
    out[order] = _combined(
        _combined(v0, w0, mul) + _mixed(y) * _K0 + z, _combined(v1, w1, mul) + x, mul
    )
    return out


def _block(s: Packed, at: np.ndarray, state: tuple, mul: np.uint64 | U64, more: np.uint64) -> tuple:
    """The state after a block; `more` weighs what the last one takes in again."""
    x, y, z, v0, v1, w0, w1 = state
    words = s.words(at, 8)
    x = _rotated(x + y + v0 + words[1], 37) * mul
    y = _rotated(y + v1 + words[6], 42) * mul
    x = x ^ (w1 * more)
    y = y + v0 * more + words[5]
    z = _rotated(z + w0, 33) * mul
    v0, v1 = _weak(words[:4], v1 * mul, x + w0)
    w0, w1 = _weak(words[4:], z + w1, y + words[2])
    return z, y, x, v0, v1, w0, w1


_CLASSES: tuple[Callable[[Packed], U64], ...] = (
    _empty,
    _up_to_3,
    _up_to_7,
    _up_to_16,
    _up_to_32,
    _up_to_64,
    _longer,
)
_LIMITS = np.array([0, 3, 7, 16, 32, 64])  # the greatest length of each class but the last
_CLASS_OF = np.searchsorted(_LIMITS, np.arange(_BLOCK + 2)).astype(np.int8)  # by length
