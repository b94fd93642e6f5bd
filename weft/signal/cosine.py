"""The discrete cosine transforms I, II and III, by Fourier transforms."""

from __future__ import annotations

import math
from typing import Any

import weft as tf
from weft.framework.export import export
from weft.signal.real_transforms import irfft, rfft


def _check(type: int, n: Any, axis: int, norm: str | None, x: Any) -> None:
    if axis != -1:
        raise NotImplementedError(f"axis must be -1. Got: {axis}")
    if n is not None and n < 1:
        raise ValueError("n should be a positive integer or None")
    if type not in (1, 2, 3):
        raise ValueError("Only Types I, II and III (I)DCT are supported.")
    if type == 1:
        if norm == "ortho":
            raise ValueError("Normalization is not supported for the Type-I DCT.")
        size = tf.compat.dimension_value(x.shape[-1]) if x.shape.ndims else None
        if size is not None and size < 2:
            raise ValueError("Type-I DCT requires the dimension to be greater than one.")
    if norm not in (None, "ortho"):
        raise ValueError(f"Unknown normalization. Expected None or 'ortho', got: {norm}")


def _last_size(x: Any) -> Any:
    """The size of the last axis: a number, or a tensor where it is not known."""
    known = tf.compat.dimension_value(x.shape[-1]) if x.shape.ndims else None
    return tf.shape(x)[-1] if known is None else known


def _of_length(x: Any, n: int) -> Any:
    """The signals cut or filled up to `n`."""
    size = _last_size(x)
    missing = max(n - size, 0) if isinstance(size, int) else tf.maximum(n - size, 0)
    if isinstance(missing, int) and not missing:
        return x[..., :n]
    found = tf.pad(x, [[0, 0]] * (x.shape.ndims - 1) + [[0, missing]])[..., :n]
    found.set_shape([*x.shape.as_list()[:-1], n])
    return found


def _quarter_turns(size: Any, count: Any, sign: float) -> Any:
    """`2 exp(sign i pi k / (2 n))` for k below n."""
    angle = tf.cast(tf.range(count), tf.float32) * (sign * math.pi * 0.5) / size
    return 2.0 * tf.exp(tf.complex(tf.zeros_like(angle), angle))


def _first_and_rest(first: Any, rest: Any, count: Any) -> Any:
    """A vector of one number and then another."""
    return tf.concat([tf.expand_dims(first, 0), tf.fill([count - 1], rest)], 0)


@export("signal.dct", "spectral.dct")
def dct(
    input: Any,
    type: int = 2,
    n: Any = None,
    axis: int = -1,
    norm: str | None = None,
    name: str | None = None,
) -> Any:
    """The discrete cosine transform of the last axis; `norm="ortho"` makes it orthogonal."""
    with tf.name_scope(name, "dct", [input]):
        x = tf.convert_to_tensor(input, dtype=tf.float32)
        _check(type, n, axis, norm, x)
        if n is not None:
            x = _of_length(x, n)
        count = _last_size(x)
        size = tf.cast(count, tf.float32)
        if type == 1:
            return tf.real(rfft(tf.concat([x, x[..., -2:0:-1]], axis=-1)))
        if type == 2:
            turned = rfft(x, fft_length=[2 * count])[..., :count] * _quarter_turns(size, count, -1)
            found = tf.real(turned)
            if norm == "ortho":
                first = 0.5 * tf.rsqrt(size)
                found = found * _first_and_rest(first, first * math.sqrt(2.0), count)
            return found
        if norm == "ortho":
            first = tf.sqrt(size)
            x = x * _first_and_rest(first, first * math.sqrt(0.5), count)
        else:
            x = x * size
        turned = _quarter_turns(size, count, 1) * tf.complex(x, tf.zeros_like(x))
        return irfft(turned, fft_length=[2 * count])[..., :count]


@export("signal.idct", "spectral.idct")
def idct(
    input: Any,
    type: int = 2,
    n: Any = None,
    axis: int = -1,
    norm: str | None = None,
    name: str | None = None,
) -> Any:
    """The inverse of `dct`, but for a factor unless both are orthogonal."""
    x = tf.convert_to_tensor(input, dtype=tf.float32)
    _check(type, n, axis, norm, x)
    return dct(x, type={1: 1, 2: 3, 3: 2}[type], n=n, axis=axis, norm=norm, name=name)
