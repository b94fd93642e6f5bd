"""More tensors that are fed or read from outside: sparse placeholders, PlaceholderV2, ImmutableConst."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import context, conversion, dtypes, errors
from weft.framework.export import export
from weft.framework.registry import op
from weft.framework.shape_rules import text
from weft.framework.sparse_tensor import SparseTensor
from weft.framework.tensor import Tensor
from weft.ops.array.constant import placeholder


@op("PlaceholderV2", "-> output: dtype", "dtype: type; shape: shape", host=True)
def placeholder_v2(ctx):
    """Deprecated: Placeholder."""
    raise errors.InvalidArgumentError(
        None, None, f"You must feed a value for placeholder tensor '{ctx.op.name}'"
    )


@placeholder_v2.shape
def _(*, shape):
    return shape


@op(
    "ImmutableConst",
    "-> tensor: dtype",
    "dtype: type; shape: shape; memory_region_name: string",
    host=True,
)
def immutable_const(xp, *, dtype, shape, memory_region_name):
    """The elements that a file holds, mapped into memory."""
    if shape is None or None in shape:
        raise errors.InvalidArgumentError(None, None, f"The shape must be known, got {text(shape)}")
    if dtype is dtypes.string or dtype.np is None:
        raise errors.UnimplementedError(
            None, None, f"Sorry, memory mapping is not supported for {dtype.name}."
        )
    path = memory_region_name.removeprefix("file://")
    try:
        size = int(np.prod(shape, dtype=np.int64))
        if not size:
            return np.zeros(shape, dtype.np)
        return np.memmap(path, dtype.np, "r", shape=shape)
    except FileNotFoundError as e:
        raise errors.NotFoundError(None, None, f"{memory_region_name}: {e.strerror}") from e
    except ValueError as e:
        raise errors.InvalidArgumentError(
            None, None, f"{memory_region_name} is too short for {dtype.name} {text(shape)}: {e}"
        ) from e


@immutable_const.shape
def _(*, shape):
    return shape


def _sparse_shape(shape: Any, name: str | None) -> tuple[Any, Any]:
    """The shape as a tensor, or None where it must be fed, and the rank."""
    if shape is None:
        return None, None
    if isinstance(shape, Tensor):
        rank = shape.shape[0]
    else:
        shape = list(shape)
        rank = len(shape)
        if any(getattr(d, "value", d) is None for d in shape):
            return None, rank
    return conversion.convert_to_tensor(shape, dtype=dtypes.int64, name=name), rank


@export("sparse.placeholder", "sparse_placeholder")
def sparse_placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> SparseTensor:
    """Inserts placeholders for a sparse tensor, which is fed as a `SparseTensorValue` or a tuple."""
    if context.executing_eagerly():
        raise RuntimeError("tf.placeholder() is not compatible with eager execution.")
    prefix = "" if name is None else name
    shape_name = f"{prefix}/shape" if name is not None else None
    shape, rank = _sparse_shape(shape, shape_name)
    if shape is None:
        shape = placeholder(dtypes.int64, shape=[rank], name=shape_name)
    return SparseTensor(
        values=placeholder(
            dtype, shape=[None], name=f"{prefix}/values" if name is not None else None
        ),
        indices=placeholder(
            dtypes.int64, shape=[None, rank], name=f"{prefix}/indices" if name is not None else None
        ),
        dense_shape=shape,
    )
