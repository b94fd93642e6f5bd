"""Arrays of byte strings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def string_array(values: Sequence[bytes], shape: tuple[int, ...] | None = None) -> np.ndarray:
    """Byte strings as a vector, or in the shape given."""
    out = np.empty(len(values), object)
    out[:] = values
    return out if shape is None else out.reshape(shape)


def string_scalar(value: bytes) -> np.ndarray:
    out = np.empty((), object)
    out[()] = value
    return out
