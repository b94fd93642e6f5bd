"""Tracing: what a Python function adds to a graph becomes the body of a graph function."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from typing import Any

from weft.framework import context, registry
from weft.framework.func_graph import FuncGraph, FunctionView
from weft.framework.graph import Graph
from weft.framework.operation import Operation
from weft.framework.tensor import Tensor

control_flow_v2 = False  # set by enable_control_flow_v2


def outermost(graph: Graph) -> Graph:
    """The graph around all functions that `graph` is within."""
    while graph.outer_graph is not None:
        graph = graph.outer_graph
    return graph


def in_function(graph: Graph) -> bool:
    """Whether a graph is traced under the rules of functions: everything with effects runs, in order."""
    return graph.building_function and graph.runs_everything  # type: ignore[attr-defined]


def unique_name(graph: Graph, name: str) -> str:
    """A name that no function of the library has."""
    numbers = outermost(graph)._extras.setdefault("functions", itertools.count())
    return f"{name.strip('/').replace('/', '_')}_{next(numbers)}"


@contextlib.contextmanager
def body(
    name: str, *, scope: str = "", outer: Graph | None = None, graph: FuncGraph | None = None
) -> Iterator[FuncGraph]:
    """Makes a new function body the default graph: what is added inside becomes the function.

    `scope` is the name scope that its operations start in, so that their names tell where they belong.
    """
    around: Any = context.get_default_graph() if outer is None else outer
    if graph is None:
        graph = FuncGraph(unique_name(around, name), around)
    # A branch of a TensorFlow 1 graph is a part of that graph: it runs what is needed of it.
    graph.runs_everything = control_flow_v2 or in_function(around)
    graph._name_stack = scope.rstrip("/")
    with graph.as_default():
        yield graph
    around._next_id = max(around._next_id, graph._next_id)


def returned(graph: FuncGraph, tensors: list[Tensor]) -> list[Tensor]:
    """Tensors as results of a function: a reference is read as it returns."""
    out = []
    for t in tensors:
        t = graph.capture(t)
        if t.dtype._is_ref_dtype:
            with graph.as_default():
                t = registry.get("Identity")(t)
        out.append(t)
    return out


def ordered(graph: FuncGraph) -> list[Operation]:
    """The operations of a body, for analysis."""
    return list(graph._ops.values())


def is_stateful(function: FuncGraph | FunctionView) -> bool:
    """Whether calling a function has or reads state, so that it must not be shared, folded or left out."""
    return any(
        op._decl.stateful or any(t._dtype._is_ref_dtype for t in op._inputs)
        for op in function.get_operations()
    )


def add_view(function: FuncGraph | FunctionView, view: FunctionView) -> FunctionView:
    """Puts another form of a function into the library it is in."""
    graph = view.graph
    graph._add_function(view)
    return view


def find(graph: Graph, name: str) -> Any:
    """A function of a graph's library."""
    function = graph._get_function(name)
    if function is None:
        raise ValueError(f"The graph has no function named '{name}'.")
    return function
