"""Outputs under names in collections, and small readings of arguments: `tf.contrib.layers.utils`."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

import weft as tf
from weft.framework.constant_value import constant_value as known_value
from weft.framework.tensor import Tensor
from weft.framework.tensor_shape import TensorShape
from weft.variables.base import Variable

NamedOutputs = collections.namedtuple("NamedOutputs", ["name", "outputs"])


def collect_named_outputs(collections: Any, alias: str, outputs: Any) -> Any:
    """The outputs, which join collections under a name."""
    if collections:
        append_tensor_alias(outputs, alias)
        tf.add_to_collections(collections, outputs)
    return outputs


def append_tensor_alias(tensor: Any, alias: str) -> Any:
    """The tensor, with one more name that it is known by."""
    tensor.aliases = [*getattr(tensor, "aliases", ()), alias.removesuffix("/")]
    return tensor


def get_tensor_aliases(tensor: Any) -> list[str]:
    """The names that a tensor is known by."""
    if hasattr(tensor, "aliases"):
        return tensor.aliases
    return [tensor.op.name if tensor.name.endswith(":0") else tensor.name]


def gather_tensors_aliases(tensors: Any) -> list[str]:
    """The names that several tensors are known by."""
    return [alias for t in tensors for alias in get_tensor_aliases(t)]


def convert_collection_to_dict(
    collection: str, clear_collection: bool = False
) -> collections.OrderedDict:
    """The tensors of a collection by all their names."""
    found = collections.OrderedDict(
        (alias, t) for t in tf.get_collection(collection) for alias in get_tensor_aliases(t)
    )
    if clear_collection:
        tf.get_default_graph().clear_collection(collection)
    return found


def constant_value(value_or_tensor_or_var: Any, dtype: Any = None) -> Any:
    """The value, where it is known while the graph is built; else None."""
    if value_or_tensor_or_var is None:
        raise ValueError("value_or_tensor_or_var cannot be None")
    value = value_or_tensor_or_var
    if not isinstance(value, (Tensor, Variable)):
        return value
    if dtype and value.dtype != dtype:
        raise ValueError(f"It has the wrong type {value.dtype} instead of {dtype}")
    return None if isinstance(value, Variable) else known_value(value)


def static_cond(pred: Any, fn1: Callable, fn2: Callable) -> Any:
    """`fn1()` or `fn2()`."""
    for name, function in (("fn1", fn1), ("fn2", fn2)):
        if not callable(function):
            raise TypeError(f"{name} must be callable.")
    return fn1() if pred else fn2()


def smart_cond(pred: Any, fn1: Callable, fn2: Callable, name: str | None = None) -> Any:
    """`fn1()` or `fn2()`: builds a `cond` only where `pred` is not known yet."""
    known = constant_value(pred)
    return tf.cond(pred, fn1, fn2, name=name) if known is None else static_cond(known, fn1, fn2)


def get_variable_collections(variables_collections: Any, name: str) -> Any:
    """The collections for the variables of a name."""
    if isinstance(variables_collections, dict):
        return variables_collections.get(name)
    return variables_collections


def _dimension(shape: TensorShape, axis: int, min_rank: int) -> int:
    if shape.ndims is None:
        raise ValueError("dims of shape must be known but is None")
    if shape.ndims < min_rank:
        raise ValueError(f"rank of shape must be at least {min_rank} not: {shape.ndims}")
    size = shape.as_list()[axis]
    if size is None:
        raise ValueError(f"dimension {axis} of shape must be known but is None: {shape}")
    return size


def channel_dimension(shape: TensorShape, data_format: str, min_rank: int = 1) -> int:
    """How many channels there are."""
    return _dimension(shape, 1 if data_format == "channels_first" else -1, min_rank)


def last_dimension(shape: TensorShape, min_rank: int = 1) -> int:
    """The size of the last axis."""
    return _dimension(shape, -1, min_rank)


def two_element_tuple(int_or_tuple: Any) -> tuple[Any, Any]:
    """One number for both axes, or one for each."""
    if isinstance(int_or_tuple, int):
        return int_or_tuple, int_or_tuple
    if isinstance(int_or_tuple, (list, tuple, TensorShape)):
        values = tuple(int_or_tuple)
        if len(values) != 2:
            raise ValueError(f"Must be a list with 2 elements: {int_or_tuple}")
        return int(values[0]), int(values[1])
    raise ValueError("Must be an int, a list with 2 elements or a TensorShape of length 2")


def n_positive_integers(n: Any, value: Any) -> tuple[int, ...]:
    """One positive number for all of n axes, or one for each."""
    if int(n) != n or n < 1:
        raise ValueError("n must be a positive integer")
    try:
        values = (int(value),) * int(n)
    except (TypeError, ValueError):
        try:
            values = tuple(int(x) for x in value)
        except (TypeError, ValueError):
            values = ()
        if len(values) != n:
            raise ValueError(
                f"Expected sequence of {n} positive integers, but received {value!r}"
            ) from None
    for x in values:
        if x < 1:
            raise ValueError(f"expected positive integer, but received {x}")
    return values
