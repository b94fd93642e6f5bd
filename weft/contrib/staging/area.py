"""Staging areas: a step leaves tensors for a later one, so that reading and computing can overlap."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import weft as tf
from weft.framework.export import export
from weft.framework.tensor_shape import TensorShape, unknown_shape


@export("contrib.staging.StagingArea")
class StagingArea:
    """Tuples of tensors that come out in the order in which they went in."""

    def __init__(
        self,
        dtypes: Any,
        shapes: Any = None,
        names: Any = None,
        shared_name: str | None = None,
        capacity: int = 0,
        memory_limit: int = 0,
    ):
        if shared_name is not None and not isinstance(shared_name, str):
            raise ValueError("shared_name must be a string")
        if shapes is not None and len(shapes) != len(dtypes):
            raise ValueError("StagingArea shapes must be the same length as dtypes")
        if names is not None and len(names) != len(dtypes):
            raise ValueError("StagingArea names must be the same length as dtypes")
        self._name = shared_name or tf.get_default_graph().unique_name(type(self).__name__)
        self._dtypes = dtypes
        self._shapes = (
            [unknown_shape() for _ in dtypes]
            if shapes is None
            else [TensorShape(s) for s in shapes]
        )
        self._names = names
        self._capacity, self._memory_limit = capacity, memory_limit
        with tf.name_scope(f"{self._name}_root"):
            self._place = tf.no_op()  # the area's operations are where this one is

    @property
    def name(self) -> str:
        """The name of the area."""
        return self._name

    @property
    def dtypes(self) -> Any:
        """The dtypes of a tuple's tensors."""
        return self._dtypes

    @property
    def shapes(self) -> list[TensorShape]:
        """The shapes of a tuple's tensors."""
        return self._shapes

    @property
    def names(self) -> Any:
        """The names of a tuple's tensors."""
        return self._names

    @property
    def capacity(self) -> int:
        """The most tuples that the area holds; 0: any number."""
        return self._capacity

    @property
    def memory_limit(self) -> int:
        """The most bytes that the area holds; 0: any number."""
        return self._memory_limit

    @property
    def _options(self) -> dict[str, Any]:
        return {
            "shared_name": self._name,
            "capacity": self._capacity,
            "memory_limit": self._memory_limit,
        }

    def _components(self, values: Any) -> list[Any]:
        """What is left in the area, in the order of a tuple's tensors."""
        if isinstance(values, dict):
            if not self._names:
                raise ValueError("Staging areas must have names to enqueue a dictionary")
            if not set(values) <= set(self._names):
                raise ValueError(
                    "Keys in dictionary to put do not match names of staging area. Dictionary: "
                    f"({sorted(values)}), Queue: ({sorted(self._names)})"
                )
            values = [values[n] for n in self._names if n in values]
        elif self._names:
            raise ValueError("You must enqueue a dictionary in a staging area with names")
        if len(values) > len(self._dtypes):
            raise ValueError(
                f"Unexpected number of inputs '{len(values)}' vs '{len(self._dtypes)}'"
            )
        tensors = []
        for i, (value, dtype, shape) in enumerate(zip(values, self._dtypes, self._shapes)):
            if value.dtype != dtype:
                raise ValueError(f"Datatypes do not match. '{value.dtype}' != '{dtype}'")
            value.get_shape().assert_is_compatible_with(shape)
            tensors.append(tf.convert_to_tensor(value, dtype=dtype, name=f"component_{i}"))
        return tensors

    def put(self, values: Any, name: str | None = None) -> Any:
        """Returns an operation that leaves a tuple; it waits while the area is full."""
        if not isinstance(values, (list, tuple, dict)):
            values = [values]
        listed = list(values.values()) if isinstance(values, dict) else values
        with tf.name_scope(name, f"{self._name}_put", listed) as scope:
            components = self._components(values)
            with tf.colocate_with(self._place):
                return tf.raw_ops.Stage(values=components, name=scope, **self._options)

    def _taken(self, take: Callable[..., Any], name: str, **named: Any) -> Any:
        """What comes out of the area: by name, if there are names."""
        with tf.colocate_with(self._place):
            tensors = list(take(dtypes=self._dtypes, name=name, **named, **self._options))
        if tf.no_op().device != self._place.device:
            tensors = [tf.identity(t) for t in tensors]  # on the device of who takes them
        for tensor, shape in zip(tensors, self._shapes):
            tensor.set_shape(shape)
        return dict(zip(self._names, tensors)) if self._names else tensors

    def get(self, name: str | None = None) -> Any:
        """Returns the tuple that was left first; the step waits for one."""
        return self._taken(tf.raw_ops.Unstage, name or f"{self._name}_get")

    def peek(self, index: Any, name: str | None = None) -> Any:
        """Returns the tuple at a position, which stays; the step waits until there are as many."""
        return self._taken(tf.raw_ops.StagePeek, name or f"{self._name}_peek", index=index)

    def size(self, name: str | None = None) -> Any:
        """Returns the number of tuples in the area."""
        name = name or f"{self._name}_size"
        return tf.raw_ops.StageSize(dtypes=self._dtypes, name=name, **self._options)

    def clear(self, name: str | None = None) -> Any:
        """Returns an operation that empties the area."""
        name = name or f"{self._name}_clear"
        return tf.raw_ops.StageClear(dtypes=self._dtypes, name=name, **self._options)
