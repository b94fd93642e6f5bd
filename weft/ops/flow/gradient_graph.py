"""The body of a function's gradient: it takes what it needs of the forward body.

A constant is made anew, and so is what only follows from values that are the same in every iteration of a
loop; the size of a forward tensor is computed forward, where it is small, rather than the tensor kept for it.
What is left are the intermediate values, which the forward function must hand over.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import context, function_tracing, registry
from weft.framework.dtypes import DType, as_dtype, int32
from weft.framework.func_graph import FuncGraph
from weft.framework.gradients import AggregationMethod, _Backward
from weft.framework.handle_data import handle_data
from weft.framework.operation import Operation
from weft.framework.recording import note_outputs
from weft.framework.registry import OpDecl
from weft.framework.shape_rules import is_full
from weft.framework.tensor import Tensor

_SIZES = frozenset(("Shape", "Size", "Rank"))


class GradientGraph(FuncGraph):
    """A function body that differentiates another one."""

    def __init__(self, name: str, outer: Any, forward: FuncGraph):
        super().__init__(name, outer)
        self.forward = forward
        self._from_forward: dict[Tensor, Tensor] = {}
        self.intermediates: dict[Tensor, Tensor] = {}  # forward tensor -> what stands for it here

    def capture(self, tensor: Any, name: str | None = None) -> Tensor:
        op = getattr(tensor, "_op", None)
        if op is None or op._graph is not self.forward:
            return super().capture(tensor, name)
        known = self._from_forward.get(tensor)
        if known is None:
            known = self._from_forward[tensor] = self._take(tensor, op)
        return known

    def _take(self, tensor: Tensor, op: Operation) -> Tensor:
        outer = self.input_outside(tensor)
        if outer is not None:
            return super().capture(outer)
        if op._decl.name == "Const" or self.can_compute_again(op):
            return self._copy(op)._outputs[tensor._index]
        inner = self.intermediate(tensor)
        self.intermediates[tensor] = inner
        return inner

    def input_outside(self, tensor: Tensor) -> Any:
        """The tensor outside that a forward input always is; None where it is not an input, or varies."""
        raise NotImplementedError(type(self))

    def intermediate(self, tensor: Tensor) -> Tensor:
        """What stands here for an intermediate value of the forward function."""
        inner = self._placeholder(tensor.dtype, tensor._dims, tensor._op._name.rsplit("/", 1)[-1])
        if tensor.dtype.name in ("resource", "variant"):
            inner._handle_data = handle_data(tensor)
        return inner

    def can_compute_again(self, op: Operation) -> bool:
        """Whether a forward operation is better computed again than its value kept."""
        return False

    def _copy(self, op: Operation) -> Operation:
        with self.as_default(), self.control_dependencies(None):
            new = super().add_op(
                op._decl,
                [self.capture(t) for t in op._inputs],
                dict(op._attrs),
                [t._dtype for t in op._outputs],
                op._name.rsplit("/", 1)[-1],
            )
        for a, b in zip(op._outputs, new._outputs):
            b._dims = a._dims
            self._from_forward[a] = b
        return new

    def add_op(
        self,
        decl: OpDecl,
        inputs: list[Tensor],
        attrs: dict[str, Any],
        dtypes_: list[DType],
        name: str | None = None,
        site_depth: int = 2,
    ) -> Operation:
        if inputs and inputs[0]._op._graph is self.forward:
            tensor = inputs[0]
            if decl.name == "Shape" and is_full(tensor._dims):
                return self._constant(np.asarray(tensor._dims, attrs["out_type"].np), name)
            if decl.name in _SIZES:
                size = self._forward_size(decl, tensor, attrs, dtypes_)
                decl, inputs, attrs = registry.get("Identity"), [size], {"T": size.dtype}
            elif decl.name == "ZerosLike" and tensor.dtype.np not in (None, object):
                if tensor not in self._from_forward:
                    return self._zeros(tensor, name)
        return super().add_op(decl, inputs, attrs, dtypes_, name, site_depth + 1)

    def _constant(self, value: np.ndarray, name: str | None = None) -> Operation:
        dtype = as_dtype(value.dtype)
        return super().add_op(
            registry.get("Const"), [], {"value": value, "dtype": dtype}, [dtype], name
        )

    def _forward_size(
        self, decl: OpDecl, tensor: Tensor, attrs: dict[str, Any], dtypes_: list[DType]
    ) -> Tensor:
        """The size of a forward tensor, computed where the tensor is."""
        sizes = self.forward.__dict__.setdefault("_sizes", {})
        key = (decl.name, tensor, attrs.get("out_type"))
        size = sizes.get(key)
        if size is None:
            with self.forward.as_default(), self.forward.control_dependencies(None):
                op = self.forward.add_op(decl, [tensor], dict(attrs), list(dtypes_), decl.name)
            size = sizes[key] = op._outputs[0]
        return size

    def _zeros(self, tensor: Tensor, name: str | None) -> Operation:
        """Zeros like a forward tensor, whose value is not needed for that."""
        shape = self.add_op(
            registry.get("Shape"), [tensor], {"T": tensor.dtype, "out_type": int32}, [int32]
        )
        zero = self._constant(np.zeros((), tensor.dtype.np))
        dtype = tensor.dtype.base_dtype
        op = super().add_op(
            registry.get("Fill"),
            [shape._outputs[0], zero._outputs[0]],
            {"T": dtype, "index_type": int32},
            [dtype],
            name,
        )
        op._outputs[0]._dims = tensor._dims
        return op


def backward(ys: list[Tensor], xs: list[Tensor], grad_ys: list[Any]) -> list[Any]:
    """The gradients of forward tensors, in the gradient's graph, which is the default one."""
    graph = context.get_default_graph()
    pass_ = _Backward(graph, "", False, False, AggregationMethod.DEFAULT, grad_ys)
    return pass_.run(ys, xs, [], None)


def note_rewrite(graph: Any) -> None:
    """Tells sessions that operations of the graph have changed, so that they plan anew."""
    root = function_tracing.outermost(graph)
    root.__dict__["_rewrites"] = root.__dict__.get("_rewrites", 0) + 1


def extend_outputs(op: Operation, tensors: list[Tensor]) -> list[Tensor]:
    """Adds outputs like these tensors to an operation that calls functions."""
    new = []
    for t in tensors:
        out = Tensor(op, len(op._outputs), t.dtype.base_dtype)
        out._dims = t._dims
        if t.dtype.name in ("resource", "variant"):
            out._handle_data = handle_data(t)
        op._outputs.append(out)
        new.append(out)
    note_rewrite(op._graph)
    note_outputs(op, new)
    return new
