"""`tf.compat`: text and bytes."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any

from weft.framework.export import export, export_all


@export("compat.as_bytes")
def as_bytes(bytes_or_text: Any, encoding: str = "utf-8") -> bytes:
    """Converts text or bytes to bytes."""
    if isinstance(bytes_or_text, str):
        return bytes_or_text.encode(encoding)
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


@export("compat.as_text", "compat.as_str")
def as_text(bytes_or_text: Any, encoding: str = "utf-8") -> str:
    """Converts text or bytes to text."""
    if isinstance(bytes_or_text, str):
        return bytes_or_text
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text.decode(encoding)
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


@export("compat.as_str_any")
def as_str_any(value: Any) -> str:
    """Converts anything to text: bytes by decoding, the rest by `str`."""
    return as_text(value) if isinstance(value, bytes) else str(value)


@export("compat.path_to_str")
def path_to_str(path: Any) -> Any:
    """Returns the text of a path object; what is no path object is returned as it is."""
    return as_str_any(os.fspath(path)) if hasattr(path, "__fspath__") else path


@export("compat.forward_compatible")
def forward_compatible(year: int, month: int, day: int) -> bool:
    """Returns whether graphs written now are read by programs of that date: weft writes one form."""
    return True


@export("compat.forward_compatibility_horizon")
@contextlib.contextmanager
def forward_compatibility_horizon(year: int, month: int, day: int) -> Iterator[None]:
    """A context in which TensorFlow pretends another date; weft's graphs do not depend on it."""
    yield


export_all(
    "compat", bytes_or_text_types=(bytes, str), integral_types=(int,), real_types=(int, float)
)
export_all("compat", complex_types=(int, float, complex))
