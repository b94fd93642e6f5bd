"""Where in its loops an operation runs, as the keys of tensors that cross from one task to another say it.

A frame is known by a number that both ends compute. TensorFlow has done that in two ways: up to 2.3 from the text
of all frames and iterations around, from then on frame by frame.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from weft.ops.strings.packed import pack
from weft.ops.strings.word_hashes import hash64

Path = tuple[
    tuple[int, str], ...
]  # from outside in: in which iteration around, and the name of the frame

_MASK = 0xFFFFFFFFFFFFFFFF


@lru_cache(maxsize=4096)
def frame_id(path: Path, later: bool) -> int:
    """The number of a frame, as older or `later` TensorFlows have it."""
    if not later:
        return _hash("".join(f";{iteration};{name}" for iteration, name in path))
    found = 0
    for iteration, name in path:
        found = _combined(found, _combined(iteration, _hash(name)))
    return found


def _hash(text: str) -> int:
    return int(hash64(pack(np.array([text.encode()], object)))[0])


def _combined(a: int, b: int) -> int:
    """TensorFlow's hash of two hashes."""
    return a ^ ((b + 0x9E3779B97F4A7800 + (a << 10) + (a >> 4)) & _MASK)
