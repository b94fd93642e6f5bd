"""The Python operators of RaggedTensor: the public functions, which dispatch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.framework.export import find
from weft.ops.ragged.getitem import get_item
from weft.ops.ragged.tensor import RaggedTensor

_BINARY = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "truediv",
    "floordiv": "floordiv",
    "mod": "floormod",
    "pow": "pow",
    "and": "logical_and",
    "or": "logical_or",
    "xor": "logical_xor",
}
_COMPARISONS = {"lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal"}
_UNARY = {"neg": "negative", "abs": "abs", "invert": "logical_not"}


def _set(method: str, operator: Callable) -> None:
    operator.__name__ = f"__{method}__"
    setattr(RaggedTensor, operator.__name__, operator)


def _binary(function: Callable) -> Callable:
    def operator(self: Any, other: Any) -> Any:
        return function(self, other)

    return operator


def _reversed(function: Callable) -> Callable:
    def operator(self: Any, other: Any) -> Any:
        return function(other, self)

    return operator


def _unary(function: Callable) -> Callable:
    def operator(self: Any) -> Any:
        return function(self)

    return operator


for _method, _name in _BINARY.items():
    _set(_method, _binary(find("", _name, "tf")))
    _set(f"r{_method}", _reversed(find("", _name, "tf")))
for _method, _name in _COMPARISONS.items():
    _set(_method, _binary(find("", _name, "tf")))
for _method, _name in _UNARY.items():
    _set(_method, _unary(find("", _name, "tf")))
_set("getitem", get_item)
