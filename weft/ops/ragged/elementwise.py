"""Functions of each element of ragged tensors, and `map_flat_values`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from weft.framework import conversion
from weft.framework.export import export
from weft.framework.scopes import name_scope
from weft.ops.ragged.broadcasting import broadcast
from weft.ops.ragged.splits import after, same_splits
from weft.ops.ragged.tensor import (
    RaggedTensor,
    is_ragged,
    nested,
    takes,
    tensor_or_ragged,
    with_same_splits_dtype,
)

__all__ = ["of_list", "of_one", "of_two", "takes"]


def _arguments(function: Callable, args: tuple, kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call by name, in the function's order."""
    return dict(inspect.signature(function).bind(*args, **kwargs).arguments)


def of_one(function: Callable, *args: Any, **kwargs: Any) -> Any:
    """A function of each element of one tensor, its first argument."""
    given = _arguments(function, args, kwargs)
    first = next(n for n, v in given.items() if is_ragged(v))
    if first != next(iter(inspect.signature(function).parameters)) and first != "input":
        raise TypeError(f"{function.__name__} takes no ragged tensor as its argument {first}.")
    x = tensor_or_ragged(given[first])
    return x.with_flat_values(function(**{**given, first: x.flat_values}))


def of_list(function: Callable, *args: Any, **kwargs: Any) -> Any:
    """A function of each element of several tensors, a list as its first argument."""
    given = _arguments(function, args, kwargs)
    first = next(iter(given))
    _, items = with_same_splits_dtype(*_converted(given[first]))
    lists = [x.nested_row_splits for x in items if is_ragged(x)]
    flat = [x.flat_values if is_ragged(x) else x for x in items]
    return _with_splits(function(**{**given, first: flat}), lists)


def _converted(items: Any) -> list[Any]:
    return [tensor_or_ragged(x) if is_ragged(x) else x for x in items]


def of_two(function: Callable, *args: Any, **kwargs: Any) -> Any:
    """A function of each pair of elements of two tensors, its first arguments; they broadcast."""
    given = _arguments(function, args, kwargs)
    (x_name, x), (y_name, y) = list(given.items())[:2]
    if is_ragged(x):
        x = tensor_or_ragged(x)
        y = tensor_or_ragged(y, preferred_dtype=x.dtype, name=y_name)
    else:
        y = tensor_or_ragged(y)
        x = tensor_or_ragged(x, preferred_dtype=y.dtype, name=x_name)
    dtype, (x, y) = with_same_splits_dtype(x, y)
    with name_scope(given.pop("name", None), f"Ragged{function.__name__.title()}"):
        a, b, splits = _side_by_side(x, y, dtype)
        return nested(function(**{**given, x_name: a, y_name: b}), splits)


def _side_by_side(x: Any, y: Any, dtype: Any) -> Any:
    ragged = [t for t in (x, y) if is_ragged(t)]
    if len(ragged) == 2:
        pairs = list(zip(x.nested_row_splits, y.nested_row_splits))
        if x.ragged_rank == y.ragged_rank and all(a is b for a, b in pairs):
            return x.flat_values, y.flat_values, x.nested_row_splits
        return broadcast(x, y, dtype)
    other = y if is_ragged(x) else x
    flat = ragged[0].flat_values
    if other.shape.rank is None or flat.shape.rank is None:
        raise ValueError("Unable to broadcast: unknown rank")
    if other.shape.rank >= flat.shape.rank:
        return broadcast(x, y, dtype)
    splits = ragged[0].nested_row_splits
    return (flat, other, splits) if other is y else (other, flat, splits)


def _with_splits(values: Any, lists: list[Any]) -> Any:
    checks = same_splits(lists)
    splits = lists[0]
    return nested(values, [after(checks, splits[0]), *splits[1:]])


@export("ragged.map_flat_values")
def map_flat_values(op: Callable, *args: Any, **kwargs: Any) -> Any:
    """Returns what `op` gives for the values of ragged tensors, in the same rows."""
    lists: list[Any] = []
    args, kwargs = _flat(args, lists), _flat(kwargs, lists)
    if not lists:
        return op(*args, **kwargs)
    if len({splits[0].dtype for splits in lists}) > 1:
        raise ValueError(
            "Input RaggedTensors have mismatched row_splits dtypes; use "
            "RaggedTensor.with_row_splits_dtype() to convert them to compatible dtypes."
        )
    result = conversion.convert_to_tensor(op(*args, **kwargs))
    return _with_splits(result, lists)


def _flat(value: Any, lists: list[Any]) -> Any:
    if is_ragged(value):
        value = tensor_or_ragged(value)
        lists.append(value.nested_row_splits)
        return value.flat_values
    if isinstance(value, (list, tuple)):
        return type(value)([_flat(v, lists) for v in value])
    if isinstance(value, dict):
        return {k: _flat(v, lists) for k, v in value.items()}
    return value


def mapped(x: Any, function: Callable) -> Any:
    """A function of each element of a tensor, ragged or not."""
    if isinstance(x, RaggedTensor):
        return x.with_flat_values(function(x.flat_values))
    return function(x)
