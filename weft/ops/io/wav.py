"""Sound in WAV files of 16 bits: DecodeWav, EncodeWav."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from weft.framework import errors
from weft.framework.export import export
from weft.framework.registry import op
from weft.framework.shape_rules import fail, rank, scalar

# RIFF and its length, WAVE, the format chunk, "data" and its length.
_HEADER = struct.Struct("<4sI4s4sIHHIIHH4sI")
_FORMAT = struct.Struct("<HHIIHH")
_CHUNK = struct.Struct("<4sI")
_SCALE = np.float32(1 << 15)


def _invalid(message: str) -> errors.OpError:
    return errors.InvalidArgumentError(None, None, message)


def encoded(samples: np.ndarray, sample_rate: int) -> bytes:
    """A WAV file of samples between -1 and 1, as frames by channels."""
    frames, channels = samples.shape
    if not 0 < sample_rate < 1 << 32:
        raise _invalid(f"sample_rate must be in (0, 2^32), got: {sample_rate}")
    if not 0 < channels < 1 << 16:
        raise _invalid(f"num_channels must be in (0, 2^16), got: {channels}")
    if not frames:
        raise _invalid("num_frames must be positive.")
    size = 2 * frames * channels
    if size + _HEADER.size >= 1 << 32 or 2 * sample_rate * channels >= 1 << 32:
        raise _invalid("Provided channels and frames cannot be encoded as a WAV.")
    header = _HEADER.pack(
        *(b"RIFF", _HEADER.size + size - 8, b"WAVE"),
        *(
            b"fmt ",
            _FORMAT.size,
            1,
            channels,
            sample_rate,
            2 * sample_rate * channels,
            2 * channels,
            16,
        ),
        *(b"data", size),
    )
    scaled = samples.astype(np.float32) * _SCALE
    rounded = np.copysign(
        np.floor(np.abs(scaled) + np.float32(0.5)), scaled
    )  # halves away from zero
    return header + np.clip(np.nan_to_num(rounded), -32768, 32767).astype("<i2").tobytes()


def decoded(data: bytes) -> tuple[np.ndarray, int]:
    """The samples of a WAV file, as frames by channels, and the sample rate."""
    at = 0

    def take(layout: struct.Struct) -> tuple:
        nonlocal at
        if at + layout.size > len(data):
            raise _invalid("Data too short when trying to read string")
        values = layout.unpack_from(data, at)
        at += layout.size
        return values

    def expect(found: bytes, wanted: bytes) -> None:
        if found != wanted:
            raise _invalid(
                f"Header mismatch: Expected {wanted.decode()} but found {found.decode('latin-1')}"
            )

    expect(take(struct.Struct("<4s"))[0], b"RIFF")
    take(struct.Struct("<I"))
    expect(take(struct.Struct("<4s"))[0], b"WAVE")
    name, size = take(_CHUNK)
    expect(name, b"fmt ")
    if size not in (16, 18):
        raise _invalid(f"Bad file size for WAV: Expected 16 or 18, but got {size}")
    kind, channels, rate, per_second, per_frame, bits = take(_FORMAT)
    if kind != 1:
        raise _invalid(f"Bad audio format for WAV: Expected 1 (PCM), but got {kind}")
    if channels < 1:
        raise _invalid(f"Bad number of channels for WAV: Expected at least 1, but got {channels}")
    if bits != 16:
        raise _invalid(f"Can only read 16-bit WAV files, but received {bits}")
    if per_frame != 2 * channels:
        raise _invalid(
            f"Bad bytes per sample in WAV header: Expected {2 * channels} but got {per_frame}"
        )
    if per_second != per_frame * rate & 0xFFFFFFFF:
        raise _invalid(
            f"Bad bytes per second in WAV header: Expected {per_frame * rate & 0xFFFFFFFF} but got "
            f"{per_second} (sample_rate={rate}, bytes_per_sample={per_frame})"
        )
    at += size - 16
    samples = None
    while at < len(data):
        name, size = take(_CHUNK)
        if size > 0x7FFFFFFF:
            raise _invalid(
                f"WAV data chunk '{name.decode('latin-1')}' is too large: {size} bytes, but the limit is "
                f"{0x7FFFFFFF}"
            )
        if name == b"data":
            if samples is not None:
                raise _invalid("More than one data chunk found in WAV")
            frames = size // per_frame
            if at + frames * per_frame > len(data):
                raise _invalid("Data too short when trying to read string")
            samples = np.frombuffer(data, "<i2", frames * channels, at).reshape(frames, channels)
            at += frames * per_frame
        else:
            at += size
    if samples is None:
        raise _invalid("No data chunk found in WAV")
    return samples / _SCALE, rate


@op(
    "DecodeWav",
    "contents: string -> audio: float, sample_rate: int32",
    "desired_channels: int = -1; desired_samples: int = -1",
    host=True,
)
def decode_wav_op(xp, contents, *, desired_channels, desired_samples):
    """The samples of a WAV file: missing ones are zero, missing channels repeat the last one."""
    samples, rate = decoded(contents[()])
    if desired_samples >= 0:
        samples = samples[:desired_samples]
        samples = np.pad(samples, ((0, desired_samples - len(samples)), (0, 0)))
    if desired_channels >= 0:
        samples = samples[:, np.minimum(np.arange(desired_channels), samples.shape[1] - 1)]
    return samples, np.array(rate, np.uint32).astype(np.int32)


@decode_wav_op.shape
def _(contents, *, desired_channels, desired_samples):
    scalar(contents)
    if desired_channels < -1:
        fail(f"channels must be non-negative, got {desired_channels}")
    if desired_samples < -1:
        fail(f"samples must be non-negative, got {desired_samples}")
    return tuple(None if n == -1 else n for n in (desired_samples, desired_channels)), ()


decode_wav_op.not_differentiable()


@op("EncodeWav", "audio: float, sample_rate: int32 -> contents: string", host=True)
def encode_wav_op(xp, audio, sample_rate):
    """A WAV file of samples between -1 and 1."""
    return encoded(audio, int(sample_rate))


@encode_wav_op.shape
def _(audio, sample_rate):
    rank(audio, 2)
    scalar(sample_rate)
    return ()


encode_wav_op.not_differentiable()


@export("audio.decode_wav")
def decode_wav(
    contents: Any, desired_channels: int = -1, desired_samples: int = -1, name: str | None = None
) -> Any:
    """Returns the samples of a WAV file of 16 bits, between -1 and 1, as frames by channels; and its sample rate."""
    return decode_wav_op(
        contents, desired_channels=desired_channels, desired_samples=desired_samples, name=name
    )


@export("audio.encode_wav")
def encode_wav(audio: Any, sample_rate: Any, name: str | None = None) -> Any:
    """Returns a WAV file of 16 bits of samples between -1 and 1, as frames by channels."""
    return encode_wav_op(audio, sample_rate, name=name)
