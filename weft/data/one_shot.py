"""Making the operations of a dataset again within a function: how a one-shot iterator begins by itself."""

from __future__ import annotations

from weft.framework.func_graph import FuncGraph
from weft.framework.operation import Operation
from weft.framework.tensor import Tensor


def copied(tensor: Tensor, graph: FuncGraph, copies: dict[Operation, Operation]) -> Tensor:
    """The tensor that a copy of an operation gives; what it needs is copied with it."""
    op = tensor.op
    if op not in copies:
        if op.type in ("Placeholder", "PlaceholderWithDefault", "PlaceholderV2"):
            raise ValueError(
                f"Cannot capture a placeholder (name:{op.name}, type:{op.type}) by value."
            )
        if op._decl.stateful and "Dataset" not in op.type and op.type != "AnonymousMemoryCache":
            raise ValueError(
                f"Cannot capture a stateful node (name:{op.name}, type:{op.type}) by value."
            )
        inputs = [copied(t, graph, copies) for t in op.inputs]
        with graph.as_default():
            copy = graph.add_op(
                op._decl, inputs, dict(op._attrs), [t._dtype for t in op.outputs], op.name
            )
        for mine, its in zip(copy._outputs, op._outputs):
            mine._dims = its._dims
        copies[op] = copy
    return copies[op].outputs[tensor.value_index]
