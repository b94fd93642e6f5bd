"""Rewiring: a copy of a graph in which some tensors take the place of others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from weft.framework import errors, graph_def
from weft.framework.graph import Graph
from weft.framework.importer import extend_graph


def rewired(graph: Graph, connections: Iterable[Any]) -> Graph:
    """A graph in which whoever takes the tensor `to_tensor` of a TensorConnection takes its `from_tensor`."""
    instead: dict[str, str] = {}
    for connection in connections:
        ends = []
        for name in (connection.from_tensor, connection.to_tensor):
            try:
                tensor = graph.get_tensor_by_name(name)
            except (KeyError, ValueError):
                raise errors.InvalidArgumentError(
                    None,
                    None,
                    f"TensorConnection specifies unknown edge: {name} is not in the graph.",
                ) from None
            ends.append(tensor)
        source, to = ends
        if source.dtype.base_dtype is not to.dtype.base_dtype:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"{source.name} ({source.dtype.name}) cannot take the place of {to.name} ({to.dtype.name}).",
            )
        if instead.setdefault(to._as_node_def_input(), source._as_node_def_input()) != (
            source._as_node_def_input()
        ):
            raise errors.InvalidArgumentError(None, None, f"{to.name} is connected twice.")
    message = graph_def.to_graph_def(graph)
    for node in message.node:
        for i, text in enumerate(node.input):
            if text in instead:
                node.input[i] = instead[text]
    out = Graph()
    try:
        extend_graph(out, message)
    except ValueError as e:
        raise errors.InvalidArgumentError(None, None, f"TensorConnection: {e}") from None
    return out
