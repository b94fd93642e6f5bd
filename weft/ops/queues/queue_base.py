"""The public queue classes."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Sequence
from functools import reduce
from typing import Any

from weft.framework import context, dtypes, random_seed
from weft.framework.constant_value import constant_value
from weft.framework.conversion import convert_to_tensor
from weft.framework.dimension import Dimension, dimension_value
from weft.framework.export import export
from weft.framework.scopes import name_scope
from weft.framework.tensor_shape import TensorShape, as_shape, unknown_shape
from weft.ops.array.concat import stack
from weft.ops.array.gather import gather
from weft.ops.by_name import raw

_eager_numbers = itertools.count()


def type_list(types: Any) -> list[Any]:
    """One dtype or several as a list."""
    return list(types) if isinstance(types, (list, tuple)) else [types]


def shape_list(shapes: Any, partial: bool = False) -> list[TensorShape] | None:
    """Shapes of components as a list: full ones, or with `partial` of known rank."""
    if partial and (
        not isinstance(shapes, Sequence)
        or not shapes
        or any(s is None or isinstance(s, int) for s in shapes)
    ):
        raise ValueError("When providing partial shapes, a list of shapes must be provided.")
    if shapes is None:
        return None
    if isinstance(shapes, TensorShape):
        shapes = [shapes]
    if not isinstance(shapes, (list, tuple)):
        raise TypeError("shapes must be a TensorShape or a list or tuple of TensorShapes.")
    if all(s is None or isinstance(s, int) for s in shapes):
        shapes = [shapes]
    shapes = [as_shape(s) for s in shapes]
    if not partial and not all(s.is_fully_defined() for s in shapes):
        raise ValueError(f"All shapes must be fully defined: {shapes}")
    if any(s.dims is None for s in shapes):
        raise ValueError(f"All shapes must have a defined rank: {shapes}")
    return shapes


def name_list(names: Any, types: list[Any]) -> list[str] | None:
    """Names of components as a list."""
    if names is None:
        return None
    names = list(names) if isinstance(names, (list, tuple)) else [names]
    if len(names) != len(types):
        raise ValueError("List of names must have the same length as the list of dtypes")
    return names


def shared(shared_name: str | None) -> str:
    """The name under which a queue is shared: under eager execution each is its own."""
    if context.executing_eagerly():
        return f"queue_{next(_eager_numbers)}"
    return shared_name or ""


def _common_shape(a: TensorShape, b: TensorShape) -> TensorShape:
    """What two shapes have in common."""
    if a.ndims is None or b.ndims is None or a.ndims != b.ndims:
        return unknown_shape()
    return TensorShape([x if x == y else None for x, y in zip(a.as_list(), b.as_list())])


@export("queue.QueueBase", "io.QueueBase", "QueueBase")
class QueueBase:
    """A queue of the graph: elements of one or several tensors, kept between steps."""

    def __init__(self, dtypes: Any, shapes: Any, names: Any, queue_ref: Any):
        self._dtypes = dtypes
        if shapes is not None and len(shapes) != len(dtypes):
            raise ValueError("Queue shapes must have the same length as dtypes")
        if names is not None and len(names) != len(dtypes):
            raise ValueError("Queue names must have the same length as dtypes")
        self._shapes = (
            [unknown_shape() for _ in dtypes]
            if shapes is None
            else [TensorShape(s) for s in shapes]
        )
        self._names = names
        self._queue_ref = queue_ref
        if context.executing_eagerly():
            self._name = context.get_default_graph()._scopes.name.rstrip("/") or "Empty"
        else:
            self._name = queue_ref.op.name.split("/")[-1]

    @staticmethod
    def from_list(index: Any, queues: list[QueueBase]) -> QueueBase:
        """Creates a queue that is the one of `queues` that the tensor `index` picks in each step."""
        if (
            not queues
            or not isinstance(queues, list)
            or not all(isinstance(q, QueueBase) for q in queues)
        ):
            raise TypeError("A list of queues expected")
        first = queues[0]
        if not all(first.dtypes == q.dtypes for q in queues[1:]):
            raise TypeError("Queues do not have matching component dtypes.")
        if not all(first.names == q.names for q in queues[1:]):
            raise TypeError("Queues do not have matching component names.")
        shapes = [reduce(_common_shape, s) for s in zip(*[q.shapes for q in queues])]
        picked = gather(stack([q.queue_ref for q in queues]), index)
        return QueueBase(dtypes=first.dtypes, shapes=shapes, names=first.names, queue_ref=picked)

    @property
    def queue_ref(self) -> Any:
        """The handle of the queue."""
        return self._queue_ref

    @property
    def name(self) -> str:
        """The name of the queue's operation."""
        return self._name if context.executing_eagerly() else self._queue_ref.op.name

    @property
    def dtypes(self) -> list[Any]:
        """The dtypes of an element's components."""
        return self._dtypes

    @property
    def shapes(self) -> list[TensorShape]:
        """The shapes of an element's components."""
        return self._shapes

    @property
    def names(self) -> list[str] | None:
        """The names of an element's components."""
        return self._names

    @property
    def _is_resource(self) -> bool:
        return self._queue_ref.dtype == dtypes.resource

    def _call(self, kind: str, *args: Any, **named: Any) -> Any:
        decl = getattr(raw, f"{kind}V2" if self._is_resource else kind)
        return decl(self._queue_ref, *args, **named)

    def _components(self, vals: Any) -> list[Any]:
        """What is put in, as tensors in the order of the components."""
        if isinstance(vals, dict):
            if not self._names:
                raise ValueError("Queue must have names to enqueue a dictionary")
            if sorted(self._names, key=str) != sorted(vals, key=str):
                raise ValueError(
                    "Keys in dictionary to enqueue do not match names of Queue.  Dictionary: "
                    f"({sorted(vals)}), Queue: ({sorted(self._names)})"
                )
            vals = [vals[n] for n in self._names]
        elif self._names:
            raise ValueError("You must enqueue a dictionary in a Queue with names")
        elif not isinstance(vals, (list, tuple)):
            vals = [vals]
        return [
            convert_to_tensor(v, dtype=t, name=f"component_{i}")
            for i, (v, t) in enumerate(zip(vals, self._dtypes))
        ]

    def enqueue(self, vals: Any, name: str | None = None) -> Any:
        """Returns an operation that puts one element into the queue; it waits while the queue is full."""
        with name_scope(name, f"{self._name}_enqueue", _listed(vals)) as scope:
            components = self._components(vals)
            for component, shape in zip(components, self._shapes):
                component.get_shape().assert_is_compatible_with(shape)
            return self._call("QueueEnqueue", components, name=scope)

    def enqueue_many(self, vals: Any, name: str | None = None) -> Any:
        """Returns an operation that puts the rows of its arguments into the queue, as there is room."""
        with name_scope(name, f"{self._name}_EnqueueMany", _listed(vals)) as scope:
            components = self._components(vals)
            count = Dimension(None)
            for component, shape in zip(components, self._shapes):
                dims = component.get_shape().with_rank_at_least(1)
                count = count.merge_with(Dimension(dimension_value(dims[0])))
                component.get_shape()[1:].assert_is_compatible_with(shape)
            return self._call("QueueEnqueueMany", components, name=scope)

    def _taken(self, tensors: Any, count: Any = None) -> Any:
        """What is taken out in the form that the caller sees; `count` is known of batches."""
        if not context.executing_eagerly():
            for tensor, shape in zip(tensors, self._shapes):
                tensor.set_shape(
                    shape if count is None else TensorShape([count]).concatenate(shape)
                )
        if self._names:
            return dict(zip(self._names, tensors))
        return tensors[0] if len(tensors) == 1 else tensors

    def dequeue(self, name: str | None = None) -> Any:
        """Returns one element, which is taken out of the queue; the step waits for one."""
        name = name or f"{self._name}_Dequeue"
        return self._taken(self._call("QueueDequeue", component_types=self._dtypes, name=name))

    def dequeue_many(self, n: Any, name: str | None = None) -> Any:
        """Returns `n` elements, joined along a new first dimension; the step waits for them."""
        name = name or f"{self._name}_DequeueMany"
        taken = self._call("QueueDequeueMany", n, component_types=self._dtypes, name=name)
        if context.executing_eagerly():
            return self._taken(taken)
        return self._taken(taken, Dimension(constant_value(taken[0].op.inputs[1])))

    def dequeue_up_to(self, n: Any, name: str | None = None) -> Any:
        """Returns `n` elements, or fewer if the queue is closed and does not have them."""
        name = name or f"{self._name}_DequeueUpTo"
        taken = self._call("QueueDequeueUpTo", n, component_types=self._dtypes, name=name)
        return self._taken(taken, Dimension(None))

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Any:
        """Returns an operation that closes the queue: nothing more can be put in."""
        return self._call(
            "QueueClose",
            cancel_pending_enqueues=cancel_pending_enqueues,
            name=name or f"{self._name}_Close",
        )

    def is_closed(self, name: str | None = None) -> Any:
        """Returns whether the queue is closed."""
        return self._call("QueueIsClosed", name=name or f"{self._name}_Is_Closed")

    def size(self, name: str | None = None) -> Any:
        """Returns the number of elements in the queue."""
        return self._call("QueueSize", name=name or f"{self._name}_Size")


def _listed(vals: Any) -> list[Any]:
    if isinstance(vals, dict):
        return list(vals.values())
    return list(vals) if isinstance(vals, (list, tuple)) else [vals]


@export("queue.RandomShuffleQueue", "io.RandomShuffleQueue", "RandomShuffleQueue")
class RandomShuffleQueue(QueueBase):
    """A queue whose elements come out in random order."""

    def __init__(
        self,
        capacity: int,
        min_after_dequeue: int,
        dtypes: Any,
        shapes: Any = None,
        names: Any = None,
        seed: int | None = None,
        shared_name: str | None = None,
        name: str = "random_shuffle_queue",
    ):
        dtypes = type_list(dtypes)
        shapes = shape_list(shapes)
        names = name_list(names, dtypes)
        seed1, seed2 = random_seed.get_seed(seed)
        if seed1 is None and seed2 is None:
            seed1, seed2 = 0, 0
        elif seed is None and shared_name is not None:
            # All that share the queue must ask for the same, whichever operation of their graph it is.
            digest = hashlib.md5((str(seed1) + shared_name).encode()).hexdigest()
            seed2 = int(digest[:8], 16) & 0x7FFFFFFF
        queue_ref = raw.RandomShuffleQueueV2(
            component_types=dtypes,
            shapes=shapes or [],
            capacity=capacity,
            min_after_dequeue=min_after_dequeue,
            seed=seed1,
            seed2=seed2,
            shared_name=shared(shared_name),
            name=name,
        )
        super().__init__(dtypes, shapes, names, queue_ref)


@export("queue.FIFOQueue", "FIFOQueue")
class FIFOQueue(QueueBase):
    """A queue whose elements come out in the order in which they went in."""

    def __init__(
        self,
        capacity: int,
        dtypes: Any,
        shapes: Any = None,
        names: Any = None,
        shared_name: str | None = None,
        name: str = "fifo_queue",
    ):
        dtypes = type_list(dtypes)
        shapes = shape_list(shapes)
        names = name_list(names, dtypes)
        queue_ref = raw.FIFOQueueV2(
            component_types=dtypes,
            shapes=shapes or [],
            capacity=capacity,
            shared_name=shared(shared_name),
            name=name,
        )
        super().__init__(dtypes, shapes, names, queue_ref)


@export("queue.PaddingFIFOQueue", "io.PaddingFIFOQueue", "PaddingFIFOQueue")
class PaddingFIFOQueue(QueueBase):
    """A queue of elements that differ in size: where a dimension of `shapes` is None, elements that are taken
    out together are padded with zeros to the largest."""

    def __init__(
        self,
        capacity: int,
        dtypes: Any,
        shapes: Any,
        names: Any = None,
        shared_name: str | None = None,
        name: str = "padding_fifo_queue",
    ):
        dtypes = type_list(dtypes)
        shapes = shape_list(shapes, partial=True)
        names = name_list(names, dtypes)
        if len(dtypes) != len(shapes):
            raise ValueError(
                f"Shapes must be provided for all components, but received {len(dtypes)} dtypes and "
                f"{len(shapes)} shapes."
            )
        queue_ref = raw.PaddingFIFOQueueV2(
            component_types=dtypes,
            shapes=shapes,
            capacity=capacity,
            shared_name=shared(shared_name),
            name=name,
        )
        super().__init__(dtypes, shapes, names, queue_ref)


@export("queue.PriorityQueue", "io.PriorityQueue", "PriorityQueue")
class PriorityQueue(QueueBase):
    """A queue whose elements come out by priority, an int64 that goes before their own components; the
    smallest comes first."""

    def __init__(
        self,
        capacity: int,
        types: Any,
        shapes: Any = None,
        names: Any = None,
        shared_name: str | None = None,
        name: str = "priority_queue",
    ):
        types = type_list(types)
        shapes = shape_list(shapes)
        queue_ref = raw.PriorityQueueV2(
            component_types=types,
            shapes=shapes or [],
            capacity=capacity,
            shared_name=shared(shared_name),
            name=name,
        )
        with_priority = [TensorShape([]), *shapes] if shapes else shapes
        super().__init__([dtypes.int64, *types], with_priority, names, queue_ref)
