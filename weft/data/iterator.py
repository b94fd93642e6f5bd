"""Iterators: where a program is in a dataset."""

from __future__ import annotations

import warnings
from typing import Any

import weft as tf
from weft.data import checkpointing, optional, structure
from weft.framework.export import export
from weft.framework.tensor import Tensor
from weft.framework.trackable import Trackable

GET_NEXT_CALL_WARNING_THRESHOLD = 32


def _handle_of(resource: Tensor, name: str | None = None) -> Tensor:
    return tf.raw_ops.IteratorToStringHandle(resource_handle=resource, name=name)


@export("data.Iterator", "compat.v1.data.Iterator")
class Iterator(Trackable):
    """A place in a dataset, in a graph: each run of what `get_next` gave has the next element."""

    def __init__(
        self,
        iterator_resource: Tensor,
        initializer: Any,
        output_types: Any,
        output_shapes: Any,
        output_classes: Any,
    ):
        self._iterator_resource = iterator_resource
        self._initializer = initializer
        self._element_spec = structure.spec_of_legacy(output_types, output_shapes, output_classes)
        self._string_handle = _handle_of(iterator_resource)
        self._get_next_call_count = 0
        tf.add_to_collection("iterators", self._iterator_resource)

    @classmethod
    def _of_spec(cls, resource: Tensor, initializer: Any, spec: Any) -> Iterator:
        made = cls.__new__(cls)
        made._iterator_resource, made._initializer, made._element_spec = resource, initializer, spec
        made._string_handle, made._get_next_call_count = _handle_of(resource), 0
        tf.add_to_collection("iterators", resource)
        return made

    @staticmethod
    def from_structure(
        output_types: Any,
        output_shapes: Any = None,
        shared_name: str | None = None,
        output_classes: Any = None,
    ) -> Iterator:
        """An iterator for datasets of like elements; `make_initializer` gives it one."""
        spec = structure.spec_of_legacy(output_types, output_shapes, output_classes)
        resource = tf.raw_ops.IteratorV2(
            container="", shared_name=shared_name or "", **structure.attributes(spec)
        )
        return Iterator._of_spec(resource, None, spec)

    @staticmethod
    def from_string_handle(
        string_handle: Any, output_types: Any, output_shapes: Any = None, output_classes: Any = None
    ) -> Iterator:
        """The iterator whose handle is fed, or is in a tensor."""
        spec = structure.spec_of_legacy(output_types, output_shapes, output_classes)
        handle = tf.convert_to_tensor(string_handle, dtype=tf.string)
        resource = tf.raw_ops.IteratorFromStringHandleV2(
            string_handle=handle, **structure.attributes(spec)
        )
        return Iterator._of_spec(resource, None, spec)

    @property
    def initializer(self) -> Any:
        """The operation that begins at the beginning."""
        if self._initializer is not None:
            return self._initializer
        raise ValueError("Iterator does not have an initializer.")

    def make_initializer(self, dataset: Any, name: str | None = None) -> Any:
        """The operation that begins at the beginning of a dataset, whose elements must be like the iterator's."""
        with tf.name_scope(name, "make_initializer") as scope:
            structure.assert_same(self._element_spec, dataset.element_spec)
            for mine, its in zip(
                structure.flatten(self._element_spec), structure.flatten(dataset.element_spec)
            ):
                if not mine.is_compatible_with(its):
                    raise TypeError(
                        f"Expected elements like {mine} for the iterator, but the dataset has {its}."
                    )
            return tf.raw_ops.MakeIterator(
                dataset=dataset._variant_tensor, iterator=self._iterator_resource, name=scope
            )

    def get_next(self, name: str | None = None) -> Any:
        """The next element; OutOfRangeError after the last."""
        self._get_next_call_count += 1
        if self._get_next_call_count > GET_NEXT_CALL_WARNING_THRESHOLD:
            warnings.warn(
                "An unusually high number of `Iterator.get_next()` calls was detected. This often indicates that "
                "`Iterator.get_next()` is being called inside a training loop, which will cause gradual slowdown and "
                "eventual resource exhaustion. If this is the case, restructure your code to call `next_element = "
                "iterator.get_next()` once outside the loop, and use `next_element` as the input to some computation "
                "that is invoked inside the loop.",
                stacklevel=2,
            )
        with tf.colocate_with(self._iterator_resource):
            components = tf.raw_ops.IteratorGetNext(
                iterator=self._iterator_resource,
                name=name or "IteratorGetNext",
                **structure.attributes(self._element_spec),
            )
        return structure.from_tensors(self._element_spec, list(components))

    def get_next_as_optional(self) -> Any:
        """The next element, or nothing after the last."""
        return optional.following(self._iterator_resource, self._element_spec)

    def string_handle(self, name: str | None = None) -> Tensor:
        """A name for the iterator, to be fed to one that was made `from_string_handle`."""
        return self._string_handle if name is None else _handle_of(self._iterator_resource, name)

    @property
    def output_types(self) -> Any:
        """The types of an element's parts."""
        return structure.legacy_types(self._element_spec)

    @property
    def output_shapes(self) -> Any:
        """The shapes of an element's parts."""
        return structure.legacy_shapes(self._element_spec)

    @property
    def output_classes(self) -> Any:
        """The classes of an element's parts."""
        return structure.legacy_classes(self._element_spec)

    @property
    def element_spec(self) -> Any:
        """What elements are like."""
        return self._element_spec

    def _gather_saveables_for_checkpoint(self) -> dict[str, Any]:
        return checkpointing.saveables(self._iterator_resource)


class EagerIterator(Trackable):
    """A place in a dataset under eager execution, or within a function: a Python iterator."""

    def __init__(self, dataset: Any):
        self._element_spec = dataset.element_spec
        attributes = structure.attributes(self._element_spec)
        self._iterator_resource = tf.raw_ops.AnonymousIterator(**attributes)
        self._dataset = dataset
        begin = tf.raw_ops.MakeIterator(
            dataset=dataset._variant_tensor, iterator=self._iterator_resource
        )
        if not tf.executing_eagerly():
            with tf.control_dependencies([begin]):
                self._iterator_resource = tf.identity(self._iterator_resource)

    def __iter__(self) -> EagerIterator:
        return self

    def __next__(self) -> Any:
        try:
            return self._next_internal()
        except tf.errors.OutOfRangeError:
            raise StopIteration from None

    next = __next__

    def _next_internal(self) -> Any:
        components = tf.raw_ops.IteratorGetNextSync(
            iterator=self._iterator_resource, **structure.attributes(self._element_spec)
        )
        return structure.from_tensors(self._element_spec, list(components))

    def get_next(self, name: str | None = None) -> Any:
        """The next element; OutOfRangeError after the last."""
        return self._next_internal()

    def get_next_as_optional(self) -> Any:
        """The next element, or nothing after the last."""
        return optional.following(self._iterator_resource, self._element_spec)

    @property
    def element_spec(self) -> Any:
        """What elements are like."""
        return self._element_spec

    def _gather_saveables_for_checkpoint(self) -> dict[str, Any]:
        return checkpointing.saveables(self._iterator_resource)

    @property
    def output_types(self) -> Any:
        """The types of an element's parts."""
        return structure.legacy_types(self._element_spec)

    @property
    def output_shapes(self) -> Any:
        """The shapes of an element's parts."""
        return structure.legacy_shapes(self._element_spec)

    @property
    def output_classes(self) -> Any:
        """The classes of an element's parts."""
        return structure.legacy_classes(self._element_spec)
