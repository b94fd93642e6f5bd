"""Conversion of Python values to tensors, and the registry by which other types join in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weft.framework import context, dtypes
from weft.framework.tensor import Tensor

# What to make a constant with: set by the op library (graph) and by eager execution.
make_constant: Callable[..., Any] | None = None
# What makes an eager tensor of an array: set by eager execution.
make_eager: Any = None

_functions: dict[int, list[tuple[Any, Callable]]] = {}  # by priority
_by_type: dict[type, list[Callable]] = {}  # cache


def register_tensor_conversion_function(
    base_type: Any, conversion_func: Callable, priority: int = 100
) -> None:
    """Registers a function `(value, dtype, name, as_ref)` that makes tensors of objects of a type."""
    if not (
        isinstance(base_type, type)
        or (isinstance(base_type, tuple) and all(isinstance(x, type) for x in base_type))
    ):
        raise TypeError("base_type must be a type or a tuple of types.")
    if not callable(conversion_func):
        raise TypeError("conversion_func must be callable.")
    _functions.setdefault(priority, []).append((base_type, conversion_func))
    _by_type.clear()


def _functions_for(cls: type) -> list[Callable]:
    found = _by_type.get(cls)
    if found is None:
        found = [
            f
            for _, items in sorted(_functions.items())
            for base, f in items
            if issubclass(cls, base)
        ]
        _by_type[cls] = found
    return found


_PLAIN = (int, float, bool, str, bytes, complex, list, tuple, np.ndarray, np.generic)


def convert_to_tensor(
    value: Any,
    dtype: Any = None,
    name: str | None = None,
    preferred_dtype: Any = None,
    dtype_hint: Any = None,
    as_ref: bool = False,
) -> Any:
    """Converts a value to a Tensor: arrays and Python values become constants.

    `preferred_dtype` is tried first where no dtype is required.
    """
    preferred = preferred_dtype if preferred_dtype is not None else dtype_hint
    if dtype is not None and type(dtype) is not dtypes.DType:
        dtype = dtypes.as_dtype(dtype)
    if isinstance(value, Tensor):
        return _converted_tensor(value, dtype, name, as_ref)
    functions = _functions_for(type(value))
    if preferred is not None and dtype is None:
        preferred = dtypes.as_dtype(preferred)
        try:
            result = _try(functions, value, preferred, name, as_ref)
        except (TypeError, ValueError):
            result = None
        if result is not None and result.dtype.base_dtype is preferred.base_dtype:
            return result
    return _try(functions, value, dtype, name, as_ref)


def _try(functions: list[Callable], value: Any, dtype: Any, name: str | None, as_ref: bool) -> Any:
    for function in functions:
        result = function(value, dtype=dtype, name=name, as_ref=as_ref)
        if result is NotImplemented:
            continue
        if not isinstance(result, Tensor):
            result = getattr(result, "_as_tensor_result", result)
            if not isinstance(result, Tensor):
                raise RuntimeError(
                    f"{_prefix(name)}Conversion function {function!r} for type {type(value)} returned "
                    f"non-Tensor: {result!r}"
                )
        if dtype is not None and not dtype.is_compatible_with(result.dtype):
            if dtype.base_dtype is result.dtype.base_dtype:
                return result  # a value where a reference was asked for, or the other way round
            raise RuntimeError(
                f"{_prefix(name)}Conversion function {function!r} for type {type(value)} returned "
                f"incompatible dtype: requested = {dtype.base_dtype.name}, actual = {result.dtype.name}"
            )
        return result
    return _constant(value, dtype, name)


def _prefix(name: str | None) -> str:
    return f"Error converting {name}: " if name else ""


def _constant(value: Any, dtype: Any, name: str | None) -> Any:
    if make_constant is None:
        raise RuntimeError("The op library is not loaded.")
    return make_constant(value, dtype=dtype, name=name or "Const")


def _converted_tensor(value: Tensor, dtype: Any, name: str | None, as_ref: bool) -> Tensor:
    if dtype is not None and not dtype.is_compatible_with(value.dtype):
        raise ValueError(
            f"Tensor conversion requested dtype {dtype.name} for Tensor with dtype {value.dtype.name}: "
            f"{str(value)!r}"
        )
    if value._op is None and not context.current.eager:
        graph = context.get_default_graph()
        if not graph.building_function:
            raise RuntimeError("Attempting to capture an EagerTensor without building a function.")
        return graph.capture(value, name=name)
    return value


def convert_to_tensor_or_indexed_slices(
    value: Any, dtype: Any = None, name: str | None = None
) -> Any:
    """Converts a value to a Tensor, but for IndexedSlices, which stay."""
    if getattr(value, "_is_indexed_slices", False):
        if dtype is not None and not dtypes.as_dtype(dtype).is_compatible_with(value.dtype):
            raise ValueError(
                f"Tensor conversion requested dtype {dtypes.as_dtype(dtype).name} for Tensor with dtype "
                f"{value.dtype.name}: {value!r}"
            )
        return value
    return convert_to_tensor(value, dtype, name)


def convert_n_to_tensor(values: Any, dtype: Any = None, name: str | None = None) -> list[Any]:
    """Converts each of several values to a Tensor."""
    return [
        convert_to_tensor(v, dtype=dtype, name=None if name is None else f"{name}_{i}")
        for i, v in enumerate(values)
    ]
