"""Patterns of operations that feed each other, and where a graph has them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

Found = dict["Pattern", Any]  # the tensor that each pattern stands for


class Pattern:
    """An operation of one of some types ("Add|AddV2", "*" for any), whose inputs match other patterns.

    Without patterns for inputs these may be anything.
    """

    def __init__(self, types: str, *inputs: Any, ordered: bool = True):
        self._types = None if types == "*" else set(types.split("|"))
        orders = [inputs] if ordered else list(itertools.permutations(inputs))
        self._orders = [order for order in orders if order]

    def match(self, tensor: Any) -> Found | None:
        op = tensor.op
        if self._types is not None and op.type not in self._types:
            return None
        if not self._orders:
            return {self: tensor}
        for order in self._orders:
            if len(order) != len(op.inputs):
                return None
            found: Found = {self: tensor}
            for pattern, source in zip(order, op.inputs):
                part = pattern.match(source)
                if part is None:
                    break
                found.update(part)
            else:
                return found
        return None


class Either:
    """One of several patterns, the first that matches."""

    def __init__(self, *patterns: Any):
        self._patterns = patterns

    def match(self, tensor: Any) -> Found | None:
        for pattern in self._patterns:
            if (found := pattern.match(tensor)) is not None:
                return found
        return None


ANY = Pattern("*")


def matches(graph: Any, pattern: Any) -> Iterator[Found]:
    """Where a pattern ends, in the order of the graph's operations."""
    for op in graph.get_operations():
        if op.outputs and (found := pattern.match(op.outputs[0])) is not None:
            yield found


def reroute(new: Any, old: Any, consumers: Any = None) -> int:
    """Gives operations one tensor in place of another; how many inputs were changed."""
    count = 0
    for op in dict.fromkeys(old.consumers()):
        if consumers is None or op in consumers:
            for i, tensor in enumerate(op.inputs):
                if tensor is old:
                    op._update_input(i, new)
                    count += 1
    return count
