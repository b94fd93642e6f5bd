"""Histograms with TensorFlow's buckets: each reaches 10% farther than the one before, from 1e-12 to 1e20."""

from __future__ import annotations

import functools
import sys
from typing import Any

import numpy as np


@functools.cache
def limits() -> np.ndarray:
    """Where the buckets end: what is less belongs to the bucket or to one before."""
    positive = []
    value = 1e-12
    while value < 1e20:
        positive.append(value)
        value *= 1.1
    positive.append(sys.float_info.max)
    upper = np.array(positive)
    return np.concatenate([-upper[::-1], [0.0], upper])


class Histogram:
    """Values counted in buckets, of which more may come."""

    def __init__(self) -> None:
        self._ends = limits()
        self._counts = np.zeros(len(self._ends), np.int64)
        self._least, self._most = float(self._ends[-1]), float(self._ends[0])
        self._sum = self._sum_squares = 0.0

    def add(self, values: np.ndarray) -> None:
        """Counts a vector of float64."""
        if not values.size:
            return
        below = np.searchsorted(
            np.sort(values), self._ends
        )  # sorting costs less than a search for each value
        below[-1] = values.size
        self._counts += np.diff(below, prepend=0)
        self._least = min(self._least, float(values.min()))
        self._most = max(self._most, float(values.max()))
        self._sum = _one_by_one(self._sum, values)
        self._sum_squares = _one_by_one(self._sum_squares, values * values)

    def write(self, message: Any) -> None:
        """Writes what was counted into a HistogramProto."""
        message.min, message.max, message.num = self._least, self._most, self._counts.sum()
        message.sum, message.sum_squares = self._sum, self._sum_squares
        full = self._counts > 0
        kept = full.copy()  # of neighbouring empty buckets the last one stands for all
        kept[:-1] |= full[1:]
        kept[-1] = True
        message.bucket_limit.extend(self._ends[kept].tolist())
        message.bucket.extend(self._counts[kept].tolist())


def _one_by_one(start: float, values: np.ndarray) -> float:
    """A sum as TensorFlow makes it, one after the other: the last digits depend on the order."""
    return float(np.add.accumulate(np.concatenate([[start], values]))[-1])


def fill(message: Any, values: np.ndarray) -> None:
    """Writes the histogram of a vector of float64 into a HistogramProto."""
    histogram = Histogram()
    histogram.add(values)
    histogram.write(message)
