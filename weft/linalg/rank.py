"""What singular values tell: rank and pseudo-inverse; and the adjoint."""

from __future__ import annotations

from typing import Any

import numpy as np

import weft as tf
from weft.framework.export import export


@export("linalg.adjoint")
def adjoint(matrix: Any, name: str | None = None) -> Any:
    """The conjugate transpose of matrices."""
    with tf.name_scope(name, "adjoint", [matrix]):
        matrix = tf.convert_to_tensor(matrix, name="matrix")
        return tf.linalg.matrix_transpose(matrix, conjugate=True)


def _checked(a: Any, validate_args: bool) -> Any:
    """The matrices, which must be real and have two axes at least."""
    if not a.dtype.is_floating:
        raise TypeError(f"Input `a` must have `float`-like `dtype` (saw {a.dtype.name}).")
    rank = a.shape.ndims
    if rank is not None and rank < 2:
        raise ValueError(f"Input `a` must have at least 2 dimensions (saw: {rank}).")
    if rank is None and validate_args:
        message = "Input `a` must have at least 2 dimensions."
        with tf.control_dependencies(
            [tf.debugging.assert_rank_at_least(a, rank=2, message=message)]
        ):
            return tf.identity(a)
    return a


def _longer_side(a: Any) -> Any:
    sizes = a.shape[-2:] if a.shape.ndims is not None else None
    if sizes is not None and sizes.is_fully_defined():
        return tf.constant(max(sizes.as_list()), a.dtype)
    return tf.cast(tf.reduce_max(tf.shape(a)[-2:]), a.dtype)


def _epsilon(a: Any) -> Any:
    return np.finfo(a.dtype.as_numpy_dtype).eps


@export("linalg.matrix_rank")
def matrix_rank(
    a: Any, tol: Any = None, validate_args: bool = False, name: str | None = None
) -> Any:
    """The numbers of singular values above `tol` (by default, above rounding errors)."""
    with tf.name_scope(name or "matrix_rank"):
        a = tf.convert_to_tensor(a, preferred_dtype=tf.float32, name="a")
        a = _checked(a, validate_args)
        values = tf.linalg.svd(a, compute_uv=False)
        if tol is None:
            largest = tf.reduce_max(values, axis=-1, keepdims=True)
            tol = _epsilon(a) * _longer_side(a) * largest
        return tf.reduce_sum(tf.cast(values > tol, tf.int32), axis=-1)


@export("linalg.pinv")
def pinv(a: Any, rcond: Any = None, validate_args: bool = False, name: str | None = None) -> Any:
    """The Moore-Penrose pseudo-inverses; singular values below `rcond` times the largest count as zero."""
    with tf.name_scope(name or "pinv"):
        a = _checked(tf.convert_to_tensor(a, name="a"), validate_args)
        if rcond is None:
            rcond = 10.0 * _epsilon(a) * _longer_side(a)
        rcond = tf.convert_to_tensor(rcond, dtype=a.dtype.base_dtype, name="rcond")
        values, left, right = tf.linalg.svd(a, full_matrices=False, compute_uv=True)
        cutoff = tf.expand_dims(rcond * tf.reduce_max(values, axis=-1), -1)
        infinite = tf.fill(tf.shape(values), tf.constant(np.inf, a.dtype.base_dtype))
        values = tf.where(tf.broadcast_to(cutoff, tf.shape(values)) < values, values, infinite)
        found = tf.matmul(right / tf.expand_dims(values, -2), left, adjoint_b=True)
        if a.shape.ndims is not None:
            dims = a.shape.as_list()
            found.set_shape([*dims[:-2], dims[-1], dims[-2]])
        return found
