"""Frames: overlapping parts of a signal, and the signal that such parts add up to."""

from __future__ import annotations

import math
from typing import Any

import weft as tf
from weft.framework.constant_value import constant_value
from weft.framework.export import export


def _known(x: Any) -> int | None:
    value = constant_value(x)
    return None if value is None else int(value)


def _frames_shape(signal: Any, length: Any, step: Any, pad_end: bool, axis: Any) -> Any:
    """The static shape of the frames, or None."""
    if signal.shape.ndims is None:
        return None
    dims, at = signal.shape.as_list(), _known(axis)
    if at is None:
        return [None] * (len(dims) + 1)
    length, step = _known(length), _known(step)
    at = at % len(dims)
    samples, count = dims[at], None
    if samples is not None and step is not None and (pad_end or length is not None):
        count = -(-samples // step) if pad_end else (samples - length + step) // step
        count = max(0, count)
    return [*dims[:at], count, length, *dims[at + 1 :]]


@export("signal.frame")
def frame(
    signal: Any,
    frame_length: Any,
    frame_step: Any,
    pad_end: bool = False,
    pad_value: Any = 0,
    axis: Any = -1,
    name: str | None = None,
) -> Any:
    """Frames of `frame_length` that begin every `frame_step` along an axis, which becomes two.

    With `pad_end` frames begin as long as the signal lasts, and are filled up with `pad_value`.
    """
    with tf.name_scope(name, "frame", [signal, frame_length, frame_step, pad_value]):
        signal = tf.convert_to_tensor(signal, name="signal")
        length = tf.convert_to_tensor(frame_length, name="frame_length")
        step = tf.convert_to_tensor(frame_step, name="frame_step")
        axis = tf.convert_to_tensor(axis, name="axis")
        signal.shape.with_rank_at_least(1)
        for scalar in (length, step, axis):
            scalar.shape.assert_has_rank(0)
        shape = _frames_shape(signal, length, step, pad_end, axis)

        rank = tf.rank(signal)
        axis = tf.range(rank)[axis]
        size = tf.shape(signal)
        samples = size[axis]
        outer, inner = size[:axis], size[axis + 1 :]
        if pad_end:
            pad_value = tf.convert_to_tensor(pad_value, signal.dtype.base_dtype)
            pad_value.shape.assert_has_rank(0)
            count = -(-samples // step)
            missing = tf.maximum(0, length + step * (count - 1) - samples)
            none = tf.zeros([1, 2], tf.int32)
            paddings = tf.concat(
                [
                    tf.tile(none, [axis, 1]),
                    [[0, missing]],
                    tf.tile(none, [rank - 1 - axis, 1]),
                ],
                0,
            )
            signal = tf.pad(signal, paddings, constant_values=pad_value)
            samples = samples + missing
        else:
            count = tf.maximum(0, 1 + (samples - length) // step)

        # Frames are put together of the largest pieces that divide both length and step.
        known_length, known_step = _known(length), _known(step)
        piece = 1
        if known_length is not None and known_step is not None:
            piece = max(math.gcd(known_length, known_step), 1)
        pieces = samples // piece
        begin = tf.zeros_like(size)
        whole = tf.concat([outer, [pieces * piece], inner], 0)
        cut = tf.slice(signal, begin, whole)
        cut = tf.reshape(cut, tf.concat([outer, [pieces, piece], inner], 0))
        first = tf.reshape(tf.range(count) * (step // piece), [count, 1])
        which = first + tf.reshape(tf.range(length // piece), [1, length // piece])
        found = tf.gather(cut, which, axis=axis)
        found = tf.reshape(found, tf.concat([outer, [count, length], inner], 0))
        if shape:
            found.set_shape(shape)
        return found


@export("signal.overlap_and_add")
def overlap_and_add(signal: Any, frame_step: Any, name: str | None = None) -> Any:
    """Adds up frames `[..., frames, frame_length]`, each placed `frame_step` after the one before."""
    with tf.name_scope(name, "overlap_and_add", [signal, frame_step]):
        signal = tf.convert_to_tensor(signal, name="signal")
        signal.shape.with_rank_at_least(2)
        step = tf.convert_to_tensor(frame_step, name="frame_step")
        step.shape.assert_has_rank(0)
        if not step.dtype.is_integer:
            raise ValueError(f"frame_step must be an integer. Got {step.dtype}")
        size = tf.shape(signal)
        outer, frames, length = size[:-2], size[-2], size[-1]
        total = length + step * (frames - 1)
        known_step = _known(step)
        dims = signal.shape.as_list() if signal.shape.ndims is not None else None
        if known_step is not None and dims is not None and known_step == dims[-1]:
            return tf.reshape(signal, tf.concat([outer, [total]], 0), name="fast_path")
        # Each frame is cut into pieces of one step; piece k of frame i belongs to place i + k. With one
        # place more in each row of pieces than there are frames, reading the rows on end moves row k by k.
        pieces = -(-length // step)
        rank = tf.rank(signal)
        none = tf.zeros([rank - 2, 2], tf.int32)
        after = [[0, pieces], [0, pieces * step - length]]
        padded = tf.pad(signal, tf.concat([none, after], 0))
        rows = tf.reshape(padded, tf.concat([outer, [frames + pieces, pieces, step]], 0))
        order = tf.concat([tf.range(rank - 2), rank - 2 + tf.constant([1, 0, 2])], 0)
        rows = tf.transpose(rows, order)
        flat = tf.reshape(rows, tf.concat([outer, [(frames + pieces) * pieces, step]], 0))
        flat = flat[..., : (frames + pieces - 1) * pieces, :]
        moved = tf.reshape(flat, tf.concat([outer, [pieces, frames + pieces - 1, step]], 0))
        added = tf.reduce_sum(moved, -3)
        added = tf.reshape(added, tf.concat([outer, [(frames + pieces - 1) * step]], 0))
        found = added[..., :total]
        if dims is not None:
            known = None
            if known_step is not None and None not in dims[-2:]:
                known = dims[-1] + known_step * (dims[-2] - 1)
            found.set_shape([*dims[:-2], known])
        return found
