"""Linear algebra: `tf.linalg`. Functions of matrices that are made of ops, and linear operators."""

from typing import Any

from weft.framework import export as _export


def __getattr__(name: str) -> Any:
    return _export.find("linalg", name, __name__)


def __dir__() -> list[str]:
    return sorted(_export.exported("linalg"))
