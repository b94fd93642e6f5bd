"""Moving blocks of space into the batch or the channels, and back."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from weft.framework import conversion, dtypes
from weft.framework.constant_value import constant_value
from weft.framework.export import export
from weft.framework.registry import op
from weft.framework.scopes import name_scope
from weft.framework.shape_rules import Shape, ShapeError, merge_dim, rank, rank_at_least, text
from weft.ops.array import fill
from weft.ops.array.boxes import cut
from weft.ops.array.concat import stack
from weft.ops.array.pad import padded


def _check_blocks(block: Any, around: Any, n: int, name: str) -> tuple[list[int], list[list[int]]]:
    """The block shape and the paddings or crops as lists, of a tensor of rank n."""
    if block.ndim != 1:
        raise ShapeError(f"block_shape must be a vector, got shape {text(block.shape)}")
    blocks = [int(b) for b in block]
    if n < 1 + len(blocks):
        raise ShapeError(f"input rank should be >= {1 + len(blocks)} instead of {n}")
    if around.shape != (len(blocks), 2):
        raise ShapeError(
            f"{name} should have shape [{len(blocks)}, 2] instead of {text(around.shape)}"
        )
    for b in blocks:
        if b < 1:
            raise ShapeError(f"All values in block_shape must be positive, got {blocks}")
    pairs = [[int(x) for x in row] for row in around]
    if any(x < 0 for row in pairs for x in row):
        raise ShapeError(f"All {name} must be non-negative, got {pairs}")
    return blocks, pairs


def _multiplied(size: int | None, n: int) -> int | None:
    return None if size is None else size * n


def _divided(size: int | None, n: int) -> int | None:
    if size is not None and n > 0 and size % n:
        raise ShapeError(f"Dimension size must be evenly divisible by {n} but is {size}")
    return None if size is None or n <= 0 else size // n


def _to_batch_shape(shape: Shape, blocks: list[int], paddings: list[list[int]]) -> tuple:
    assert shape is not None
    out = [_multiplied(shape[0], math.prod(blocks))]
    for d, b, (p, q) in zip(shape[1:], blocks, paddings):
        if d is None:
            out.append(None)
            continue
        if (d + p + q) % b:
            raise ShapeError(
                f"Dimension size must be evenly divisible by {b} but is {d + p + q} (padded)"
            )
        out.append((d + p + q) // b)
    return (*out, *shape[1 + len(blocks) :])


def _space_to_batch(xp: Any, input: Any, block: Any, paddings: Any) -> Any:
    blocks, pairs = _check_blocks(block, paddings, input.ndim, "paddings")
    m = len(blocks)
    final = _to_batch_shape(input.shape, blocks, pairs)
    widths = [(0, 0), *[(p, q) for p, q in pairs], *[(0, 0)] * (input.ndim - 1 - m)]
    if any(p or q for p, q in widths):
        input = padded(xp, input, widths, fill.zero_of(input.dtype))
    rest = input.shape[1 + m :]
    split = [input.shape[0]]
    for d, b in zip(input.shape[1:], blocks):
        split += (d // b, b)
    x = input.reshape(*split, *rest)
    order = [
        *[2 + 2 * i for i in range(m)],
        0,
        *[1 + 2 * i for i in range(m)],
        *range(1 + 2 * m, x.ndim),
    ]
    return x.transpose(order).reshape(final)


def _from_batch_shape(shape: Shape, blocks: list[int], crops: list[list[int]]) -> tuple:
    assert shape is not None
    out = [_divided(shape[0], math.prod(blocks))]
    for d, b, (p, q) in zip(shape[1:], blocks, crops):
        if d is None:
            out.append(None)
            continue
        if d * b < p + q:
            raise ShapeError(
                f"Negative dimension size caused by subtracting crops {p}, {q} from {d * b}"
            )
        out.append(d * b - p - q)
    return (*out, *shape[1 + len(blocks) :])


def _batch_to_space(xp: Any, input: Any, block: Any, crops: Any) -> Any:
    blocks, pairs = _check_blocks(block, crops, input.ndim, "crops")
    m = len(blocks)
    final = _from_batch_shape(input.shape, blocks, pairs)
    x = input.reshape(*blocks, final[0], *input.shape[1:])
    order = [m]
    for i in range(m):
        order += (m + 1 + i, i)
    order += range(2 * m + 1, x.ndim)
    whole = [d * b for d, b in zip(input.shape[1:], blocks)]
    x = x.transpose(order).reshape(final[0], *whole, *input.shape[1 + m :])
    kept = [(p, d - p - q, 1) for d, (p, q) in zip(whole, pairs)]
    around = [(0, d, 1) for d in x.shape]
    return cut(xp, x, [around[0], *kept, *around[1 + m :]])


def _block_rule(compute: Any, name: str, batch_size: Any) -> Any:
    """A shape rule for a moved block: known as far as the block shape and the paddings are."""

    def rule(input: Shape, block: Shape, around: Shape, const: Any, given: Any = None) -> Shape:
        values = const("block_shape") if given is None else given
        pairs = const(name)
        if given is None:
            m = rank(block, 1, "block_shape")[0]  # type: ignore[index]
        else:
            m = len(given)
        around = rank(around, 2, name)
        assert around is not None
        merge_dim(around[0], m, f"block_shape and {name} differ in length")
        merge_dim(around[1], 2, f"{name} must have two columns")
        if m is not None:
            rank_at_least(input, 1 + m, "input")
        if input is None:
            return None
        if values is None or pairs is None:
            keep = 1 + m if m is not None else len(input)
            batch = None if values is None else batch_size(input[0], math.prod(values.tolist()))
            return (batch, *(None,) * (keep - 1), *input[keep:])
        return compute(input, *_check_blocks(values, pairs, len(input), name))

    return rule


_to_batch_rule = _block_rule(_to_batch_shape, "paddings", _multiplied)
_from_batch_rule = _block_rule(_from_batch_shape, "crops", _divided)
_BLOCK = "Tblock_shape: type in {int32, int64} = int32"


@op(
    "SpaceToBatchND",
    "input: T, block_shape: Tblock_shape, paddings: Tpaddings -> output: T",
    f"T: type; {_BLOCK}; Tpaddings: type in {{int32, int64}} = int32",
    static=("block_shape", "paddings"),
)
def space_to_batch_nd_op(xp, input, block_shape, paddings):
    """The input, padded, with blocks of its space moved into the batch."""
    return _space_to_batch(xp, input, block_shape, paddings)


@space_to_batch_nd_op.shape
def _(input, block_shape, paddings, *, const):
    return _to_batch_rule(input, block_shape, paddings, const)


@space_to_batch_nd_op.gradient
def _(op, grad):
    return [batch_to_space_nd_op(grad, op.inputs[1], op.inputs[2]), None, None]


@op(
    "BatchToSpaceND",
    "input: T, block_shape: Tblock_shape, crops: Tcrops -> output: T",
    f"T: type; {_BLOCK}; Tcrops: type in {{int32, int64}} = int32",
    static=("block_shape", "crops"),
)
def batch_to_space_nd_op(xp, input, block_shape, crops):
    """The inverse of SpaceToBatchND: blocks from the batch, cropped."""
    return _batch_to_space(xp, input, block_shape, crops)


@batch_to_space_nd_op.shape
def _(input, block_shape, crops, *, const):
    return _from_batch_rule(input, block_shape, crops, const)


@batch_to_space_nd_op.gradient
def _(op, grad):
    return [space_to_batch_nd_op(grad, op.inputs[1], op.inputs[2]), None, None]


def _square(block_size: int) -> np.ndarray:
    return np.array([block_size, block_size], np.int64)


@op(
    "SpaceToBatch",
    "input: T, paddings: Tpaddings -> output: T",
    "T: type; Tpaddings: type in {int32, int64} = int32; block_size: int >= 2",
    static=("paddings",),
)
def space_to_batch_op(xp, input, paddings, *, block_size):
    """SpaceToBatchND of images with square blocks."""
    return _space_to_batch(xp, input, _square(block_size), paddings)


@space_to_batch_op.shape
def _(input, paddings, *, block_size, const):
    input = rank(input, 4, "input")
    return _to_batch_rule(input, None, paddings, const, _square(block_size))


@space_to_batch_op.gradient
def _(op, grad):
    size = op.get_attr("block_size")
    return [batch_to_space_op(grad, op.inputs[1], block_size=size), None]


@op(
    "BatchToSpace",
    "input: T, crops: Tidx -> output: T",
    "T: type; block_size: int >= 2; Tidx: type in {int32, int64} = int32",
    static=("crops",),
)
def batch_to_space_op(xp, input, crops, *, block_size):
    """BatchToSpaceND of images with square blocks."""
    return _batch_to_space(xp, input, _square(block_size), crops)


@batch_to_space_op.shape
def _(input, crops, *, block_size, const):
    input = rank(input, 4, "input")
    return _from_batch_rule(input, None, crops, const, _square(block_size))


@batch_to_space_op.gradient
def _(op, grad):
    size = op.get_attr("block_size")
    return [space_to_batch_op(grad, op.inputs[1], block_size=size), None]


@export("space_to_batch_nd", "manip.space_to_batch_nd")
def space_to_batch_nd(input: Any, block_shape: Any, paddings: Any, name: str | None = None) -> Any:
    """Returns the input, padded, with blocks of its space moved into the batch."""
    return space_to_batch_nd_op(input, block_shape, paddings, name=name)


@export("batch_to_space_nd", "manip.batch_to_space_nd")
def batch_to_space_nd(input: Any, block_shape: Any, crops: Any, name: str | None = None) -> Any:
    """Returns the input with blocks moved from the batch into space, then cropped."""
    return batch_to_space_nd_op(input, block_shape, crops, name=name)


def _block(block_size: Any, block_shape: Any) -> np.ndarray:
    if block_shape is not None:
        if block_size is not None:
            raise ValueError("Cannot specify both 'block_size' and 'block_shape'")
        block_size = block_shape
    return np.array([block_size, block_size], np.int64)


@export("space_to_batch", "nn.space_to_batch")
def space_to_batch(
    input: Any,
    paddings: Any,
    block_size: Any = None,
    name: str | None = None,
    block_shape: Any = None,
) -> Any:
    """Returns images, padded, with square blocks of their pixels moved into the batch."""
    result = space_to_batch_nd_op(input, _block(block_size, block_shape), paddings, name=name)
    result.set_shape(result.shape.with_rank(4))
    return result


@export("batch_to_space")
def batch_to_space(
    input: Any, crops: Any, block_size: Any, name: str | None = None, block_shape: Any = None
) -> Any:
    """Returns images with square blocks of pixels taken from the batch, then cropped."""
    result = batch_to_space_nd_op(input, _block(block_size, block_shape), crops, name=name)
    result.set_shape(result.shape.with_rank(4))
    return result


@export("required_space_to_batch_paddings")
def required_space_to_batch_paddings(
    input_shape: Any, block_shape: Any, base_paddings: Any = None, name: str | None = None
) -> Any:
    """Returns the paddings with which blocks divide the input, and the crops that undo them."""
    with name_scope(name, "required_space_to_batch_paddings", [input_shape, block_shape]):
        input_shape = conversion.convert_to_tensor(input_shape, dtypes.int32, name="input_shape")
        block_shape = conversion.convert_to_tensor(block_shape, dtypes.int32, name="block_shape")
        block_shape.shape.assert_is_fully_defined()
        block_shape.shape.assert_has_rank(1)
        n = block_shape._dims[0]
        if n == 0:
            return fill.zeros([0, 2], dtypes.int32), fill.zeros([0, 2], dtypes.int32)
        input_shape.shape.assert_is_compatible_with([n])
        if base_paddings is not None:
            base_paddings = conversion.convert_to_tensor(
                base_paddings, dtypes.int32, name="base_paddings"
            )
            base_paddings.shape.assert_is_compatible_with([n, 2])
        else:
            base_paddings = fill.zeros([n, 2], dtypes.int32)
        values = [constant_value(t) for t in (block_shape, input_shape, base_paddings)]
        if all(v is not None for v in values):
            block_shape, input_shape, base_paddings = values
        start, end = base_paddings[:, 0], base_paddings[:, 1]
        extra = (block_shape - (input_shape + start + end) % block_shape) % block_shape
        last = end + extra
        paddings = stack([[start[i], last[i]] for i in range(n)], name="paddings")
        crops = stack([[0, extra[i]] for i in range(n)], name="crops")
        return paddings, crops


# -- depth -------------------------------------------------------------------------------------------------

_DEPTH = 'T: type; block_size: int >= 2; data_format: string in {NHWC, NCHW, NCHW_VECT_C} = "NHWC"'


def _axes(data_format: str) -> tuple[int, int, int]:
    """The positions of height, width and channels."""
    if data_format == "NCHW_VECT_C":
        raise ShapeError("NCHW_VECT_C is for quantized images on a GPU; use NHWC or NCHW")
    return (1, 2, 3) if data_format == "NHWC" else (2, 3, 1)


@op("SpaceToDepth", "input: T -> output: T", _DEPTH)
def space_to_depth_op(xp, input, *, block_size, data_format):
    """Images with square blocks of pixels moved into the channels."""
    final = _to_depth(input.shape, block_size, data_format)
    b, (n, *_) = block_size, input.shape
    h, w, c = (input.shape[a] for a in _axes(data_format))
    if data_format == "NHWC":
        x = input.reshape(n, h // b, b, w // b, b, c).transpose(0, 1, 3, 2, 4, 5)
    else:
        x = input.reshape(n, c, h // b, b, w // b, b).transpose(0, 3, 5, 1, 2, 4)
    return x.reshape(final)


def _to_depth(shape: Shape, b: int, data_format: str) -> Shape:
    shape = rank(shape, 4, "input")
    assert shape is not None
    out = list(shape)
    *space, c = _axes(data_format)
    for a in space:
        out[a] = _divided(shape[a], b)
    out[c] = _multiplied(shape[c], b * b)
    return tuple(out)


@space_to_depth_op.shape
def _(input, *, block_size, data_format):
    return _to_depth(input, block_size, data_format)


@space_to_depth_op.gradient
def _(op, grad):
    return depth_to_space_op(grad, **_depth_attrs(op))


def _depth_attrs(op: Any) -> dict[str, Any]:
    return {"block_size": op.get_attr("block_size"), "data_format": op.get_attr("data_format")}


@op("DepthToSpace", "input: T -> output: T", _DEPTH)
def depth_to_space_op(xp, input, *, block_size, data_format):
    """Images with square blocks of pixels taken from the channels."""
    final = _to_space(input.shape, block_size, data_format)
    b, (n, *_) = block_size, input.shape
    h, w, c = (input.shape[a] for a in _axes(data_format))
    if data_format == "NHWC":
        x = input.reshape(n, h, w, b, b, c // (b * b)).transpose(0, 1, 3, 2, 4, 5)
    else:
        x = input.reshape(n, b, b, c // (b * b), h, w).transpose(0, 3, 4, 1, 5, 2)
    return x.reshape(final)


def _to_space(shape: Shape, b: int, data_format: str) -> Shape:
    shape = rank(shape, 4, "input")
    assert shape is not None
    out = list(shape)
    *space, c = _axes(data_format)
    for a in space:
        out[a] = _multiplied(shape[a], b)
    out[c] = _divided(shape[c], b * b)
    return tuple(out)


@depth_to_space_op.shape
def _(input, *, block_size, data_format):
    return _to_space(input, block_size, data_format)


@depth_to_space_op.gradient
def _(op, grad):
    return space_to_depth_op(grad, **_depth_attrs(op))


@export("space_to_depth", "nn.space_to_depth")
def space_to_depth(
    input: Any, block_size: int, name: str | None = None, data_format: str = "NHWC"
) -> Any:
    """Returns images with square blocks of pixels moved into the channels."""
    return space_to_depth_op(input, block_size=block_size, data_format=data_format, name=name)


@export("depth_to_space", "nn.depth_to_space")
def depth_to_space(
    input: Any, block_size: int, name: str | None = None, data_format: str = "NHWC"
) -> Any:
    """Returns images with square blocks of pixels taken from the channels."""
    return depth_to_space_op(input, block_size=block_size, data_format=data_format, name=name)
