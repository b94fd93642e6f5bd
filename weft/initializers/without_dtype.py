"""`tf.compat.v2.initializers`: the dtype is told as they are called, and a seed gives the same values each time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import weft as tf
from weft.framework import dtypes
from weft.framework.export import export
from weft.framework.tensor_shape import as_shape
from weft.initializers import base
from weft.initializers.drawn import TRUNCATED_DEVIATION, check_scaling, fan_of
from weft.initializers.orthogonal_matrices import orthogonal
from weft.ops.array import constant


@export("compat.v2.initializers.Initializer")
class Initializer:
    """Makes initial values; subclasses define `__call__(shape, dtype)` and `get_config`."""

    config_names: tuple[str, ...] = ()

    def __call__(self, shape: Any, dtype: Any = None) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not say what values it makes.")

    def get_config(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.config_names}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Initializer:
        """Makes an initializer from what `get_config` gave; a dtype, which older forms had, is no matter."""
        return cls(**{k: v for k, v in config.items() if k != "dtype"})


def _numeric(dtype: Any, what: str) -> dtypes.DType:
    dtype = dtypes.as_dtype(dtype)
    fits = dtype.is_floating or dtype.is_integer
    if what == "numeric or boolean":
        fits = fits or dtype.is_complex or dtype.is_bool
    if not fits:
        raise ValueError(f"Expected {what} dtype, got {dtype}.")
    return dtype


@export(
    "compat.v2.zeros_initializer", "compat.v2.initializers.Zeros", "compat.v2.initializers.zeros"
)
class Zeros(Initializer):
    """Makes tensors of zeros."""

    def __call__(self, shape: Any, dtype: Any = dtypes.float32) -> Any:
        return tf.zeros(shape, _numeric(dtype, "numeric or boolean"))


@export("compat.v2.ones_initializer", "compat.v2.initializers.Ones", "compat.v2.initializers.ones")
class Ones(Initializer):
    """Makes tensors of ones."""

    def __call__(self, shape: Any, dtype: Any = dtypes.float32) -> Any:
        return tf.ones(shape, _numeric(dtype, "numeric or boolean"))


@export(
    "compat.v2.constant_initializer",
    "compat.v2.initializers.Constant",
    "compat.v2.initializers.constant",
)
class Constant(Initializer):
    """Makes tensors of given values: as many as the shape holds, or one that is repeated."""

    config_names = ("value",)

    def __init__(self, value: Any = 0):
        if not (np.isscalar(value) or isinstance(value, (list, tuple, np.ndarray))):
            raise TypeError(
                f"Invalid type for initial value: {type(value)} (expected Python scalar, list or tuple of "
                "values, or numpy.ndarray)."
            )
        self.value = value

    def __call__(self, shape: Any, dtype: Any = None) -> Any:
        dtype = None if dtype is None else dtypes.as_dtype(dtype)
        return constant.of_shape(self.value, dtype, as_shape(shape))


@export("compat.v2.initializers.Identity", "compat.v2.initializers.identity")
class Identity(Initializer):
    """Makes identity matrices, times `gain`."""

    config_names = ("gain",)

    def __init__(self, gain: float = 1.0):
        self.gain = gain

    def __call__(self, shape: Any, dtype: Any = dtypes.float32) -> Any:
        dtype, shape = base.floating(dtype), base.sizes(shape)
        if len(shape) != 2:
            raise ValueError("Identity matrix initializer can only be used for 2D matrices.")
        return self.gain * tf.eye(*shape, dtype=dtype)


class _Drawn(Initializer):
    """Draws values; with a seed always the same."""

    seed: int | None

    def _draw(self, how: str, shape: Any, low: Any, high: Any, dtype: Any) -> Any:
        if self.seed is None:
            return getattr(tf.random, how)(shape, low, high, dtype)
        stateless = getattr(tf.random, "stateless_" + how)
        return stateless(shape, [self.seed, 0], low, high, dtype)


@export("compat.v2.random_uniform_initializer", "compat.v2.initializers.RandomUniform")
class RandomUniform(_Drawn):
    """Draws evenly from a range."""

    config_names = ("minval", "maxval", "seed")

    def __init__(self, minval: Any = -0.05, maxval: Any = 0.05, seed: int | None = None):
        self.minval, self.maxval, self.seed = minval, maxval, seed

    def __call__(self, shape: Any, dtype: Any = dtypes.float32) -> Any:
        dtype = _numeric(dtype, "float or integer")
        return self._draw("uniform", shape, self.minval, self.maxval, dtype)


class _Normal(_Drawn):
    config_names = ("mean", "stddev", "seed")

    def __init__(self, mean: Any = 0.0, stddev: Any = 0.05, seed: int | None = None):
        self.mean, self.stddev, self.seed = mean, stddev, seed


@export("compat.v2.random_normal_initializer", "compat.v2.initializers.RandomNormal")
class RandomNormal(_Normal):
    """Draws from a normal distribution."""

    def __call__(self, shape: Any, dtype: Any = dtypes.float32) -> Any:
        return self._draw("normal", shape, self.mean, self.stddev, base.floating(dtype))


@export("compat.v2.initializers.TruncatedNormal")
class TruncatedNormal(_Normal):
    """Draws from a normal distribution; values more than two deviations off are drawn again."""

    def __call__(self, shape: Any, dtype: Any = dtypes.float32) -> Any:
        return self._draw("truncated_normal", shape, self.mean, self.stddev, base.floating(dtype))


@export("compat.v2.initializers.VarianceScaling")
class VarianceScaling(_Drawn):
    """Draws values whose variance is `scale` over the fan in, the fan out, or their average."""

    config_names: tuple[str, ...] = ("scale", "mode", "distribution", "seed")

    def __init__(
        self,
        scale: float = 1.0,
        mode: str = "fan_in",
        distribution: str = "truncated_normal",
        seed: int | None = None,
    ):
        distribution = check_scaling(scale, mode, distribution)
        self.scale, self.mode, self.distribution, self.seed = scale, mode, distribution, seed

    def __call__(self, shape: Any, dtype: Any = dtypes.float32) -> Any:
        dtype = base.floating(dtype)
        variance = self.scale / max(1.0, fan_of(base.sizes(shape), self.mode))
        if self.distribution == "uniform":
            limit = math.sqrt(3 * variance)
            return self._draw("uniform", shape, -limit, limit, dtype)
        deviation = math.sqrt(variance)
        if self.distribution == "untruncated_normal":
            return self._draw("normal", shape, 0.0, deviation, dtype)
        return self._draw("truncated_normal", shape, 0.0, deviation / TRUNCATED_DEVIATION, dtype)


@export("compat.v2.initializers.Orthogonal", "compat.v2.initializers.orthogonal")
class Orthogonal(_Drawn):
    """Makes matrices whose rows or columns (the fewer) are orthonormal, times `gain`; a shape of higher rank is
    flattened but for its last axis."""

    config_names = ("gain", "seed")

    def __init__(self, gain: float = 1.0, seed: int | None = None):
        self.gain, self.seed = gain, seed

    def __call__(self, shape: Any, dtype: Any = dtypes.float32) -> Any:
        dtype = base.floating(dtype)
        return self.gain * orthogonal(
            base.sizes(shape), lambda tall: self._draw("normal", tall, 0.0, 1.0, dtype)
        )


class _Scaled(VarianceScaling):
    config_names = ("seed",)
    arguments: tuple[float, str, str]

    def __init__(self, seed: int | None = None):
        scale, mode, distribution = self.arguments
        super().__init__(scale, mode, distribution, seed)


@export("compat.v2.initializers.GlorotUniform", "compat.v2.initializers.glorot_uniform")
class GlorotUniform(_Scaled):
    """Draws evenly, with variance 1 over the average of fan in and fan out."""

    arguments = (1.0, "fan_avg", "uniform")


@export("compat.v2.initializers.GlorotNormal", "compat.v2.initializers.glorot_normal")
class GlorotNormal(_Scaled):
    """Draws from a truncated normal distribution, with variance 1 over the average of fan in and fan out."""

    arguments = (1.0, "fan_avg", "truncated_normal")


@export("compat.v2.initializers.lecun_normal")
def lecun_normal(seed: int | None = None) -> VarianceScaling:
    """Truncated normal values with variance 1 over the fan in."""
    return VarianceScaling(1.0, "fan_in", "truncated_normal", seed)


@export("compat.v2.initializers.lecun_uniform")
def lecun_uniform(seed: int | None = None) -> VarianceScaling:
    """Evenly drawn values with variance 1 over the fan in."""
    return VarianceScaling(1.0, "fan_in", "uniform", seed)


@export("compat.v2.initializers.he_normal")
def he_normal(seed: int | None = None) -> VarianceScaling:
    """Truncated normal values with variance 2 over the fan in."""
    return VarianceScaling(2.0, "fan_in", "truncated_normal", seed)


@export("compat.v2.initializers.he_uniform")
def he_uniform(seed: int | None = None) -> VarianceScaling:
    """Evenly drawn values with variance 2 over the fan in."""
    return VarianceScaling(2.0, "fan_in", "uniform", seed)
