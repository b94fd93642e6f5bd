"""The gradient of function calls."""

from __future__ import annotations

from typing import Any

from weft.framework import context, function_tracing
from weft.framework.attributes import Func
from weft.framework.func_graph import FuncGraph
from weft.framework.gradient_registry import takes_none
from weft.framework.gradients import is_trainable
from weft.framework.tensor import Tensor
from weft.ops.flow import building
from weft.ops.flow.branch_gradient import (
    BranchGradientGraph,
    dense,
    input_gradients,
    zeros_like_input,
)
from weft.ops.flow.functional import partitioned_call, stateful_partitioned_call
from weft.ops.flow.gradient_graph import backward, extend_outputs


@partitioned_call.gradient
@stateful_partitioned_call.gradient
@takes_none
def call_gradient(op, *grads, wanted=None):
    """The gradients of the arguments, from a call of the function's gradient."""
    function = function_tracing.find(op._graph, op._attrs["f"].name)
    outer = context.get_default_graph()
    nothing: list[Any] = [None] * len(op._inputs)
    positions = [
        i for i, t in enumerate(op._inputs) if is_trainable(t) and (wanted is None or wanted[i])
    ]
    grads = [dense(g) for g in grads]
    if not positions or all(g is None for g in grads):
        return nothing
    name = function_tracing.unique_name(outer, f"{function.name}_grad")
    graph = BranchGradientGraph(name, outer, function, op._inputs)
    scope = building.inner_scope(outer, outer.get_name_scope())
    with function_tracing.body(name, scope=scope, graph=graph):
        results = input_gradients(graph, function, grads, positions)
        kept = [i for i, r in enumerate(results) if r is not None]
        outputs = [dense(results[i]) for i in kept]
    graph.outputs = [graph.capture(t) for t in outputs]
    _hand_over(op, function, graph)
    call = building.add_call(graph, building.match_captures([graph], [[]]), op.type + "_grad")
    for i, t in zip(kept, call._outputs):
        nothing[positions[i]] = t
    return nothing


def _hand_over(op: Any, function: Any, graph: BranchGradientGraph) -> None:
    """Makes the forward call return the intermediate values that the gradient needs."""
    outputs = list(function.outputs)
    places, new = [], []
    for tensor, inner in graph.intermediates.items():
        at = next((i for i, t in enumerate(outputs) if t is tensor), None)
        if at is None:
            at = len(outputs)
            outputs.append(tensor)
            new.append(tensor)
        places.append((inner, at))
    if new:
        name = function_tracing.unique_name(op._graph, function.name)
        view = function.view(name, list(function.inputs), outputs)
        function_tracing.add_view(function, view)
        op._attrs["f"] = Func(name)
        op._attrs["Tout"] = [*op._attrs["Tout"], *(t.dtype.base_dtype for t in new)]
        extend_outputs(op, new)
    for inner, at in places:
        graph.adopt(inner, op._outputs[at])


def gradient_function(library: Any, function: Any) -> FuncGraph:
    """The function from a function's arguments, and the gradients of its results, to the gradients of its
    arguments: what SymbolicGradient calls."""
    outer = getattr(function, "outer_graph", None)
    graph = FuncGraph(f"{function.name}_symbolic_gradient", outer)
    if outer is None:
        graph._functions = library._functions
    with graph.as_default():
        args = [graph.add_input(t.dtype, t._dims) for t in function.inputs]
        given = [graph.add_input(t.dtype, t._dims, "grad") for t in function.outputs]
        call = building.add_call(function, args)
        results = backward(list(call._outputs), args, list(given))
        outputs: list[Tensor] = []
        for arg, grad in zip(args, results):
            outputs.append(zeros_like_input(arg) if grad is None else dense(grad))
    graph.outputs = outputs
    library._add_function(graph)
    return graph
