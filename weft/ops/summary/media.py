"""Pictures and sound as summaries: ImageSummary, AudioSummary."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from weft.framework.registry import op
from weft.framework.shape_rules import scalars, text
from weft.ops.io import wav
from weft.ops.summary.values import invalid, new_summary, serialized, tag_of


@op(
    "ImageSummary",
    "tag: string, tensor: T -> summary: string",
    "max_images: int >= 1 = 3; T: type in {uint8, float, half, double} = float; "
    "bad_color: tensor = uint8[255, 0, 0, 255]",
    host=True,
)
def image_summary(xp, tag, tensor, *, max_images, bad_color):
    """A summary with the first images of a batch, scaled to 8 bits; pixels that are not finite get `bad_color`."""
    summary = new_summary()
    image_values(summary, tag_of(tag, "Tags"), tensor, max_images, bad_color)
    return serialized(summary)


def image_values(
    summary: Any, tag: str, tensor: np.ndarray, max_images: int, bad_color: np.ndarray
) -> None:
    if tensor.ndim != 4 or tensor.shape[3] not in (1, 3, 4):
        raise invalid(f"Tensor must be 4-D with last dim 1, 3, or 4, not {text(tensor.shape)}")
    _, height, width, depth = tensor.shape
    if height * width >= 1 << 29:
        raise invalid(f"Tensor too large for summary {text(tensor.shape)}")
    if not height * width:
        raise invalid(f"input tensor must have non-zero dims. Found: {text(tensor.shape)}.")
    if bad_color.dtype != np.uint8:
        raise invalid(f"bad_color must be uint8, got {bad_color.dtype}")
    if bad_color.ndim != 1:
        raise invalid(f"bad_color must be a vector, got shape {text(bad_color.shape)}")
    if tensor.dtype != np.uint8 and len(bad_color) < depth:
        raise invalid(
            f"expected depth <= bad_color.size, got depth = {depth}, bad_color.size = {len(bad_color)}"
        )
    for i, image in enumerate(tensor[:max_images]):
        value = summary.value.add(tag=f"{tag}/image/{i}" if max_images > 1 else f"{tag}/image")
        picture = value.image
        picture.height, picture.width, picture.colorspace = height, width, depth
        pixels = image if image.dtype == np.uint8 else _scaled(image, bad_color[:depth])
        picture.encoded_image_string = _png(pixels)


def _scaled(image: np.ndarray, bad_color: np.ndarray) -> np.ndarray:
    """Numbers as 8 bits: the largest is 255; where some are negative, 0 is 128 and all keep their proportions."""
    finite = np.isfinite(image).all(axis=-1)
    good = image[finite].astype(np.float32)
    least, most = (
        (good.min(), good.max()) if good.size else (np.float32(np.inf), -np.float32(np.inf))
    )
    if least < 0:
        most, full, offset = max(-least, abs(most)), np.float32(127), 128
    else:
        full, offset = np.float32(255), 0
    kind = image.dtype.type
    scale = kind(0 if most < np.float32(1e-6) else full / most)
    out = np.empty(image.shape, np.uint8)
    out[finite] = (image[finite] * scale + kind(offset)).astype(np.uint8)
    out[~finite] = bad_color
    return out


def _png(pixels: np.ndarray) -> bytes:
    from PIL import Image

    if pixels.shape[2] == 1:
        pixels = pixels[..., 0]
    out = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(pixels)).save(out, "PNG")
    return out.getvalue()


@op(
    "AudioSummaryV2",
    "tag: string, tensor: float, sample_rate: float -> summary: string",
    "max_outputs: int >= 1 = 3",
    host=True,
)
def audio_summary_v2(xp, tag, tensor, sample_rate, *, max_outputs):
    """A summary with the first sounds of a batch."""
    summary = new_summary()
    if sample_rate.size != 1:
        raise invalid(f"sample_rate must be a scalar, got shape {text(sample_rate.shape)}")
    rate = float(sample_rate.reshape(()))
    audio_values(summary, tag_of(tag, "Tag"), tensor, rate, max_outputs)
    return serialized(summary)


@op(
    "AudioSummary",
    "tag: string, tensor: float -> summary: string",
    "sample_rate: float; max_outputs: int >= 1 = 3",
    host=True,
)
def audio_summary(xp, tag, tensor, *, sample_rate, max_outputs):
    """A summary with the first sounds of a batch."""
    summary = new_summary()
    audio_values(summary, tag_of(tag, "Tag"), tensor, sample_rate, max_outputs)
    return serialized(summary)


def audio_values(summary: Any, tag: str, tensor: np.ndarray, rate: float, most: int) -> None:
    if tensor.ndim not in (2, 3):
        raise invalid(f"Tensor must be 3-D or 2-D, got: {text(tensor.shape)}")
    if not rate > 0:
        raise invalid("sample_rate must be > 0")
    if not np.isfinite(rate):
        raise invalid(f"sample_rate must be in (0, 2^32), got: {rate}")
    sounds = tensor.reshape(*tensor.shape[:2], -1) if tensor.size else tensor
    frames, channels = tensor.shape[1], tensor.shape[2] if tensor.ndim == 3 else 1
    for i, samples in enumerate(sounds[:most]):
        value = summary.value.add(tag=f"{tag}/audio/{i}" if most > 1 else f"{tag}/audio")
        sound = value.audio
        sound.sample_rate, sound.num_channels, sound.length_frames = rate, channels, frames
        sound.content_type = "audio/wav"
        samples = samples.reshape(frames, channels)
        sound.encoded_audio_string = wav.encoded(samples, max(int(np.rint(rate)), 1))


for _decl in (image_summary, audio_summary_v2, audio_summary):
    _decl.shape(scalars)
    _decl.not_differentiable()
