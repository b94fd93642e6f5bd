"""Initializers that draw each value alone, from a range, a bell curve, or one scaled to the fan of the layer."""

from __future__ import annotations

import math
from typing import Any

import weft as tf
from weft.framework import dtypes
from weft.framework.export import export
from weft.initializers.base import Configured, floating, full_sizes


@export("random_uniform_initializer", "initializers.random_uniform")
class RandomUniform(Configured):
    """Draws evenly from a range; for integers `maxval` must be given."""

    config_names = ("minval", "maxval", "seed")

    def __init__(
        self,
        minval: Any = 0,
        maxval: Any = None,
        seed: int | None = None,
        dtype: Any = dtypes.float32,
    ):
        self.minval, self.maxval, self.seed = minval, maxval, seed
        self.dtype = dtypes.as_dtype(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        return tf.random.uniform(
            shape, self.minval, self.maxval, self._dtype(dtype), seed=self.seed
        )


@export("random_normal_initializer", "initializers.random_normal")
class RandomNormal(Configured):
    """Draws from a normal distribution."""

    config_names = ("mean", "stddev", "seed")

    def __init__(
        self,
        mean: Any = 0.0,
        stddev: Any = 1.0,
        seed: int | None = None,
        dtype: Any = dtypes.float32,
    ):
        self.mean, self.stddev, self.seed = mean, stddev, seed
        self.dtype = floating(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        return tf.random.normal(shape, self.mean, self.stddev, self._dtype(dtype), seed=self.seed)


@export("truncated_normal_initializer", "initializers.truncated_normal")
class TruncatedNormal(Configured):
    """Draws from a normal distribution; values more than two deviations off are drawn again."""

    config_names = ("mean", "stddev", "seed")

    def __init__(
        self,
        mean: Any = 0.0,
        stddev: Any = 1.0,
        seed: int | None = None,
        dtype: Any = dtypes.float32,
    ):
        self.mean, self.stddev, self.seed = mean, stddev, seed
        self.dtype = floating(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        return tf.random.truncated_normal(
            shape, self.mean, self.stddev, self._dtype(dtype), seed=self.seed
        )


@export("uniform_unit_scaling_initializer", "initializers.uniform_unit_scaling")
class UniformUnitScaling(Configured):
    """Draws evenly from a range that keeps the scale of a layer's inputs; deprecated for `variance_scaling`."""

    config_names = ("factor", "seed")

    def __init__(self, factor: float = 1.0, seed: int | None = None, dtype: Any = dtypes.float32):
        self.factor, self.seed = factor, seed
        self.dtype = floating(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        inputs = max(math.prod(map(float, full_sizes(shape, partition_info)[:-1])), 1.0)
        limit = math.sqrt(3 / inputs) * self.factor
        return tf.random.uniform(shape, -limit, limit, self._dtype(dtype), seed=self.seed)


def fans(shape: list[int]) -> tuple[int, int]:
    """How many inputs each output has, and outputs each input: of a matrix or a convolution's filter."""
    if len(shape) < 2:
        n = int(shape[0]) if shape else 1
        return n, n
    field = math.prod(shape[:-2])
    return int(shape[-2] * field), int(shape[-1] * field)


def fan_of(shape: list[int], mode: str) -> float:
    """The fan that a mode names."""
    fan_in, fan_out = fans(shape)
    return {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2.0}[mode]


def check_scaling(scale: float, mode: str, distribution: str) -> str:
    """Raises unless these are arguments of variance scaling; gives the name of the distribution."""
    if scale <= 0.0:
        raise ValueError("`scale` must be positive float.")
    if mode not in {"fan_in", "fan_out", "fan_avg"}:
        raise ValueError("Invalid `mode` argument:", mode)
    distribution = distribution.lower()
    if distribution not in _DISTRIBUTIONS:
        raise ValueError("Invalid `distribution` argument:", distribution)
    return distribution


# The deviation of a normal distribution of which all beyond two deviations was cut off.
TRUNCATED_DEVIATION = 0.87962566103423978

_DISTRIBUTIONS = {"normal", "uniform", "truncated_normal", "untruncated_normal"}


@export(
    "variance_scaling_initializer",
    "initializers.variance_scaling",
    "keras.initializers.VarianceScaling",
)
class VarianceScaling(Configured):
    """Draws values whose variance is `scale` over the fan in, the fan out, or their average."""

    config_names: tuple[str, ...] = ("scale", "mode", "distribution", "seed")

    def __init__(
        self,
        scale: float = 1.0,
        mode: str = "fan_in",
        distribution: str = "truncated_normal",
        seed: int | None = None,
        dtype: Any = dtypes.float32,
    ):
        distribution = check_scaling(scale, mode, distribution)
        self.scale, self.mode, self.distribution, self.seed = scale, mode, distribution, seed
        self.dtype = floating(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        dtype = self._dtype(dtype)
        variance = self.scale / max(1.0, fan_of(full_sizes(shape, partition_info), self.mode))
        if self.distribution in ("normal", "truncated_normal"):
            deviation = math.sqrt(variance) / TRUNCATED_DEVIATION
            return tf.random.truncated_normal(shape, 0.0, deviation, dtype, seed=self.seed)
        if self.distribution == "untruncated_normal":
            return tf.random.normal(shape, 0.0, math.sqrt(variance), dtype, seed=self.seed)
        limit = math.sqrt(3.0 * variance)
        return tf.random.uniform(shape, -limit, limit, dtype, seed=self.seed)


@export(
    "glorot_uniform_initializer", "initializers.glorot_uniform", "keras.initializers.glorot_uniform"
)
class GlorotUniform(VarianceScaling):
    """Draws evenly, with variance 1 over the average of fan in and fan out."""

    config_names = ("seed",)

    def __init__(self, seed: int | None = None, dtype: Any = dtypes.float32):
        super().__init__(1.0, "fan_avg", "uniform", seed, dtype)


@export(
    "glorot_normal_initializer", "initializers.glorot_normal", "keras.initializers.glorot_normal"
)
class GlorotNormal(VarianceScaling):
    """Draws from a truncated normal distribution, with variance 1 over the average of fan in and fan out."""

    config_names = ("seed",)

    def __init__(self, seed: int | None = None, dtype: Any = dtypes.float32):
        super().__init__(1.0, "fan_avg", "truncated_normal", seed, dtype)


@export("initializers.lecun_normal", "keras.initializers.lecun_normal")
def lecun_normal(seed: int | None = None) -> VarianceScaling:
    """Truncated normal values with variance 1 over the fan in."""
    return VarianceScaling(1.0, "fan_in", "truncated_normal", seed)


@export("initializers.lecun_uniform", "keras.initializers.lecun_uniform")
def lecun_uniform(seed: int | None = None) -> VarianceScaling:
    """Evenly drawn values with variance 1 over the fan in."""
    return VarianceScaling(1.0, "fan_in", "uniform", seed)


@export("initializers.he_normal", "keras.initializers.he_normal")
def he_normal(seed: int | None = None) -> VarianceScaling:
    """Truncated normal values with variance 2 over the fan in."""
    return VarianceScaling(2.0, "fan_in", "truncated_normal", seed)


@export("initializers.he_uniform", "keras.initializers.he_uniform")
def he_uniform(seed: int | None = None) -> VarianceScaling:
    """Evenly drawn values with variance 2 over the fan in."""
    return VarianceScaling(2.0, "fan_in", "uniform", seed)
