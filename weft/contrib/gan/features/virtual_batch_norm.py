"""Normalization of each example by itself and a reference batch (Salimans et al. 2016)."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.framework.export import export
from weft.framework.tensor_shape import TensorShape

_ZEROS, _ONES = tf.zeros_initializer(), tf.ones_initializer()


def vbn_statistics(x: Any, axes: list[int]) -> tuple[Any, Any]:
    """The mean of values and of their squares."""
    y = tf.cast(x, tf.float32) if x.dtype == tf.float16 else x
    shift = tf.stop_gradient(tf.reduce_mean(y, axes, keepdims=True))
    mean = tf.squeeze(tf.reduce_mean(y - shift, axes, keepdims=True) + shift, axes)
    squares = tf.squeeze(tf.reduce_mean(tf.square(y), axes, keepdims=True), axes)
    return tf.cast(mean, x.dtype), tf.cast(squares, x.dtype)


def _axis(x: Any, axis: int) -> int:
    rank = x.shape.ndims
    if rank is None:
        raise ValueError("`reference_batch` has unknown dimensions.")
    if not -rank <= axis < rank:
        raise ValueError(
            f"Value of `axis` argument {axis} is out of range for input with rank {rank}"
        )
    return axis % rank


def _size(x: Any, axis: int) -> Any:
    known = x.shape.as_list()[axis]
    return tf.shape(x)[axis] if known is None else known


@export("contrib.gan.features.VBN")
class VBN:
    """Normalizes with the statistics of a reference batch, and of the example itself."""

    def __init__(
        self,
        reference_batch: Any,
        axis: int = -1,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = _ZEROS,
        gamma_initializer: Any = _ONES,
        beta_regularizer: Any = None,
        gamma_regularizer: Any = None,
        trainable: bool = True,
        name: Any = None,
        batch_axis: int = 0,
    ):
        axis = _axis(reference_batch, axis)
        self._batch_axis = _axis(reference_batch, batch_axis)
        if axis == self._batch_axis:
            raise ValueError("`axis` and `batch_axis` cannot be the same.")
        self._epsilon, self._beta, self._gamma = epsilon, None, None
        with tf.variable_scope(name, "VBN", values=[reference_batch]) as self._scope:
            self._reference_batch = reference_batch
            rank = reference_batch.shape.ndims
            depth = reference_batch.shape.as_list()[axis]
            axes = [a for a in range(rank) if a != axis]
            self._broadcast_shape: list[Any] = [1] * rank
            self._broadcast_shape[axis] = depth
            self._example_axes = [a for a in axes if a != self._batch_axis]
            self._mean, self._squares = vbn_statistics(reference_batch, axes)
            self._variance = self._squares - tf.square(self._mean)
            count = tf.cast(_size(reference_batch, self._batch_axis), tf.float32)
            self._example_weight = 1.0 / (count + 1.0)
            self._reference_weight = 1.0 - self._example_weight
            if center:
                self._beta = tf.get_variable(
                    "beta",
                    shape=(depth,),
                    initializer=beta_initializer,
                    regularizer=beta_regularizer,
                    trainable=trainable,
                )
            if scale:
                self._gamma = tf.get_variable(
                    "gamma",
                    shape=(depth,),
                    initializer=gamma_initializer,
                    regularizer=gamma_regularizer,
                    trainable=trainable,
                )

    def _normalized(self, x: Any, mean: Any, variance: Any, shape: list[Any]) -> Any:
        def broadcast(v: Any, shape: list[Any]) -> Any:
            return None if v is None else tf.reshape(v, shape)

        return tf.nn.batch_normalization(
            x,
            broadcast(mean, shape),
            broadcast(variance, shape),
            broadcast(self._beta, self._broadcast_shape),
            broadcast(self._gamma, self._broadcast_shape),
            self._epsilon,
        )

    def reference_batch_normalization(self) -> Any:
        """The reference batch, normalized by itself."""
        with tf.name_scope(self._scope.name):
            return self._normalized(
                self._reference_batch, self._mean, self._variance, self._broadcast_shape
            )

    def __call__(self, inputs: Any) -> Any:
        """Examples, each normalized by the reference batch and itself."""
        shapes = []
        for x in (inputs, self._reference_batch):
            sizes = x.shape.as_list()
            del sizes[self._batch_axis]
            shapes.append(TensorShape(sizes))
        shapes[0].assert_is_compatible_with(shapes[1])
        with tf.name_scope(self._scope.name, values=[inputs, self._reference_batch]):
            mean, squares = vbn_statistics(inputs, self._example_axes)
            mean = self._example_weight * mean + self._reference_weight * self._mean
            squares = self._example_weight * squares + self._reference_weight * self._squares
            shape = list(self._broadcast_shape)
            shape[self._batch_axis] = _size(inputs, self._batch_axis)
            return self._normalized(inputs, mean, squares - tf.square(mean), shape)
