"""`tf.reduce_*`."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from weft.framework import conversion, dtypes
from weft.framework.export import export
from weft.framework.scopes import name_scope
from weft.framework.tensor import Tensor
from weft.ops.array.constant import from_array
from weft.ops.by_name import raw
from weft.ops.math import reduce
from weft.ops.math.cast import cast


def chosen(old_name: str, old: Any, new_name: str, new: Any) -> Any:
    """The value of an argument that goes by two names; ValueError where both are given."""
    if old is None:
        return new
    if new is not None:
        raise ValueError(f"Cannot specify both '{old_name}' and '{new_name}'")
    return old


@functools.lru_cache(maxsize=64)
def _first_axes(rank: int) -> np.ndarray:
    axes = np.arange(rank, dtype=np.int32)
    axes.setflags(write=False)
    return axes


def all_axes(x: Any) -> Any:
    """Every axis of a tensor, as the reductions want it when none is named."""
    if x.dims is not None:
        return from_array(_first_axes(len(x.dims)), name="Const")
    return raw.Range(np.int32(0), raw.Rank(x), np.int32(1), name="range")


def _reduce(decl: Any, x: Any, axis: Any, keepdims: Any, name: str | None) -> Any:
    keepdims = bool(keepdims)
    if axis is None:
        if not isinstance(x, Tensor):
            x = conversion.convert_to_tensor(x, dtypes.bool if _of_bool(decl) else None, "Const")
        output = decl(x, all_axes(x), keep_dims=keepdims, name=name)
        if not keepdims and output.dims is None:
            output.set_shape(())
        return output
    return decl(x, axis, keep_dims=keepdims, name=name)


def _of_bool(decl: Any) -> bool:
    return decl is reduce.all_op or decl is reduce.any_op


def _public(decl: Any, what: str, name: str) -> Any:
    def function(
        input_tensor, axis=None, keepdims=None, name=None, reduction_indices=None, keep_dims=None
    ):
        if reduction_indices is not None:
            axis = chosen("reduction_indices", reduction_indices, "axis", axis)
        if keep_dims is not None:
            keepdims = chosen("keep_dims", keep_dims, "keepdims", keepdims)
        return _reduce(decl, input_tensor, axis, keepdims, name)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"{what} over the given axes (all of them by default); `keepdims` keeps these with size 1."
    )
    return export(name, f"math.{name}")(function)


reduce_sum = _public(reduce.sum_op, "The sum", "reduce_sum")
reduce_mean = _public(reduce.mean, "The mean", "reduce_mean")
reduce_prod = _public(reduce.prod, "The product", "reduce_prod")
reduce_max = _public(reduce.max_op, "The greatest element", "reduce_max")
reduce_min = _public(reduce.min_op, "The least element", "reduce_min")
reduce_all = _public(reduce.all_op, "Whether all elements are true", "reduce_all")
reduce_any = _public(reduce.any_op, "Whether any element is true", "reduce_any")


@export("math.reduce_euclidean_norm")
def reduce_euclidean_norm(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Any:
    """The Euclidean norm over the given axes (all of them by default)."""
    return _reduce(reduce.euclidean_norm, input_tensor, axis, keepdims, name)


@export("math.reduce_variance")
def reduce_variance(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Any:
    """The variance over the given axes (all of them by default): the mean squared distance from the mean."""
    with name_scope(name or "reduce_variance"):
        mean = reduce_mean(input_tensor, axis=axis, keepdims=True)
        if mean.dtype.is_integer:
            raise TypeError("Input must be either real or complex")
        x = conversion.convert_to_tensor(input_tensor)
        difference = x - mean
        if difference.dtype.is_complex:
            squared = raw.Real(
                difference * raw.Conj(difference), Tout=difference.dtype.real_dtype.base_dtype
            )
        else:
            squared = raw.Square(difference)
        return reduce_mean(squared, axis=axis, keepdims=keepdims)


@export("math.reduce_std")
def reduce_std(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Any:
    """The standard deviation over the given axes (all of them by default)."""
    with name_scope(name or "reduce_std"):
        return raw.Sqrt(reduce_variance(input_tensor, axis=axis, keepdims=keepdims))


@export("reduce_logsumexp", "math.reduce_logsumexp")
def reduce_logsumexp(
    input_tensor: Any,
    axis: Any = None,
    keepdims: Any = None,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: Any = None,
) -> Any:
    """log(sum(exp(x))) over the given axes (all of them by default), without overflow."""
    axis = chosen("reduction_indices", reduction_indices, "axis", axis)
    keepdims = bool(chosen("keep_dims", keep_dims, "keepdims", keepdims))
    x = conversion.convert_to_tensor(input_tensor)
    with name_scope(name, "ReduceLogSumExp", [x]) as name:
        highest = reduce_max(x, axis=axis, keepdims=True)
        # A row of -inf, or one that holds inf, is shifted by nothing.
        shift = raw.StopGradient(
            raw.Select(raw.IsFinite(highest), highest, raw.ZerosLike(highest, name="zeros_like"))
        )
        result = raw.Log(reduce_sum(raw.Exp(raw.Sub(x, shift)), axis=axis, keepdims=keepdims))
        if not keepdims:
            shift = raw.Reshape(shift, raw.Shape(result))
        result = raw.Add(result, shift, name=name)
        if axis is None and not keepdims and result.dims is None:
            result.set_shape(())
        return result


@export("count_nonzero", "math.count_nonzero")
def count_nonzero(
    input_tensor: Any = None,
    axis: Any = None,
    keepdims: Any = None,
    dtype: Any = dtypes.int64,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: Any = None,
    input: Any = None,
) -> Any:
    """The number of elements that are not zero (strings: not empty) over the given axes (all by default)."""
    axis = chosen("reduction_indices", reduction_indices, "axis", axis)
    keepdims = bool(chosen("keep_dims", keep_dims, "keepdims", keepdims))
    x = chosen("input", input, "input_tensor", input_tensor)
    with name_scope(name, "count_nonzero", [x]):
        x = conversion.convert_to_tensor(x, name="input")
        kind = x.dtype.base_dtype
        zero = np.array(b"", object) if kind is dtypes.string else np.zeros((), kind.np)
        differs = raw.Cast(raw.NotEqual(x, from_array(zero, kind)), DstT=dtypes.int64)
        return cast(reduce_sum(differs, axis=axis, keepdims=keepdims), dtype)
