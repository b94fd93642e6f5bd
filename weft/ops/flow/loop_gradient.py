"""The gradient of While: a loop that goes the way back.

It takes the intermediate values of the forward iterations from lists, last one first. The forward loop is
changed to fill these lists and to count its iterations.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import context, conversion, function_tracing, registry
from weft.framework.attributes import Func
from weft.framework.dtypes import int32, resource, variant
from weft.framework.gradient_registry import takes_none
from weft.framework.gradients import is_trainable
from weft.framework.handle_data import handle_data
from weft.framework.indexed_slices import IndexedSlices
from weft.framework.operation import Operation
from weft.framework.shape_rules import Shape
from weft.framework.tensor import Tensor
from weft.ops.flow import building, list_ops
from weft.ops.flow.branch_gradient import dense, zeros_like_input
from weft.ops.flow.functional import stateless_while, while_op
from weft.ops.flow.gradient_graph import GradientGraph, backward, extend_outputs
from weft.ops.flow.list_gradients import element_shape_input, shape_for

_BEFORE = 0.5  # where an operation stands that is put right before another one


class Accumulators:
    """What the forward loop hands over: for each intermediate value its list, among the loop's variables."""

    def __init__(self) -> None:
        self.position: dict[Any, int] = {}  # tensor of the body, or "count" -> position

    @staticmethod
    def of(op: Operation) -> Accumulators:
        return op.__dict__.setdefault("_accumulators", Accumulators())


class LoopGradientGraph(GradientGraph):
    """The gradient of a loop's body."""

    def __init__(self, name: str, outer: Any, body: Any, op: Operation):
        super().__init__(name, outer, getattr(body, "graph", body))
        self._op = op
        self._fixed = {t: op._inputs[i] for i, t in enumerate(body.inputs) if body.outputs[i] is t}
        self._variables = set(body.inputs)
        self._again: dict[Operation, bool] = {}
        self.lists: list[tuple[Tensor, Tensor, Tensor]] = []  # forward tensor, list before, after

    def input_outside(self, tensor: Tensor) -> Any:
        outside = self._fixed.get(tensor)
        if outside is None and tensor._op._decl.name == "ReadVariableOp":
            outside = self._read_before(tensor._op)
        return outside

    def _read_before(self, op: Operation) -> Any:
        """The value of a variable that the loop only reads: the same in each iteration."""
        handle = op._inputs[0]
        if handle not in self._fixed or op._control_inputs:
            return None
        if any(c._decl.name != "ReadVariableOp" for c in handle._consumers):
            return None
        reads = self._op.__dict__.setdefault("_reads_before", {})
        key = (handle, op._attrs["dtype"])
        if key not in reads:
            with before(self._op):
                reads[key] = registry.get("ReadVariableOp")(
                    self._fixed[handle], dtype=op._attrs["dtype"]
                )
        return reads[key]

    def can_compute_again(self, op: Operation) -> bool:
        """Whether an operation has the same result in each iteration."""
        found = self._again.get(op)
        if found is None:
            self._again[op] = False
            decl = op._decl
            found = self._again[op] = (
                not decl.stateful
                and decl.kernel is not None
                and decl.host is not True
                and not op._control_inputs
                and bool(op._inputs)
                and not any(isinstance(v, (Func, list)) and _calls(v) for v in op._attrs.values())
                and all(
                    t in self._fixed
                    or t._op._decl.name == "Const"
                    or (t not in self._variables and self.can_compute_again(t._op))
                    for t in op._inputs
                )
            )
        return found

    def intermediate(self, tensor: Tensor) -> Tensor:
        name = tensor._op._name.rsplit("/", 1)[-1]
        with self.as_default(), self.control_dependencies(None):
            before_ = self.add_input(variant, (), name + "_values")
            dtype = tensor.dtype.base_dtype
            after, value = list_ops.tensor_list_pop_back(
                before_, static_shape(tensor), element_dtype=dtype
            )
        value._dims = tensor._dims
        if dtype is resource or dtype is variant:
            value._handle_data = handle_data(tensor)
        self.lists.append((tensor, before_, after))
        return value


def _calls(value: Any) -> bool:
    return isinstance(value, Func) or any(isinstance(v, Func) for v in value)


def static_shape(tensor: Tensor) -> np.ndarray:
    return element_shape_input(None if tensor.dtype is variant else tensor._dims)


class before:
    """Adds operations to the graph of an operation, as if right before it."""

    def __init__(self, op: Operation):
        self._op, self._graph = op, op._graph

    def __enter__(self) -> None:
        graph = self._graph
        self._n = len(graph._ops)
        self._contexts = [
            graph.as_default(),
            graph.control_dependencies(None),
            graph.name_scope(self._op._name + "/"),
        ]
        for c in self._contexts:
            c.__enter__()

    def __exit__(self, *error: Any) -> None:
        for c in reversed(self._contexts):
            c.__exit__(*error)
        for op in list(self._graph._ops.values())[self._n :]:
            op._id = self._op._id - _BEFORE


@while_op.gradient
@stateless_while.gradient
@takes_none
def loop_gradient(op, *grads, wanted=None):
    """The gradients of the variables' first values, from a loop over the iterations, last one first."""
    if op._attrs.get("_no_gradient"):
        return [None] * len(op._inputs)
    body = function_tracing.find(op._graph, op._attrs["body"].name)
    outer = context.get_default_graph()
    grads = [dense(g) for g in grads]
    chosen = _variables_with_gradient(body, grads, wanted)
    if not chosen:
        return [None] * len(op._inputs)
    name = function_tracing.unique_name(outer, f"{body.name}_grad")
    graph = LoopGradientGraph(name, outer, body, op)
    scope = building.inner_scope(outer, outer.get_name_scope())
    with function_tracing.body(name, scope=scope, graph=graph):
        count = graph.add_input(int32, (), "count")
        args = [_gradient_argument(graph, op, body, i) for i in chosen]
        results = _body_gradients(graph, body, chosen, args)
        left = registry.get("Sub")(count, np.asarray(1, np.int32))
    variables = [count, *args, *(b for _, b, _ in graph.lists)]
    outputs = [left, *results, *(a for _, _, a in graph.lists)]
    _hand_over(op, [t for t, _, _ in graph.lists])
    with building.function_body(outer.get_name_scope(), "grad_cond") as cond_graph:
        cond_args = [cond_graph.add_input(t.dtype, t._dims) for t in variables]
        cond_graph.outputs = [registry.get("Greater")(cond_args[0], np.asarray(0, np.int32))]
    inputs = [op._outputs[Accumulators.of(op).position["count"]]]
    inputs += [_first_gradient(op, body, i, grads[i]) for i in chosen]
    inputs += [op._outputs[Accumulators.of(op).position[t]] for t, _, _ in graph.lists]
    captured = building.match_captures([cond_graph, graph], [cond_args, variables])
    graph.outputs = [graph.capture(t) for t in outputs] + graph.inputs[len(variables) :]
    shapes: list[Shape] = [t._dims for t in variables] + [t._dims for t in captured]
    new = building.add_while(
        cond_graph,
        graph,
        [_in(outer, t) for t in inputs] + captured,
        shapes,
        op.type + "_grad",
        op._attrs.get("parallel_iterations", 10),
    )
    out: list[Any] = [None] * len(op._inputs)
    for k, i in enumerate(chosen):
        if wanted is None or wanted[i]:
            out[i] = new._outputs[k + 1]
    return out


def _in(graph: Any, tensor: Tensor) -> Tensor:
    return graph.capture(tensor) if graph.building_function else tensor


def _has_gradient(tensor: Tensor) -> bool:
    if not is_trainable(tensor):
        return False
    if tensor.dtype is variant:
        data = handle_data(tensor)
        if data is not None and data.dtype is not None:
            return data.dtype.is_floating or data.dtype.is_complex or data.dtype is variant
    return True


def _variables_with_gradient(body: Any, grads: list[Any], wanted: Any) -> list[int]:
    """The loop's variables that gradients have to be carried for: those that a gradient reaches, on whose way
    lies something that is wanted."""
    n = len(body.inputs)
    position = {t: i for i, t in enumerate(body.inputs)}
    reached = {i for i in range(n) if grads[i] is not None and _has_gradient(body.outputs[i])}
    stack = [body.outputs[i] for i in reached]
    seen: set[Tensor] = set(stack)
    while stack:
        t = stack.pop()
        i = position.get(t)
        if i is not None:
            more = [] if i in reached else [body.outputs[i]]
            reached.add(i)
        else:
            more = t._op._inputs
        for u in more:
            if u not in seen and _has_gradient(u):
                seen.add(u)
                stack.append(u)
    if wanted is None:
        return sorted(reached)
    results: dict[Tensor, list[int]] = {}
    for i, t in enumerate(body.outputs):
        results.setdefault(t, []).append(i)
    needed = {i for i in range(n) if wanted[i]}
    stack = [body.inputs[i] for i in needed]
    on_way = set(stack)
    while stack:
        t = stack.pop()
        more = [u for op in t._consumers if op._graph is t._op._graph for u in op._outputs]
        for i in results.get(t, ()):
            if i not in needed:
                needed.add(i)
                more.append(body.inputs[i])
        for u in more:
            if u not in on_way and is_trainable(u):
                on_way.add(u)
                stack.append(u)
    return sorted(reached & needed)


def _is_fixed(body: Any, i: int) -> bool:
    return body.outputs[i] is body.inputs[i]


def _gradient_argument(graph: LoopGradientGraph, op: Operation, body: Any, i: int) -> Tensor:
    tensor = body.inputs[i]
    name = tensor._op._name.rsplit("/", 1)[-1] + "_grad"
    if tensor.dtype is resource:
        data = handle_data(tensor)
        if data is None or data.dtype is None:
            raise ValueError(f"The dtype of the variable behind {tensor.name} is not known.")
        return graph.add_input(data.dtype, data.dims, name)
    dims = tensor._dims if _is_fixed(body, i) else op._outputs[i]._dims
    arg = graph.add_input(tensor.dtype.base_dtype, dims, name)
    if tensor.dtype is variant:
        arg._handle_data = handle_data(tensor)
    return arg


def _first_gradient(op: Operation, body: Any, i: int, grad: Any) -> Any:
    if grad is not None:
        return grad
    if _is_fixed(body, i):
        return zeros_like_input(op._inputs[i])
    return registry.get("ZerosLike")(op._outputs[i])


def _body_gradients(
    graph: LoopGradientGraph, body: Any, chosen: list[int], args: list[Tensor]
) -> list[Tensor]:
    """The gradients before an iteration, from those after it."""
    ways = [(i, g) for i, g in zip(chosen, args) if not _is_fixed(body, i)]
    xs = [body.inputs[i] for i in chosen]
    found = (
        backward([body.outputs[i] for i, _ in ways], xs, [g for _, g in ways])
        if ways
        else [None] * len(xs)
    )
    results = []
    for i, g, r in zip(chosen, args, found):
        if _is_fixed(body, i):
            results.append(g if r is None else _added(g, r))
        elif r is None:
            results.append(registry.get("ZerosLike")(body.inputs[i]))
        else:
            results.append(dense(r))
    return results


def _added(total: Tensor, grad: Any) -> Tensor:
    """A gradient that adds up over the iterations; of one that is some rows only these are touched."""
    if isinstance(grad, IndexedSlices):
        index = registry.get("ExpandDims")(grad.indices, np.asarray(-1, np.int32))
        values = conversion.convert_to_tensor(grad.values)
        if total._dims is not None and values._dims is not None:
            if len(total._dims) == len(values._dims):
                return registry.get("TensorScatterAdd")(total, index, values)
        grad = dense(grad)
    return registry.get("AddN")([total, grad])


def _hand_over(op: Operation, tensors: list[Tensor]) -> None:
    """Makes the forward loop count its iterations, and keep the values of tensors of its body in lists."""
    known = Accumulators.of(op)
    new: list[Any] = [t for t in tensors if t not in known.position]
    if "count" not in known.position:
        new.insert(0, "count")
    if not new:
        return
    cond = function_tracing.find(op._graph, op._attrs["cond"].name)
    body = function_tracing.find(op._graph, op._attrs["body"].name)
    cond_graph, body_graph = (getattr(f, "graph", f) for f in (cond, body))
    first, cond_inputs, body_inputs, outputs = [], [], [], []
    for item in new:
        with before(op):
            start = (
                registry.get("Const")(value=np.asarray(0, np.int32), dtype=int32, name="count")
                if item == "count"
                else list_ops.empty_tensor_list(
                    static_shape(item),
                    np.asarray(-1, np.int32),
                    element_dtype=item.dtype.base_dtype,
                )
            )
        first.append(start)
        cond_inputs.append(cond_graph._placeholder(start.dtype, (), "kept"))
        with body_graph.as_default(), body_graph.control_dependencies(None):
            arg = body_graph._placeholder(start.dtype, (), "kept")
            body_inputs.append(arg)
            if item == "count":
                outputs.append(registry.get("AddV2")(arg, np.asarray(1, np.int32)))
            else:
                outputs.append(
                    list_ops.tensor_list_push_back(arg, item, element_dtype=item.dtype.base_dtype)
                )
    views = []
    for function, inputs, results in (
        (cond, [*cond.inputs, *cond_inputs], list(cond.outputs)),
        (body, [*body.inputs, *body_inputs], [*body.outputs, *outputs]),
    ):
        name = function_tracing.unique_name(op._graph, function.name)
        view = function.view(name, inputs, results)
        views.append(function_tracing.add_view(function, view))
    op._attrs["cond"], op._attrs["body"] = (Func(v.name) for v in views)
    op._attrs["T"] = [*op._attrs["T"], *(t.dtype for t in first)]
    shapes = op._attrs["output_shapes"] or [t._dims for t in op._outputs]
    op._attrs["output_shapes"] = [*shapes, *([()] * len(new))]
    for item, start in zip(new, first):
        known.position[item] = len(op._inputs)
        op._inputs.append(start)
        start._consumers.append(op)
        extend_outputs(op, [start])


__all__ = ["loop_gradient", "shape_for"]
