"""StringJoin, ReduceJoin, UnsortedSegmentJoin."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from weft.framework import conversion, errors
from weft.framework.export import export
from weft.framework.registry import op
from weft.framework.scopes import name_scope
from weft.framework.shape_rules import ShapeError, merge, text
from weft.ops.by_name import raw
from weft.ops.math.reduce_functions import chosen
from weft.ops.strings.elements import as_bytes, each, invalid, of


@op(
    "StringJoin",
    "inputs: N*string -> output: string",
    "N: int >= 1; separator: string = ''",
    host=True,
)
def string_join_op(xp, inputs, *, separator):
    """The strings of several tensors put together; a scalar goes with every element."""
    shapes = {x.shape for x in inputs if x.ndim}
    if len(shapes) > 1:
        raise ShapeError("Input shapes do not match: " + " vs. ".join(map(text, shapes)))
    join = as_bytes(separator).join
    return each(lambda *parts: join(parts), *inputs)


@string_join_op.shape
def _(inputs):
    if all(shape == () for shape in inputs):
        return ()
    out = None
    for shape in inputs:
        if shape:
            out = merge(out, shape)
    return out


string_join_op.elementwise("inputs").not_differentiable()


@op(
    "ReduceJoin",
    "inputs: string, reduction_indices: int32 -> output: string",
    "keep_dims: bool = false; separator: string = ''",
    host=True,
)
def reduce_join_op(xp, inputs, reduction_indices, *, keep_dims, separator):
    """The strings along some dimensions put together; the first of these dimensions varies fastest."""
    n = inputs.ndim
    axes = []
    for i in reduction_indices.ravel().tolist():
        if not -n <= i < n:
            raise errors.OutOfRangeError(
                None, None, f"Invalid reduction dimension {i} for input with {n} dimension(s)"
            )
        if i % n in axes:
            raise invalid(f"Duplicate reduction dimension {i}")
        axes.append(i % n)
    kept = [i for i in range(n) if i not in axes]
    shape = [inputs.shape[i] for i in kept]
    groups = inputs.transpose(*kept, *axes[::-1]).reshape(
        int(np.prod(shape)), -1 if inputs.size else 0
    )
    joined = of(map(as_bytes(separator).join, groups.tolist()), shape)
    return np.expand_dims(joined, sorted(axes)) if keep_dims else joined


@reduce_join_op.shape
def _(inputs, reduction_indices, *, keep_dims, const):
    if const.actual:
        return None  # the kernel tells what is wrong with the dimensions
    axes = const("reduction_indices")
    if inputs is None or (axes is None and not keep_dims):
        return None
    n = len(inputs)
    if axes is None:
        return (None,) * n
    for i in axes.ravel().tolist():
        if not -n <= i < n:
            raise ShapeError(f"Invalid reduction dimension {i} for input with {n} dimensions.")
    reduced = {i % n for i in axes.ravel().tolist()}
    if keep_dims:
        return tuple(1 if i in reduced else d for i, d in enumerate(inputs))
    return tuple(d for i, d in enumerate(inputs) if i not in reduced)


reduce_join_op.not_differentiable()


@op(
    "UnsortedSegmentJoin",
    "inputs: string, segment_ids: Tindices, num_segments: Tnumsegments -> output: string",
    "separator: string = ''; Tindices: type in {int32, int64}; Tnumsegments: type in {int32, int64} = int32",
    host=True,
)
def unsorted_segment_join_op(xp, inputs, segment_ids, num_segments, *, separator):
    """The strings of each segment put together; those that come before its first text add no separator."""
    k = segment_ids.ndim
    if k == 0:
        raise invalid("Segment_id cannot have rank 0")
    if k > inputs.ndim:
        raise errors.OutOfRangeError(
            None, None, f"Invalid segment_id rank {k} for input with {inputs.ndim} dimension(s)"
        )
    if inputs.shape[:k] != segment_ids.shape:
        raise invalid(
            f"Segment dimensions are {list(segment_ids.shape)} while input dimensions are {list(inputs.shape)}"
        )
    count = int(num_segments)
    ids = segment_ids.ravel()
    if ids.size and not 0 <= ids.min() <= ids.max() < count:
        raise invalid(
            "segment_ids are not allowed to exceed num_segments or to have negative values."
        )
    rest = inputs.shape[k:]
    order = np.argsort(ids, kind="stable")
    ends = np.searchsorted(ids[order], np.arange(count), side="right")
    columns = inputs.reshape(ids.size, -1 if inputs.size else 0)[order].T
    join = as_bytes(separator).join
    joined = [
        join(itertools.dropwhile(_is_empty, part.tolist()))
        for column in columns
        for part in np.split(column, ends)[:count]
    ]
    if not columns.size:
        joined = [b""] * int(count * np.prod(rest))
    return of(joined, (*rest, count)).transpose(len(rest), *range(len(rest)))


def _is_empty(element: bytes) -> bool:
    return not element


@unsorted_segment_join_op.shape
def _(inputs, segment_ids, num_segments, *, const):
    if num_segments:
        raise ShapeError(f"Shape must be rank 0 but is rank {len(num_segments)}")
    if segment_ids is None or inputs is None:
        return None
    if len(inputs) < len(segment_ids):
        raise ShapeError(
            f"Shape must be at least rank {len(segment_ids)} but is rank {len(inputs)}"
        )
    merge(inputs[: len(segment_ids)], segment_ids)
    count = const("num_segments")
    count = None if count is None else int(count)
    if count is not None and count < 0:
        raise ShapeError(
            f"Dimension size, given by scalar input 2, must be non-negative but is {count}"
        )
    return (count, *inputs[len(segment_ids) :])


unsorted_segment_join_op.not_differentiable()


@export("string_join", "strings.join")
def string_join(inputs: Any, separator: str = "", name: str | None = None) -> Any:
    """Returns the strings of several tensors put together, with a separator between them."""
    return string_join_op(inputs, separator=separator, name=name)


@export("reduce_join", "strings.reduce_join")
def reduce_join(
    inputs: Any,
    axis: Any = None,
    keep_dims: Any = None,
    separator: str = "",
    name: str | None = None,
    reduction_indices: Any = None,
    keepdims: Any = None,
) -> Any:
    """Returns the strings along some dimensions (all, in order, if none is given) put together."""
    keepdims = chosen("keep_dims", keep_dims, "keepdims", keepdims)
    axis = chosen("reduction_indices", reduction_indices, "axis", axis)
    with name_scope(None, "ReduceJoin", [inputs, axis]):
        inputs = conversion.convert_to_tensor(inputs)
        if axis is None:
            if inputs.dims is not None:
                axis = conversion.convert_to_tensor(
                    np.arange(len(inputs.dims), dtype=np.int32)[::-1]
                )
            else:
                axis = raw.Range(raw.Sub(raw.Rank(inputs), np.int32(1)), np.int32(-1), np.int32(-1))
        return reduce_join_op(
            inputs, axis, keep_dims=bool(keepdims), separator=separator, name=name
        )


@export("strings.unsorted_segment_join")
def unsorted_segment_join(
    inputs: Any, segment_ids: Any, num_segments: Any, separator: str = "", name: str | None = None
) -> Any:
    """Returns for each of `num_segments` segments its strings put together, with a separator between them."""
    return unsorted_segment_join_op(
        inputs, segment_ids, num_segments, separator=separator, name=name
    )
