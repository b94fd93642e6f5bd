"""What a strided slice means: its begin, end, strides and masks, resolved against a shape."""

from __future__ import annotations

import functools
from typing import NamedTuple

from weft.framework.shape_rules import Shape, ShapeError
from weft.ops.array.boxes import as_slice

# (begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask)
Masks = tuple[int, int, int, int, int]


class Resolved(NamedTuple):
    """A strided slice of an array of known shape."""

    slices: tuple[slice, ...]  # one for each dimension; of an indexed one the slice of that element
    ranges: tuple[tuple[int, int, int], ...]  # the same as (begin, size, stride)
    sizes: tuple[int, ...]  # the shape of array[slices]
    final: tuple[int, ...]  # the shape of the result: indexed dimensions gone, new axes there
    is_simple: bool  # whether all strides are 1


@functools.lru_cache(maxsize=1024)
def layout(length: int, masks: Masks, rank: int) -> tuple[tuple[int, int], ...]:
    """For each dimension of the result, before indexed ones go, (dimension of the input or -1 for a new axis,
    position in begin/end/strides or -1 for all of the dimension)."""
    _, _, ellipsis, new_axis, _ = masks
    if ellipsis & (ellipsis - 1):
        raise ShapeError("Multiple ellipses in slice spec not allowed")
    out: list[tuple[int, int]] = []
    at = 0
    seen = False
    for i in range(length):
        bit = 1 << i
        if ellipsis & bit:
            seen = True
            after = sum(1 for j in range(i + 1, length) if not new_axis & (1 << j))
            while at < rank - after:
                out.append((at, -1))
                at += 1
        elif new_axis & bit:
            out.append((-1, i))
        else:
            if at >= rank:
                raise ShapeError(
                    f"Index out of range using input dim {at}; input has only {rank} dims"
                )
            out.append((at, i))
            at += 1
    if not seen:
        out.extend((j, -1) for j in range(at, rank))
    elif at < rank:
        raise ShapeError(f"Index out of range using input dim {at}; input has only {rank} dims")
    return tuple(out)


def one_range(
    size: int, begin: int, end: int, stride: int, i: int, masks: Masks
) -> tuple[int, int, int]:
    """(begin, number of elements, stride) of one dimension."""
    bit = 1 << i
    if stride == 0:
        raise ShapeError(f"strides[{i}] must be non-zero")
    if masks[4] & bit:
        if stride < 0:
            raise ShapeError("only stride 1 allowed on non-range indexing.")
        at = begin + size if begin < 0 else begin
        if not 0 <= at < size:
            raise ShapeError(f"slice index {begin} of dimension {i} out of bounds.")
        return at, 1, 1
    low, high = (0, size) if stride > 0 else (-1, size - 1)
    if masks[0] & bit:
        first = low if stride > 0 else high
    else:
        first = min(max(begin + size if begin < 0 else begin, low), high)
    if masks[1] & bit:
        last = high if stride > 0 else low
    else:
        last = min(max(end + size if end < 0 else end, low), high)
    return first, len(range(first, last, stride)), stride


@functools.lru_cache(maxsize=8192)
def resolve(
    shape: tuple[int, ...],
    begin: tuple[int, ...],
    end: tuple[int, ...],
    strides: tuple[int, ...],
    masks: Masks,
) -> Resolved:
    """The slice in an array of this shape; ShapeError where it has none."""
    _check_lengths(len(begin), len(end), len(strides))
    ranges: list[tuple[int, int, int]] = []
    final: list[int] = []
    for axis, i in layout(len(begin), masks, len(shape)):
        if axis < 0:
            final.append(1)
            continue
        if i < 0:
            found = (0, shape[axis], 1)
        else:
            found = one_range(shape[axis], begin[i], end[i], strides[i], i, masks)
        ranges.append(found)
        if i < 0 or not masks[4] & (1 << i):
            final.append(found[1])
    return Resolved(
        tuple([as_slice(*r) for r in ranges]),
        tuple(ranges),
        tuple([n for _, n, _ in ranges]),
        tuple(final),
        all(stride == 1 for *_, stride in ranges),
    )


def _check_lengths(begin: int | None, end: int | None, strides: int | None) -> int | None:
    known = {n for n in (begin, end, strides) if n is not None}
    if len(known) > 1:
        raise ShapeError(
            "Expected begin, end, and strides to be 1D equal size tensors, but got lengths "
            f"{begin}, {end}, and {strides} instead."
        )
    length = known.pop() if known else None
    if length is not None and length >= 32:
        raise ShapeError(f"A strided slice takes at most 31 entries, got {length}")
    return length


def static_shape(
    shape: Shape,
    lengths: tuple[int | None, int | None, int | None],
    begin: list[int | None] | None,
    end: list[int | None] | None,
    strides: list[int | None] | None,
    masks: Masks,
) -> Shape:
    """The shape of a slice as far as it is known; elements that are not known yet are None."""
    length = _check_lengths(*lengths)
    if shape is None or length is None:
        return None
    nothing: list[int | None] = [None] * length
    begin, end, strides = begin or nothing, end or nothing, strides or nothing
    out: list[int | None] = []
    for axis, i in layout(length, masks, len(shape)):
        if axis < 0:
            out.append(1)
            continue
        size = shape[axis]
        if i < 0:
            out.append(size)
            continue
        b, e, s = begin[i], end[i], strides[i]
        bit = 1 << i
        shrinks = bool(masks[4] & bit)
        if s == 0:
            raise ShapeError(f"strides[{i}] must be non-zero")
        if shrinks and s is not None and s < 0:
            raise ShapeError("only stride 1 allowed on non-range indexing.")
        if shrinks:
            if b is not None and size is not None and not -size <= b < size:
                raise ShapeError(f"slice index {b} of dimension {i} out of bounds.")
            continue
        b_known, e_known = b is not None or masks[0] & bit, e is not None or masks[1] & bit
        if size is not None and s is not None and b_known and e_known:
            out.append(one_range(size, b or 0, e or 0, s, i, masks)[1])
        else:
            out.append(None)
    return tuple(out)
