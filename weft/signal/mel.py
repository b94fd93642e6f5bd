"""The mel scale, on which pitches lie as they are heard, and the cepstral coefficients that follow from it."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.framework.constant_value import constant_value
from weft.framework.export import export
from weft.signal.cosine import dct

_BREAK_HERTZ = 700.0
_HIGH_Q = 1127.0


def _mel(hertz: Any) -> Any:
    return _HIGH_Q * tf.log(1.0 + hertz / _BREAK_HERTZ)


def _check(bins: int, rate: float, lower: float, upper: float, dtype: Any) -> None:
    if bins <= 0:
        raise ValueError(f"num_mel_bins must be positive. Got: {bins}")
    if rate <= 0.0:
        raise ValueError(f"sample_rate must be positive. Got: {rate}")
    if lower < 0.0:
        raise ValueError(f"lower_edge_hertz must be non-negative. Got: {lower}")
    if lower >= upper:
        raise ValueError(f"lower_edge_hertz {lower:.1f} >= upper_edge_hertz {upper:.1f}")
    if upper > rate / 2:
        raise ValueError(
            "upper_edge_hertz must not be larger than the Nyquist frequency (sample_rate / 2). "
            f"Got: {upper} for sample_rate: {rate}"
        )
    if not dtype.is_floating:
        raise ValueError(f"dtype must be a floating point type. Got: {dtype}")


@export("signal.linear_to_mel_weight_matrix")
def linear_to_mel_weight_matrix(
    num_mel_bins: int = 20,
    num_spectrogram_bins: Any = 129,
    sample_rate: Any = 8000,
    lower_edge_hertz: float = 125.0,
    upper_edge_hertz: float = 3800.0,
    dtype: Any = tf.float32,
    name: str | None = None,
) -> Any:
    """The matrix that takes spectra of `num_spectrogram_bins` to `num_mel_bins` overlapping triangles, which
    are even on the mel scale."""
    dtype = tf.as_dtype(dtype)
    with tf.name_scope(name, "linear_to_mel_weight_matrix") as scope:
        if isinstance(sample_rate, tf.Tensor):
            known = constant_value(sample_rate)
            if known is None:
                raise ValueError(
                    "`sample_rate` was a non-constant Tensor. Must be a Python float or a constant Tensor."
                )
            sample_rate = known
        _check(num_mel_bins, sample_rate, lower_edge_hertz, upper_edge_hertz, dtype)
        rate, lower, upper = (
            tf.convert_to_tensor(v, dtype, name=label)
            for v, label in (
                (sample_rate, "sample_rate"),
                (lower_edge_hertz, "lower_edge_hertz"),
                (upper_edge_hertz, "upper_edge_hertz"),
            )
        )
        zero = tf.convert_to_tensor(0.0, dtype)
        # The zero frequency belongs to no triangle.
        frequencies = tf.linspace(zero, rate / 2.0, num_spectrogram_bins)[1:]
        places = tf.expand_dims(_mel(frequencies), 1)
        edges = tf.linspace(_mel(lower), _mel(upper), num_mel_bins + 2)
        left, centre, right = (tf.expand_dims(edges[i : num_mel_bins + i], 0) for i in range(3))
        rising = (places - left) / (centre - left)
        falling = (right - places) / (right - centre)
        weights = tf.maximum(zero, tf.minimum(rising, falling))
        return tf.pad(weights, [[1, 0], [0, 0]], name=scope)


@export("signal.mfccs_from_log_mel_spectrograms")
def mfccs_from_log_mel_spectrograms(log_mel_spectrograms: Any, name: str | None = None) -> Any:
    """The cepstral coefficients of log mel spectra: their cosine transform, scaled as in HTK."""
    with tf.name_scope(name, "mfccs_from_log_mel_spectrograms", [log_mel_spectrograms]):
        x = tf.convert_to_tensor(log_mel_spectrograms, dtype=tf.float32)
        bins = tf.compat.dimension_value(x.shape[-1]) if x.shape.ndims else None
        if bins == 0:
            raise ValueError(f"num_mel_bins must be positive. Got: {x}")
        count = tf.shape(x)[-1] if bins is None else bins
        return dct(x, type=2) * tf.rsqrt(tf.cast(count, tf.float32) * 2.0)
