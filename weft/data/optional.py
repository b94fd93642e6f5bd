"""Optional: an element, or nothing."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.data import structure
from weft.framework.export import export
from weft.framework.type_spec import TypeSpec


@export("data.experimental.Optional")
class Optional:
    """An element that may be there or not."""

    def has_value(self, name: str | None = None) -> Any:
        """Whether it is there."""
        raise NotImplementedError("Optional.has_value()")

    def get_value(self, name: str | None = None) -> Any:
        """The element; InvalidArgumentError where it is not there."""
        raise NotImplementedError("Optional.get_value()")

    @property
    def value_structure(self) -> Any:
        """What the element is like."""
        raise NotImplementedError("Optional.value_structure")

    @staticmethod
    def from_value(value: Any) -> Optional:
        """One that has a value."""
        with tf.name_scope("optional"), tf.name_scope("value"):
            value = structure.normalized(value)
            spec = structure.spec_of(value)
            variant = tf.raw_ops.OptionalFromValue(components=structure.to_tensors(spec, value))
        return OptionalImpl(variant, spec)

    @staticmethod
    def none_from_structure(value_structure: Any) -> Optional:
        """One that has nothing."""
        return OptionalImpl(tf.raw_ops.OptionalNone(), value_structure)


class OptionalImpl(Optional):
    """An optional in a graph or under eager execution, as a variant."""

    def __init__(self, variant_tensor: Any, value_structure: Any):
        self._variant_tensor = variant_tensor
        self._value_structure = value_structure

    def has_value(self, name: str | None = None) -> Any:
        return tf.raw_ops.OptionalHasValue(optional=self._variant_tensor, name=name)

    def get_value(self, name: str | None = None) -> Any:
        components = tf.raw_ops.OptionalGetValue(
            optional=self._variant_tensor,
            name=name or "OptionalGetValue",
            **structure.attributes(self._value_structure),
        )
        return structure.from_tensors(self._value_structure, list(components))

    @property
    def value_structure(self) -> Any:
        return self._value_structure

    @property
    def _type_spec(self) -> OptionalStructure:
        return OptionalStructure(self._value_structure)

    def _nest_components(self) -> list[Any]:
        return [self._variant_tensor]

    def _nest_from_components(self, parts: list[Any]) -> OptionalImpl:
        return OptionalImpl(parts[0], self._value_structure)


@export("OptionalSpec", "data.experimental.OptionalStructure")
class OptionalStructure(TypeSpec):
    """What an optional is like."""

    def __init__(self, value_structure: Any):
        self._value_structure = value_structure

    @classmethod
    def from_value(cls, value: OptionalImpl) -> OptionalStructure:
        """The spec of an optional."""
        return cls(value.value_structure)

    @property
    def value_type(self) -> type:
        return OptionalImpl

    def _serialize(self) -> tuple:
        return (self._value_structure,)

    @property
    def _component_specs(self) -> list[Any]:
        return [tf.TensorSpec([], tf.variant)]

    def _from_components(self, components: list[Any]) -> OptionalImpl:
        return OptionalImpl(components[0], self._value_structure)

    def _to_components(self, value: OptionalImpl) -> list[Any]:
        return [value._variant_tensor]

    @property
    def _legacy_output_types(self) -> Any:
        return self

    @property
    def _legacy_output_shapes(self) -> Any:
        return self


@export("data.experimental.get_next_as_optional")
def get_next_as_optional(iterator: Any) -> Optional:
    """The next element of an iterator, or nothing after the last."""
    return iterator.get_next_as_optional()


def following(iterator_resource: Any, element_spec: Any) -> Optional:
    """The next element of the iterator behind a handle."""
    variant = tf.raw_ops.IteratorGetNextAsOptional(
        iterator=iterator_resource, **structure.attributes(element_spec)
    )
    return OptionalImpl(variant, element_spec)
