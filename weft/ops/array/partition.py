"""Sorting rows into parts and putting parts together: DynamicPartition, DynamicStitch."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import errors
from weft.framework.export import export
from weft.framework.known_elements import follows_from_shapes
from weft.framework.registry import OpDecl, op
from weft.framework.shape_rules import Shape, ShapeError, merge, text
from weft.ops.array import shape_of
from weft.ops.array.fill import filled, zero_of
from weft.ops.array.gather import gather
from weft.ops.array.reshape import reshape
from weft.ops.by_name import raw


@op(
    "DynamicPartition",
    "data: T, partitions: int32 -> outputs: num_partitions*T",
    "num_partitions: int >= 1; T: type",
    host=True,
)
def dynamic_partition_op(xp, data, partitions, *, num_partitions):
    """The rows of the data, each in the part that `partitions` tells."""
    n = partitions.ndim
    if data.shape[:n] != partitions.shape:
        raise ShapeError(
            "data.shape must start with partitions.shape, got data.shape = "
            f"{text(data.shape)}, partitions.shape = {text(partitions.shape)}"
        )
    which = partitions.reshape(-1)
    bad = np.flatnonzero((which < 0) | (which >= num_partitions))
    if len(bad):
        at = ",".join(str(i) for i in np.unravel_index(bad[0], partitions.shape))
        place = f"partitions[{at}]" if at else "partitions"
        raise errors.InvalidArgumentError(
            None, None, f"{place} = {which[bad[0]]} is not in [0, {num_partitions})"
        )
    rows = data.reshape(-1, *data.shape[n:]) if data.size else _no_rows(data, n)
    order = np.argsort(which, kind="stable")
    ends = np.cumsum(np.bincount(which, minlength=num_partitions))
    return np.split(rows[order], ends[:-1])


def _no_rows(data: np.ndarray, n: int) -> np.ndarray:
    count = int(np.prod(data.shape[:n], dtype=np.int64))
    return data.reshape(count, *data.shape[n:])


@dynamic_partition_op.shape
def _(data, partitions, *, num_partitions):
    if data is None or partitions is None:
        return [None] * num_partitions
    n = len(partitions)
    if len(data) < n:
        raise ShapeError(
            f"data must have at least the rank of partitions: {text(data)}, {text(partitions)}"
        )
    merge(data[:n], partitions, "data.shape must start with partitions.shape")
    return [(None, *data[n:])] * num_partitions


@dynamic_partition_op.gradient
def _(op, *grads):
    data, partitions = op.inputs
    shape = shape_of.shape(partitions)
    count = raw.Prod(shape, np.array([0], np.int32))
    numbers = reshape(raw.Range(np.int32(0), count, np.int32(1)), shape)
    parts = dynamic_partition_op(numbers, partitions, num_partitions=op.get_attr("num_partitions"))
    whole = dynamic_stitch_op(parts, list(grads))
    return [reshape(whole, shape_of.shape(data)), None]


@export("dynamic_partition")
def dynamic_partition(
    data: Any, partitions: Any, num_partitions: int, name: str | None = None
) -> list[Any]:
    """Returns `num_partitions` tensors: the rows of `data`, each in the one that `partitions` tells."""
    return dynamic_partition_op(data, partitions, num_partitions=num_partitions, name=name)


def _rest(indices: list[Shape], data: list[Shape]) -> Shape:
    """The shape of one row, which must be the same in all of the data."""
    rest: Shape = None
    for i, d in zip(indices, data):
        if i is None or d is None:
            continue
        if len(d) < len(i):
            raise ShapeError(f"data.shape must start with indices.shape: {text(d)}, {text(i)}")
        merge(d[: len(i)], i, "data.shape must start with indices.shape")
        rest = merge(rest, d[len(i) :], "Rows of all data must have the same shape")
    return rest


def _depends_on_data(op: Any) -> bool:
    """The number of rows is known while compiling where the indices follow from shapes."""
    return not all(follows_from_shapes(t) for t in op._inputs[: op._attrs["N"]])


def _stitching(name: str) -> OpDecl:
    @op(
        name,
        "indices: N*int32, data: N*T -> merged: T",
        "N: int >= 1; T: type",
        host=_depends_on_data,
        static=("indices",),
    )
    def stitch(xp, indices, data):
        """The rows of all data, each at its index; the last one wins."""
        rest = _rest([i.shape for i in indices], [d.shape for d in data])
        flat = [i.reshape(-1) for i in indices]
        n = max((int(i.max()) + 1 for i in flat if i.size), default=0)
        for k, i in enumerate(flat):
            if i.size and i.min() < 0:
                raise errors.InvalidArgumentError(
                    None, None, f"indices[{k}] must not be negative, got {int(i.min())}"
                )
        out = filled(xp, (n, *rest), zero_of(data[0].dtype), data[0].dtype)
        for i, d in zip(flat, data):
            if not i.size:
                continue
            rows = d.reshape(i.size, *rest)
            if xp.is_numpy:
                out[i] = rows
            else:
                last = _last_of_each(i)
                out = xp.scatter(out, (i[last],), rows[last], "update")
        return out

    @stitch.shape
    def _(indices, data, *, const):
        rest = _rest(indices, data)
        if rest is None:
            return None
        most, known = 0, True
        for k in range(len(indices)):
            value = const.each("indices", k)
            if value is None:
                known = False
            elif value.size:
                most = max(most, int(value.max()) + 1)
        return (most if known else None, *rest)

    @stitch.gradient
    def _(op, grad):
        n = op.get_attr("N")
        if getattr(grad, "_is_indexed_slices", False):
            rows = shape_of.shape(op.outputs[0])[0]
            grad = raw.UnsortedSegmentSum(grad.values, grad.indices, rows)
        return [None] * n + [gather(grad, i) for i in op.inputs[:n]]

    return stitch


def _last_of_each(i: np.ndarray) -> np.ndarray:
    """Positions such that every index appears once, with its last row."""
    _, reverse_first = np.unique(i[::-1], return_index=True)
    return np.sort(len(i) - 1 - reverse_first)


dynamic_stitch_op = _stitching("DynamicStitch")
parallel_dynamic_stitch = _stitching("ParallelDynamicStitch")


@export("dynamic_stitch")
def dynamic_stitch(indices: Any, data: Any, name: str | None = None) -> Any:
    """Returns the rows of all `data`, each at its index; the last one wins."""
    return dynamic_stitch_op(indices, data, name=name)
