"""Initializers that give known values: zeros, ones, constants, the identity matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

import weft as tf
from weft.framework import dtypes
from weft.framework.export import export
from weft.initializers.base import Configured, floating, full_sizes


@export(
    "zeros_initializer",
    "initializers.zeros",
    "keras.initializers.Zeros",
    "keras.initializers.zeros",
)
class Zeros(Configured):
    """Makes tensors of zeros."""

    def __init__(self, dtype: Any = dtypes.float32):
        self.dtype = dtypes.as_dtype(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        return tf.zeros(shape, self._dtype(dtype))


@export(
    "ones_initializer", "initializers.ones", "keras.initializers.Ones", "keras.initializers.ones"
)
class Ones(Configured):
    """Makes tensors of ones."""

    def __init__(self, dtype: Any = dtypes.float32):
        self.dtype = dtypes.as_dtype(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        return tf.ones(shape, self._dtype(dtype))


@export(
    "constant_initializer",
    "initializers.constant",
    "keras.initializers.Constant",
    "keras.initializers.constant",
)
class Constant(Configured):
    """Makes tensors of given values; where there are too few the last one repeats, unless `verify_shape`."""

    config_names = ("value",)

    def __init__(self, value: Any = 0, dtype: Any = dtypes.float32, verify_shape: bool = False):
        if not (np.isscalar(value) or isinstance(value, (list, tuple, np.ndarray))):
            raise TypeError(
                f"Invalid type for initial value: {type(value)} (expected Python scalar, list or tuple of "
                "values, or numpy.ndarray)."
            )
        self.value = value
        self.dtype = dtypes.as_dtype(dtype)
        self._verify_shape = verify_shape

    def __call__(
        self,
        shape: Any,
        dtype: Any = None,
        partition_info: Any = None,
        verify_shape: bool | None = None,
    ) -> Any:
        if verify_shape is None:
            verify_shape = self._verify_shape
        return tf.constant(
            self.value, dtype=self._dtype(dtype), shape=shape, verify_shape=verify_shape
        )


@export("initializers.identity", "keras.initializers.Identity", "keras.initializers.identity")
class Identity(Configured):
    """Makes identity matrices, times `gain`."""

    config_names = ("gain",)

    def __init__(self, gain: float = 1.0, dtype: Any = dtypes.float32):
        self.gain = gain
        self.dtype = floating(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        whole = full_sizes(shape, partition_info)
        if len(whole) != 2:
            raise ValueError("Identity matrix initializer can only be used for 2D matrices.")
        matrix = tf.eye(*whole, dtype=self._dtype(dtype))
        if partition_info is not None:
            matrix = tf.slice(matrix, partition_info.var_offset, shape)
        return self.gain * matrix
