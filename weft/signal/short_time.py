"""The short-time Fourier transform: spectra of overlapping frames, and back."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import weft as tf
from weft.framework.constant_value import constant_value
from weft.framework.export import export
from weft.signal.frames import frame, overlap_and_add
from weft.signal.real_transforms import irfft, rfft
from weft.signal.windows import hann_window


def _scalar(value: Any, name: str) -> Any:
    value = tf.convert_to_tensor(value, name=name)
    value.shape.assert_has_rank(0)
    return value


def _enclosing_power_of_two(length: Any) -> Any:
    known = constant_value(length)
    if known is not None:
        return tf.constant(2 ** math.ceil(math.log2(known)), length.dtype)
    exponent = tf.ceil(tf.log(tf.cast(length, tf.float32)) / math.log(2.0))
    return tf.cast(tf.pow(2.0, exponent), length.dtype)


@export("signal.stft")
def stft(
    signals: Any,
    frame_length: Any,
    frame_step: Any,
    fft_length: Any = None,
    window_fn: Callable[..., Any] | None = hann_window,
    pad_end: bool = False,
    name: str | None = None,
) -> Any:
    """The spectra `[..., frames, fft_length // 2 + 1]` of overlapping frames of real signals."""
    with tf.name_scope(name, "stft", [signals, frame_length, frame_step]):
        signals = tf.convert_to_tensor(signals, name="signals")
        signals.shape.with_rank_at_least(1)
        length, step = _scalar(frame_length, "frame_length"), _scalar(frame_step, "frame_step")
        if fft_length is None:
            fft_length = _enclosing_power_of_two(length)
        else:
            fft_length = tf.convert_to_tensor(fft_length, name="fft_length")
        frames = frame(signals, length, step, pad_end=pad_end)
        if window_fn is not None:
            frames = frames * window_fn(length, dtype=frames.dtype)
        return rfft(frames, [fft_length])


@export("signal.inverse_stft_window_fn")
def inverse_stft_window_fn(
    frame_step: Any,
    forward_window_fn: Callable[..., Any] = hann_window,
    name: str | None = None,
) -> Callable[..., Any]:
    """A window function for `inverse_stft` that makes up for the window of `stft`."""
    with tf.name_scope(name, "inverse_stft_window_fn", [forward_window_fn]):
        step = _scalar(frame_step, "frame_step")

    def window(frame_length: Any, dtype: Any) -> Any:
        """Divides the forward window by what the squared windows of all frames add up to."""
        with tf.name_scope(name, "inverse_stft_window_fn", [forward_window_fn]):
            length = _scalar(frame_length, "frame_length")
            forward = forward_window_fn(length, dtype=dtype)
            overlaps = -(-length // step)
            squares = tf.pad(tf.square(forward), [[0, overlaps * step - length]])
            total = tf.reduce_sum(tf.reshape(squares, [overlaps, step]), 0, keepdims=True)
            total = tf.reshape(tf.tile(total, [overlaps, 1]), [overlaps * step])
            return forward / total[:length]

    return window


def _resized(frames: Any, length: Any) -> Any:
    """Frames cut or filled up to a length."""
    known = constant_value(length)
    rank = frames.shape.ndims
    own = frames.shape.as_list()[-1] if rank is not None else None
    if known is None or own is None:
        frames = frames[..., :length]
        missing = tf.maximum(0, length - tf.shape(frames)[-1])
        none = tf.zeros([tf.rank(frames) - 1, 2], tf.int32)
        frames = tf.pad(frames, tf.concat([none, [[0, missing]]], 0))
    elif own > known:
        frames = frames[..., :known]
    elif own < known:
        frames = tf.pad(frames, [[0, 0]] * (rank - 1) + [[0, int(known) - own]])
    if known is not None and rank is not None:
        frames.set_shape([None] * (rank - 1) + [int(known)])
    return frames


@export("signal.inverse_stft")
def inverse_stft(
    stfts: Any,
    frame_length: Any,
    frame_step: Any,
    fft_length: Any = None,
    window_fn: Callable[..., Any] | None = hann_window,
    name: str | None = None,
) -> Any:
    """The real signals whose frames have these spectra; see `inverse_stft_window_fn`."""
    with tf.name_scope(name, "inverse_stft", [stfts]):
        stfts = tf.convert_to_tensor(stfts, name="stfts")
        stfts.shape.with_rank_at_least(2)
        length, step = _scalar(frame_length, "frame_length"), _scalar(frame_step, "frame_step")
        if fft_length is None:
            fft_length = _enclosing_power_of_two(length)
        else:
            fft_length = _scalar(fft_length, "fft_length")
        frames = _resized(irfft(stfts, [fft_length]), length)
        if window_fn is not None:
            frames = frames * window_fn(length, dtype=stfts.dtype.real_dtype)
        return overlap_and_add(frames, step)
