"""Symbolic gradients: adds the operations of the chain rule to a graph, outputs first."""

from __future__ import annotations

import contextlib
import heapq
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from weft.framework import context, conversion, dtypes, registry
from weft.framework.export import export
from weft.framework.gradient_registry import get_gradient_function
from weft.framework.handle_data import handle_data
from weft.framework.indexed_slices import IndexedSlices
from weft.framework.operation import Operation
from weft.framework.scopes import name_scope
from weft.framework.shape_rules import ShapeError, is_full, merge
from weft.framework.tensor import Tensor


@export("AggregationMethod")
class AggregationMethod:
    """How the gradients that reach one tensor on several ways are added up."""

    ADD_N = 0
    DEFAULT = ADD_N
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2


@export("UnconnectedGradients")
class UnconnectedGradients:
    """What the gradient is of an `x` that no `y` depends on."""

    NONE: Any
    ZERO: Any

    def __init__(self, value: Any):
        value = getattr(value, "value", value)
        if value not in ("none", "zero"):
            raise ValueError(f"Unknown value for unconnected_gradients: {value!r}")
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UnconnectedGradients) and self.value == other.value

    def __hash__(self) -> int:
        return hash(self.value)

    def __repr__(self) -> str:
        return f"<UnconnectedGradients.{self.value.upper()}: '{self.value}'>"

    def __str__(self) -> str:
        return f"UnconnectedGradients.{self.value.upper()}"


UnconnectedGradients.NONE = UnconnectedGradients("none")
UnconnectedGradients.ZERO = UnconnectedGradients("zero")

_TRAINABLE = frozenset(
    (
        dtypes.float16,
        dtypes.float32,
        dtypes.float64,
        dtypes.bfloat16,
        dtypes.complex64,
        dtypes.complex128,
        dtypes.resource,
        dtypes.variant,
    )
)


def is_trainable(tensor: Any) -> bool:
    """Whether a gradient can flow through the tensor at all."""
    return tensor.dtype.base_dtype in _TRAINABLE


def _as_list(x: Any) -> list[Any]:
    return list(x) if isinstance(x, (list, tuple)) else [x]


@export("gradients")
def gradients(
    ys: Any,
    xs: Any,
    grad_ys: Any = None,
    name: str = "gradients",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: int | None = None,
    stop_gradients: Any = None,
    unconnected_gradients: Any = UnconnectedGradients.NONE,
) -> list[Any]:
    """Returns the symbolic derivatives of the sum of `ys` with respect to each of `xs`: a Tensor,
    IndexedSlices, or None where no `y` depends on the `x`."""
    if context.executing_eagerly():
        raise RuntimeError(
            "tf.gradients is not supported when eager execution is enabled. Use tf.GradientTape instead."
        )
    unconnected = UnconnectedGradients(unconnected_gradients)
    ys, xs = _as_list(ys), _as_list(xs)
    stops = [] if stop_gradients is None else _as_list(stop_gradients)
    grads_given = [None] * len(ys) if grad_ys is None else _as_list(grad_ys)
    values = [*ys, *xs, *stops, *[g for g in grads_given if g is not None]]
    with name_scope(name, "gradients", values) as scope:
        graph = context.get_default_graph()
        ys = [conversion.convert_to_tensor_or_indexed_slices(y) for y in ys]
        ys = [y.values if isinstance(y, IndexedSlices) else y for y in ys]
        xs = [_source(x) for x in xs]
        # A concrete tensor is there as what the function captured it as.
        xs = [graph.capture(x) if x._op is None and graph.building_function else x for x in xs]  # type: ignore[attr-defined]
        stops = [_source(s) for s in stops]
        pass_ = _Backward(
            graph,
            scope,
            colocate_gradients_with_ops,
            gate_gradients,
            aggregation_method,
            grads_given,
        )
        pass_.through_captures = graph.building_function
        return pass_.run(ys, xs, stops, unconnected)


def _source(x: Any) -> Any:
    """The tensor that gradients with respect to `x` flow into: a variable's reference or handle."""
    handle = getattr(x, "handle", None)
    if handle is not None and isinstance(handle, Tensor) and not isinstance(x, Tensor):
        return handle
    if isinstance(x, IndexedSlices):
        return x.values
    if isinstance(x, Tensor):
        return x
    return conversion.convert_to_tensor(x, as_ref=True)


def _inside(tensor: Tensor, graph: Any) -> Tensor:
    """The tensor of a function's body that stands for a captured one."""
    if tensor.graph is graph or not graph.building_function:
        return tensor
    return graph.capture(tensor)


class _Backward:
    """One backward pass."""

    def __init__(
        self,
        graph: Any,
        scope: str,
        colocate: bool,
        gate: bool,
        aggregation: int | None,
        given: list[Any],
    ):
        self.graph, self.scope, self.colocate, self.gate = graph, scope, colocate, gate
        if aggregation is None:
            aggregation = AggregationMethod.DEFAULT
        if aggregation not in (0, 1, 2):
            raise ValueError(f"Invalid aggregation_method specified {aggregation}.")
        self.aggregation = aggregation
        self.given = given
        self.grads: dict[Tensor, list[Any]] = {}
        # In the body of a function gradients flow on to what it captures of the graphs around it.
        self.through_captures = False
        self.between: set[Operation] = set()

    def run(
        self, ys: list[Tensor], xs: list[Tensor], stops: list[Tensor], unconnected: Any
    ) -> list[Any]:
        if len(self.given) != len(ys):
            raise ValueError(f"Passed {len(self.given)} grad_ys for {len(ys)} ys")
        starts = [self._start(i, y, g) for i, (y, g) in enumerate(zip(ys, self.given))]
        inputs_of = _inputs_and_captures if self.through_captures else _inputs
        if self.through_captures:
            between = _between_through_captures(ys, xs)
        else:
            between = _between(ys, xs)
        self.between = between
        stop_ops = _stop_ops(xs, stops, between)
        for y, grad in zip(ys, starts):
            self.grads.setdefault(y, []).append(grad)
        # An operation is due once all of its consumers on the way to the ys have been: those are added
        # later than it, so the newest first is an order, but for operations rewired afterwards.
        pending = dict.fromkeys(between, 0)
        for op in between:
            for t in inputs_of(op):
                if t._op in pending:
                    pending[t._op] += 1
        wanted = set(xs)
        ready = [(-op._id, op._name, op) for op, n in pending.items() if n == 0]
        heapq.heapify(ready)
        while ready:
            _, _, op = heapq.heappop(ready)
            if op not in stop_ops:
                self._differentiate(op, wanted)
            for t in inputs_of(op):
                source = t._op
                if source in pending:
                    pending[source] -= 1
                    if pending[source] == 0:
                        heapq.heappush(ready, (-source._id, source._name, source))
        return [self._result(x, unconnected) for x in xs]

    # -- the ends ------------------------------------------------------------------------------------

    def _start(self, i: int, y: Tensor, given: Any) -> Any:
        if given is None:
            if y.dtype.is_complex:
                raise TypeError(
                    f"Gradients of complex tensors must set grad_ys (y.dtype = {y.dtype!r})"
                )
            one = conversion.convert_to_tensor(1, dtype=y.dtype.base_dtype, name=f"grad_ys_{i}")
            if is_full(y._dims):  # a constant, so that nothing need be fed to know it
                shape = conversion.convert_to_tensor(np.array(y._dims, np.int32), name="Shape")
            else:
                shape = registry.get("Shape")(y)
            return registry.get("Fill")(shape, one)
        grad = conversion.convert_to_tensor_or_indexed_slices(
            given,
            dtype=None if isinstance(given, (Tensor, IndexedSlices)) else y.dtype.base_dtype,
            name=f"grad_ys_{i}",
        )
        if not isinstance(grad, IndexedSlices) and grad.graph is not self.graph:
            grad = _inside(grad, self.graph)
        ok = (
            (y.dtype.is_floating or y.dtype.is_integer)
            and (grad.dtype.is_floating or grad.dtype.is_integer)
            or y.dtype.is_complex
            and grad.dtype.is_complex
            or y.dtype.base_dtype in (dtypes.variant, dtypes.resource)
        )
        if not ok:
            kind = "complex" if y.dtype.is_complex else "real"
            raise TypeError(
                f"Gradient type {grad.dtype.name} generated for {kind}-valued tensor {y} with type "
                f"{y.dtype.name} must be {kind}"
            )
        return grad

    def _result(self, x: Tensor, unconnected: Any) -> Any:
        grad = self._sum(x)
        if grad is None and unconnected == UnconnectedGradients.ZERO:
            if x.dtype.base_dtype is dtypes.resource:
                value = registry.get("ReadVariableOp")(x, dtype=_handle_dtype(x))
                return registry.get("ZerosLike")(value)
            return registry.get("ZerosLike")(x)
        return grad

    def _sum(self, tensor: Tensor) -> Any:
        grads = self.grads.get(tensor)
        if not grads:
            return None
        if len(grads) > 1:
            self.grads[tensor] = grads = [aggregate(grads, self.aggregation)]
        return grads[0]

    # -- one operation -------------------------------------------------------------------------------

    def _differentiate(self, op: Operation, wanted: set[Tensor]) -> None:
        out_grads = [self._sum(t) for t in op._outputs]
        if all(g is None for g in out_grads):
            return
        for t, g in zip(op._outputs, out_grads):
            if t not in wanted and g is not None:
                del self.grads[t]  # no longer needed
        if self.through_captures and "_captured" in op.__dict__:
            self.grads.setdefault(op._captured, []).append(out_grads[0])
            return
        try:
            function = get_gradient_function(op)
        except LookupError:
            raise LookupError(
                f"No gradient defined for operation '{op.name}' (op type: {op.type})"
            ) from None
        if function is None:
            return
        with self._place(op), name_scope(op._name + "_grad"):
            wanted_inputs: dict[str, Any] = {}
            if getattr(function, "takes_none", False):
                # The gradients of branches, loops and calls: most of their outputs may have no gradient, and
                # most of their inputs may need none.
                wanted_inputs["wanted"] = [t._op in self.between for t in op._inputs]
            else:
                for i, t in enumerate(op._outputs):
                    if out_grads[i] is None and is_trainable(t):
                        out_grads[i] = zeros_for(t)
            with self.graph._original_op(op):
                in_grads = function(op, *out_grads, **wanted_inputs)
            if isinstance(in_grads, (list, tuple)):
                in_grads = list(in_grads)
            else:
                in_grads = [in_grads]
            _verify(in_grads, op)
            if self.gate and sum(g is not None for g in in_grads) > 1:
                in_grads = _gated(in_grads)
        for t, grad in zip(op._inputs, in_grads):
            if grad is None:
                continue
            if isinstance(grad, Tensor) and t.dtype.base_dtype is not dtypes.resource:
                try:
                    grad._dims = merge(grad._dims, t._dims)
                except ShapeError:
                    raise ValueError(
                        "Incompatible shapes between op input and calculated input gradient. Forward operation: "
                        f"{op.name}. Input: {t.name}. Original input shape: {t.shape}. Calculated input "
                        f"gradient shape: {grad.shape}"
                    ) from None
            self.grads.setdefault(t, []).append(grad)

    def _place(self, op: Operation) -> Any:
        if not self.colocate:
            return contextlib.nullcontext()
        return self.graph._colocate_with_for_gradient(op, None, ignore_existing=True)


def _handle_dtype(handle: Tensor) -> dtypes.DType:
    dtype = handle.op._attrs.get("dtype")
    if isinstance(dtype, dtypes.DType) and handle.op.type == "VarHandleOp":
        return dtype
    data = handle_data(handle)
    if data is None or data.dtype is None:
        raise ValueError(f"The dtype of the variable behind {handle.name} is not known.")
    return data.dtype


def zeros_for(tensor: Tensor) -> Any:
    """Zeros like a tensor that no gradient reached, for a gradient function that wants one per output."""
    if tensor.dtype.base_dtype is dtypes.resource:
        return None
    return registry.get("ZerosLike")(tensor)


def _verify(grads: list[Any], op: Operation) -> None:
    if len(grads) != len(op._inputs):
        raise ValueError(
            f"Num gradients {len(grads)} generated for op {op.name} ({op.type}) do not match num inputs "
            f"{len(op._inputs)}"
        )
    for i, (grad, t) in enumerate(zip(grads, op._inputs)):
        if grad is None:
            continue
        if not isinstance(grad, (Tensor, IndexedSlices)):
            grads[i] = grad = conversion.convert_to_tensor(grad, dtype=t.dtype.base_dtype)
        complex_input = t.dtype.is_complex
        if t.dtype.is_floating and not (grad.dtype.is_floating):
            raise TypeError(
                f"Gradient type {grad.dtype.name} generated for op {op.name} with type {t.dtype.name} must be "
                "real"
            )
        if complex_input and not grad.dtype.is_complex:
            raise TypeError(
                f"Gradient type {grad.dtype.name} generated for op {op.name} with type {t.dtype.name} must be "
                "complex"
            )


def _gated(grads: list[Any]) -> list[Any]:
    """The gradients, none of which is there before all are."""
    dense = [g for g in grads if g is not None]
    ops = [g.op for g in dense]
    out: list[Any] = []
    with context.get_default_graph().control_dependencies(ops):
        for g in grads:
            if g is None:
                out.append(None)
            elif isinstance(g, IndexedSlices):
                out.append(
                    IndexedSlices(registry.get("Identity")(g.values), g.indices, g.dense_shape)
                )
            else:
                out.append(registry.get("Identity")(g))
    return out


def _between(ys: list[Tensor], xs: list[Tensor]) -> set[Operation]:
    """The operations on the ways from the xs to the ys, both ends included."""
    # A gradient flows on only where a path of differentiable dtypes leads.
    forward: set[Operation] = set()
    stack = [x._op for x in xs]
    targets = {y._op for y in ys}
    while stack:
        op = stack.pop()
        if op in forward:
            continue
        forward.add(op)
        for t in op._outputs:
            if is_trainable(t):
                stack.extend(t._consumers)
    between: set[Operation] = set()
    stack = [op for op in targets if op in forward]
    while stack:
        op = stack.pop()
        if op in between:
            continue
        between.add(op)
        stack.extend(t._op for t in op._inputs if t._op in forward)
    return between


def _inputs(op: Operation) -> list[Tensor]:
    return op._inputs


def _inputs_and_captures(op: Operation) -> list[Tensor]:
    captured: Any = op.__dict__.get("_captured")
    if getattr(captured, "_op", None) is not None:  # a concrete tensor is where the way ends
        return [captured]
    return op._inputs


def _between_through_captures(ys: list[Tensor], xs: list[Tensor]) -> set[Operation]:
    """The operations on the ways from the xs to the ys, also where these lead into bodies of functions."""
    consumers: dict[Operation, list[Operation]] = {}
    stack = [y._op for y in ys]
    seen = set(stack)
    while stack:
        op = stack.pop()
        for t in _inputs_and_captures(op):
            if is_trainable(t):
                consumers.setdefault(t._op, []).append(op)
                if t._op not in seen:
                    seen.add(t._op)
                    stack.append(t._op)
    stack = [x._op for x in xs if x._op in seen]
    between = set(stack)
    while stack:
        for op in consumers.get(stack.pop(), ()):
            if op not in between:
                between.add(op)
                stack.append(op)
    return between


def _stop_ops(xs: list[Tensor], stops: list[Tensor], between: set[Operation]) -> set[Operation]:
    """Operations that the pass does not go through: xs with no other x before them, and explicit stops."""
    out: set[Operation] = {s._op for s in stops}
    for x in xs:
        if not any(t._op in between for t in x._op._inputs):
            out.add(x._op)
    return out


def aggregate(grads: list[Any], method: int = 0) -> Any:
    """The sum of gradients: dense ones by AddN, sparse ones joined row for row."""
    if any(isinstance(g, IndexedSlices) for g in grads):
        if all(isinstance(g, IndexedSlices) for g in grads):
            return _join(grads)
        grads = [conversion.convert_to_tensor(g) for g in grads]
    if len(grads) == 1:
        return grads[0]
    if method == AggregationMethod.EXPERIMENTAL_TREE:
        with name_scope(grads[0].op.name.rsplit("/", 1)[-1] + "_gradient_sum"):
            total = grads[0]
            for g in grads[1:]:
                total = registry.get("AddN")([total, g])
            return total
    if method == AggregationMethod.EXPERIMENTAL_ACCUMULATE_N and all(
        g._dims is not None and None not in g._dims for g in grads
    ):
        return registry.get("AccumulateNV2")(grads, shape=grads[0]._dims)
    return registry.get("AddN")(grads)


def _join(grads: list[IndexedSlices]) -> IndexedSlices:
    if len(grads) == 1:
        return grads[0]
    concat, cast = registry.get("ConcatV2"), registry.get("Cast")
    kinds = {g.indices.dtype.base_dtype for g in grads}
    indices = [g.indices for g in grads]
    if len(kinds) > 1:
        indices = [
            i if i.dtype.base_dtype is dtypes.int64 else cast(i, DstT=dtypes.int64) for i in indices
        ]
    return IndexedSlices(
        concat([g.values for g in grads], 0),
        concat(indices, 0),
        next((g.dense_shape for g in grads if g.dense_shape is not None), None),
    )


@export("hessians")
def hessians(
    ys: Any,
    xs: Any,
    name: str = "hessians",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: int | None = None,
) -> list[Any]:
    """Returns the second derivatives of the sum of `ys` with respect to each of `xs`, of shape
    `x.shape + x.shape`."""
    xs = _as_list(xs)
    reshape, shape_of, concat = (
        registry.get("Reshape"),
        registry.get("Shape"),
        registry.get("ConcatV2"),
    )
    kwargs: dict[str, Any] = {
        "colocate_gradients_with_ops": colocate_gradients_with_ops,
        "gate_gradients": gate_gradients,
        "aggregation_method": aggregation_method,
    }
    out = []
    for x, gradient in zip(xs, gradients(ys, xs, **kwargs)):
        flat = reshape(gradient, [-1])
        n = flat._dims[0] if flat._dims else None
        if n is None:
            raise ValueError(
                f"tf.hessians needs the static shape of {x.name}, which is {x.shape}: one gradient is built for "
                "each element."
            )
        slices = [
            registry.get("StridedSlice")(flat, [j], [j + 1], [1], shrink_axis_mask=1)
            for j in range(n)
        ]
        rows = [gradients(s, x, **kwargs)[0] for s in slices]
        rows = [registry.get("ZerosLike")(x) if r is None else r for r in rows]
        shape = shape_of(x)
        out.append(reshape(registry.get("Pack")(rows), concat([shape, shape], 0)))
    return out


Gradient = Callable[..., Iterable[Any]]
