"""Fetches: the structure that a program asks for, the tensors and operations in it, and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from weft.framework.operation import Operation
from weft.framework.tensor import Tensor

# (type, fetch function: value -> (elements, rebuild), feed function, feed function for partial runs)
_registered: list[tuple[type, Callable, Callable | None, Callable | None]] = []


def register_session_run_conversion_functions(
    tensor_type: type,
    fetch_function: Callable,
    feed_function: Callable | None = None,
    feed_function_for_partial_run: Callable | None = None,
) -> None:
    """Registers how values of a type are fetched and fed in `Session.run`."""
    for kind, *_ in _registered:
        if issubclass(tensor_type, kind):
            raise ValueError(f"{tensor_type} has already been registered so ignore it.")
    _registered.insert(
        0, (tensor_type, fetch_function, feed_function, feed_function_for_partial_run)
    )


def feed_function_for(value: Any) -> Callable | None:
    for kind, _, feed, _ in _registered:
        if isinstance(value, kind) and feed is not None:
            return feed
    return None


def partial_feed_function_for(value: Any) -> Callable | None:
    for kind, _, _, feed in _registered:
        if isinstance(value, kind) and feed is not None:
            return feed
    return None


class Fetches:
    """The tensors and operations of a fetch structure, each once, and the way back to the structure.

    Two are equal if they ask for the same: then one plan does for both.
    """

    def __init__(self, graph: Any, structure: Any):
        self._graph = graph
        self._index: dict[Tensor, int] = {}
        self._ops: dict[Operation, None] = {}
        self._rebuild = self._walk(structure)
        self.tensors = list(self._index)
        self.ops = list(self._ops)
        self._key = (tuple(self._index), tuple(self._ops))
        self._hash = hash(self._key)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Fetches) and self._key == other._key)

    def result(self, values: list[Any]) -> Any:
        """The structure with values in place of tensors, and None in place of operations."""
        return self._rebuild(values)

    def _walk(self, item: Any) -> Callable[[list[Any]], Any]:
        if item is None:
            raise TypeError("Fetch argument None has invalid type <class 'NoneType'>")
        if isinstance(item, (Tensor, Operation, str)):
            return self._element(item)
        if isinstance(item, (list, tuple)) and not _is_composite(item):
            parts = [self._walk(i) for i in item]
            if hasattr(item, "_fields"):
                return lambda v: type(item)(*[p(v) for p in parts])
            if type(item) is tuple:
                return lambda v: tuple([p(v) for p in parts])
            if type(item) is list:
                return lambda v: [p(v) for p in parts]
            return lambda v: type(item)([p(v) for p in parts])
        if isinstance(item, Mapping):
            keys, parts = list(item), [self._walk(i) for i in item.values()]

            def as_mapping(v: list[Any]) -> Any:
                pairs = [(k, p(v)) for k, p in zip(keys, parts)]
                try:
                    return type(item)(pairs)  # type: ignore[call-arg]
                except TypeError:
                    return dict(pairs)

            return as_mapping
        if getattr(type(item), "__attrs_attrs__", None) is not None:
            names = [a.name for a in type(item).__attrs_attrs__]
            parts = [self._walk(getattr(item, n)) for n in names]
            return lambda v: type(item)(*[p(v) for p in parts])
        for kind, fetch, *_ in _registered:
            if isinstance(item, kind):
                elements, contract = fetch(item)
                parts = [self._walk(e) for e in elements]
                return lambda v: contract([p(v) for p in parts])
        return self._element(item)

    def _element(self, item: Any) -> Callable[[list[Any]], Any]:
        graph = self._graph
        try:
            element = graph.as_graph_element(item, allow_tensor=True, allow_operation=True)
        except TypeError as e:
            raise TypeError(
                f"Fetch argument {item!r} has invalid type {type(item)}, must be a string or Tensor. ({e})"
            ) from None
        except ValueError as e:
            raise ValueError(
                f"Fetch argument {item!r} cannot be interpreted as a Tensor. ({e})"
            ) from None
        except KeyError as e:
            raise ValueError(
                f"Fetch argument {item!r} cannot be interpreted as a Tensor. ({e})"
            ) from None
        if not graph.is_fetchable(element):
            raise ValueError(f"{element} is marked as not fetchable.")
        if isinstance(element, Operation):
            self._ops.setdefault(element)
            return lambda v: None
        i = self._index.setdefault(element, len(self._index))
        return lambda v: v[i]


def _is_composite(item: Any) -> bool:
    return any(isinstance(item, kind) for kind, *_ in _registered)
