"""What speech recognition sees of sound: spectrograms and mel-frequency cepstral coefficients."""

from __future__ import annotations

import functools

import numpy as np

from weft.framework.registry import op
from weft.framework.shape_rules import fail, rank, scalar

_FLOOR = 1e-12  # of what a logarithm is taken


def _fft_length(window: int) -> int:
    return 1 << max(window - 1, 0).bit_length()


def _slices(samples: int, window: int, stride: int) -> int:
    return 0 if samples < window else 1 + (samples - window) // stride


def _check_windows(window: int, stride: int) -> None:
    if window < 2 or stride < 1:
        raise ValueError(
            f"Spectrogram initialization failed for window size {window} and stride {stride}"
        )


@op(
    "AudioSpectrogram",
    "input: float -> spectrogram: float",
    "window_size: int; stride: int; magnitude_squared: bool = false",
)
def audio_spectrogram(xp, input, *, window_size, stride, magnitude_squared):
    """The strengths of the frequencies in windows of each channel: [channels, windows, frequencies]."""
    _check_windows(window_size, stride)
    n = _slices(input.shape[0], window_size, stride)
    at = np.arange(n)[:, None] * stride + np.arange(window_size)
    hann = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(window_size) / window_size)
    windows = xp.transpose(input)[:, at].astype(np.float64) * hann
    spectrum = xp.fft.rfft(windows, _fft_length(window_size), axis=-1)
    power = (spectrum.real**2 + spectrum.imag**2).astype(np.float32)
    return power if magnitude_squared else xp.sqrt(power)


@audio_spectrogram.shape
def _(input, *, window_size, stride):
    input = rank(input, 2, "input")
    if stride < 1 or window_size < 2:
        return (input[1], None, None)
    n = None if input[0] is None else _slices(input[0], window_size, stride)
    return (input[1], n, 1 + _fft_length(window_size) // 2)


def _mel(frequency: np.ndarray | float) -> np.ndarray:
    return 1127.0 * np.log1p(np.asarray(frequency) / 700.0)


@functools.lru_cache(32)
def _filters(bins: int, rate: float, bands: int, low: float, high: float) -> np.ndarray:
    """How much of each frequency's magnitude each band of the mel scale takes: [bins, bands]."""
    edges = _mel(low) + (_mel(high) - _mel(low)) / (bands + 1) * np.arange(bands + 2)
    step = 0.5 * rate / (bins - 1)
    first, last = int(1.5 + low / step), int(high / step)
    bin_ = np.arange(bins)
    mel = _mel(bin_ * step)
    # Each bin lies between two edges; it falls off towards the band below and rises into the one above.
    below = np.minimum(np.searchsorted(edges[1:], mel), bands)
    falling = (edges[below + 1] - mel) / (edges[below + 1] - edges[below])
    weights = np.zeros((bins, bands + 2))
    weights[bin_, below] = falling
    weights[bin_, below + 1] = 1 - falling
    used = (bin_ >= first) & (bin_ <= last)
    return np.where(used[:, None], weights, 0)[:, 1 : bands + 1]


@functools.lru_cache(32)
def _cosines(bands: int, coefficients: int) -> np.ndarray:
    at = np.pi / bands * (np.arange(bands) + 0.5)
    return np.sqrt(2.0 / bands) * np.cos(at[:, None] * np.arange(coefficients))


@op(
    "Mfcc",
    "spectrogram: float, sample_rate: int32 -> output: float",
    "upper_frequency_limit: float = 4000.0; lower_frequency_limit: float = 20.0; "
    "filterbank_channel_count: int = 40; dct_coefficient_count: int = 13",
    static=("sample_rate",),
)
def mfcc(
    xp,
    spectrogram,
    sample_rate,
    *,
    upper_frequency_limit,
    lower_frequency_limit,
    filterbank_channel_count,
    dct_coefficient_count,
):
    """The cepstral coefficients of each slice of a spectrogram of squared magnitudes."""
    bins, rate = spectrogram.shape[2], int(sample_rate)
    low, high = float(np.float32(lower_frequency_limit)), float(np.float32(upper_frequency_limit))
    if not (
        0 < dct_coefficient_count <= filterbank_channel_count
        and rate > 0
        and bins >= 2
        and 0 <= low < high
    ):
        raise ValueError(
            f"Mfcc initialization failed for channel count {bins} and sample rate {rate}"
        )
    if int(high / (0.5 * rate / (bins - 1))) >= bins:
        # As TensorFlow, which says so in its log only: frequencies that the spectrogram does not have
        return xp.zeros((*spectrogram.shape[:2], dct_coefficient_count), np.float32)
    filters = _filters(bins, float(rate), filterbank_channel_count, low, high)
    bands = xp.sqrt(spectrogram.astype(np.float64)) @ xp.asarray(filters)
    logs = xp.log(xp.maximum(bands, _FLOOR))
    return (logs @ xp.asarray(_cosines(filterbank_channel_count, dct_coefficient_count))).astype(
        np.float32
    )


@mfcc.shape
def _(spectrogram, sample_rate, *, dct_coefficient_count):
    spectrogram = rank(spectrogram, 3, "spectrogram")
    scalar(sample_rate, "sample_rate")
    if dct_coefficient_count < 0:
        fail(f"dct_coefficient_count must not be negative, but is {dct_coefficient_count}")
    return (*spectrogram[:2], dct_coefficient_count)


audio_spectrogram.not_differentiable()
mfcc.not_differentiable()
