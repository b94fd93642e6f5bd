"""Many strings as one array of bytes, on which NumPy works without a loop over the strings."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

# Behind the last string, so that the word after its last byte can be read as well.
_SLACK = b"\xff" * 16


class Packed(NamedTuple):
    """The bytes of all strings, and where each of them is."""

    data: np.ndarray  # uint8, with slack behind the last string, in whole words
    starts: np.ndarray  # int64
    lengths: np.ndarray  # int64

    def words(self, at: np.ndarray, count: int = 1) -> list[np.ndarray]:
        """`count` times the next eight bytes, from each of these positions on, as little-endian numbers.

        Numbers that lie in words of memory are gathered several times faster than those that do not, so each is
        put together from the two words that it is in.
        """
        aligned = self.data.view("<u8")
        place = at >> 3
        shift = ((at & 7) << 3).view(np.uint64)
        back = np.uint64(64) - shift  # a shift by 64 gives zero
        low = aligned.take(place)
        out = []
        for k in range(1, count + 1):
            high = aligned[k:].take(place)
            word = low >> shift
            word |= high << back
            out.append(word)
            low = high
        return out

    def part(self, rows: slice | np.ndarray) -> Packed:
        """Some of the strings."""
        return Packed(self.data, self.starts[rows], self.lengths[rows])


def pack(strings: np.ndarray) -> Packed:
    """Packs an array of bytes objects."""
    items = strings.ravel().tolist()
    n = len(items)
    items.append(_SLACK)
    data = _in_words(b"\0".join(items))
    ends = np.flatnonzero(data == 0)
    if len(ends) != n:  # some string has a zero byte of its own
        lengths = np.fromiter(map(len, items[:n]), np.int64, n)
        ends = np.cumsum(lengths + 1) - 1
    starts = np.zeros(n, np.int64)
    starts[1:] = ends[:-1] + 1
    return Packed(data, starts, ends - starts)


def pack_rows(rows: np.ndarray) -> Packed:
    """Packs the bytes of each row of a uint8 matrix."""
    n, length = rows.shape
    starts = np.arange(n, dtype=np.int64) * length
    return Packed(_in_words(rows.tobytes() + _SLACK), starts, np.full(n, length, np.int64))


def _in_words(data: bytes) -> np.ndarray:
    """The bytes up to the last whole word: what is cut off is slack."""
    return np.frombuffer(data, np.uint8, len(data) & ~7)
