"""Unique where its result only chooses rows, as in the sparse updates of optimizers: XLA can take that.

How many distinct indices there are is known only as the op runs, and XLA wants shapes beforehand. But a result
that only says which rows of a table change may be longer than need be, if what is too much is dropped at the
end. So the traced op gives as many indices as it got, and tells the context how many of them count. That is
right only as long as everything computed on the way keeps rows apart; `rows_only` follows the graph to see it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

# Each row of the output follows from the same row of the inputs, and from scalars.
_KEEPS_ROWS = frozenset(
    "Identity Cast Neg Abs Sign Square Sqrt Rsqrt Reciprocal Inv Exp Log Tanh Sigmoid StopGradient Mul Add AddV2 "
    "Sub Div RealDiv Maximum Minimum Pow SquaredDifference AddN DivNoNan".split()
)
_ROW_UPDATES = ("Scatter", "ResourceScatter", "SparseApply", "ResourceSparseApply")
_MOST_FOLLOWED = 200


def is_row_update(kind: str) -> bool:
    """Whether an op changes the rows of variables that `indices` tells, and asks the context how many count."""
    return kind.startswith(_ROW_UPDATES) and "Nd" not in kind


def padded_tensors(op: Any, is_inside: Callable[[Any], bool] = lambda op: True) -> set[Any] | None:
    """The tensors whose rows would be too many if this Unique gave as many as it got; None where more than rows
    of variables would show it. Only operations that are `is_inside` are followed."""
    unique, which = op._outputs
    padded: set[Any] = {unique}
    waiting = [unique]
    while waiting:
        tensor = waiting.pop()
        for consumer in dict.fromkeys(tensor._consumers):
            if not is_inside(consumer):
                continue
            kind = consumer._decl.name
            if kind == "Shape" and tensor is unique:
                found = _counted(consumer, which, is_inside)
                if found is None:
                    return None
                new = found
            elif is_row_update(kind):
                if not _updates_rows(consumer, unique, padded):
                    return None
                new = []
            elif kind in _KEEPS_ROWS and tensor is not unique:
                if not all(t in padded or _spreads_over_rows(t, tensor) for t in consumer._inputs):
                    return None
                new = consumer._outputs
            else:
                return None
            for t in new:
                if t not in padded:
                    padded.add(t)
                    waiting.append(t)
        if len(padded) > _MOST_FOLLOWED:
            return None
    return padded


def _counted(shape: Any, which: Any, is_inside: Callable[[Any], bool]) -> list[Any] | None:
    """The sums by segment that take the number of distinct indices, which is `shape(unique)[0]`, as a size."""
    sums = []
    for part in shape._outputs[0]._consumers:
        if not is_inside(part):
            continue
        if part._decl.name != "StridedSlice" or part._outputs[0]._dims != ():
            return None
        for consumer in part._outputs[0]._consumers:
            if not is_inside(consumer):
                continue
            if (
                consumer._decl.name != "UnsortedSegmentSum"
                or consumer._inputs[1] is not which
                or consumer._inputs[2] is not part._outputs[0]
            ):
                return None
            sums.extend(consumer._outputs)
    return sums


def _updates_rows(op: Any, unique: Any, padded: set[Any]) -> bool:
    """Whether an update takes these indices as such, and padded tensors nowhere but for its rows."""
    for tensor, arg in zip(op._inputs, op._decl.signature.inputs):
        if (tensor is unique) != (arg.name == "indices"):
            return False
        if tensor in padded and arg.name not in ("indices", "updates", "grad"):
            return False
    return True


def _spreads_over_rows(tensor: Any, rows: Any) -> bool:
    """Whether every row meets the same part of a tensor."""
    if tensor._dims is None:
        return False
    return not tensor._dims or (rows._dims is not None and len(tensor._dims) < len(rows._dims))


def rows_only(op: Any) -> bool:
    """Whether the result of a Unique is only used to choose rows of variables that change."""
    if not op._inputs[0]._dtype.base_dtype.is_integer or not op._outputs[0]._consumers:
        return False
    return padded_tensors(op) is not None


def traced_unique(ctx: Any, x: Any, dtype: Any) -> tuple[Any, Any]:
    """The distinct elements, in ascending order, at the front of as many as `x` has, and which of them each
    element is."""
    xp = ctx.xp
    inside = {node.op for node in ctx.program.nodes}
    padded = padded_tensors(ctx.op, inside.__contains__)
    if padded is None or not padded.isdisjoint(ctx.program.output_tensors):
        raise ctx.cannot("the number of distinct elements is known only as it runs")
    n = x.shape[0]
    if n < 2:
        return x, xp.zeros(n, dtype)
    places = np.arange(n, dtype=np.int32)
    if x.dtype.itemsize <= 4:
        # One number that holds the element and its place sorts far quicker than the two beside each other.
        both = xp.sort((x.astype(np.int64) << 32) | places)
        ordered, order = (both >> 32).astype(x.dtype), (both & 0xFFFFFFFF).astype(np.int32)
    else:
        ordered, order = xp.lax.sort((x, xp.asarray(places)), num_keys=1)
    is_new = xp.concatenate([xp.ones(1, bool), ordered[1:] != ordered[:-1]])
    number = xp.cumsum(is_new.astype(dtype)) - 1
    which = xp.zeros(n, dtype).at[order].set(number.astype(dtype), unique_indices=True)
    distinct = xp.full(n, ordered[0], x.dtype).at[number].set(ordered)
    ctx.mark_padded(distinct, number[-1] + 1)
    return distinct, which
