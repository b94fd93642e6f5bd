"""Functions that map over the elements of a SparseTensor: those that leave zero as it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.framework import dispatch
from weft.framework.export import exported
from weft.framework.sparse_tensor import SparseTensor
from weft.ops.math import arithmetic, elementary, special  # noqa: F401  what follows is theirs

_NAMES = ("abs", "negative", "sign", "square", "sqrt", "erf", "tanh")


def _map_values(function: Callable) -> None:
    def handler(x: Any = None, name: str | None = None) -> Any:
        if not isinstance(x, SparseTensor):
            return dispatch.NOT_SUPPORTED
        return SparseTensor(x.indices, function(x.values, name=name), x.dense_shape)

    dispatch.add_handler(function, handler)


for _name in _NAMES:
    _map_values(exported("")[_name])
for _name in ("bessel_i0e", "bessel_i1e"):
    _map_values(exported("math")[_name])
