"""Initializers of variables: `tf.initializers`, `tf.*_initializer` and `tf.keras.initializers`."""

from typing import Any

import weft.initializers.by_name
import weft.initializers.drawn
import weft.initializers.orthogonal_matrices
import weft.initializers.values  # noqa: F401
from weft.framework import export as _export


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return _export.find("initializers", name, __name__)


def __dir__() -> list[str]:
    return sorted(_export.exported("initializers"))
