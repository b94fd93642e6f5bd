"""Norms of vectors and matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import conversion
from weft.framework.export import export
from weft.framework.scopes import name_scope
from weft.ops.by_name import raw
from weft.ops.math.arithmetic import absolute
from weft.ops.math.cast import cast
from weft.ops.math.makers import conjugate
from weft.ops.math.reduce_functions import chosen, reduce_max, reduce_sum

_AXIS = "'axis' must be None, an integer, or a tuple of 2 unique integers"
_MATRIX_NORMS = ["euclidean", "fro", 1, 2, np.inf]
_VECTOR_NORMS = ["euclidean", 1, 2, np.inf]


def _checked(ord: Any, axis: Any) -> tuple[Any, bool]:
    """The axes as a tuple (None: all, as one vector), and whether they are those of matrices."""
    if isinstance(axis, (tuple, list)) and len(axis) == 2:
        axis = tuple(axis)
        if not all(isinstance(a, int) for a in axis) or axis[0] == axis[1]:
            raise ValueError(_AXIS)
        if ord not in _MATRIX_NORMS:
            raise ValueError(f"'ord' must be a supported matrix norm in {_MATRIX_NORMS}, got {ord}")
        return axis, True
    if not (isinstance(axis, int) or axis is None):
        raise ValueError(_AXIS)
    if ord not in _VECTOR_NORMS and (isinstance(ord, str) or not np.isreal(ord) or ord <= 0):
        raise ValueError(f"'ord' must be a supported vector norm, got {ord}")
    return (None if axis is None else (axis,)), False


def _spectral(tensor: Any, axis: tuple[int, int]) -> Any:
    """The largest singular value of matrices, their axes kept with size 1."""
    zero = np.array([0], np.int32)
    rank = raw.Rank(tensor)
    own = raw.FloorMod(np.array(axis, np.int32) + rank, rank)
    others = raw.ListDiff(raw.Range(np.int32(0), rank, np.int32(1)), own)[0]
    order = raw.ConcatV2([others, own], zero[0])
    values = raw.Svd(raw.Transpose(tensor, order), compute_uv=False)[0]
    largest = reduce_max(absolute(values), axis=-1, keepdims=True)
    return raw.Transpose(raw.ExpandDims(largest, np.int32(-1)), raw.InvertPermutation(order))


def _kept_norm(tensor: Any, ord: Any, axis: Any, is_matrix: bool) -> Any:
    if is_matrix and ord == 2:
        return _spectral(tensor, axis)
    if ord in ("fro", "euclidean", 2):
        return raw.Sqrt(reduce_sum(tensor * conjugate(tensor), axis, keepdims=True))
    size = absolute(tensor)
    first = None if axis is None else axis[0]
    if ord == 1:
        sums = reduce_sum(size, first, keepdims=True)
        return reduce_max(sums, axis[-1], keepdims=True) if is_matrix else sums
    if ord == np.inf:
        if is_matrix:
            size = reduce_sum(size, axis[1], keepdims=True)
        return reduce_max(size, first, keepdims=True)
    power = conversion.convert_to_tensor(ord, dtype=size.dtype)
    root = conversion.convert_to_tensor(1.0 / ord, dtype=size.dtype)
    return raw.Pow(reduce_sum(raw.Pow(size, power), axis, keepdims=True), root)


@export("norm", "linalg.norm")
def norm(
    tensor: Any,
    ord: Any = "euclidean",
    axis: Any = None,
    keepdims: Any = None,
    name: str | None = None,
    keep_dims: Any = None,
) -> Any:
    """The norm of vectors (one axis), matrices (two axes), or of all elements as one vector (None)."""
    keepdims = bool(chosen("keep_dims", keep_dims, "keepdims", keepdims))
    axes, is_matrix = _checked(ord, axis)
    with name_scope(name, "norm", [tensor]):
        tensor = conversion.convert_to_tensor(tensor)
        result = _kept_norm(tensor, ord, axes, is_matrix)
        if keepdims:
            return result
        if axes is None and result.dims is None:
            return raw.Reshape(result, np.zeros(0, np.int32))
        return raw.Squeeze(result, squeeze_dims=axes)


@export("linalg.normalize")
def normalize(
    tensor: Any, ord: Any = "euclidean", axis: Any = None, name: str | None = None
) -> tuple[Any, Any]:
    """Divides by the norm; gives the quotient and the norm, its axes kept with size 1."""
    with name_scope(name, "normalize", [tensor]):
        tensor = conversion.convert_to_tensor(tensor)
        length = cast(norm(tensor, ord, axis, keepdims=True), tensor.dtype)
        return tensor / length, length
