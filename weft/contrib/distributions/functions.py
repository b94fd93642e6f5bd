"""Functions that stand beside the distributions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import weft as tf
from weft.contrib.distributions import bijectors  # noqa: F401  softplus_inverse
from weft.framework.export import export

_SPACE = "contrib.distributions."


@export(_SPACE + "reduce_weighted_logsumexp")
def reduce_weighted_logsumexp(
    logx: Any,
    w: Any = None,
    axis: Any = None,
    keep_dims: bool = False,
    return_sign: bool = False,
    name: str | None = None,
) -> Any:
    """log(|sum(w * exp(logx))|), and with `return_sign` the sign of the sum."""
    with tf.name_scope(name, "reduce_weighted_logsumexp", values=[logx, w]):
        logx = tf.convert_to_tensor(logx, name="logx")
        if w is None:
            total = tf.reduce_logsumexp(logx, axis=axis, keepdims=keep_dims)
            return (total, tf.ones_like(total)) if return_sign else total
        w = tf.convert_to_tensor(w, dtype=logx.dtype.base_dtype, name="w")
        logs = logx + tf.log(tf.abs(w))
        most = tf.reduce_max(logs, axis=axis, keepdims=True)
        # Where everything is 0, or infinite, nothing can be taken out.
        most = tf.stop_gradient(tf.where_v2(tf.is_finite(most), most, tf.zeros_like(most)))
        total = tf.reduce_sum(tf.sign(w) * tf.exp(logs - most), axis=axis, keepdims=keep_dims)
        if not keep_dims:
            most = tf.squeeze(most, axis=axis)
        sign = tf.sign(total)
        logs = most + tf.log(sign * total)
        return (logs, sign) if return_sign else logs


@export(_SPACE + "matrix_diag_transform")
def matrix_diag_transform(
    matrix: Any, transform: Callable | None = None, name: str | None = None
) -> Any:
    """The matrix with its diagonal transformed."""
    with tf.name_scope(name, "matrix_diag_transform", [matrix]):
        matrix = tf.convert_to_tensor(matrix, name="matrix")
        if transform is None:
            return matrix
        return tf.matrix_set_diag(matrix, transform(tf.matrix_diag_part(matrix)))


@export(_SPACE + "tridiag")
def tridiag(below: Any = None, diag: Any = None, above: Any = None, name: str | None = None) -> Any:
    """The matrix that has these three diagonals and is zero elsewhere."""
    with tf.name_scope(name, "tridiag", [below, diag, above]):

        def padded(x: Any, ends: list[int]) -> Any:
            pads = tf.concat([tf.zeros([tf.rank(x) - 1, 2], tf.int32), [ends]], 0)
            return tf.pad(x, pads)

        parts = []
        if below is not None:  # one row down: a diagonal of a larger matrix, cut out
            wide = tf.matrix_diag(padded(tf.convert_to_tensor(below), [1, 1]))
            parts.append(wide[..., :-1, 1:])
        if diag is not None:
            parts.append(tf.matrix_diag(tf.convert_to_tensor(diag)))
        if above is not None:
            wide = tf.matrix_diag(padded(tf.convert_to_tensor(above), [1, 1]))
            parts.append(wide[..., 1:, :-1])
        if not parts:
            raise ValueError("Must specify at least one of `below`, `diag`, `above`.")
        return tf.add_n(parts)


@export(_SPACE + "fill_triangular")
def fill_triangular(x: Any, upper: bool = False, name: str | None = None) -> Any:
    """The triangular matrix that vectors of n * (n + 1) / 2 elements fill, in a clockwise spiral."""
    with tf.name_scope(name, "fill_triangular", values=[x]):
        x = tf.convert_to_tensor(x, name="x")
        size = x.shape.with_rank_at_least(1).as_list()[-1] if x.shape.ndims is not None else None
        n: Any
        if size is not None:
            n = int((0.25 + 2.0 * size) ** 0.5 - 0.5)
            if n * (n + 1) != 2 * size:
                raise ValueError(
                    f"Input right-most shape ({size}) does not correspond to a triangular matrix."
                )
        else:
            n = tf.cast(tf.sqrt(0.25 + tf.cast(2 * tf.shape(x)[-1], tf.float32)), tf.int32)
        # All elements and, turned round, those but the first row again: half of them are cut off.
        parts = [x, x[..., n:][..., ::-1]] if upper else [x[..., n:], x[..., ::-1]]
        square = tf.reshape(tf.concat(parts, -1), tf.concat([tf.shape(x)[:-1], [n, n]], 0))
        return tf.matrix_band_part(square, *((0, -1) if upper else (-1, 0)))


@export(_SPACE + "fill_triangular_inverse")
def fill_triangular_inverse(x: Any, upper: bool = False, name: str | None = None) -> Any:
    """The vectors by which `fill_triangular` gives these matrices."""
    with tf.name_scope(name, "fill_triangular_inverse", values=[x]):
        x = tf.convert_to_tensor(x, name="x")
        size = x.shape.with_rank_at_least(2).as_list()[-1] if x.shape.ndims is not None else None
        n = tf.shape(x)[-1] if size is None else size
        first, rest = (x[..., 0, :], x[..., 1:, :]) if upper else (x[..., -1, ::-1], x[..., :-1, :])
        # What was cut off is in the same rows, turned round.
        both = rest + rest[..., ::-1, ::-1]
        rows = tf.reshape(both, tf.concat([tf.shape(x)[:-2], [n * (n - 1)]], 0))
        return tf.concat([first, rows[..., : n * (n - 1) // 2]], -1)
