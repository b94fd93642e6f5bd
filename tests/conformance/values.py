"""Input values of the conformance cases: small specs that become arrays by a seed and a dtype.

Imported by the tests and, on Python 3.7, by `tools/oracle.py`: nothing here but Python and NumPy.
Values are made from integers and divisions only, so that every NumPy gives the same bits.
"""

from __future__ import annotations

import zlib

import numpy as np

HALVES = ("float16", "bfloat16")
SINGLES = ("float32", "float64")
FLOATS = HALVES + SINGLES
COMPLEX = ("complex64", "complex128")
INTS = ("int8", "int16", "int32", "int64")
UINTS = ("uint8", "uint16")
WIDE_UINTS = ("uint32", "uint64")
INDICES = ("int32", "int64")
REALS = FLOATS + INTS + UINTS
NUMBERS = REALS + COMPLEX
ANY = NUMBERS + ("bool", "string")
COMMON = ("float32", "float64", "int32", "int64", "complex64", "bool", "string")


class Dtype(str):
    """The name of a dtype, where an attribute is one."""

    __slots__ = ()


T = Dtype("T")  # as an attribute or a value's dtype: the dtype that the row is being expanded to


class Shape(tuple):
    """A `shape` attribute (None: unknown dimension); `Shape.unknown` has no rank either."""

    __slots__ = ()


UNKNOWN_SHAPE = "unknown shape"


class Value:
    """One input: kind and shape of its numbers, made an array once seed and dtype are known."""

    def __init__(self, make, dtype=T, const=False):
        self.make = make
        self.dtype = dtype
        self.const = const

    def typed(self, dtype):
        return Value(self.make, Dtype(dtype), self.const)

    def dtype_in(self, row_dtype):
        return row_dtype if self.dtype == "T" else str(self.dtype)

    def array(self, seed, row_dtype):
        """The array; of bfloat16, whose dtype NumPy lacks, as float32 that bfloat16 can hold."""
        dtype = self.dtype_in(row_dtype)
        return cast(self.make(np.random.RandomState(zlib.crc32(seed.encode())), dtype), dtype)


def cast(array, dtype):
    array = np.asarray(array)
    if dtype == "string":
        return as_text(array)
    if dtype == "bfloat16":
        return round_to_bfloat16(array)
    with np.errstate(all="ignore"):
        return array.astype(dtype)


def as_text(array):
    """Byte strings as objects; of other things their digits."""
    text = np.empty(array.shape, object)
    for place in np.ndindex(*array.shape):
        item = array[place]
        text[place] = item if isinstance(item, bytes) else str(item).encode()
    return text


def round_to_bfloat16(array):
    """float32 rounded to the nearest value that bfloat16 has, ties to even."""
    array = np.array(array, np.float32, order="C")
    bits = array.reshape(-1).view(np.uint32)
    rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)).view(np.float32)
    return np.where(np.isfinite(array), rounded.reshape(array.shape), array).astype(np.float32)


def kind_of(dtype):
    if dtype.startswith(("float", "bfloat")):
        return "float"
    for kind in ("uint", "int", "complex"):
        if dtype.startswith(kind):
            return kind
    return dtype


def _distinct(rng, count, low, high):
    """`count` integers in [low, high), all different where there are enough of them."""
    if count <= high - low:
        return low + rng.permutation(high - low)[:count]
    return rng.randint(low, high, count)


def _reals(rng, shape, low, high):
    """Numbers in [low, high], never 0; while they are few, all different and exact in bfloat16.

    Multiples of 1/64 below 2 take no more than 8 bits.
    """
    count = int(np.prod(shape, dtype=np.int64))
    steps = np.arange(int(np.ceil(low * 64)), int(np.floor(high * 64)) + 1)
    steps = steps[steps != 0]
    if count <= len(steps):
        return (rng.permutation(steps)[:count] / 64.0).reshape(shape)
    return (low + (high - low) * rng.random_sample(count)).reshape(shape)


def num(*shape):
    """Ordinary values of any dtype: reals in [-2, 2], small integers, flags, byte strings."""

    def make(rng, dtype):
        kind = kind_of(dtype)
        if kind == "float":
            return _reals(rng, shape, -2, 2)
        if kind == "complex":
            return _reals(rng, shape, -2, 2) + 1j * _reals(rng, shape, -2, 2)
        count = int(np.prod(shape, dtype=np.int64))
        if kind == "bool":
            return rng.randint(0, 2, shape) == 1
        if kind == "string":
            return _words(rng, count).reshape(shape)
        low, high = (1, 20) if kind == "uint" else (-9, 10)
        return _distinct(rng, count, low, high).reshape(shape)

    return Value(make)


def _words(rng, count):
    words = np.empty(count, object)
    for i in range(count):
        words[i] = bytes(bytearray(rng.randint(0, 256, rng.randint(0, 6)).tolist()))
    return words


def between(low, high, *shape):
    """Reals (or integers, or both parts of complex numbers) from `low` to `high`."""

    def make(rng, dtype):
        kind = kind_of(dtype)
        if kind == "complex":
            return _reals(rng, shape, low, high) + 1j * _reals(rng, shape, low, high)
        if kind == "float":
            return _reals(rng, shape, low, high)
        count = int(np.prod(shape, dtype=np.int64))
        return _distinct(rng, count, int(np.ceil(low)), int(np.floor(high)) + 1).reshape(shape)

    return Value(make)


def pos(*shape):
    """Positive numbers."""
    return between(0.25, 3, *shape)


def nonzero(*shape):
    """Numbers away from 0, of both signs where the dtype has them."""

    def make(rng, dtype):
        magnitude = between(0.5, 2, *shape).make(rng, dtype)
        if kind_of(dtype) in ("int", "uint"):
            magnitude = 1 + np.arange(magnitude.size).reshape(shape) % 7
        if kind_of(dtype) == "uint":
            return magnitude
        return magnitude * np.where(rng.randint(0, 2, shape), 1, -1)

    return Value(make)


def ints(low, high, *shape):
    """Integers in [low, high), with repetitions, as int32 unless typed otherwise."""
    return Value(lambda rng, dtype: rng.randint(low, high, shape), Dtype("int32"))


def perm(n):
    return Value(lambda rng, dtype: rng.permutation(n), Dtype("int32"))


def flags(*shape):
    return Value(lambda rng, dtype: rng.randint(0, 2, shape) == 1, Dtype("bool"))


def lit(values, dtype=T):
    """A literal; of the row's dtype unless one is given."""
    return Value(lambda rng, _: _literal(values, dtype), Dtype(dtype))


def _literal(values, dtype):
    if isinstance(values, (bytes, str)) or str(dtype) == "string":
        return np.array(values, object)
    return np.array(values)


def i32(values):
    return lit(values, "int32")


def i64(values):
    return lit(values, "int64")


def f32(values):
    return lit(values, "float32")


def boolean(values):
    return lit(values, "bool")


def zeros(*shape):
    return Value(lambda rng, dtype: np.zeros(shape), T)


def const(values, dtype="int32"):
    """A constant of the graph (a shape, an axis): known to shape inference but for level "fed"."""
    value = values if isinstance(values, Value) else lit(values, dtype)
    return Value(value.make, value.dtype, const=True)


def ramp(*shape):
    """Distinct increasing numbers; for ops on order and position."""

    def make(rng, dtype):
        count = int(np.prod(shape, dtype=np.int64))
        values = np.arange(count)
        if kind_of(dtype) == "bool":
            values = values % 2 == 1
        if kind_of(dtype) == "string":
            values = np.array([b"s%d\0" % i for i in range(count)] or [], object)
        if kind_of(dtype) == "complex":
            values = values + 1j * values[::-1]
        return values.reshape(shape)

    return Value(make)


def special(dtype=T):
    """Zeros of both signs, infinities, NaN, the smallest and some large numbers."""
    return lit([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 0.5, -2.5, 1.5, 3e4, -3e4], dtype)
