"""What speech recognition sees of sound."""

from __future__ import annotations

from ..case import Family, row
from ..values import between, i32, num

rows = []
for window, stride in ((8, 3), (5, 5), (2, 1), (16, 20), (64, 1)):
    for squared in (False, True):
        rows.append(
            row(
                "AudioSpectrogram",
                "%d by %d%s" % (window, stride, ", squared" if squared else ""),
                # What is left of a channel gets into the next one in TensorFlow.
                input=num(40, 2 if stride == window else 1),
                window_size=window,
                stride=stride,
                magnitude_squared=squared,
                tol_=4,
            )
        )
rows += [
    row(
        "AudioSpectrogram",
        "window",
        input=num(40, 1),
        window_size=1,
        stride=1,
        error_="InvalidArgumentError",
    ),
    row(
        "AudioSpectrogram", "one axis", input=num(40), window_size=8, stride=1, error_="ValueError"
    ),
]
for label, bins, rate, attrs in (
    ("", 129, 16000, dict()),
    ("of 8 kHz", 65, 8000, dict()),
    ("few bands", 33, 16000, dict(filterbank_channel_count=6, dct_coefficient_count=6)),
    ("limits", 257, 44100, dict(lower_frequency_limit=300.0, upper_frequency_limit=9000.5)),
    ("beyond the spectrogram", 65, 4000, dict()),
):
    rows.append(
        row(
            "Mfcc",
            label,
            spectrogram=between(0.0, 9.0, 2, 3, bins),
            sample_rate=i32(rate),
            tol_=4,
            **attrs,
        )
    )
rows += [
    row(
        "Mfcc",
        "more coefficients than bands",
        spectrogram=between(0.0, 9.0, 1, 2, 33),
        sample_rate=i32(16000),
        dct_coefficient_count=41,
        error_="InvalidArgumentError",
    ),
    row(
        "Mfcc",
        "no rate",
        spectrogram=between(0.0, 9.0, 1, 2, 33),
        sample_rate=i32(0),
        error_="InvalidArgumentError",
    ),
]

FAMILY = Family("sound", rows)
