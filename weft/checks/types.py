"""Checks of types: done as the graph is built."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from weft.checks.values import no_op, shown_name
from weft.framework import context, dtypes
from weft.framework.conversion import convert_to_tensor
from weft.framework.export import export
from weft.framework.scopes import name_scope
from weft.framework.tensor import Tensor


def _done(name: str) -> Any:
    return None if context.executing_eagerly() else no_op(name)


@export("assert_integer", "debugging.assert_integer")
def assert_integer(x: Any, message: str | None = None, name: str | None = None) -> Any:
    """Checks that `x` is of an integer dtype."""
    with name_scope(name, "assert_integer", [x]):
        x = convert_to_tensor(x, name="x")
        if not x.dtype.is_integer:
            raise TypeError(
                f'{message or ""}  Expected "x" to be integer type.  Found: {x.dtype!r} {shown_name(x)}'
            )
        return _done("statically_determined_was_integer")


@export("assert_type", "debugging.assert_type")
def assert_type(
    tensor: Any, tf_type: Any, message: str | None = None, name: str | None = None
) -> Any:
    """Checks that a tensor is of a dtype."""
    with name_scope(name, "assert_type", [tensor]):
        if not hasattr(tensor, "dense_shape"):
            tensor = convert_to_tensor(tensor, name="tensor")
        if tensor.dtype != tf_type:
            label = (
                ""
                if context.executing_eagerly() or not hasattr(tensor, "name")
                else tensor.name + " "
            )
            raise TypeError(f"{message or ''}  {label}must be of type {dtypes.as_dtype(tf_type)!r}")
        return _done("statically_determined_correct_type")


@export("is_numeric_tensor", "debugging.is_numeric_tensor")
def is_numeric_tensor(tensor: Any) -> bool:
    """Returns whether `tensor` is a tensor of numbers."""
    return isinstance(tensor, Tensor) and tensor.dtype.base_dtype in _NUMERIC


_NUMERIC = frozenset(
    getattr(dtypes, n)
    for n in (
        "float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 qint8 qint32 quint8 complex64"
    ).split()
)


@export("assert_proper_iterable", "debugging.assert_proper_iterable")
def assert_proper_iterable(values: Any) -> None:
    """Raises TypeError unless `values` is iterable, and neither a tensor, an array nor a string."""
    import numpy as np

    improper = (Tensor, np.ndarray, bytes, str)
    if isinstance(values, improper) or hasattr(values, "dense_shape"):
        raise TypeError(
            f"Expected argument 'values' to be a \"proper\" iterable.  Found: {type(values)}"
        )
    if not isinstance(values, Iterable):
        raise TypeError(f"Expected argument 'values' to be iterable.  Found: {type(values)}")


@export("assert_same_float_dtype", "debugging.assert_same_float_dtype")
def assert_same_float_dtype(tensors: Any = None, dtype: Any = None) -> Any:
    """Returns the one floating dtype that all tensors, and `dtype`, have; ValueError where they differ."""
    found = None if dtype is None else dtypes.as_dtype(dtype).base_dtype
    first: Any = dtype
    for t in tensors or ():
        if t is None:
            continue
        kind = t.dtype.base_dtype
        if found is None:
            found, first = kind, t
        elif kind is not found:
            raise ValueError(
                f"{'Tensor' if first is not dtype else 'dtype'} {first} is of type {found.name}, but {t} is of type "
                f"{kind.name}."
            )
    if found is None:
        return dtypes.float32
    if not found.is_floating:
        raise ValueError(f"Expected floating point type, got {found.name}.")
    return found


@export("assert_scalar", "debugging.assert_scalar")
def assert_scalar(tensor: Any, name: str | None = None, message: str | None = None) -> Any:
    """Checks that a tensor is a scalar, and returns it."""
    with name_scope(name, "assert_scalar", [tensor]) as scope:
        tensor = convert_to_tensor(tensor, name=scope or None)
        dims = tensor._dims
        if dims != () and dims is not None:
            label = "" if context.executing_eagerly() else f" for {tensor.name}"
            raise ValueError(
                f"{message or ''}Expected scalar shape{label}, saw shape: {tensor.shape}."
            )
        return tensor
