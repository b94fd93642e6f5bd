"""Datasets of what Python functions yield."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

import weft as tf
from weft.data import structure
from weft.data.function import StructuredFunction
from weft.data.padding import leaves_like
from weft.framework.array_conversion import to_array
from weft.framework.tensor import Tensor
from weft.framework.type_spec import TensorSpec


class _Generators:
    """The generators that walks have begun, by number."""

    def __init__(self, generator: Callable):
        self._generator = generator
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._running: dict[int, Any] = {}

    def begin(self, *args: Any) -> np.int64:
        with self._lock:
            number = next(self._numbers)
        self._running[number] = iter(self._generator(*args))
        return np.int64(number)

    def advance(self, number: Any) -> Any:
        return next(self._running[int(number)])

    def finish(self, number: Any) -> np.int64:
        self._running.pop(int(number), None)
        return np.int64(0)


def from_generator(
    kind: Callable[[Tensor, Any], Any], generator: Callable, spec: Any, args: tuple[Any, ...]
) -> Any:
    """A dataset, of a kind, of what a Python function yields."""
    generators = _Generators(generator)
    leaves = structure.flatten(spec)

    def next_values(number: Any) -> list[Any]:
        try:
            value = generators.advance(number)
        except StopIteration:
            raise StopIteration("End of the generator") from None
        if isinstance(value, list) and structure.is_structure(spec):
            value = tuple(value)  # a list of the parts is as good as a tuple of them
        try:
            flat = leaves_like(spec, value)
            if len(flat) != len(leaves):
                raise TypeError
        except (TypeError, ValueError):
            raise TypeError(
                "`generator` yielded an element that did not match the expected structure. The expected structure was "
                f"{structure.legacy_types(spec)}, but the yielded element was {value}."
            ) from None
        out = []
        for leaf, part in zip(leaves, flat):
            try:
                array = to_array(part, leaf.dtype)
            except (TypeError, ValueError):
                raise TypeError(
                    "`generator` yielded an element that could not be converted to the expected type. The expected "
                    f"type was {leaf.dtype.name}, but the yielded element was {part}."
                ) from None
            if not leaf.shape.is_compatible_with(array.shape):
                raise ValueError(
                    f"`generator` yielded an element of shape {array.shape} where an element of shape {leaf.shape} was "
                    "expected."
                )
            out.append(array)
        return out

    types = [leaf.dtype for leaf in leaves]
    begin = StructuredFunction(
        lambda *given: tf.py_func(generators.begin, list(given), tf.int64, stateful=True),
        "generator_begin",
        tuple(structure.spec_of(a) for a in args),
        unpack=True,
    )

    def step(number: Any) -> Any:
        values = tf.py_func(next_values, [number], types, stateful=True)
        for value, leaf in zip(values, leaves):
            value.set_shape(leaf.shape)
        return tuple(values)

    number_spec = TensorSpec([], tf.int64)
    advance = StructuredFunction(step, "generator_next", number_spec)
    finish = StructuredFunction(
        lambda number: tf.py_func(generators.finish, [number], tf.int64, stateful=True),
        "generator_finish",
        number_spec,
    )
    variant = tf.raw_ops.GeneratorDataset(
        init_func_other_args=[*args, *begin.captured],
        next_func_other_args=advance.captured,
        finalize_func_other_args=finish.captured,
        init_func=begin.attribute,
        next_func=advance.attribute,
        finalize_func=finish.attribute,
        **structure.attributes(spec),
    )
    return kind(variant, spec)
