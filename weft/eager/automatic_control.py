"""Automatic control inputs: operations with effects run in the order in which a function wrote them."""

from __future__ import annotations

from typing import Any

from weft.framework import dtypes
from weft.framework.operation import Operation

# Stateful in name; their order does not matter.
_FREE = frozenset(
    "Placeholder VarHandleOp VariableV2 Variable RandomUniform RandomUniformInt RandomStandardNormal "
    "ParameterizedTruncatedNormal TruncatedNormal RandomShuffle Multinomial RandomGamma RandomGammaGrad "
    "RandomPoisson RandomPoissonV2 CollectiveGather CollectiveReduce CollectiveBcastSend CollectiveBcastRecv "
    "NcclAllReduce".split()
)
_READS = frozenset(
    "ReadVariableOp ResourceGather ResourceGatherNd VariableShape VarIsInitializedOp".split()
)


def add_control_inputs(graph: Any) -> None:
    """Chains the operations that use one resource, and those that have effects without one."""
    writer: dict[Any, Operation] = {}  # the last operation that changed a resource
    readers: dict[Any, list[Operation]] = {}  # those that read it since
    last: Operation | None = None
    for op in list(graph._ops.values()):
        kind = op._decl.name
        if kind in _FREE or not (op._decl.stateful or op._control_inputs):
            continue
        before: dict[Operation, None] = {}
        handles = [_root(t) for t in op._inputs if t._dtype is dtypes.resource]
        if handles:
            reads = kind in _READS
            for handle in handles:
                if handle in writer:
                    before.setdefault(writer[handle])
                if reads:
                    readers.setdefault(handle, []).append(op)
                else:
                    for reader in readers.pop(handle, ()):
                        before.setdefault(reader)
                    writer[handle] = op
        elif op._decl.stateful:
            if last is not None:
                before.setdefault(last)
            last = op
        before.pop(op, None)
        new = [b for b in before if b not in op._control_inputs]
        if new:
            op._add_control_inputs(new)


def _root(tensor: Any) -> Any:
    """The tensor that a handle comes from."""
    while tensor._op is not None and tensor._op._decl.name == "Identity":
        tensor = tensor._op._inputs[0]
    return tensor
