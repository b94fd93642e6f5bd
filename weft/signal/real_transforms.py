"""Fourier transforms of real signals, padded to the length that is wanted; and shifts of spectra."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import weft as tf
from weft.framework.constant_value import constant_value
from weft.framework.export import export
from weft.ops.by_name import raw


def _half(length: Any) -> Any:
    """The size of a spectrum without negative frequencies, along the last axis."""
    return [*length[:-1], length[-1] // 2 + 1]


def _inferred(x: Any, axes: int, inverse: bool) -> Any:
    """The length of the signals, from the shape of what is transformed: a list, or a tensor."""
    dims: list[Any] = x.shape[-axes:].as_list() if x.shape.ndims is not None else [None]
    if None in dims:
        sizes = tf.unstack(tf.shape(x)[-axes:], num=axes)
        if inverse:
            sizes[-1] = tf.maximum(0, 2 * (sizes[-1] - 1))
        return tf.stack(sizes)
    if inverse:
        dims[-1] = max(0, 2 * (dims[-1] - 1))
    return tf.constant(dims, tf.int32)


def _padded(x: Any, axes: int, length: Any, inverse: bool) -> Any:
    """The input with zeros behind, where it is shorter than the transform needs."""
    known = constant_value(length)
    length.shape.with_rank(1)
    dims = x.shape.as_list() if x.shape.ndims is not None else None
    if dims is not None and 0 in dims:
        return x
    if known is not None and dims is not None and None not in dims[-axes:]:
        wanted = [int(n) for n in known]
        wanted = _half(wanted) if inverse else wanted
        after = [max(n - own, 0) for n, own in zip(wanted, dims[-axes:])]
        if not any(after):
            return x
        return tf.pad(x, [[0, 0]] * (len(dims) - axes) + [[0, n] for n in after])
    if inverse:
        length = tf.concat([length[:-1], length[-1:] // 2 + 1], 0)
    missing = tf.maximum(0, length - tf.shape(x)[-axes:])
    missing = tf.concat([tf.zeros([tf.maximum(0, tf.rank(x) - axes)], tf.int32), missing], 0)
    return tf.pad(x, tf.stack([tf.zeros_like(missing), missing], axis=1))


def _transform(axes: int, inverse: bool) -> Callable[..., Any]:
    end = "" if axes == 1 else f"{axes}d"
    leaf = f"{'i' * inverse}rfft{end}"
    kind = tf.complex64 if inverse else tf.float32

    def function(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Any:
        with tf.name_scope(name, leaf, [input_tensor, fft_length]) as scope:
            x = tf.convert_to_tensor(input_tensor, kind)
            x.shape.with_rank_at_least(axes)
            if fft_length is None:
                length = _inferred(x, axes, inverse)
            else:
                length = tf.convert_to_tensor(fft_length, tf.int32)
            x = _padded(x, axes, length, inverse)
            return getattr(raw, leaf.upper())(x, length, name=scope)

    function.__name__ = function.__qualname__ = leaf
    function.__doc__ = (
        f"The real signals of {axes} axes whose spectra have these values at frequencies that are not negative."
        if inverse
        else f"The spectra of real signals of {axes} axes, without negative frequencies along the last."
    )
    return export(f"signal.{leaf}", f"spectral.{leaf}")(function)


rfft, irfft = _transform(1, False), _transform(1, True)
rfft2d, irfft2d = _transform(2, False), _transform(2, True)
rfft3d, irfft3d = _transform(3, False), _transform(3, True)


def _rolled(x: Any, axes: Any, sign: int) -> Any:
    """The tensor rolled by half its size along axes, all by default."""
    x = tf.convert_to_tensor(x)
    if axes is None:
        axes = tuple(range(x.shape.ndims))
    sizes = [x.shape[a].value for a in ([axes] if isinstance(axes, int) else axes)]
    if None in sizes:
        actual = tf.shape(x)
        listed = [axes] if isinstance(axes, int) else list(axes)
        shift = tf.stack(
            [sign * (actual[a] // 2) if sign > 0 else -(actual[a] // 2) for a in listed]
        )
        return tf.roll(x, shift, listed)
    shift = [sign * (n // 2) for n in sizes]
    return tf.roll(x, shift[0] if isinstance(axes, int) else shift, axes)


@export("signal.fftshift")
def fftshift(x: Any, axes: Any = None, name: str | None = None) -> Any:
    """Moves the zero frequency to the middle."""
    with tf.name_scope(name, "fftshift"):
        return _rolled(x, axes, 1)


@export("signal.ifftshift")
def ifftshift(x: Any, axes: Any = None, name: str | None = None) -> Any:
    """Moves the zero frequency from the middle to the front: takes `fftshift` back."""
    with tf.name_scope(name, "ifftshift"):
        return _rolled(x, axes, -1)
