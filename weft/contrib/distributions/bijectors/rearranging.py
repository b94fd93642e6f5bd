"""Bijectors that reorder, reshape or normalize the elements of an event."""

from __future__ import annotations

from typing import Any

import numpy as np

import weft as tf
from weft.contrib.distributions.bijectors.base import Bijector
from weft.framework.constant_value import constant_value
from weft.framework.export import export

_SPACE = "contrib.distributions.bijectors."


@export(_SPACE + "Permute")
class Permute(Bijector):
    """Reorders the last axis: y[..., i] = x[..., permutation[i]]."""

    def __init__(self, permutation: Any, validate_args: bool = False, name: str | None = None):
        with tf.name_scope(name, "permute", values=[permutation]):
            permutation = tf.convert_to_tensor(permutation, name="permutation")
            if not permutation.dtype.is_integer:
                raise TypeError("permutation.dtype should be `int`-like.")
            known = constant_value(permutation)
            if known is not None and not np.array_equal(np.sort(known), np.arange(known.size)):
                raise ValueError(
                    "Permutation over `d` must contain exactly one of each of `{0, 1, ..., d}`."
                )
            self._permutation = permutation
        super().__init__(
            forward_min_event_ndims=1,
            is_constant_jacobian=True,
            validate_args=validate_args,
            name=name or "permute",
        )

    @property
    def permutation(self) -> Any:
        """Where each element comes from."""
        return self._permutation

    def _forward(self, x):
        return tf.gather(x, self.permutation, axis=-1)

    def _inverse(self, y):
        return tf.gather(y, tf.invert_permutation(self.permutation), axis=-1)

    def _forward_log_det_jacobian(self, x):
        return tf.constant(0.0, dtype=x.dtype.base_dtype)


def _with_size(shape: list[int], total: int | None) -> list[int | None]:
    """A shape whose -1 stands for what is left of `total`."""
    if -1 not in shape:
        return list(shape)
    rest = int(np.prod([d for d in shape if d != -1]))
    left = None if total is None or rest == 0 else total // rest
    return [left if d == -1 else d for d in shape]


@export(_SPACE + "Reshape")
class Reshape(Bijector):
    """Gives events another shape; both shapes are Python or constant vectors, with at most one -1."""

    def __init__(
        self,
        event_shape_out: Any,
        event_shape_in: Any = (-1,),
        validate_args: bool = False,
        name: str | None = None,
    ):
        shapes = []
        for what, shape in (
            ("event_shape_in", event_shape_in),
            ("event_shape_out", event_shape_out),
        ):
            tensor = tf.convert_to_tensor(shape, name=what, dtype=tf.int32)
            known = constant_value(tensor)
            if known is None or known.ndim != 1:
                raise ValueError(f"{what} must be a constant vector")
            sizes = known.tolist()
            if sizes.count(-1) > 1 or min(sizes, default=0) < -1:
                raise ValueError(f"{what} must be positive, but for one -1: {sizes}")
            shapes.append(sizes)
        self._in, self._out = shapes
        totals = [int(np.prod(s)) for s in shapes if -1 not in s]
        if len(totals) == 2 and totals[0] != totals[1]:
            raise ValueError(f"Input/output event shapes hold {totals[0]} and {totals[1]} elements")
        super().__init__(
            forward_min_event_ndims=0,  # as TensorFlow has it: the Jacobian is a number anyway
            is_constant_jacobian=True,
            validate_args=validate_args,
            name=name or "reshape",
        )

    def _reshaped(self, x: Any, before: list[int], after: list[int]) -> Any:
        known = None if x.shape.ndims is None else x.shape[x.shape.ndims - len(before) :]
        if known is not None and known.is_fully_defined():
            self._static(known, before, after)
        leading = tf.shape(x)[: tf.rank(x) - len(before)]
        return tf.reshape(x, tf.concat([leading, after], 0))

    def _forward(self, x):
        return self._reshaped(x, self._in, self._out)

    def _inverse(self, y):
        return self._reshaped(y, self._out, self._in)

    def _inverse_log_det_jacobian(self, y):
        return tf.constant(0.0, dtype=y.dtype.base_dtype)

    def _forward_log_det_jacobian(self, x):
        return tf.constant(0.0, dtype=x.dtype.base_dtype)

    def _static(self, shape: Any, before: list[int], after: list[int]) -> Any:
        if shape.ndims is None:
            return shape
        if shape.ndims < len(before):
            raise ValueError(f"Input event shape {shape} does not fit {before}")
        leading = shape[: shape.ndims - len(before)]
        shape = shape[shape.ndims - len(before) :]
        if not shape.is_fully_defined():
            return leading.concatenate([None if d == -1 else d for d in after])
        total = int(np.prod(shape.as_list()))
        if _with_size(before, total) != shape.as_list():
            raise ValueError(f"Input event shape {shape} does not fit {before}")
        return leading.concatenate(_with_size(after, total))

    def _forward_event_shape(self, shape):
        return self._static(shape, self._in, self._out)

    def _inverse_event_shape(self, shape):
        return self._static(shape, self._out, self._in)

    def _dynamic(self, shape: Any, before: list[int], after: list[int]) -> Any:
        cut = tf.size(shape) - len(before)
        rest = int(np.prod([d for d in after if d != -1]))
        left = tf.reduce_prod(shape[cut:]) // rest
        sizes = [left if d == -1 else tf.constant(d) for d in after]
        return tf.concat([shape[:cut], tf.stack(sizes)], 0) if sizes else shape[:cut]

    def _forward_event_shape_tensor(self, shape):
        return self._dynamic(shape, self._in, self._out)

    def _inverse_event_shape_tensor(self, shape):
        return self._dynamic(shape, self._out, self._in)


@export(_SPACE + "SoftmaxCentered")
class SoftmaxCentered(Bijector):
    """softmax of a vector with a 0 after its end: from n numbers to n + 1 that sum to 1."""

    def __init__(self, validate_args: bool = False, name: str = "softmax_centered"):
        super().__init__(forward_min_event_ndims=1, validate_args=validate_args, name=name)

    def _forward(self, x):
        return tf.nn.softmax(tf.concat([x, tf.zeros_like(x[..., :1])], -1))

    def _inverse(self, y):
        logs = tf.log(y)
        return logs[..., :-1] - logs[..., -1:]

    def _inverse_log_det_jacobian(self, y):
        # That of the first n of the outputs, from which the last one follows
        return -tf.reduce_sum(tf.log(y), axis=-1)

    def _forward_log_det_jacobian(self, x):
        normal = tf.nn.softplus(tf.reduce_logsumexp(x, axis=-1, keepdims=True))
        return tf.reduce_sum(x - normal, axis=-1) - normal[..., 0]

    def _forward_event_shape(self, shape):
        if shape.ndims is None:
            return shape
        size = shape.as_list()[-1]
        return shape[:-1].concatenate([None if size is None else size + 1])

    def _forward_event_shape_tensor(self, shape):
        return tf.concat([shape[:-1], shape[-1:] + 1], 0)

    def _inverse_event_shape(self, shape):
        if shape.ndims is None:
            return shape
        size = shape.as_list()[-1]
        if size is not None and size <= 1:
            raise ValueError(f"output_shape[-1] must be at least 2, but is {size}")
        return shape[:-1].concatenate([None if size is None else size - 1])

    def _inverse_event_shape_tensor(self, shape):
        return tf.concat([shape[:-1], shape[-1:] - 1], 0)
