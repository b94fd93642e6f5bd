"""Where an iterator is, as a message: what its walk's place holds, and the places of the walks in it, and so on.

Numbers and text stand in a tree of JSON, arrays beside it as tensors. There is nothing for single kinds of datasets
here, and nothing that runs code that a checkpoint brings with it.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import numpy as np

from weft import proto
from weft.framework import errors
from weft.framework.tensor_proto import make_ndarray, make_tensor_proto
from weft.ops.datasets.batching import of_rows
from weft.ops.datasets.dataset import Dataset, End, Place, Run, Walk, invalid
from weft.ops.flow.optional import Optional
from weft.ops.ragged.variant import EncodedRagged

TYPE_NAME = "weft.Iterator"
# Variants that are part of elements: their class, what they consist of, and how they are made of that.
_VARIANTS: dict[str, tuple[type, Callable[[Any], Any], Callable[[Any], Any]]] = {
    "ragged": (EncodedRagged, lambda v: [v.splits, v.values], lambda parts: EncodedRagged(*parts)),
    "optional": (Optional, lambda v: v.components, Optional),
}
_AS_ARRAY = 16  # numbers of a list: so many or more become a tensor


@runtime_checkable
class Kept(Protocol):
    """What a place may hold beside plain values: it says itself what is to be saved, and takes that back.

    It may hold others still while it calls `freeze`, as the buffer of a thread does.
    """

    def saved(self, freeze: Callable[[Any], Any]) -> Any:
        """What `freeze` makes of all that changes in it."""

    def restore(self, saved: Any) -> None:
        """Takes what was given to `freeze`."""


def check_savable(dataset: Dataset, run: Run) -> None:
    """FailedPreconditionError where functions have state that no iterator can save, as TensorFlow has it."""
    for part in dataset.all_inputs():
        for name in part.functions:
            found = run.stateful_op(name)
            if found:
                raise errors.FailedPreconditionError(
                    None,
                    None,
                    f"{found} is stateful. The iterator cannot be saved, as a function of {part!r} in its dataset has "
                    "state outside of it.",
                )
        if part.shares:
            raise errors.FailedPreconditionError(
                None, None, f"{part!r} depends on a resource: {part.shares}"
            )


def state_of(walk: Walk) -> Any:
    """Where a walk is, as a `VariantTensorDataProto`."""
    message = proto.VariantTensorDataProto(type_name=TYPE_NAME)
    tree = _Freezer(message)(walk)
    message.metadata = json.dumps(tree, separators=(",", ":")).encode()
    return message


def restore(walk: Walk, message: Any) -> None:
    """Has a walk go on from where another was, that is over a dataset made in the same way."""
    if not isinstance(message, proto.VariantTensorDataProto):
        raise invalid(f"Expected the state of an iterator, got {type(message).__name__}.")
    if message.type_name != TYPE_NAME:
        raise invalid(
            f"The state of an iterator is to be a variant of type {TYPE_NAME}, but this one is {message.type_name!r}. "
            "Where an iterator of TensorFlow was, only TensorFlow can tell."
        )
    try:
        tree = json.loads(message.metadata)
        _Thawer(message).walk(tree["walk"], walk)
    except (KeyError, IndexError, ValueError, TypeError, AttributeError, RecursionError) as e:
        raise errors.DataLossError(
            None, None, f"The state of the iterator cannot be read: {type(e).__name__}: {e}"
        ) from None


def _rows_alike(values: Any) -> bool:
    """Whether a list holds several elements whose components are arrays of numbers of the same types and shapes."""
    if len(values) < 2 or not all(isinstance(row, list) and row for row in values):
        return False
    first = values[0]
    if not all(isinstance(x, np.ndarray) and x.dtype != object for x in first):
        return False
    like = [(x.dtype, x.shape) for x in first]
    return all(
        len(row) == len(first)
        and all(isinstance(x, np.ndarray) and (x.dtype, x.shape) == k for x, k in zip(row, like))
        for row in values
    )


class _Freezer:
    """Makes trees of values; arrays become tensors of the message."""

    def __init__(self, message: Any):
        self._message = message

    def _tensor(self, array: Any) -> int:
        self._message.tensors.append(make_tensor_proto(array))
        return len(self._message.tensors) - 1

    def __call__(self, value: Any) -> Any:
        if value is None or type(value) in (bool, int, float, str):
            return value
        if type(value) is list:
            return self._list(value)
        if isinstance(value, np.ndarray):
            if value.dtype != object:
                return {"array": self._tensor(value)}
            flat = value.reshape(-1).tolist()
            if all(isinstance(x, (bytes, str)) for x in flat):
                return {"array": self._tensor(value)}
            return {"variants": [list(value.shape), [self(x) for x in flat]]}
        if isinstance(value, np.generic):
            return {"number": self._tensor(np.asarray(value))}
        if isinstance(value, bytes):
            text = np.empty((), object)
            text[()] = value
            return {"bytes": self._tensor(text)}
        if isinstance(value, (tuple, deque, set)):
            return {type(value).__name__: self._list(list(value))}
        if isinstance(value, dict):
            return {"dict": [self._list(list(value)), self._list(list(value.values()))]}
        if isinstance(value, Walk):
            place = {name: self(x) for name, x in vars(value.place).items()}
            return {"walk": [value.kind, self(value.recipe), place]}
        if isinstance(value, End):
            return {"end": 0}
        if isinstance(value, errors.OpError):
            return {"error": [value.error_code, value.message]}
        if isinstance(value, Dataset) and value.elements is not None:
            return {"rows": self._list(value.elements)}
        for tag, (kind, parts, _) in _VARIANTS.items():
            if isinstance(value, kind):
                return {tag: self(parts(value))}
        if isinstance(value, Kept):
            return {"kept": value.saved(self)}
        raise errors.UnimplementedError(
            None, None, f"{value!r} does not support serialization: the iterator cannot be saved."
        )

    def _list(self, values: list[Any]) -> Any:
        if len(values) >= _AS_ARRAY and all(
            type(x) is int and -(2**63) <= x < 2**63 for x in values
        ):
            return {"numbers": self._tensor(np.array(values, np.int64))}
        if _rows_alike(values):
            return {"elements": [self._tensor(np.stack(parts)) for parts in zip(*values)]}
        return [self(x) for x in values]


_COLLECTIONS: dict[str, Callable[[list[Any]], Any]] = {"tuple": tuple, "deque": deque, "set": set}


class _Thawer:
    """Makes values of trees again."""

    def __init__(self, message: Any):
        self._message = message

    def _array(self, number: int) -> np.ndarray:
        if not 0 <= number < len(self._message.tensors):
            raise ValueError(f"there is no tensor {number}")
        return make_ndarray(self._message.tensors[number])

    def walk(self, saved: Any, walk: Walk) -> None:
        """Puts a walk where another was."""
        kind, _, attributes = saved
        place = walk.place
        if kind != walk.kind or attributes.keys() != vars(place).keys():
            raise invalid(
                f"The state of the iterator is that of another dataset: {kind or 'rows'} where this one has "
                f"{walk.kind or 'rows'} ({', '.join(attributes)}; here {', '.join(vars(place))})."
            )
        for name, tree in attributes.items():
            setattr(place, name, self.value(tree, place, vars(place)[name]))

    def value(self, tree: Any, place: Place, now: Any = None) -> Any:
        """A value; walks in it are begun by `place`, and what keeps itself is `now` in place of it."""
        if isinstance(tree, list):
            known = now if isinstance(now, list) and len(now) == len(tree) else [None] * len(tree)
            return [self.value(x, place, n) for x, n in zip(tree, known)]
        if not isinstance(tree, dict):
            return tree
        ((tag, rest),) = tree.items()
        if tag == "array":
            return self._array(rest)
        if tag == "number":
            return self._array(rest)[()]
        if tag == "bytes":
            return self._array(rest).item()
        if tag == "numbers":
            return self._array(rest).tolist()
        if tag == "elements":
            columns = [self._array(number) for number in rest]
            return [[c[i, ...] for c in columns] for i in range(len(columns[0]))] if columns else []
        if tag == "variants":
            shape, flat = rest
            array = np.empty(len(flat), object)
            for i, x in enumerate(flat):
                array[i] = self.value(x, place)
            return array.reshape(shape)
        if tag == "dict":
            keys, values = (self.value(x, place) for x in rest)
            return dict(zip(keys, values, strict=True))
        if tag == "walk":
            walk = place.begin(self.value(rest[1], place))
            self.walk(rest, walk)
            return walk
        if tag == "end":
            return End()
        if tag == "error":
            code, message = rest
            return errors.exception_type_from_error_code(code)(None, None, message)
        if tag == "rows":
            return of_rows(self.value(rest, place))
        if tag == "kept":
            if not isinstance(now, Kept):
                raise ValueError("the state does not fit")
            now.restore(self.value(rest, place))
            return now
        if tag in _VARIANTS:
            return _VARIANTS[tag][2](self.value(rest, place))
        return _COLLECTIONS[tag](self.value(rest, place))
