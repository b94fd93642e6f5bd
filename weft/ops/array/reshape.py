"""The same elements in another shape: Reshape, ExpandDims, Squeeze, Bitcast."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from weft.framework import dtypes
from weft.framework.export import export
from weft.framework.registry import op
from weft.framework.shape_rules import Shape, ShapeError, rank, text
from weft.ops.array import shape_of


def reshaped(old: tuple[int, ...], wanted: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that `wanted` asks for, the one -1 in it filled in; ShapeError if it cannot be had."""
    unknown = -1
    known = 1
    for i, size in enumerate(wanted):
        if size == -1:
            if unknown >= 0:
                raise ShapeError(f"Only one input size may be -1, not both {unknown} and {i}")
            unknown = i
        elif size < 0:
            raise ShapeError(f"Size {i} must be non-negative, not {size}")
        else:
            known *= size
    count = math.prod(old)
    if unknown >= 0:
        if known == 0 and count == 0:  # infer it from the sizes that are not zero
            known = math.prod(d for d in wanted if d > 0)
            count = math.prod(d for d in old if d > 0)
        if known == 0 or count % known:
            raise ShapeError(
                f"Dimension size must be evenly divisible by {known} but is {count}: Input to reshape "
                f"is a tensor with {count} values, but the requested shape requires a multiple of {known}"
            )
        return (*wanted[:unknown], count // known, *wanted[unknown + 1 :])
    if known != count:
        raise ShapeError(
            f"Cannot reshape a tensor with {count} elements to shape {text(wanted)} ({known} elements): "
            f"Input to reshape is a tensor with {count} values, but the requested shape has {known}"
        )
    return wanted


@op(
    "Reshape",
    "tensor: T, shape: Tshape -> output: T",
    "T: type; Tshape: type in {int32, int64} = int32",
    static=("shape",),
)
def reshape_op(xp, tensor, shape):
    """The elements of `tensor` in another shape."""
    if shape.ndim != 1:
        raise ShapeError(f"sizes input must be 1-D, not {text(shape.shape)}")
    return tensor.reshape(reshaped(tensor.shape, tuple(shape.tolist())))


@reshape_op.shape
def _(tensor, shape, *, const):
    if shape is not None and len(shape) > 1:
        rank(shape, 1, "shape")
    value = const("shape")
    if value is not None and value.ndim == 1 and tensor is not None and None not in tensor:
        return reshaped(tensor, tuple(value.tolist()))
    if value is not None and value.ndim == 0:
        return None
    wanted = const.shape("shape") if shape is None or len(shape) == 1 else None
    if wanted is None or tensor is None:
        return wanted
    return _partly_reshaped(tensor, wanted, value is not None)


def _partly_reshaped(old: Shape, wanted: tuple, is_final: bool) -> Shape:
    """The static shape where sizes on either side are unknown; `is_final`: None stands for -1 only."""
    assert old is not None
    missing = [i for i, d in enumerate(wanted) if d is None]
    if is_final and len(missing) > 1:
        raise ShapeError(f"Only one input size may be -1, not both {missing[0]} and {missing[1]}")
    known_new = math.prod(d for d in wanted if d is not None)
    unknown_old = [d for d in old if d is None]
    known_old = math.prod(d for d in old if d is not None)
    if not missing and not unknown_old and known_new != known_old:
        raise ShapeError(
            f"Cannot reshape a tensor with {known_old} elements to shape {text(wanted)} ({known_new} elements)"
        )
    if not missing and unknown_old and known_old and known_new % known_old:
        raise ShapeError(
            f"Cannot reshape a tensor with shape {text(old)} to shape {text(wanted)}: {known_new} is no multiple "
            f"of {known_old}"
        )
    if len(missing) != 1 or known_new == 0:
        return wanted
    i = missing[0]
    if not unknown_old:
        if known_old % known_new:
            raise ShapeError(
                f"Dimension size must be evenly divisible by {known_new} but is {known_old}"
            )
        return (*wanted[:i], known_old // known_new, *wanted[i + 1 :])
    if old.count(0) or known_old == 0:
        return (*wanted[:i], 0, *wanted[i + 1 :])
    return wanted


@reshape_op.gradient
def _(op, grad):
    return [reshape_op(grad, shape_of.shape(op.inputs[0])), None]


@export("reshape", "manip.reshape")
def reshape(tensor: Any, shape: Any, name: str | None = None) -> Any:
    """Returns the elements of `tensor` in another shape; a size -1 is inferred from the others."""
    return reshape_op(tensor, shape, name=name)


def _reshape_to_input(op: Any, grad: Any) -> Any:
    return reshape_op(grad, shape_of.shape(op.inputs[0]))


@op(
    "ExpandDims",
    "input: T, dim: Tdim -> output: T",
    "T: type; Tdim: type in {int32, int64} = int32",
    static=("dim",),
)
def expand_dims_op(xp, input, dim):
    """The input with a dimension of size 1 inserted."""
    return input.reshape(_expanded(input.shape, _axis_of(dim)))


def _axis_of(dim: np.ndarray) -> int:
    if dim.size != 1:
        raise ShapeError(
            f"'dim' input must be a tensor with a single value, but has shape {text(dim.shape)}"
        )
    return int(dim.reshape(-1)[0])


def _expanded(shape: tuple, axis: int) -> tuple:
    n = len(shape)
    if not -n - 1 <= axis <= n:
        raise ShapeError(
            f"Tried to expand dim index {axis} for tensor with {n} dimensions: dimension {axis} not "
            f"in the interval [{-n - 1}, {n}]."
        )
    if axis < 0:
        axis += n + 1
    return (*shape[:axis], 1, *shape[axis:])


@expand_dims_op.shape
def _(input, dim, *, const):
    axis = const("dim")
    if input is None:
        return None
    if axis is None:
        return (None,) * (len(input) + 1)
    return _expanded(input, _axis_of(axis))


@expand_dims_op.rows("input")
def _(xp, input, dim):
    axis = _axis_of(dim)
    return input.reshape(_expanded(input.shape, axis + 1 if axis >= 0 else axis))


@expand_dims_op.gradient
def _(op, grad):
    return [_reshape_to_input(op, grad), None]


@export("expand_dims")
def expand_dims(input: Any, axis: Any = None, name: str | None = None, dim: Any = None) -> Any:
    """Returns `input` with a dimension of size 1 inserted before `axis`."""
    if dim is not None:
        if axis is not None:
            raise ValueError("can't specify both 'dim' and 'axis'")
        axis = dim
    if axis is None:
        raise ValueError("Must specify an axis argument to tf.expand_dims()")
    return expand_dims_op(input, axis, name=name)


@op("Squeeze", "input: T -> output: T", "T: type; squeeze_dims: list(int) >= 0 = []")
def squeeze_op(xp, input, *, squeeze_dims):
    """The input without its dimensions of size 1, or without the given ones."""
    return input.reshape(_squeezed(input.shape, squeeze_dims))


def _squeezed(shape: Shape, axes: list[int]) -> Shape:
    if shape is None:
        return None
    n = len(shape)
    if not axes:
        if None in shape:
            return None
        return tuple(d for d in shape if d != 1)
    gone = set()
    for a in axes:
        if not -n <= a < n:
            raise ShapeError(f"Tried to squeeze dim index {a} for tensor with {n} dimensions")
        gone.add(a % n)
    for a in gone:
        if shape[a] not in (1, None):
            raise ShapeError(f"Can not squeeze dim[{a}], expected a dimension of 1, got {shape[a]}")
    return tuple(d for i, d in enumerate(shape) if i not in gone)


@squeeze_op.shape
def _(input, *, squeeze_dims):
    return _squeezed(input, squeeze_dims)


@squeeze_op.gradient
def _(op, grad):
    return _reshape_to_input(op, grad)


@export("squeeze")
def squeeze(input: Any, axis: Any = None, name: str | None = None, squeeze_dims: Any = None) -> Any:
    """Returns `input` without its dimensions of size 1, or without those of `axis`."""
    if squeeze_dims is not None:
        if axis is not None:
            raise ValueError("Cannot specify both 'squeeze_dims' and 'axis'")
        axis = squeeze_dims
    if axis is None:
        axis = []
    if isinstance(axis, (int, np.integer)):
        axis = [axis]
    return squeeze_op(input, squeeze_dims=axis, name=name)


_BITS = (
    "in {bfloat16, half, float, double, int64, int32, uint8, uint16, uint32, uint64, int8, int16, complex64, "
    "complex128, qint8, quint8, qint16, quint16, qint32}"
)


@op("Bitcast", "input: T -> output: type", f"T: type {_BITS}; type: type {_BITS}")
def bitcast_op(xp, input, *, type):
    """The bits of the input as another type; a narrower one adds a dimension, a wider one takes it away."""
    _bitcast_shape(input.shape, input.dtype.itemsize, type.size)
    if not xp.is_numpy:
        return xp.bitcast(input, type.np)
    array = np.ascontiguousarray(input)
    if array.ndim == 0 or type.size < array.dtype.itemsize:
        array = array.reshape(*input.shape, 1)
    array = array.view(type.np)
    if type.size > input.dtype.itemsize or type.size == input.dtype.itemsize and input.ndim == 0:
        array = array.reshape(array.shape[:-1])
    return array


def _bitcast_shape(shape: Shape, old: int, new: int) -> Shape:
    if shape is None or old == new:
        return shape
    if new < old:
        return (*shape, old // new)
    if not shape or shape[-1] not in (None, new // old):
        raise ShapeError(
            f"Cannot bitcast due to shape. {shape[-1] if shape else 'a scalar'} is not evenly divisible: the last "
            f"dimension must be {new // old} (shape {text(shape)})"
        )
    return shape[:-1]


@bitcast_op.shape
def _(input, *, T, type):
    return _bitcast_shape(input, T.size, type.size)


@export("bitcast")
def bitcast(input: Any, type: Any, name: str | None = None) -> Any:
    """Returns the bits of `input` as elements of another type."""
    return bitcast_op(input, type=dtypes.as_dtype(type), name=name)
