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


def fill(message: Any, values: np.ndarray) -> None:
    """Writes the histogram of a vector of float64 into a HistogramProto."""
    ends = limits()
    below = np.searchsorted(
        np.sort(values), ends
    )  # sorting costs less than a search for each value
    below[-1] = values.size
    counts = np.diff(below, prepend=0)
    message.min = float(values.min()) if values.size else ends[-1]
    message.max = float(values.max()) if values.size else ends[0]
    message.num = values.size
    # One after the other, as TensorFlow adds them: the last digits depend on the order.
    message.sum = float(np.add.accumulate(values)[-1]) if values.size else 0.0
    message.sum_squares = float(np.add.accumulate(values * values)[-1]) if values.size else 0.0
    full = counts > 0
    kept = full.copy()  # of neighbouring empty buckets the last one stands for all
    kept[:-1] |= full[1:]
    kept[-1] = True
    message.bucket_limit.extend(ends[kept].tolist())
    message.bucket.extend(counts[kept].tolist())
