"""Initializers that give orthogonal matrices, and convolutions that keep the length of their input."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import weft as tf
from weft.framework import dtypes
from weft.framework.export import export
from weft.initializers.base import Configured, floating, sizes


def random_orthogonal(rows: int, columns: int, dtype: Any, seed: int | None) -> Any:
    """A random matrix with orthonormal columns (`rows >= columns`), evenly distributed."""
    return orthonormal(tf.random.normal([rows, columns], dtype=dtype, seed=seed))


def orthonormal(normal: Any) -> Any:
    """A matrix with orthonormal columns, evenly distributed, from one of normally distributed values."""
    q, r = tf.linalg.qr(normal)
    # The factorisation leaves the signs open; taking those of r makes the distribution even.
    return q * tf.sign(tf.linalg.diag_part(r))


class _Gained(Configured):
    config_names = ("gain", "seed")

    def __init__(self, gain: float = 1.0, seed: int | None = None, dtype: Any = dtypes.float32):
        self.gain, self.seed = gain, seed
        self.dtype = floating(dtype)


@export(
    "orthogonal_initializer",
    "initializers.orthogonal",
    "keras.initializers.Orthogonal",
    "keras.initializers.orthogonal",
)
class Orthogonal(_Gained):
    """Makes matrices whose rows or columns (the fewer) are orthonormal, times `gain`; a shape of higher rank is
    flattened but for its last axis."""

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        dtype = self._dtype(dtype)
        return self.gain * orthogonal(
            sizes(shape), lambda tall: tf.random.normal(tall, dtype=dtype, seed=self.seed)
        )


def orthogonal(shape: list[int], draw: Callable[[list[int]], Any]) -> Any:
    """An orthogonal matrix in a shape, from normally distributed values in a shape that `draw` gives."""
    if len(shape) < 2:
        raise ValueError("The tensor to initialize must be at least two-dimensional")
    rows, columns = math.prod(shape[:-1]), shape[-1]
    matrix = orthonormal(draw([max(rows, columns), min(rows, columns)]))
    if rows < columns:
        matrix = tf.linalg.matrix_transpose(matrix)
    return tf.reshape(matrix, shape)


class ConvolutionDeltaOrthogonal(_Gained):
    """Makes filters that are an orthogonal matrix in the middle and zero elsewhere."""

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        shape = sizes(shape)
        dtype = self._dtype(dtype)
        if not 3 <= len(shape) <= 5:
            raise ValueError(
                "The tensor to initialize must be at least three-dimensional and at most five-dimensional"
            )
        if shape[-2] > shape[-1]:
            raise ValueError("In_filters cannot be greater than out_filters.")
        matrix = random_orthogonal(shape[-1], shape[-1], dtype, self.seed)[: shape[-2], :]
        matrix *= tf.cast(self.gain, dtype=dtype)
        middle = [(n - 1) // 2 for n in shape[:-2]]
        return tf.scatter_nd([middle], tf.expand_dims(matrix, 0), shape)


class ConvolutionOrthogonal(_Gained):
    """Makes filters of `axes` equal spatial axes that are orthogonal as maps of signals that wrap around.

    Such a filter is a product of blocks, each of which keeps or shifts complementary projections; the filters
    are dicts from positions to matrices until the last step.
    """

    axes = 0

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        shape = sizes(shape)
        dtype = self._dtype(dtype)
        if len(shape) != self.axes + 2:
            names = {1: "three", 2: "four", 3: "five"}
            raise ValueError(f"The tensor to initialize must be {names[self.axes]}-dimensional")
        if shape[-2] > shape[-1]:
            raise ValueError("In_filters cannot be greater than out_filters.")
        if any(n != shape[0] for n in shape[: self.axes]):
            raise ValueError("Kernel sizes must be equal.")
        filter_ = self._filter(shape[0], shape[-2], shape[-1])
        return filter_ * tf.cast(self.gain, dtype=dtype)

    def _next_seed(self) -> None:
        if self.seed:
            self.seed += 1

    def _orthogonal_matrix(self, n: int) -> Any:
        matrix = random_orthogonal(n, n, self.dtype, self.seed)
        self._next_seed()
        return matrix

    def _symmetric_projection(self, n: int) -> Any:
        """A projection on a random subspace of random dimension."""
        q = self._orthogonal_matrix(n)
        kept = tf.cast(tf.random.normal([n], seed=self.seed) > 0, self.dtype)
        self._next_seed()
        columns = tf.multiply(q, kept)
        return tf.matmul(columns, tf.linalg.matrix_transpose(columns))

    def _block(self, n: int) -> dict[tuple[int, ...], Any]:
        """An orthogonal filter of size 2: along each axis a projection stays, the complement moves by one."""
        eye = tf.eye(n, dtype=self.dtype)
        projections = [self._symmetric_projection(n) for _ in range(self.axes)]
        out = {}
        for position in itertools.product((0, 1), repeat=self.axes):
            factors = [p if i else eye - p for i, p in zip(position, projections)]
            matrix = factors[0]
            for factor in factors[1:]:
                matrix = tf.matmul(matrix, factor)
            out[position] = matrix
        return out

    def _convolve(self, a: dict, b: dict) -> dict[tuple[int, ...], Any]:
        """The filter that acts as `a` after `b`."""
        out: dict[tuple[int, ...], Any] = {}
        for (i, x), (j, y) in itertools.product(a.items(), b.items()):
            position = tuple(m + n for m, n in zip(i, j))
            product = tf.matmul(x, y)
            out[position] = out[position] + product if position in out else product
        return out

    def _filter(self, size: int, inputs: int, outputs: int) -> Any:
        if inputs > outputs:
            raise ValueError(
                "The number of input channels cannot exceed the number of output channels."
            )
        orthogonal = self._orthogonal_matrix(outputs)[0:inputs, :]
        if size == 1:
            return tf.reshape(orthogonal, [1] * self.axes + [inputs, outputs])
        blocks = self._block(outputs)
        for _ in range(size - 2):
            blocks = self._convolve(blocks, self._block(outputs))
        parts = [
            tf.matmul(orthogonal, blocks[position])
            for position in itertools.product(range(size), repeat=self.axes)
        ]
        return tf.reshape(tf.stack(parts), [size] * self.axes + [inputs, outputs])


class ConvolutionOrthogonal1D(ConvolutionOrthogonal):
    """Makes orthogonal filters of one spatial axis."""

    axes = 1


class ConvolutionOrthogonal2D(ConvolutionOrthogonal):
    """Makes orthogonal filters of two spatial axes."""

    axes = 2


class ConvolutionOrthogonal3D(ConvolutionOrthogonal):
    """Makes orthogonal filters of three spatial axes."""

    axes = 3


export("contrib.framework.convolutional_delta_orthogonal")(ConvolutionDeltaOrthogonal)
export("contrib.framework.convolutional_orthogonal_1d")(ConvolutionOrthogonal1D)
export("contrib.framework.convolutional_orthogonal_2d")(ConvolutionOrthogonal2D)
export("contrib.framework.convolutional_orthogonal_3d")(ConvolutionOrthogonal3D)
