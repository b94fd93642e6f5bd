"""Functions that map over the elements of a SparseTensor: those that leave zero as it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.framework.sparse_tensor import SparseTensor


def takes(args: tuple, kwargs: dict[str, Any]) -> bool:
    """Whether a call is for a sparse tensor."""
    return isinstance(args[0] if args else kwargs.get("x"), SparseTensor)


def map_values(function: Callable, x: Any, name: str | None = None) -> SparseTensor:
    return SparseTensor(x.indices, function(x.values, name=name), x.dense_shape)
