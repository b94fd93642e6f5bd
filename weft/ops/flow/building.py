"""Adds If, Case and While operations whose functions are function bodies at hand."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from weft.framework import context, function_tracing, registry
from weft.framework.attributes import Func
from weft.framework.dtypes import DType
from weft.framework.func_graph import FuncGraph
from weft.framework.handle_data import handle_data
from weft.framework.operation import Operation
from weft.framework.recording import record, recording
from weft.framework.shape_rules import Shape, relax
from weft.framework.tensor import Tensor


def inner_scope(graph: Any, scope: str) -> str:
    """The scope that a body's operations start in: TensorFlow 1 names them after the cond or loop."""
    return "" if function_tracing.control_flow_v2 or function_tracing.in_function(graph) else scope


@contextlib.contextmanager
def function_body(scope: str, name: str, graph: FuncGraph | None = None) -> Iterator[FuncGraph]:
    """Traces the function `name` of the cond or loop in `scope`."""
    outer = context.get_default_graph()
    with function_tracing.body(
        scope.rstrip("/") + "_" + name, scope=inner_scope(outer, scope), graph=graph
    ) as body:
        yield body


def match_captures(graphs: list[FuncGraph], arguments: list[list[Tensor]]) -> list[Any]:
    """Makes functions take the same captured tensors after their arguments, and returns these."""
    outside: list[Any] = []
    for graph in graphs:
        have: dict[int, int] = {}
        for t in outside:
            have[id(t)] = have.get(id(t), 0) + 1
        for outer in graph.external_captures:
            if have.get(id(outer), 0):
                have[id(outer)] -= 1
            else:
                outside.append(outer)
    for graph, args in zip(graphs, arguments):
        graph.set_arguments(args, outside)
    return outside


def add_if(
    pred: Tensor, branches: list[FuncGraph], name: str, inputs: list[Any] | None = None
) -> Operation:
    """An If (of the branches for true and false), or a Case of more; the branches return like tensors."""
    graph = context.get_default_graph()
    if inputs is None:
        inputs = match_captures(branches, [[] for _ in branches])
    types = [t.dtype.base_dtype for t in branches[0].outputs]
    shapes = [
        _relaxed([b.outputs[i]._dims for b in branches]) for i in range(len(branches[0].outputs))
    ]
    functions = [in_library(b) for b in branches]
    attrs: dict[str, Any] = {
        "Tin": [t.dtype.base_dtype for t in inputs],
        "Tout": types,
        "output_shapes": shapes,
    }
    if name.endswith("/"):
        name = name[:-1] + "/"
    if len(branches) == 2 and pred.dtype.base_dtype.name != "int32":
        stateful = any(map(function_tracing.is_stateful, branches))
        kind = "If" if stateful else "StatelessIf"
        attrs.update(
            Tcond=pred.dtype.base_dtype, then_branch=functions[0], else_branch=functions[1]
        )
    else:
        kind = "Case"
        attrs["branches"] = functions
    controls = [op for b in branches for op in b.control_captures]
    op = _add(graph, kind, [pred, *inputs], attrs, types, name, controls)
    for b in branches:
        b.caller = op
    _note_shapes(op, shapes, branches[0].outputs)
    return op


def add_while(
    cond: FuncGraph,
    body: FuncGraph,
    inputs: list[Any],
    shapes: list[Shape],
    name: str,
    parallel_iterations: int = 10,
) -> Operation:
    """A While over `inputs`, which both functions take."""
    graph = context.get_default_graph()
    types = [t.dtype.base_dtype for t in inputs]
    stateful = function_tracing.is_stateful(cond) or function_tracing.is_stateful(body)
    attrs = {
        "T": types,
        "cond": in_library(cond),
        "body": in_library(body),
        "output_shapes": shapes,
        "parallel_iterations": parallel_iterations,
    }
    controls = [*cond.control_captures, *body.control_captures]
    op = _add(
        graph, "While" if stateful else "StatelessWhile", list(inputs), attrs, types, name, controls
    )
    body.caller = op
    _note_shapes(op, shapes, body.outputs)
    return op


def add_call(function: Any, inputs: list[Any], name: str | None = None) -> Operation:
    """A call of a function of the library."""
    graph = context.get_default_graph()
    types = [t.dtype.base_dtype for t in function.outputs]
    stateful = function_tracing.is_stateful(function)
    attrs: dict[str, Any] = {
        "Tin": [t.dtype.base_dtype for t in inputs],
        "Tout": types,
        "f": in_library(function),
        "config": b"",
        "config_proto": b"",
        "executor_type": b"",
    }
    kind = "StatefulPartitionedCall" if stateful else "PartitionedCall"
    controls = list(getattr(function, "control_captures", ()))
    op = _add(graph, kind, list(inputs), attrs, types, name or kind, controls)
    _note_shapes(op, [t._dims for t in function.outputs], function.outputs)
    return op


def in_library(function: Any) -> Func:
    """A function as an attribute of an operation; the graph knows it from now on."""
    getattr(function, "graph", function)._add_function(function)
    return Func(function.name)


def _add(
    graph: Any,
    kind: str,
    inputs: list[Any],
    attrs: dict[str, Any],
    types: list[DType],
    name: str,
    controls: list[Operation],
) -> Operation:
    if controls:
        with graph.control_dependencies(controls):
            op = graph.add_op(registry.get(kind), inputs, attrs, types, name, site_depth=4)
    else:
        op = graph.add_op(registry.get(kind), inputs, attrs, types, name, site_depth=4)
    if recording.tapes:
        record(op)
    return op


def _relaxed(shapes: list[Shape]) -> Shape:
    out = shapes[0]
    for s in shapes[1:]:
        out = relax(out, s)
    return out


def _note_shapes(op: Operation, shapes: list[Shape], like: list[Tensor]) -> None:
    for t, dims, inner in zip(op._outputs, shapes, like):
        t._dims = dims
        if t.dtype.name in ("resource", "variant"):
            t._handle_data = handle_data(inner)


def result_name(graph: Any, v1: str) -> str:
    """The name of a result: TensorFlow 1's, so that programs which look tensors up by name find them."""
    if function_tracing.control_flow_v2 or function_tracing.in_function(graph):
        return "Identity"
    return v1
