"""The gradient of If and Case: another If, whose branches differentiate those of the first."""

from __future__ import annotations

from typing import Any

from weft.framework import context, conversion, dtypes, function_tracing, registry
from weft.framework.attributes import Func
from weft.framework.gradient_registry import takes_none
from weft.framework.gradients import is_trainable
from weft.framework.handle_data import handle_data
from weft.framework.indexed_slices import IndexedSlices
from weft.framework.operation import Operation
from weft.framework.tensor import Tensor
from weft.ops.flow import building
from weft.ops.flow.functional import case, if_op, stateless_if
from weft.ops.flow.gradient_graph import GradientGraph, backward, extend_outputs


class BranchGradientGraph(GradientGraph):
    """The gradient of one branch."""

    def __init__(self, name: str, outer: Any, function: Any, inputs: list[Tensor]):
        super().__init__(name, outer, getattr(function, "graph", function))
        self._outside = dict(zip(function.inputs, inputs))

    def input_outside(self, tensor: Tensor) -> Any:
        return self._outside.get(tensor)


def differentiable_positions(function: Any, grads: Any) -> list[int]:
    """The results of a function that a gradient comes for."""
    return [i for i, t in enumerate(function.outputs) if grads[i] is not None and is_trainable(t)]


def input_gradients(
    graph: GradientGraph, function: Any, grads: Any, positions: list[int]
) -> list[Any]:
    """The gradients of a function's inputs at some positions, in the graph of its gradient."""
    used = differentiable_positions(function, grads)
    ys = [function.outputs[i] for i in used]
    grad_ys = []
    for i in used:
        grad = grads[i]
        grad_ys.append(graph.capture(grad) if isinstance(grad, Tensor) else grad)
    xs = [function.inputs[i] for i in positions]
    return backward(ys, xs, grad_ys)


def zeros_like_input(tensor: Tensor) -> Tensor:
    """Zeros for an input that no gradient reaches: of the shape of the variable, for a handle."""
    if tensor.dtype.base_dtype is dtypes.resource:
        data = handle_data(tensor)
        if data is None or data.dtype is None:
            raise ValueError(f"The dtype of the variable behind {tensor.name} is not known.")
        return registry.get("ZerosLike")(registry.get("ReadVariableOp")(tensor, dtype=data.dtype))
    return registry.get("ZerosLike")(tensor)


def dense(grad: Any) -> Any:
    return conversion.convert_to_tensor(grad) if isinstance(grad, IndexedSlices) else grad


def _branches(op: Operation) -> tuple[list[str], list[Any]]:
    """The attributes of an operation that name its branches, and these."""
    graph = op._graph
    if op.type == "Case":
        names = [f.name for f in op._attrs["branches"]]
    else:
        names = [op._attrs["then_branch"].name, op._attrs["else_branch"].name]
    return names, [function_tracing.find(graph, n) for n in names]


@if_op.gradient
@stateless_if.gradient
@case.gradient
@takes_none
def branch_gradient(op, *grads, wanted=None):
    """The gradients of the inputs, from an If over the gradients of the branches."""
    _, functions = _branches(op)
    outer = context.get_default_graph()
    inputs = op._inputs[1:]
    positions = [
        i for i, t in enumerate(inputs) if is_trainable(t) and (wanted is None or wanted[i + 1])
    ]
    grads = [dense(g) for g in grads]
    nothing = [None] * len(op._inputs)
    if not positions or all(g is None for g in grads):
        return nothing
    bodies, results = [], []
    for function in functions:
        name = function_tracing.unique_name(outer, f"{function.name}_grad")
        graph = BranchGradientGraph(name, outer, function, inputs)
        scope = outer.get_name_scope()
        with function_tracing.body(name, scope=building.inner_scope(outer, scope), graph=graph):
            results.append(input_gradients(graph, function, grads, positions))
        bodies.append(graph)
    kept = [i for i in range(len(positions)) if any(r[i] is not None for r in results)]
    if not kept:
        return nothing
    outputs = []
    for graph, result in zip(bodies, results):
        with graph.as_default():
            outputs.append(
                [
                    zeros_like_input(graph.capture(inputs[positions[i]]))
                    if result[i] is None
                    else result[i]
                    for i in kept
                ]
            )
    slices = _make_alike(bodies, outputs)
    for graph, result in zip(bodies, outputs):
        graph.outputs = [graph.capture(t) for t in result]
    _hand_over(op, functions, bodies)
    new = building.add_if(op._inputs[0], bodies, op.type + "_grad")
    found = iter(new._outputs)
    out: list[Any] = nothing
    for i, is_slices in zip(kept, slices):
        if is_slices:
            values, indices, shape = next(found), next(found), next(found)
            out[positions[i] + 1] = IndexedSlices(values, indices, shape)
        else:
            out[positions[i] + 1] = next(found)
    return out


def _make_alike(bodies: list[GradientGraph], outputs: list[list[Any]]) -> list[bool]:
    """Makes the gradients that branches return alike; a gradient of some rows stays one where all branches
    give as many rows."""
    slices = []
    for i in range(len(outputs[0])):
        parts = [o[i] for o in outputs]
        alike = all(isinstance(p, IndexedSlices) and p.dense_shape is not None for p in parts)
        if alike:
            first = parts[0]
            alike = all(
                p.values._dims == first.values._dims
                and p.values._dims is not None
                and p.values._dims[0] is not None
                and p.indices.dtype is first.indices.dtype
                for p in parts
            )
        slices.append(alike)
        if not alike:
            for graph, o in zip(bodies, outputs):
                with graph.as_default():
                    o[i] = dense(o[i])
    for o in outputs:
        flat: list[Any] = []
        for x, is_slices in zip(o, slices):
            flat.extend([x.values, x.indices, x.dense_shape] if is_slices else [x])
        o[:] = flat
    return slices


def _hand_over(op: Operation, functions: list[Any], bodies: list[GradientGraph]) -> None:
    """Makes the forward operation return the intermediate values that the gradients need."""
    extended = [list(f.outputs) for f in functions]
    n = len(extended[0])
    new: list[Tensor] = []
    places: list[tuple[GradientGraph, Tensor, int]] = []
    for b, (function, body) in enumerate(zip(functions, bodies)):
        for tensor, inner in body.intermediates.items():
            # It may have been handed over for an earlier gradient.
            at = next((i for i, t in enumerate(function.outputs) if t is tensor), None)
            if at is None:
                at = n + len(new)
                new.append(tensor)
                for other, outputs in enumerate(extended):
                    outputs.append(tensor if other == b else _stand_in(functions[other], tensor))
            places.append((body, inner, at))
    if new:
        views = []
        for function, outputs in zip(functions, extended):
            name = function_tracing.unique_name(op._graph, function.name)
            view = function.view(name, list(function.inputs), outputs)
            views.append(function_tracing.add_view(function, view))
        if op.type == "Case":
            op._attrs["branches"] = [Func(v.name) for v in views]
        else:
            op._attrs["then_branch"], op._attrs["else_branch"] = (Func(v.name) for v in views)
        op._attrs["Tout"] = [*op._attrs["Tout"], *(t.dtype.base_dtype for t in new)]
        shapes = op._attrs["output_shapes"] or [t._dims for t in op._outputs]
        op._attrs["output_shapes"] = [*shapes, *(t._dims for t in new)]
        extend_outputs(op, new)
    for body, inner, at in places:
        body.adopt(inner, op._outputs[at])


def _stand_in(function: Any, tensor: Tensor) -> Tensor:
    """What a branch returns in place of an intermediate value of another one."""
    graph = getattr(function, "graph", function)
    with graph.as_default(), graph.control_dependencies(None):
        out = registry.get("FakeParam")(dtype=tensor.dtype.base_dtype, shape=tensor._dims)
    out._dims = tensor._dims
    return out
