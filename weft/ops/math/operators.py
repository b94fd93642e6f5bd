"""The Python operators of Tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.framework import conversion, dtypes
from weft.framework.composite_tensor import CompositeTensor
from weft.framework.scopes import name_scope
from weft.framework.tensor import Tensor, override_operator
from weft.ops.by_name import raw
from weft.ops.math import arithmetic, comparison, division, elementary
from weft.ops.math.matmul import matmul

_string = dtypes.string


def _binary(name: str, function: Callable) -> None:
    """Gives Tensor an operator and its reversed form; `function(x, y, name=)` takes two tensors."""
    reversed_method = f"__r{name.rstrip('_')}__"

    def operator(x, y):
        if isinstance(y, Tensor):
            return function(x, y, name=name)
        if getattr(y, "_is_sparse_tensor", False):
            return NotImplemented
        with name_scope(None, name, (x, y)) as scope:
            try:
                y = conversion.convert_to_tensor(y, None, "y", x._dtype.base_dtype)
            except TypeError:
                # It may be something that knows how to deal with tensors itself.
                if hasattr(type(y), reversed_method):
                    return NotImplemented
                raise
            return function(x, y, name=scope)

    def reversed_operator(y, x):
        with name_scope(None, name, (x, y)) as scope:
            x = conversion.convert_to_tensor(x, y._dtype.base_dtype, "x")
            return function(x, y, name=scope)

    operator.__name__, reversed_operator.__name__ = f"__{name}__", reversed_method
    override_operator(operator.__name__, operator)
    override_operator(reversed_method, reversed_operator)


def _add(x, y, name):
    if x._dtype.base_dtype is _string:
        return arithmetic.add(x, y, name=name)
    return arithmetic.add_v2(x, y, name=name)


def _xor(x, y, name):
    with name_scope(name, "xor", (x, y)) as scope:
        return comparison.logical_xor(x, y, name=scope)


_binary("add", _add)
_binary("sub", arithmetic.sub)
_binary("mul", arithmetic.mul)
_binary("div", division.python2_divide)


def _truediv(x, y, name):
    kind = x._dtype.base_dtype
    if kind is y._dtype.base_dtype and (kind.is_floating or kind.is_complex):
        return division.real_div(x, y, name=name)
    return division.true_divide(x, y, name)


_binary("truediv", _truediv)
_binary("floordiv", division.floor_div)
_binary("mod", division.floor_mod)
_binary("pow", elementary.pow_op)
_binary("and", comparison.logical_and)
_binary("or", comparison.logical_or)
_binary("xor", _xor)
_binary("matmul", matmul)


def _comparison(method: str, decl: Any) -> None:
    def operator(x, y, name=None):
        try:
            return decl(x, y, name=name)
        except TypeError:
            if isinstance(y, CompositeTensor):
                return NotImplemented  # it knows how to deal with tensors itself, or Python says no
            raise

    operator.__name__ = method
    override_operator(method, operator)


_comparison("__lt__", comparison.less)
_comparison("__le__", comparison.less_equal)
_comparison("__gt__", comparison.greater)
_comparison("__ge__", comparison.greater_equal)

override_operator("__neg__", lambda x: arithmetic.neg(x))
override_operator("__abs__", lambda x: arithmetic.absolute(x))
override_operator("__invert__", lambda x: raw.LogicalNot(x))
