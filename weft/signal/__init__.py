"""Signals: `tf.signal`. Transforms, windows, frames and features of sound."""

from typing import Any

from weft.framework import export as _export


def __getattr__(name: str) -> Any:
    return _export.find("signal", name, __name__)


def __dir__() -> list[str]:
    return sorted(_export.exported("signal"))
