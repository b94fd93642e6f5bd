"""Input for replicas: batches that are shared out among them, or elements that they take in turns.

A batch of a shared dataset is that of all replicas together, of all processes: each replica takes its rows. Every
process reads the whole dataset and takes the rows of its own replicas, so that all of them go through it in step,
however long it is; where batches run out, a replica may get one with no rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import weft as tf
from weft.distribute.values import regrouped
from weft.framework import context, nest
from weft.framework.constant_value import constant_value
from weft.framework.sparse_tensor import SparseTensor


class _Distributed:
    """A dataset whose elements are for replicas."""

    def __init__(self, strategy: Any, dataset: Any):
        if not isinstance(dataset, tf.data.Dataset.__mro__[1]):
            raise TypeError(
                f"`experimental_distribute_dataset` and its like take a tf.data.Dataset, not {dataset!r}"
            )
        self._strategy, self._dataset = strategy, dataset

    @property
    def _devices(self) -> tuple[str, ...]:
        return self._strategy.extended.worker_devices

    def _parts(self, pull: Callable[[], Any]) -> list[Any]:
        """What the replicas of this process get; `pull()` gives the next element of the dataset."""
        raise NotImplementedError

    def _for_replicas(self, pull: Callable[[], Any]) -> Any:
        return regrouped(self._devices, self._parts(pull))

    def __iter__(self) -> Iterator[Any]:
        if not (context.executing_eagerly() or tf.executing_eagerly()):
            raise RuntimeError(
                "__iter__() is only supported inside of tf.function or when eager execution is enabled."
            )
        return _EagerIterator(self)

    def make_initializable_iterator(self, shared_name: str | None = None) -> Any:
        """An iterator whose `initializer` must be run before it is used."""
        return GraphIterator(self, shared_name)

    _make_initializable_iterator = make_initializable_iterator

    def make_one_shot_iterator(self) -> Any:
        """An iterator that needs no initialisation, where the dataset allows it."""
        return GraphIterator(self, one_shot=True)

    _make_one_shot_iterator = make_one_shot_iterator

    @property
    def element_spec(self) -> Any:
        """What an element is like before it is shared out."""
        return self._dataset.element_spec


class SharedOut(_Distributed):
    """Batches for all replicas together."""

    def _parts(self, pull: Callable[[], Any]) -> list[Any]:
        element = pull()
        index, _ = self._strategy.extended._input_pipeline()
        count = self._strategy.num_replicas_in_sync
        here = len(self._devices)
        flat = nest.flatten(element)
        if not flat:
            return [element] * here
        rows = _rows(flat[0])
        whole = flat[0].shape[0].value if not isinstance(flat[0], SparseTensor) else None
        if whole is not None and whole % count == 0:
            size: Any = whole // count
            known = size
        else:
            batch = _batch_size(self._dataset)
            known = None
            size = -(-batch // count) if batch is not None else -(-rows // count)
        first = index * here
        return [
            nest.pack_sequence_as(
                element,
                [_cut(t, (first + i) * size, (first + i + 1) * size, rows, known) for t in flat],
            )
            for i in range(here)
        ]


class InTurns(_Distributed):
    """Elements for one replica each, which the replicas of this process take in turns."""

    def _parts(self, pull: Callable[[], Any]) -> list[Any]:
        # What is left over where elements run out makes no step: the end is met on the way.
        parts: list[Any] = []
        for _ in self._devices:
            before = [] if context.executing_eagerly() else nest.flatten(parts[-1:])
            with tf.control_dependencies(before):
                parts.append(pull())
        return parts


def _rows(tensor: Any) -> Any:
    if isinstance(tensor, SparseTensor):
        return tf.cast(tensor.dense_shape[0], tf.int32)
    return tf.shape(tensor)[0]


def _cut(tensor: Any, start: Any, end: Any, rows: Any, known: int | None) -> Any:
    """The rows of a batch from `start` to `end`, as far as there are such."""
    if isinstance(tensor, SparseTensor):
        start, end = tf.minimum(start, rows), tf.minimum(end, rows)
        shape = tensor.dense_shape
        begin = tf.concat([[tf.cast(start, tf.int64)], tf.zeros_like(shape[1:])], 0)
        size = tf.concat([[tf.cast(end - start, tf.int64)], shape[1:]], 0)
        return tf.sparse.slice(tensor, begin, size)
    part = tensor[start:end]
    part.set_shape([known, *([None] * 0 if tensor.shape.ndims is None else tensor.shape[1:])])
    return part


_KEEP_BATCHES = ("Prefetch", "Repeat", "Take", "Skip", "Options", "Model", "Cache", "Shuffle")


def _batch_size(dataset: Any) -> int | None:
    """The size of a dataset's batches as its program says, though the last one may be smaller."""
    tensor = dataset._variant_tensor
    while tensor is not None and getattr(tensor, "op", None) is not None:
        op = tensor.op
        if op.type.startswith(
            ("BatchDataset", "PaddedBatchDataset", "MapAndBatchDataset", "ExperimentalMapAndBatch")
        ):
            at = 1 if op.type.startswith(("Batch", "PaddedBatch")) else len(op.inputs) - 3
            size = constant_value(op.inputs[at])
            return int(size) if size is not None and size.ndim == 0 and size > 0 else None
        if not op.type.startswith(_KEEP_BATCHES):
            return None
        tensor = op.inputs[0]
    return None


class GraphIterator:
    """An iterator over a distributed dataset, in a graph."""

    def __init__(
        self, distributed: _Distributed, shared_name: str | None = None, one_shot: bool = False
    ):
        self._distributed = distributed
        dataset = distributed._dataset
        with tf.device(distributed._strategy.extended._host_device()):
            if one_shot:
                self._iterator = tf.data.make_one_shot_iterator(dataset)
            else:
                self._iterator = tf.data.make_initializable_iterator(dataset, shared_name)
        self._one_shot = one_shot

    @property
    def initializer(self) -> Any:
        """The operation that starts the iterator from the beginning."""
        if self._one_shot:
            raise ValueError("A one-shot iterator needs no initialisation.")
        return self._iterator.initializer

    def initialize(self) -> Any:
        """The operation that starts the iterator from the beginning."""
        return self.initializer

    def get_next(self, name: str | None = None) -> Any:
        """The next element, for each replica its part."""
        with tf.device(self._distributed._strategy.extended._host_device()):
            return self._distributed._for_replicas(lambda: self._iterator.get_next(name))

    @property
    def output_types(self) -> Any:
        """The dtypes of an element."""
        return self._iterator.output_types

    @property
    def output_shapes(self) -> Any:
        """The shapes of an element before it is shared out."""
        return self._iterator.output_shapes

    @property
    def output_classes(self) -> Any:
        """The classes of an element."""
        return self._iterator.output_classes

    @property
    def element_spec(self) -> Any:
        """What an element is like before it is shared out."""
        return self._iterator.element_spec


class _EagerIterator:
    """An iterator over a distributed dataset, under eager execution."""

    def __init__(self, distributed: _Distributed):
        self._distributed = distributed
        self.initialize()

    def initialize(self) -> tuple:
        """Starts from the beginning."""
        self._iterator = iter(self._distributed._dataset)
        return ()

    @property
    def initializer(self) -> tuple:
        """Nothing that would have to be run."""
        return ()

    def __iter__(self) -> _EagerIterator:
        return self

    def __next__(self) -> Any:
        return self._distributed._for_replicas(lambda: next(self._iterator))

    next = __next__

    def get_next(self, name: str | None = None) -> Any:
        """The next element, for each replica its part; OutOfRangeError at the end."""
        return self._distributed._for_replicas(lambda: self._iterator.get_next(name))


def _iterator_of(distributed: _Distributed) -> Any:
    return (
        _EagerIterator(distributed) if context.executing_eagerly() else GraphIterator(distributed)
    )


class _InputIterator:
    """What `make_dataset_iterator` and its like give."""

    def __init__(self, distributed: _Distributed):
        self._made = _iterator_of(distributed)

    def get_next(self, name: str | None = None) -> Any:
        """The next input of all replicas."""
        return self._made.get_next(name)

    def initialize(self) -> Any:
        """The operation that starts the iterator from the beginning; eagerly, starts it."""
        return self._made.initialize()

    @property
    def initializer(self) -> Any:
        """The operation that starts the iterator from the beginning."""
        return self._made.initializer


class DatasetIterator(_InputIterator):
    """An iterator of a dataset's batches for all replicas; `in_turns`, of batches for one replica each."""

    def __init__(self, strategy: Any, dataset: Any, in_turns: bool = False):
        super().__init__((InTurns if in_turns else SharedOut)(strategy, dataset))


def input_function_iterator(strategy: Any, input_fn: Callable) -> Any:
    """An iterator of what an input function gives: a dataset, or a function that gives the next element."""
    extended = strategy.extended
    with tf.device(extended._host_device()):
        result = input_fn(extended._input_context())
    if callable(result) and not hasattr(result, "element_spec"):
        return _FunctionIterator(strategy, result)
    return _InputIterator(InTurns(strategy, result))


class _FunctionIterator:
    """Elements that a function gives, one for each replica."""

    def __init__(self, strategy: Any, function: Callable):
        self._strategy, self._function = strategy, function

    def get_next(self, name: str | None = None) -> Any:
        """The next input of all replicas."""
        devices = self._strategy.extended.worker_devices
        with tf.device(self._strategy.extended._host_device()):
            return regrouped(devices, [self._function() for _ in devices])

    def initialize(self) -> Any:
        """Nothing: the function keeps its own state."""
        return () if context.executing_eagerly() else tf.no_op()

    initializer = property(initialize)


class PlainIterator:
    """The iterator of a program without a strategy."""

    def __init__(self, dataset: Any):
        self._dataset = dataset
        self.initialize() if context.executing_eagerly() else self._make()

    def _make(self) -> None:
        self._iterator = tf.data.make_initializable_iterator(self._dataset)

    def initialize(self) -> Any:
        """The operation that starts the iterator from the beginning; eagerly, starts it."""
        if context.executing_eagerly():
            self._iterator = iter(self._dataset)
            return ()
        return self._iterator.initializer

    initializer = property(initialize)

    def get_next(self, name: str | None = None) -> Any:
        """The next element."""
        return self._iterator.get_next(name)
