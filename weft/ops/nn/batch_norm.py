"""Fused batch normalisation and its gradient as ops."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import dtypes, errors
from weft.framework.registry import OpDecl, op
from weft.framework.shape_rules import Shape, merge_dim, rank, vector
from weft.ops.by_name import raw
from weft.ops.nn.channel_sums import channel_sum

_ATTRS = (
    "epsilon: float = 9.999999747378752e-05; data_format: string in {NHWC, NCHW} = 'NHWC'; "
    "is_training: bool = true"
)
_TYPES = "T: type in {half, bfloat16, float}; U: type in {float}"


class _Channels:
    """Sums over all axes but the channels', and the shape in which such sums broadcast."""

    def __init__(self, xp: Any, x: Any, data_format: str):
        self.xp, self.last = xp, data_format == "NHWC"
        self.axes = (0, 1, 2) if self.last else (0, 2, 3)
        self.count = int(np.prod([x.shape[a] for a in self.axes]))
        self.channels = x.shape[3 if self.last else 1]

    def sum(self, x: Any) -> Any:
        if self.last:
            return channel_sum(self.xp, x)
        return x.sum(axis=self.axes, dtype=x.dtype)

    def spread(self, v: Any) -> Any:
        return v if self.last else v.reshape(-1, 1, 1)


def _normalize(
    xp: Any, x: Any, scale: Any, offset: Any, mean: Any, variance: Any, how: tuple
) -> tuple:
    epsilon, data_format, is_training = how
    channels = _Channels(xp, x, data_format)
    wide = x.astype(xp.float32)
    epsilon = np.float32(epsilon)
    if is_training:
        if mean.size or variance.size:
            raise errors.InvalidArgumentError(
                None, None, "mean and variance must be empty for training mode"
            )
        count = max(channels.count, 1)
        mean = channels.sum(wide) / np.float32(count)
        centered = wide - channels.spread(mean)
        variance = channels.sum(centered * centered) / np.float32(count)
        unbiased = variance * np.float32(count / max(count - 1, 1))
        if channels.count == 0:  # nothing to measure
            mean = unbiased = xp.full(mean.shape, xp.nan, xp.float32)
    else:
        centered, unbiased = wide - channels.spread(mean), variance
    factor = scale / xp.sqrt(variance + epsilon)
    y = centered * channels.spread(factor) + channels.spread(offset)
    return y.astype(x.dtype), mean, unbiased, mean, variance


def _gradients(xp: Any, dy: Any, x: Any, scale: Any, mean: Any, variance: Any, how: tuple) -> tuple:
    epsilon, data_format, is_training = how
    channels = _Channels(xp, x, data_format)
    dtype = x.dtype
    dy, x = dy.astype(xp.float32), x.astype(xp.float32)
    inverse = 1 / xp.sqrt(variance + np.float32(epsilon))
    centered = x - channels.spread(mean)
    dy_sum, product_sum = channels.sum(dy), channels.sum(dy * centered)
    if is_training:
        count = np.float32(max(channels.count, 1))
        slope = channels.spread(product_sum * inverse * inverse / count)
        dx = dy - channels.spread(dy_sum / count) - centered * slope
    else:
        dx = dy
    dx = dx * channels.spread(scale * inverse)
    nothing = xp.zeros((), xp.float32)
    return dx.astype(dtype), product_sum * inverse, dy_sum, nothing, nothing


def _normalized_shape(
    x: Shape, scale: Shape, offset: Shape, mean: Shape, variance: Shape, how: tuple
) -> tuple:
    _, data_format, is_training = how
    x = rank(x, 4)
    axis = 3 if data_format == "NHWC" else 1
    channels = x[axis]
    given = (scale, offset) if is_training else (scale, offset, mean, variance)
    for v in given:
        channels = merge_dim(channels, vector(v)[0])
    for v in (mean, variance):
        vector(v)
    return ((*x[:axis], channels, *x[axis + 1 :]), *((channels,),) * 4)


def _gradient_shape(
    dy: Shape, x: Shape, scale: Shape, mean: Shape, variance: Shape, how: tuple
) -> tuple:
    _, data_format, is_training = how
    dy, x = rank(dy, 4), rank(x, 4)
    axis = 3 if data_format == "NHWC" else 1
    channels = merge_dim(dy[axis], x[axis])
    for v in (scale, mean, variance):
        channels = merge_dim(channels, vector(v)[0])
    # The last two are scalars that nobody needs. TensorFlow says that they are vectors, and so do its graphs.
    return (*dy[:axis], channels, *dy[axis + 1 :]), (channels,), (channels,), None, None


def _declare(version: str, parameter: str, attrs: str) -> tuple[OpDecl, OpDecl]:
    """Declares one version of the op and of its gradient; `parameter` is the type of the
    statistics."""
    third = version == "V3"
    stats = "".join(f", reserve_space_{i}: {parameter}" for i in (1, 2, 3)[: 3 if third else 2])
    factor = parameter if parameter == "T" else "float"  # of the gradient's scale

    @op(
        f"FusedBatchNorm{version}",
        f"x: T, scale: {parameter}, offset: {parameter}, mean: {parameter}, variance: {parameter} -> "
        f"y: T, batch_mean: {parameter}, batch_variance: {parameter}{stats}",
        attrs,
    )
    def forward(xp, x, scale, offset, mean, variance, *, epsilon, data_format, is_training):
        """Gives each channel mean 0 and variance 1, then a scale and an offset."""
        how = (epsilon, data_format, is_training)
        found = _normalize(xp, x, scale, offset, mean, variance, how)
        return (*found, xp.zeros((), xp.float32)) if third else found

    @forward.shape
    def _(x, scale, offset, mean, variance, *, epsilon, data_format, is_training):
        how = (epsilon, data_format, is_training)
        found = _normalized_shape(x, scale, offset, mean, variance, how)
        return (*found, ()) if third else found

    outputs = (
        f"x_backprop: T, scale_backprop: {parameter}, offset_backprop: {parameter}, "
        f"reserve_space_{4 if third else 3}: {parameter}, reserve_space_{5 if third else 4}: {parameter}"
    )
    inputs = f"y_backprop: T, x: T, scale: {factor}{stats}"

    def differentiate(xp, y_backprop, x, scale, reserve_space_1, reserve_space_2, how):
        return _gradients(xp, y_backprop, x, scale, reserve_space_1, reserve_space_2, how)

    if third:

        @op(f"FusedBatchNormGrad{version}", f"{inputs} -> {outputs}", attrs)
        def backward(
            xp,
            y_backprop,
            x,
            scale,
            reserve_space_1,
            reserve_space_2,
            reserve_space_3,
            *,
            epsilon,
            data_format,
            is_training,
        ):
            """The gradient of FusedBatchNorm."""
            how = (epsilon, data_format, is_training)
            return differentiate(xp, y_backprop, x, scale, reserve_space_1, reserve_space_2, how)

        @backward.shape
        def _(dy, x, scale, mean, variance, rest, *, epsilon, data_format, is_training):
            how = (epsilon, data_format, is_training)
            return _gradient_shape(dy, x, scale, mean, variance, how)

    else:

        @op(f"FusedBatchNormGrad{version}", f"{inputs} -> {outputs}", attrs)
        def backward(
            xp,
            y_backprop,
            x,
            scale,
            reserve_space_1,
            reserve_space_2,
            *,
            epsilon,
            data_format,
            is_training,
        ):
            """The gradient of FusedBatchNorm."""
            how = (epsilon, data_format, is_training)
            return differentiate(xp, y_backprop, x, scale, reserve_space_1, reserve_space_2, how)

        @backward.shape
        def _(dy, x, scale, mean, variance, *, epsilon, data_format, is_training):
            how = (epsilon, data_format, is_training)
            return _gradient_shape(dy, x, scale, mean, variance, how)

    _differentiable(forward, backward, third)
    return forward, backward


def _differentiable(forward: OpDecl, backward: OpDecl, third: bool) -> None:
    @forward.gradient
    def _(op, *grads):
        training = op.get_attr("is_training")
        how = {name: op.get_attr(name) for name in ("epsilon", "data_format", "is_training")}
        x, scale, _, mean, variance = op.inputs
        dy = grads[0]
        statistics = op.outputs[3:5] if training else (mean, variance)
        first = how["data_format"] == b"NCHW"
        if first and not training:
            how["data_format"] = "NHWC"
            x, dy = (raw.Transpose(v, np.array([0, 2, 3, 1], np.int32)) for v in (x, dy))
        rest = op.outputs[5:] if third else ()
        dx, dscale, doffset, *_ = backward(dy, x, scale, *statistics, *rest, **how)
        if first and not training:
            dx = raw.Transpose(dx, np.array([0, 3, 1, 2], np.int32))
        return dx, dscale, doffset, None, None

    @backward.gradient
    def _(op, *grads):
        second = _second_gradient(op, *grads[:3])
        return (*second, None, None, None) if third else (*second, None, None)


def _second_gradient(op: Any, grad_dx: Any, grad_dscale: Any, grad_doffset: Any) -> list[Any]:
    """The gradient of the gradient, by differentiating it as composed of plain ops."""
    from weft.framework.gradients import gradients

    dy, x, scale, mean, variance = (raw.Identity(v) for v in list(op.inputs)[:5])
    composed = _composed_gradients(op, dy, x, scale, mean, variance)
    given = [
        raw.Cast(raw.ZerosLike(c), DstT=c.dtype) if g is None else g
        for c, g in zip(composed, (grad_dx, grad_dscale, grad_doffset))
    ]
    return gradients(list(composed), [dy, x, scale], given)


def _composed_gradients(op: Any, dy: Any, x: Any, scale: Any, mean: Any, variance: Any) -> tuple:
    epsilon = np.float32(op.get_attr("epsilon"))
    dtype = x.dtype.base_dtype
    if dtype is not dtypes.float32:
        x, dy = raw.Cast(x, DstT=dtypes.float32), raw.Cast(dy, DstT=dtypes.float32)
    first = op.get_attr("data_format") == b"NCHW"
    axes = np.array([0, 2, 3] if first else [0, 1, 2], np.int32)
    column = np.array([1, -1, 1, 1], np.int32)

    def spread(v: Any) -> Any:
        return raw.Reshape(v, column) if first else v

    if not op.get_attr("is_training"):
        inverse = raw.Rsqrt(variance + epsilon)
        dscale = raw.Sum(dy * (x - spread(mean)) * spread(inverse), axes)
        dx = dy * spread(scale) * spread(inverse)
        return raw.Cast(dx, DstT=dtype), dscale, raw.Sum(dy, axes)
    mean = raw.Mean(x, axes, keep_dims=True)
    centered = x - mean
    difference = raw.SquaredDifference(x, raw.StopGradient(mean))
    inverse = raw.Rsqrt(raw.Mean(difference, axes, keep_dims=True) + epsilon)
    product = raw.Mean(dy * centered, axes, keep_dims=True)
    rest = dy - raw.Mean(dy, axes, keep_dims=True) - inverse * inverse * product * centered
    dx = spread(scale) * inverse * rest
    flat = np.array([-1], np.int32)
    dscale = raw.Reshape(inverse * raw.Sum(dy * centered, axes, keep_dims=True), flat)
    return raw.Cast(dx, DstT=dtype), dscale, raw.Sum(dy, axes)


fused_batch_norm_op, fused_batch_norm_grad = _declare("", "T", f"T: type in {{float}}; {_ATTRS}")
fused_batch_norm_v2_op, fused_batch_norm_grad_v2 = _declare("V2", "U", f"{_TYPES}; {_ATTRS}")
fused_batch_norm_v3_op, fused_batch_norm_grad_v3 = _declare("V3", "U", f"{_TYPES}; {_ATTRS}")


# -- the old op ------------------------------------------------------------------------------------

_OLD = "T: numbers; variance_epsilon: float; scale_after_normalization: bool"


@op(
    "BatchNormWithGlobalNormalization",
    "t: T, m: T, v: T, beta: T, gamma: T -> result: T",
    _OLD,
)
def batch_norm_with_global_normalization_op(
    xp, t, m, v, beta, gamma, *, variance_epsilon, scale_after_normalization
):
    """Normalises with given statistics."""
    factor = 1 / xp.sqrt(v + t.dtype.type(variance_epsilon))
    if scale_after_normalization:
        factor = factor * gamma
    return ((t - m) * factor + beta).astype(t.dtype)


@batch_norm_with_global_normalization_op.shape
def _(t, m, v, beta, gamma):
    t = rank(t, 4)
    channels = t[3]
    for vec in (m, v, beta, gamma):
        channels = merge_dim(channels, vector(vec)[0])
    return (*t[:3], channels)


@op(
    "BatchNormWithGlobalNormalizationGrad",
    "t: T, m: T, v: T, gamma: T, backprop: T -> dx: T, dm: T, dv: T, db: T, dg: T",
    _OLD,
)
def batch_norm_with_global_normalization_grad(
    xp, t, m, v, gamma, backprop, *, variance_epsilon, scale_after_normalization
):
    """The gradient of BatchNormWithGlobalNormalization."""
    inverse = 1 / xp.sqrt(v + t.dtype.type(variance_epsilon))
    factor = inverse * gamma if scale_after_normalization else inverse
    axes = (0, 1, 2)
    total = backprop.sum(axis=axes, dtype=t.dtype)
    product = (backprop * (t - m)).sum(axis=axes, dtype=t.dtype)
    dv = product * factor * inverse * inverse * t.dtype.type(-0.5)
    dg = product * inverse if scale_after_normalization else xp.zeros_like(gamma)
    return backprop * factor, -total * factor, dv, total, dg


@batch_norm_with_global_normalization_grad.shape
def _(t, m, v, gamma, backprop):
    t = rank(t, 4)
    channels = t[3]
    for vec in (m, v, gamma):
        channels = merge_dim(channels, vector(vec)[0])
    return ((*t[:3], channels), *((channels,),) * 4)


@batch_norm_with_global_normalization_op.gradient
def _(op, grad):
    t, m, v, _, gamma = op.inputs
    names = ("variance_epsilon", "scale_after_normalization")
    how = {name: op.get_attr(name) for name in names}
    return tuple(batch_norm_with_global_normalization_grad(t, m, v, gamma, grad, **how))
