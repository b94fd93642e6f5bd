"""What is known of a tensor without its values: shape, size, rank."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from weft.framework import context, conversion, dtypes
from weft.framework.export import export
from weft.framework.registry import op
from weft.framework.scopes import name_scope
from weft.framework.shape_rules import is_full, scalars
from weft.framework.sparse_tensor import is_sparse
from weft.ops.array import constant

_OUT = "out_type: type in {int32, int64} = int32"


def _sizes(dims: tuple, dtype: dtypes.DType) -> np.ndarray:
    if dtype is dtypes.int32 and any(d > 0x7FFFFFFF for d in dims):
        raise ValueError(f"Shape {list(dims)} does not fit into int32; pass out_type=tf.int64.")
    return np.array(dims, dtype.np)


@op("Shape", "input: T -> output: out_type", f"T: type; {_OUT}", shape_only=True)
def shape_op(xp, input, *, out_type):
    """The shape of a tensor, as a vector."""
    return _sizes(_shape_of(input), out_type)


@shape_op.shape
def _(input):
    return (None,) if input is None else (len(input),)


shape_op.not_differentiable()


def _shape_of(value: Any) -> tuple:
    """The shape of a value; handles and variants are scalars."""
    return getattr(value, "shape", ()) if hasattr(value, "dtype") else ()


@op("ShapeN", "input: N*T -> output: N*out_type", f"N: int >= 1; T: type; {_OUT}", shape_only=True)
def shape_n_op(xp, input, *, out_type):
    """The shapes of several tensors."""
    return [_sizes(_shape_of(x), out_type) for x in input]


@shape_n_op.shape
def _(input):
    return [(None,) if s is None else (len(s),) for s in input]


shape_n_op.not_differentiable()


@op("Size", "input: T -> output: out_type", f"T: type; {_OUT}", shape_only=True)
def size_op(xp, input, *, out_type):
    """The number of elements of a tensor."""
    return np.array(_sizes((math.prod(_shape_of(input)),), out_type)[0])


size_op.shape(scalars)
size_op.not_differentiable()


@op("Rank", "input: T -> output: int32", "T: type", shape_only=True)
def rank_op(xp, input):
    """The number of dimensions of a tensor."""
    return np.array(len(_shape_of(input)), np.int32)


rank_op.shape(scalars)
rank_op.not_differentiable()


def _sparse_shape(input: Any) -> Any:
    """The dense shape of a sparse tensor, or None for another value."""
    return input.dense_shape if is_sparse(input) else None


@export("shape")
def shape(input: Any, name: str | None = None, out_type: Any = dtypes.int32) -> Any:
    """Returns the shape of a tensor as a vector; a constant where it is fully known."""
    return shape_internal(input, name, True, out_type)


def shape_internal(
    input: Any, name: str | None = None, optimize: bool = True, out_type: Any = dtypes.int32
) -> Any:
    """`shape`; with `optimize` False it is never a constant."""
    out_type = dtypes.as_dtype(out_type)
    with name_scope(name, "Shape", [input]) as name:
        sparse = _sparse_shape(input)
        if sparse is not None:
            from weft.framework.registry import get

            return get("Cast")(sparse, DstT=out_type)
        if context.current.eager:
            return shape_op(input, out_type=out_type, name=name)
        tensor = conversion.convert_to_tensor(input)
        dims = tensor._dims
        if optimize and is_full(dims):
            return constant.from_array(_sizes(dims, out_type), out_type, name)
        return shape_op(tensor, out_type=out_type, name=name)


@export("shape_n")
def shape_n(input: Any, out_type: Any = dtypes.int32, name: str | None = None) -> list[Any]:
    """Returns the shapes of several tensors."""
    return shape_n_op(input, out_type=out_type, name=name)


@export("size")
def size(input: Any, name: str | None = None, out_type: Any = dtypes.int32) -> Any:
    """Returns the number of elements of a tensor; a constant where its shape is fully known."""
    return size_internal(input, name, True, out_type)


def size_internal(
    input: Any, name: str | None = None, optimize: bool = True, out_type: Any = dtypes.int32
) -> Any:
    """`size`; with `optimize` False it is never a constant."""
    out_type = dtypes.as_dtype(out_type)
    with name_scope(name, "Size", [input]) as name:
        sparse = _sparse_shape(input)
        if sparse is not None:
            from weft.framework.registry import get

            axes = np.array([0], np.int32)
            return get("Prod")(get("Cast")(sparse, DstT=out_type), axes, name=name)
        if context.current.eager:
            return size_op(input, out_type=out_type, name=name)
        tensor = conversion.convert_to_tensor(input)
        dims = tensor._dims
        if optimize and dims is not None and (is_full(dims) or 0 in dims):
            count = 0 if 0 in dims else math.prod(dims)
            return constant.from_array(np.array(_sizes((count,), out_type)[0]), out_type, name)
        return size_op(tensor, out_type=out_type, name=name)


@export("rank")
def rank(input: Any, name: str | None = None) -> Any:
    """Returns the number of dimensions of a tensor; a constant where it is known."""
    return rank_internal(input, name, True)


def rank_internal(input: Any, name: str | None = None, optimize: bool = True) -> Any:
    """`rank`; with `optimize` False it is never a constant."""
    with name_scope(name, "Rank", [input]) as name:
        sparse = _sparse_shape(input)
        if sparse is not None:
            return size_internal(sparse, name=name)
        tensor = conversion.convert_to_tensor(input)
        dims = tensor._dims
        if optimize and dims is not None:
            return constant.from_array(np.array(len(dims), np.int32), dtypes.int32, name)
        return rank_op(tensor, name=name)
