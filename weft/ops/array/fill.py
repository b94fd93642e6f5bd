"""Tensors of one value: Fill, ZerosLike, OnesLike, Empty, and `zeros` and `ones`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from weft.framework import context, conversion, dtypes, errors
from weft.framework.export import export
from weft.framework.registry import get, op
from weft.framework.scopes import name_scope
from weft.framework.shape_rules import ShapeError, is_full, rank, same, text
from weft.framework.tensor import Tensor
from weft.framework.tensor_shape import Dimension, TensorShape
from weft.ops.array import constant, shape_of
from weft.ops.array.reshape import reshape

# Up to this size `zeros` and `ones` are constants; larger ones would make a GraphDef large.
_SMALL = 1000


def zero_of(dtype: Any) -> Any:
    """The zero of a NumPy dtype; of strings the empty one."""
    return b"" if np.dtype(dtype).kind == "O" else np.zeros((), dtype)[()]


def filled(xp: Any, shape: tuple, value: Any, dtype: Any) -> Any:
    """An array of one value."""
    if np.dtype(dtype).kind == "O":
        out = np.empty(shape, object)
        out.fill(value)
        return out
    return xp.full(shape, value, dtype)


@op(
    "Fill",
    "dims: index_type, value: T -> output: T",
    "T: type; index_type: type in {int32, int64} = int32",
    static=("dims",),
)
def fill_op(xp, dims, value):
    """An array of shape `dims` in which every element is `value`."""
    if dims.ndim != 1:
        raise ShapeError(f"dims must be a vector, got shape {text(dims.shape)}")
    if value.ndim != 0:
        raise ShapeError(f"value must be a scalar, got shape {text(value.shape)}")
    shape = tuple(dims.tolist())
    if any(d < 0 for d in shape):
        raise ShapeError(f"Fill dimensions must be >= 0, got {list(shape)}")
    return filled(xp, shape, value if value.dtype != object else value[()], value.dtype)


@fill_op.shape
def _(dims, value, *, const):
    rank(dims, 1, "dims")
    rank(value, 0, "value")
    known = const("dims")
    if known is not None and (known < 0).any():
        raise ShapeError(f"Fill dimensions must be >= 0, got {known.tolist()}")
    return const.shape("dims")


@fill_op.gradient
def _(op, grad):
    axes = get("Range")(np.int32(0), shape_of.rank(op.outputs[0]), np.int32(1))
    return [None, get("Sum")(grad, axes)]


@export("fill")
def fill(dims: Any, value: Any, name: str | None = None) -> Any:
    """Returns a tensor of shape `dims` filled with one value."""
    result = fill_op(dims, value, name=name)
    return result


@op("ZerosLike", "x: T -> y: T", "T: type")
def zeros_like_op(xp, x):
    """Zeros in the shape of `x`."""
    if hasattr(x, "zeros_like"):  # a variant, such as a list of tensors
        return x.zeros_like()
    if not hasattr(x, "dtype"):
        raise errors.UnimplementedError(
            None, None, f"ZerosLike has no zero for a {type(x).__name__} in a variant."
        )
    if x.dtype == object:
        if x.ndim == 0 and hasattr(x[()], "zeros_like"):
            return x[()].zeros_like()
        return filled(xp, x.shape, b"", object)
    return xp.zeros(x.shape, x.dtype)


zeros_like_op.shape(same)
zeros_like_op.not_differentiable()

_ONES = (
    "T: type in {bfloat16, half, float, double, int8, uint8, int16, uint16, int32, int64, complex64, complex128, "
    "bool}"
)


@op("OnesLike", "x: T -> y: T", _ONES)
def ones_like_op(xp, x):
    """Ones in the shape of `x`."""
    return xp.ones(x.shape, x.dtype)


ones_like_op.shape(same)
ones_like_op.not_differentiable()


@op(
    "Empty",
    "shape: int32 -> output: dtype",
    "dtype: type; init: bool = false",
    stateful=True,
    static=("shape",),
)
def empty(xp, shape, *, dtype):
    """An array of a shape, with elements that mean nothing (they are zero)."""
    if (shape < 0).any():
        raise ShapeError(f"Sizes of Empty must be >= 0, got {shape.tolist()}")
    return filled(xp, tuple(shape.tolist()), zero_of(dtype.np), dtype.np)


@empty.shape
def _(shape, *, const):
    rank(shape, 1, "shape")
    return const.shape("shape")


def _static_sizes(shape: Any) -> Any:
    """The tuple of sizes that a Python value gives, or None where they are not plain numbers."""
    if isinstance(shape, TensorShape):
        return shape.dims_tuple if is_full(shape.dims_tuple) else None
    if isinstance(shape, np.ndarray):
        return tuple(int(d) for d in shape.reshape(-1)) if shape.dtype.kind in "iu" else None
    if isinstance(shape, (int, np.integer, Dimension)):
        shape = [shape]
    if not isinstance(shape, (list, tuple)):
        return None
    out = []
    for d in shape:
        if isinstance(d, Dimension):
            d = d.value
        if isinstance(d, bool) or not isinstance(d, (int, np.integer)):
            return None
        out.append(int(d))
    return tuple(out)


def _constant(value: Any, shape: Any, dtype: Any, default_name: str, name: str | None) -> Any:
    """A tensor of one value: a constant where it is small and its shape is known, else a Fill."""
    dtype = dtypes.as_dtype(dtype).base_dtype
    with name_scope(name, default_name, [shape]) as name:
        if not isinstance(shape, Tensor):
            sizes = _static_sizes(shape)
            if sizes is not None:
                if any(d < 0 for d in sizes):
                    raise ValueError(f"Dimensions must be >= 0, got {list(sizes)}")
                if context.current.eager or math.prod(sizes) < _SMALL:
                    array = filled(np, sizes, value, dtype.np)
                    return constant.from_array(array, dtype, name)
                wide = any(d > 0x7FFFFFFF for d in sizes)
                shape = constant.from_array(
                    np.array(sizes, np.int64 if wide else np.int32), None, "shape_as_tensor"
                )
            else:
                shape = conversion.convert_to_tensor(
                    shape, dtype=None if hasattr(shape, "dtype") else dtypes.int32
                )
        if not shape._dims:
            shape = reshape(shape, np.array([-1], np.int32))
        return fill_op(
            shape, constant.from_array(filled(np, (), value, dtype.np), dtype, "Const"), name=name
        )


@export("zeros")
def zeros(shape: Any, dtype: Any = dtypes.float32, name: str | None = None) -> Any:
    """Returns a tensor in which every element is zero."""
    value = b"" if dtypes.as_dtype(dtype).base_dtype is dtypes.string else 0
    return _constant(value, shape, dtype, "zeros", name)


@export("ones")
def ones(shape: Any, dtype: Any = dtypes.float32, name: str | None = None) -> Any:
    """Returns a tensor in which every element is one."""
    return _constant(1, shape, dtype, "ones", name)


@export("zeros_like")
def zeros_like(
    tensor: Any, dtype: Any = None, name: str | None = None, optimize: bool = True
) -> Any:
    """Returns zeros in the shape of `tensor`; with `optimize` a constant where the shape is known."""
    dtype = None if dtype is None else dtypes.as_dtype(dtype)
    with name_scope(name, "zeros_like", [tensor]) as name:
        tensor = conversion.convert_to_tensor(tensor, name="tensor")
        own = tensor.dtype.base_dtype
        if not context.current.eager and optimize and is_full(tensor._dims):
            if own is not dtypes.variant:
                return zeros(tensor._dims, dtype=dtype or own, name=name)
        if dtype not in (None, own, dtypes.variant):
            return zeros(shape_of.shape_internal(tensor, optimize=optimize), dtype=dtype, name=name)
        return zeros_like_op(tensor, name=name)


@export("ones_like")
def ones_like(
    tensor: Any, dtype: Any = None, name: str | None = None, optimize: bool = True
) -> Any:
    """Returns ones in the shape of `tensor`."""
    with name_scope(name, "ones_like", [tensor]) as name:
        tensor = conversion.convert_to_tensor(tensor, name="tensor")
        dtype = tensor.dtype if dtype is None else dtype
        shape = shape_of.shape_internal(tensor, optimize=optimize)
        if not context.current.eager and optimize and is_full(tensor._dims):
            return ones(tensor._dims, dtype=dtype, name=name)
        result = ones(shape, dtype=dtype, name=name)
        if not context.current.eager:
            result.set_shape(tensor.shape)
        return result
