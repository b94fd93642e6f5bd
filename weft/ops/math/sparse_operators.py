"""The Python operators of SparseTensor: with a dense tensor, which is broadcast."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.framework import conversion
from weft.framework.scopes import name_scope
from weft.framework.sparse_tensor import SparseTensor
from weft.ops.by_name import raw
from weft.ops.math.division import floating_for


def _mul(x: SparseTensor, y: Any, name: str) -> Any:
    return raw.SparseDenseCwiseMul(x.indices, x.values, x.dense_shape, y, name=name)


def _div(x: SparseTensor, y: Any, name: str) -> Any:
    return raw.SparseDenseCwiseDiv(x.indices, x.values, x.dense_shape, y, name=name)


def _truediv(x: SparseTensor, y: Any, name: str) -> Any:
    wide = floating_for(x.dtype.base_dtype)
    values = x.values
    if wide is not None:
        values, y = raw.Cast(values, DstT=wide), raw.Cast(y, DstT=wide)
    return raw.SparseDenseCwiseDiv(x.indices, values, x.dense_shape, y, name=name)


def _operator(method: str, label: str, compute: Callable) -> None:
    def operator(x: SparseTensor, y: Any) -> SparseTensor:
        with name_scope(None, label, [x, y]) as scope:
            y = conversion.convert_to_tensor(y, dtype=x.dtype.base_dtype, name="y")
            return SparseTensor(x.indices, compute(x, y, scope or None), x.dense_shape)

    operator.__name__ = method
    SparseTensor._override_operator(method, operator)


_operator("__mul__", "mul", _mul)
_operator("__rmul__", "mul", _mul)
_operator("__div__", "div", _div)
_operator("__truediv__", "truediv", _truediv)
