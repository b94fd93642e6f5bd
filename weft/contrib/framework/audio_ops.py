"""`tensorflow.contrib.framework.python.ops.audio_ops`, by which programs for speech reach their ops."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.framework.export import export, export_all
from weft.ops.by_name import raw

_SPACE = "contrib.framework.python.ops.audio_ops"
export_all(_SPACE, decode_wav=tf.audio.decode_wav, encode_wav=tf.audio.encode_wav)


@export(f"{_SPACE}.audio_spectrogram")
def audio_spectrogram(
    input: Any,
    window_size: int,
    stride: int,
    magnitude_squared: bool = False,
    name: str | None = None,
) -> Any:
    """The strengths of the frequencies in windows of sound [samples, channels]."""
    return raw.AudioSpectrogram(
        input,
        window_size=window_size,
        stride=stride,
        magnitude_squared=magnitude_squared,
        name=name,
    )


@export(f"{_SPACE}.mfcc")
def mfcc(
    spectrogram: Any,
    sample_rate: Any,
    upper_frequency_limit: float = 4000,
    lower_frequency_limit: float = 20,
    filterbank_channel_count: int = 40,
    dct_coefficient_count: int = 13,
    name: str | None = None,
) -> Any:
    """The mel-frequency cepstral coefficients of a spectrogram of squared magnitudes."""
    return raw.Mfcc(
        spectrogram,
        sample_rate,
        upper_frequency_limit=upper_frequency_limit,
        lower_frequency_limit=lower_frequency_limit,
        filterbank_channel_count=filterbank_channel_count,
        dct_coefficient_count=dct_coefficient_count,
        name=name,
    )
