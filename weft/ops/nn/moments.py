"""Means and variances, and normalisation by them: `tf.nn.moments`, `tf.nn.batch_normalization`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from weft.framework import dtypes
from weft.framework.conversion import convert_to_tensor
from weft.framework.export import export
from weft.framework.scopes import name_scope
from weft.framework.tensor import Tensor
from weft.ops.array.constant import constant_v1
from weft.ops.by_name import raw
from weft.ops.math.reduce_functions import chosen
from weft.ops.nn import batch_norm


def _list(axes: Any) -> Any:
    if isinstance(axes, Tensor):
        return axes
    return [int(a) for a in np.reshape(axes, -1)]


@export("nn.sufficient_statistics")
def sufficient_statistics(
    x: Any,
    axes: Any,
    shift: Any = None,
    keep_dims: bool | None = None,
    name: str | None = None,
    keepdims: bool | None = None,
) -> tuple[Any, Any, Any, Any]:
    """Returns the count, the shifted sum and sum of squares over `axes`, and the shift."""
    axes = sorted(set(axes))
    keep = bool(chosen("keep_dims", keep_dims, "keepdims", keepdims))
    with name_scope(name, "sufficient_statistics", [x, shift]):
        x = convert_to_tensor(x, name="x")
        dims = x.dims
        if dims is not None and all(dims[d] is not None for d in axes):
            counts = constant_v1(math.prod(dims[d] for d in axes), dtype=x.dtype)
        else:
            sizes = raw.Cast(raw.Shape(x), DstT=x.dtype)
            counts = raw.Prod(raw.GatherV2(sizes, np.array(axes, np.int32), 0), [0], name="count")
        if shift is not None:
            shift = convert_to_tensor(shift, name="shift")
            first, second = raw.Sub(x, shift), raw.SquaredDifference(x, shift)
        else:
            first, second = x, raw.Square(x)
        first = raw.Sum(first, axes, keep_dims=keep, name="mean_ss")
        second = raw.Sum(second, axes, keep_dims=keep, name="var_ss")
    return counts, first, second, shift


@export("nn.normalize_moments")
def normalize_moments(
    counts: Any, mean_ss: Any, variance_ss: Any, shift: Any, name: str | None = None
) -> tuple[Any, Any]:
    """Returns mean and variance from what `sufficient_statistics` gives."""
    with name_scope(name, "normalize", [counts, mean_ss, variance_ss, shift]):
        divisor = raw.Reciprocal(counts, name="divisor")
        if shift is not None:
            shifted = raw.Mul(mean_ss, divisor, name="shifted_mean")
            mean = raw.Add(shifted, shift, name="mean")
        else:
            mean = shifted = raw.Mul(mean_ss, divisor, name="mean")
        variance = raw.Sub(raw.Mul(variance_ss, divisor), raw.Square(shifted), name="variance")
    return mean, variance


@export("nn.moments")
def moments(
    x: Any,
    axes: Any,
    shift: Any = None,
    name: str | None = None,
    keep_dims: bool | None = None,
    keepdims: bool | None = None,
) -> tuple[Any, Any]:
    """Returns the mean and variance of `x` over `axes`; `shift` has no effect any more."""
    keep = bool(chosen("keep_dims", keep_dims, "keepdims", keepdims))
    with name_scope(name, "moments", [x, axes]):
        x = convert_to_tensor(x, name="x")
        half = x.dtype.base_dtype is dtypes.float16
        y = raw.Cast(x, DstT=dtypes.float32) if half else x
        axes = _list(axes)
        mean = raw.Mean(y, axes, keep_dims=True, name="mean")
        difference = raw.SquaredDifference(y, raw.StopGradient(mean))
        variance = raw.Mean(difference, axes, keep_dims=True, name="variance")
        return _finished([mean, variance], axes, keep, half)


def _finished(values: list[Any], axes: Any, keep: bool, half: bool) -> tuple[Any, Any]:
    """Statistics without the axes that were reduced, in the dtype of the input."""
    if not keep:
        values = [raw.Squeeze(v, squeeze_dims=axes) for v in values]
    if half:
        values = [raw.Cast(v, DstT=dtypes.float16) for v in values]
    return values[0], values[1]


@export("nn.weighted_moments")
def weighted_moments(
    x: Any,
    axes: Any,
    frequency_weights: Any,
    name: str | None = None,
    keep_dims: bool | None = None,
    keepdims: bool | None = None,
) -> tuple[Any, Any]:
    """Returns the mean and variance of `x`, whose elements count by their weights."""
    keep = bool(chosen("keep_dims", keep_dims, "keepdims", keepdims))
    with name_scope(name, "weighted_moments", [x, frequency_weights, axes]):
        x = convert_to_tensor(x, name="x")
        weights = convert_to_tensor(frequency_weights, name="frequency_weights")
        half = x.dtype.base_dtype is dtypes.float16
        if half:
            x = raw.Cast(x, DstT=dtypes.float32)
        if weights.dtype.base_dtype is not x.dtype.base_dtype:
            weights = raw.Cast(weights, DstT=x.dtype)
        axes = _list(axes)
        total = raw.Sum(weights * x, axes, keep_dims=True, name="weighted_input_sum")
        spread = weights + raw.ZerosLike(x)
        count = raw.Sum(spread, axes, keep_dims=True, name="sum_of_weights")
        divisor = raw.Reciprocal(count, name="inv_weight_sum")
        mean = raw.Mul(total, divisor)
        distance = raw.Sum(
            weights * raw.SquaredDifference(x, mean),
            axes,
            keep_dims=True,
            name="weighted_distsq",
        )
        return _finished([mean, raw.Mul(distance, divisor)], axes, keep, half)


@export("nn.batch_normalization")
def batch_normalization(
    x: Any,
    mean: Any,
    variance: Any,
    offset: Any,
    scale: Any,
    variance_epsilon: Any,
    name: str | None = None,
) -> Any:
    """Normalises `x` by mean and variance, then scales and shifts it."""
    with name_scope(name, "batchnorm", [x, mean, variance, scale, offset]):
        x = convert_to_tensor(x, name="x")
        inverse = raw.Rsqrt(variance + variance_epsilon)
        if scale is not None:
            inverse *= scale
        shift = -mean * inverse if offset is None else offset - mean * inverse
        return x * _cast(inverse, x) + _cast(shift, x)


def _cast(value: Any, like: Any) -> Any:
    value = convert_to_tensor(value)
    same = value.dtype.base_dtype is like.dtype.base_dtype
    return value if same else raw.Cast(value, DstT=like.dtype.base_dtype)


@export("nn.fused_batch_norm")
def fused_batch_norm(
    x: Any,
    scale: Any,
    offset: Any,
    mean: Any = None,
    variance: Any = None,
    epsilon: float = 0.001,
    data_format: str = "NHWC",
    is_training: bool = True,
    name: str | None = None,
) -> tuple[Any, Any, Any]:
    """Normalises the channels of images: returns the result and the mean and variance of the batch."""
    x = convert_to_tensor(x, name="input")
    scale = convert_to_tensor(scale, name="scale")
    offset = convert_to_tensor(offset, name="offset")
    if is_training and (mean is not None or variance is not None):
        raise ValueError("Both 'mean' and 'variance' must be None if is_training is True.")
    mean = constant_v1(np.zeros(0, np.float32)) if mean is None else mean
    variance = constant_v1(np.zeros(0, np.float32)) if variance is None else variance
    out = batch_norm.fused_batch_norm_v3_op(
        x,
        scale,
        offset,
        mean,
        variance,
        epsilon=max(epsilon, 1.001e-5),
        data_format=data_format,
        is_training=is_training,
        name=name,
    )
    return out[0], out[1], out[2]


@export("nn.batch_norm_with_global_normalization")
def batch_norm_with_global_normalization(
    t: Any = None,
    m: Any = None,
    v: Any = None,
    beta: Any = None,
    gamma: Any = None,
    variance_epsilon: Any = None,
    scale_after_normalization: Any = None,
    name: str | None = None,
    input: Any = None,
    mean: Any = None,
    variance: Any = None,
) -> Any:
    """Normalises with given statistics; deprecated for `tf.nn.batch_normalization`."""
    t = chosen("t", t, "input", input)
    m = chosen("m", m, "mean", mean)
    v = chosen("v", v, "variance", variance)
    scale = gamma if scale_after_normalization else None
    return batch_normalization(t, m, v, beta, scale, variance_epsilon, name)
