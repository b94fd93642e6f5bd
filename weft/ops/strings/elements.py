"""Arrays of strings element by element, in NumPy's loops rather than Python's."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from weft.framework import errors


def each(function: Callable[..., Any], *arrays: np.ndarray) -> np.ndarray:
    """What a function gives for the elements of arrays, which are broadcast, as an array of objects."""
    out = np.frompyfunc(function, len(arrays), 1)(*arrays)
    return out if isinstance(out, np.ndarray) else of([out], ())


def of(items: Iterable[Any], shape: Any) -> np.ndarray:
    """An array of objects, which may be sequences themselves."""
    items = list(items)
    return np.fromiter(items, object, len(items)).reshape(shape)


def as_bytes(attribute: str | bytes) -> bytes:
    """An attribute as the bytes that the graph holds: kernels get those that are text as str."""
    return attribute.encode() if isinstance(attribute, str) else attribute


def shown(text: bytes) -> str:
    """Bytes in a message."""
    return text.decode("utf-8", "backslashreplace")


def invalid(message: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, message)


def scalar_text(array: np.ndarray, name: str) -> bytes:
    """The one string of an input that must be a scalar."""
    if array.ndim:
        raise invalid(f"{name} must be scalar, but received shape {list(array.shape)}")
    return array.item()
