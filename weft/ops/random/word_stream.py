"""TensorFlow's stream of random words, one after the other: what shuffles draw from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weft.ops.random import philox


class RandomWords:
    """TensorFlow's stream of random words of 32 bits, for a pair of seeds."""

    _AT_ONCE = 256

    def __init__(self, xp: Any, seed: int, seed2: int):
        self._xp = xp
        self._key, self._counter = philox.key_and_counter(seed, seed2)
        self._words: list[int] = []

    def _draw(self, at_least: int) -> None:
        count = -(-at_least // self._AT_ONCE) * self._AT_ONCE
        words = philox.words32(self._xp, self._key, self._counter, count)
        self._counter = philox.advance(self._xp, self._counter, count // 4)
        self._words = words[::-1].tolist() + self._words

    def next(self) -> int:
        if not self._words:
            self._draw(1)
        return self._words.pop()

    def some(self, count: int) -> np.ndarray:
        """So many of the next words."""
        missing = count - len(self._words)
        if missing > 0:
            self._draw(missing)
        rest = len(self._words) - count
        words = self._words[rest:]
        del self._words[rest:]
        return np.array(words[::-1], np.int64)

    def saved(self, freeze: Callable[[Any], Any]) -> Any:
        """Where the stream is."""
        return freeze([self._key, self._counter, self._words])

    def restore(self, saved: Any) -> None:
        """Goes on from where a stream was."""
        key, counter, words = saved
        self._key, self._counter = np.uint64(key), np.asarray(counter, np.uint64)
        self._words = [int(w) for w in words]
