"""The operators of EagerTensor between two of its kind, without the detour over what else there could be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.eager.execute import call
from weft.eager.tensor import EagerTensor
from weft.framework import context, dtypes, registry
from weft.framework.registry import OpDecl
from weft.framework.tensor import Tensor

_current = context.current
_NO_ATTRS: dict[str, Any] = {}


def _binary(
    method: str, decl: OpDecl, name: str | None, fits: Callable[[Any], bool] | None = None
) -> None:
    general = getattr(Tensor, method)

    def operator(self: Any, other: Any) -> Any:
        kind = type(other)
        if (
            (kind is EagerTensor or (kind is float or kind is int) and self._dtype in _FLOATS)
            and _current.eager
            and (fits is None or fits(self._dtype))
        ):
            return call(decl, (self, other), _NO_ATTRS, name)
        return general(self, other)

    operator.__name__ = method
    setattr(EagerTensor, method, operator)


def _is_no_string(dtype: Any) -> bool:
    return dtype is not dtypes.string


_FLOATS = frozenset((dtypes.float16, dtypes.float32, dtypes.float64, dtypes.bfloat16))

_binary("__add__", registry.get("AddV2"), "add", _is_no_string)
_binary("__sub__", registry.get("Sub"), "sub")
_binary("__mul__", registry.get("Mul"), "mul")
_binary("__truediv__", registry.get("RealDiv"), "truediv", _FLOATS.__contains__)
_binary("__lt__", registry.get("Less"), None)
_binary("__le__", registry.get("LessEqual"), None)
_binary("__gt__", registry.get("Greater"), None)
_binary("__ge__", registry.get("GreaterEqual"), None)
