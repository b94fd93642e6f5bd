"""Iterators: walks over datasets that steps of a session share."""

from __future__ import annotations

import contextlib
import itertools
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np

from weft.framework import errors
from weft.framework.registry import op
from weft.framework.tensor_shape import TensorShape
from weft.ops.datasets import saving
from weft.ops.datasets.dataset import Dataset, Element, End, Run, as_dataset, current_step, invalid
from weft.ops.flow.optional import Optional
from weft.ops.queues.handles import held

_TYPES = "output_types: list(type) >= 1; output_shapes: list(shape) >= 1"
_names = itertools.count()


class _Going:
    """A walk over a dataset, on which steps take turns."""

    _LOOK = 0.05  # seconds until a step that waits for its turn looks whether it was stopped

    def __init__(self, dataset: Dataset, run: Run):
        self.dataset, self.run = dataset, run
        self.walk = run.begin(dataset)
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def turn(self, step: Any) -> Iterator[None]:
        """What is done meanwhile nobody else does; waits end with the step."""
        while not self._lock.acquire(timeout=self._LOOK):
            step.check()
            self.run.check()
        token = current_step.set(step)
        try:
            self.run.check()
            yield
        finally:
            current_step.reset(token)
            self._lock.release()


class DatasetIterator:
    """A place in a dataset. Steps take turns; each has the next element."""

    def __init__(self, types: list[Any], shapes: list[Any]):
        self.types, self.shapes = types, shapes
        self._going: _Going | None = None
        self._runs: weakref.WeakSet[Run] = weakref.WeakSet()
        self.string_handle = f"weft-iterator-{next(_names)}"

    def start(self, dataset: Dataset, run: Run) -> None:
        """Begins at the beginning of a dataset. A step that waits for an element of another one goes on waiting."""
        self._runs.add(run)
        self._going = _Going(dataset, run)

    @property
    def started(self) -> bool:
        return self._going is not None

    def next(self, step: Any) -> Element:
        """The next element; `End` after the last."""
        going = self._begun("GetNext", "getting the next element")
        with going.turn(step):
            element = going.walk()
        if len(element) != len(self.types):
            raise invalid(
                f"Number of components does not match: expected {len(self.types)} types but got {len(element)}."
            )
        for i, (value, dtype, shape) in enumerate(zip(element, self.types, self.shapes)):
            _check(i, value, dtype, shape)
        return element

    def _begun(self, what: str, doing: str) -> _Going:
        if self._going is None:
            raise errors.FailedPreconditionError(
                None,
                None,
                f"{what}() failed because the iterator has not been initialized. Ensure that you have run the "
                f"initializer operation for this iterator before {doing}.",
            )
        return self._going

    def save(self, step: Any) -> Any:
        """Where the iterator is, as a message."""
        going = self._begun("Save", "saving it")
        with going.turn(step):
            saving.check_savable(going.dataset, going.run)
            return saving.state_of(going.walk)

    def restore(self, state: Any) -> None:
        """Goes on from where an iterator was; what cannot be restored leaves this one where it is."""
        going = self._begun("Restore", "restoring it")
        restored = _Going(going.dataset, going.run)
        saving.restore(restored.walk, state)
        self._going = restored

    def cancel_all(self) -> None:
        """The session is closing."""
        for run in list(self._runs):
            run.cancel()


def _check(i: int, value: Any, dtype: Any, shape: Any) -> None:
    if not isinstance(value, np.ndarray):
        return
    if (
        dtype.np is not None
        and value.dtype != dtype.np
        and not (value.dtype == object and dtype.name == "string")
    ):
        raise invalid(
            f"Data type mismatch at component {i}: expected {dtype.name} but got {value.dtype.name}."
        )
    if shape is not None and (
        len(shape) != value.ndim or any(w not in (None, n) for w, n in zip(shape, value.shape))
    ):
        shown = [-1 if n is None else n for n in shape]
        raise invalid(
            f"Incompatible shapes at component {i}: expected {shown} but got {list(value.shape)}."
        )


def _of(handle: Any) -> DatasetIterator:
    return held(handle, DatasetIterator)


def _made(
    ctx: Any, shared_name: str, container: str, types: list[Any], shapes: list[Any]
) -> DatasetIterator:
    name = shared_name or ctx.op.name
    return ctx.resources.get_or_create(
        "iterator", container, name, lambda: DatasetIterator(types, shapes)
    )


def _iterator(ctx, *, shared_name, container, output_types, output_shapes):
    """A place in a dataset that is still to be given."""
    return _made(ctx, shared_name, container, output_types, output_shapes)


def _declare(name: str, args: str, attrs: str, kernel: Any, shapes: Any, **flags: Any) -> None:
    decl = op(name, args, attrs, host=True, **{"stateful": True, **flags})(kernel)
    decl.shape(shapes)
    decl.not_differentiable()


def _anonymous_iterator(ctx, *, output_types, output_shapes):
    """A place in a dataset that nobody else can find."""
    return DatasetIterator(output_types, output_shapes)


def _anonymous_iterator_v2(ctx, *, output_types, output_shapes):
    """A place in a dataset that nobody else can find, and what deletes it."""
    iterator = DatasetIterator(output_types, output_shapes)
    return iterator, iterator


def _one_shot(ctx, *, dataset_factory, output_types, output_shapes, container, shared_name):
    """A place in the dataset that a function makes, from its beginning to its end."""
    iterator = _made(ctx, shared_name, container, output_types, output_shapes)
    if not iterator.started:
        run = Run(ctx.functions, ctx.resources)
        iterator.start(as_dataset(run.function(dataset_factory.name)([])[0]), run)
    return iterator


def _make_iterator(ctx, dataset, iterator):
    """Begins at the beginning of a dataset."""
    _of(iterator).start(as_dataset(dataset), Run(ctx.functions, ctx.resources))


def _get_next(ctx, iterator):
    """The next element."""
    try:
        return _of(iterator).next(ctx.step)
    except End:
        raise errors.OutOfRangeError(None, None, "End of sequence") from None


def _get_next_as_optional(ctx, iterator):
    """The next element, or nothing after the last."""
    try:
        return Optional(_of(iterator).next(ctx.step))
    except End:
        return Optional(None)


def _serialize(ctx, resource_handle):
    """Where an iterator is."""
    return _of(resource_handle).save(ctx.step)


def _deserialize(ctx, resource_handle, serialized):
    """Has an iterator go on from where one was that was serialized."""
    state = serialized.item() if isinstance(serialized, np.ndarray) else serialized
    _of(resource_handle).restore(state)


def _to_string_handle(ctx, resource_handle):
    """The name by which the iterator is found, also when it is fed."""
    iterator = _of(resource_handle)
    ctx.resources.put("iterator by handle", "", iterator.string_handle, iterator)
    out = np.empty((), object)
    out[()] = iterator.string_handle.encode()
    return out


def _from_string_handle(ctx, string_handle, *, output_types, output_shapes):
    """The iterator of a name."""
    name = np.asarray(string_handle, object).item()
    name = name.decode() if isinstance(name, bytes) else name
    found = ctx.resources.find("iterator by handle", "", name)
    if found is None:
        raise invalid(f"Could not find an iterator of the handle {name!r} in this session.")
    if output_types and output_types != found.types:
        raise invalid(
            "Number of components or their types do not match: the iterator has "
            f"{[t.name for t in found.types]}, expected {[t.name for t in output_types]}."
        )
    for i, (wanted, shape) in enumerate(zip(output_shapes, found.shapes)):
        if not TensorShape(wanted).is_compatible_with(TensorShape(shape)):
            raise invalid(
                f"Incompatible shapes at component {i}: expected {TensorShape(wanted)} but got {TensorShape(shape)}."
            )
    return found


def _delete(ctx, handle, deleter):
    """Forgets an iterator."""
    _of(handle).cancel_all()


def _device(ctx, resource):
    """The device that the iterator is on."""
    out = np.empty((), object)
    out[()] = b"/job:localhost/replica:0/task:0/device:CPU:0"
    return out


def _elements(*inputs, output_shapes):
    return list(output_shapes)


def _nothing(*inputs):
    return []


def _scalar(*inputs):
    return ()


_NAMES = "container: string = ''; shared_name: string = ''"
for _name in ("Iterator", "IteratorV2"):
    _declare(
        _name,
        "-> handle: resource",
        f"shared_name: string; container: string; {_TYPES}",
        _iterator,
        _scalar,
        handle=True,
    )
_declare("AnonymousIterator", "-> handle: resource", _TYPES, _anonymous_iterator, _scalar)
_declare(
    "AnonymousIteratorV2",
    "-> handle: resource, deleter: variant",
    _TYPES,
    _anonymous_iterator_v2,
    lambda: [(), ()],
)
_declare(
    "OneShotIterator",
    "-> handle: resource",
    f"dataset_factory: func; {_TYPES}; {_NAMES}",
    _one_shot,
    _scalar,
)
_declare("MakeIterator", "dataset: variant, iterator: resource", "", _make_iterator, _nothing)
for _name in ("IteratorGetNext", "IteratorGetNextSync"):
    _declare(_name, "iterator: resource -> components: output_types", _TYPES, _get_next, _elements)
_declare(
    "IteratorGetNextAsOptional",
    "iterator: resource -> optional: variant",
    _TYPES,
    _get_next_as_optional,
    _scalar,
)
_declare(
    "IteratorToStringHandle",
    "resource_handle: resource -> string_handle: string",
    "",
    _to_string_handle,
    _scalar,
)
_declare(
    "SerializeIterator", "resource_handle: resource -> serialized: variant", "", _serialize, _scalar
)
_declare(
    "DeserializeIterator",
    "resource_handle: resource, serialized: variant",
    "",
    _deserialize,
    _nothing,
)
_HANDLE_TYPES = "output_types: list(type) >= 0 = []; output_shapes: list(shape) >= 0 = []"
for _name in ("IteratorFromStringHandle", "IteratorFromStringHandleV2"):
    _declare(
        _name,
        "string_handle: string -> resource_handle: resource",
        _HANDLE_TYPES,
        _from_string_handle,
        _scalar,
    )
_declare("DeleteIterator", "handle: resource, deleter: variant", "", _delete, _nothing)
for _name in ("IteratorGetDevice", "ExperimentalIteratorGetDevice"):
    _declare(_name, "resource: resource -> device: string", "", _device, _scalar)


# -- a whole dataset in one step --------------------------------------------------------------------------


def _single(ctx, dataset):
    """The only element of a dataset."""
    walk = as_dataset(dataset).walk(Run(ctx.functions, ctx.resources))
    try:
        element = walk()
    except End:
        raise invalid("Dataset was empty.") from None
    try:
        walk()
    except End:
        return element
    raise invalid("Dataset had more than one element.")


def _reduce(ctx, input_dataset, initial_state, other_arguments, *, f):
    """What a function makes of a state and every element, one after the other."""
    run = Run(ctx.functions, ctx.resources)
    walk, call = as_dataset(input_dataset).walk(run), run.function(f.name)
    state = list(initial_state)
    while True:
        ctx.step.check()
        try:
            element = walk()
        except End:
            return state
        state = call([*state, *element, *other_arguments])


_declare(
    "DatasetToSingleElement",
    "dataset: variant -> components: output_types",
    _TYPES,
    _single,
    _elements,
)
_declare(
    "ReduceDataset",
    "input_dataset: variant, initial_state: Tstate, other_arguments: Targuments -> components: output_types",
    "f: func; Tstate: list(type) >= 1; Targuments: list(type) >= 0; "
    f"{_TYPES}; use_inter_op_parallelism: bool = true",
    _reduce,
    lambda *inputs, output_shapes: list(output_shapes),
)
