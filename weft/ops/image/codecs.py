"""Images from and to files: JPEG, PNG, GIF and BMP."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import errors
from weft.framework.registry import op
from weft.framework.shape_rules import fail, rank, scalar
from weft.ops.image import bmp_format, gif_format, jpeg_format, png_format


def _escaped(contents: bytes) -> str:
    return repr(contents[:16])[2:-1]


def _kind_of(contents: bytes) -> str:
    if contents.startswith(jpeg_format.MAGIC):
        return "JPEG"
    if contents.startswith(png_format.MAGIC):
        return "PNG"
    if contents.startswith(gif_format.MAGIC):
        return "GIF"
    what = f"unknown format starting with '{_escaped(contents)}'" if contents else "empty file"
    raise ValueError(f"Expected image (JPEG, PNG, or GIF), got {what}")


def _decoded(
    contents: Any, channels: int, *, bits: int = 8, frames: bool = False, **jpeg: Any
) -> np.ndarray:
    """The image in a file of any of three formats, as each of the three decoders takes them."""
    contents = _bytes(contents)
    kind = _kind_of(contents)
    if bits == 16 and kind != "PNG":
        raise ValueError(f"{kind} does not support uint16 output")
    allowed = {"JPEG": (0, 1, 3), "PNG": (0, 1, 3, 4), "GIF": (0, 3)}[kind]
    if channels not in allowed:
        listed = ", ".join(map(str, allowed[:-1])) + " or " + str(allowed[-1])
        raise ValueError(f"channels must be {listed} for {kind}, got {channels}")
    what = f"Invalid {kind} data{' or crop window' * (kind == 'JPEG')}, data size {len(contents)}"
    with np.errstate(all="ignore"):
        try:
            if kind == "JPEG":
                image = jpeg_format.decode(contents, channels, **jpeg)
            elif kind == "PNG":
                image = png_format.decode(contents, channels, np.uint8 if bits == 8 else np.uint16)
            else:
                image = gif_format.decode(contents)
        except MemoryError:
            raise errors.ResourceExhaustedError(None, None, f"{what}: no memory for it") from None
        except Exception as e:  # whatever Pillow makes of bytes that are no image
            raise ValueError(f"{what}: {e}") from None
    if frames:
        return image if image.ndim == 4 else image[None]
    if image.ndim == 4:
        if len(image) != 1:
            raise ValueError(
                f"Got {len(image)} frames, but animated gifs can only be decoded by tf.image.decode_gif "
                "or tf.image.decode_image"
            )
        image = image[0]
    return image


def _bytes(contents: Any) -> bytes:
    value = contents.item() if isinstance(contents, np.ndarray) else contents
    return value if isinstance(value, bytes) else bytes(value)


def _check_jpeg(channels: int, ratio: int, dct_method: str | bytes) -> None:
    _check_channels(channels)
    if ratio not in (1, 2, 4, 8):
        raise ValueError(f"ratio must be 1, 2, 4, or 8, got {ratio}")
    if dct_method not in ("", "INTEGER_FAST", "INTEGER_ACCURATE"):
        raise ValueError("dct_method must be one of {'', 'INTEGER_FAST', 'INTEGER_ACCURATE'}")


def _check_channels(channels: int) -> None:
    if channels not in (0, 1, 3, 4):
        raise ValueError(f"channels must be 0, 1, 3, or 4, got {channels}")


_JPEG = (
    "channels: int = 0; ratio: int = 1; fancy_upscaling: bool = true; try_recover_truncated: bool = false; "
    'acceptable_fraction: float = 1.0; dct_method: string = ""'
)


@op("DecodeJpeg", "contents: string -> image: uint8", _JPEG, host=True)
def decode_jpeg(
    xp,
    contents,
    *,
    channels,
    ratio,
    fancy_upscaling,
    try_recover_truncated,
    acceptable_fraction,
    dct_method,
):
    """The pixels of a JPEG file."""
    _check_jpeg(channels, ratio, dct_method)
    return _decoded(
        contents,
        channels,
        ratio=ratio,
        fancy=fancy_upscaling,
        accurate=dct_method == "INTEGER_ACCURATE",
        recover=try_recover_truncated,
        acceptable=acceptable_fraction,
    )


@op("DecodeAndCropJpeg", "contents: string, crop_window: int32 -> image: uint8", _JPEG, host=True)
def decode_and_crop_jpeg(
    xp,
    contents,
    crop_window,
    *,
    channels,
    ratio,
    fancy_upscaling,
    try_recover_truncated,
    acceptable_fraction,
    dct_method,
):
    """The pixels in a window of a JPEG file: top, left, height and width."""
    _check_jpeg(channels, ratio, dct_method)
    return _decoded(
        contents,
        channels,
        ratio=ratio,
        fancy=fancy_upscaling,
        accurate=dct_method == "INTEGER_ACCURATE",
        recover=try_recover_truncated,
        acceptable=acceptable_fraction,
        window=crop_window,
    )


@op(
    "DecodePng",
    "contents: string -> image: dtype",
    "channels: int = 0; dtype: type in {uint8, uint16} = uint8",
    host=True,
)
def decode_png(xp, contents, *, channels, dtype):
    """The pixels of a PNG file."""
    _check_channels(channels)
    return _decoded(contents, channels, bits=8 * np.dtype(dtype.np).itemsize)


@op("DecodeGif", "contents: string -> image: uint8", host=True)
def decode_gif(xp, contents):
    """The frames of a GIF file."""
    return _decoded(contents, 3, frames=True)


@op("DecodeBmp", "contents: string -> image: uint8", "channels: int = 0", host=True)
def decode_bmp(xp, contents, *, channels):
    """The pixels of a BMP file."""
    _check_channels(channels)
    return np.ascontiguousarray(bmp_format.decode(_bytes(contents), channels))


@op(
    "ExtractJpegShape",
    "contents: string -> image_shape: output_type",
    "output_type: type in {int32, int64} = int32",
    host=True,
)
def extract_jpeg_shape(xp, contents, *, output_type):
    """Height, width and channels of a JPEG file, without its pixels."""
    contents = _bytes(contents)
    try:
        head = jpeg_format.header(contents)
    except ValueError as e:
        raise ValueError(f"Invalid JPEG data, size {len(contents)}: {e}") from None
    return np.array([head.height, head.width, head.components], output_type.np)


@op(
    "EncodeJpeg",
    "image: uint8 -> contents: string",
    'format: string in {"", grayscale, rgb} = ""; quality: int = 95; progressive: bool = false; '
    "optimize_size: bool = false; chroma_downsampling: bool = true; "
    'density_unit: string in {in, cm} = "in"; x_density: int = 300; y_density: int = 300; '
    'xmp_metadata: string = ""',
    host=True,
)
def encode_jpeg(
    xp,
    image,
    *,
    format,
    quality,
    progressive,
    optimize_size,
    chroma_downsampling,
    density_unit,
    x_density,
    y_density,
    xmp_metadata,
):
    """The JPEG file of an image of one channel (grey) or three."""
    if not 0 <= quality <= 100:
        raise ValueError(f"quality must be in [0,100], got {quality}")
    wanted = {"": None, "grayscale": 1, "rgb": 3}[format]
    if wanted is not None and image.shape[2] != wanted:
        raise ValueError(f"format {format} expects {wanted} channels, got {list(image.shape)}")
    return _jpeg_file(
        image,
        quality=quality,
        progressive=progressive,
        optimize=optimize_size,
        downsample=chroma_downsampling,
        unit={"in": 1, "cm": 2}[density_unit],
        density=(x_density, y_density),
        xmp=xmp_metadata if isinstance(xmp_metadata, bytes) else xmp_metadata.encode(),
    )


def _jpeg_file(image: np.ndarray, **how: Any) -> bytes:
    if image.shape[2] not in (1, 3):
        raise ValueError(f"image must have 1 or 3 channels, got {list(image.shape)}")
    try:
        return _scalar(jpeg_format.encode(image, **how))
    except (ValueError, OSError) as e:
        raise errors.InternalError(None, None, f"JPEG encoding failed: {e}") from None


def _scalar(contents: bytes) -> Any:
    out = np.empty((), object)
    out[()] = contents
    return out


@op("EncodeJpegVariableQuality", "images: uint8, quality: int32 -> contents: string", host=True)
def encode_jpeg_variable_quality(xp, images, quality):
    """The JPEG file of an image, in a quality that is an input."""
    return _jpeg_file(images, quality=int(quality))


@op(
    "EncodePng",
    "image: T -> contents: string",
    "compression: int = -1; T: type in {uint8, uint16} = uint8",
    host=True,
)
def encode_png(xp, image, *, compression):
    """The PNG file of an image of one to four channels: grey or colours, without or with opacity."""
    if not -1 <= compression <= 9:
        raise ValueError(f"compression should be in [-1,9], got {compression}")
    if not 1 <= image.shape[2] <= 4:
        raise ValueError(f"image must have 1, 2, 3, or 4 channels, got {image.shape[2]}")
    if 0 in image.shape:
        raise errors.InternalError(None, None, "PNG encoding failed: the image is empty")
    return _scalar(png_format.encode(image, compression))


def _decoded_shape(contents, channels):
    scalar(contents, "contents")
    if channels < 0:
        fail(f"channels must be non-negative, got {channels}")
    return (None, None, channels or None)


@decode_jpeg.shape
def _(contents, *, channels):
    return _decoded_shape(contents, channels)


@decode_and_crop_jpeg.shape
def _(contents, crop_window, *, channels, const):
    shape = _decoded_shape(contents, channels)
    crop_window = rank(crop_window, 1, "crop_window")
    if crop_window[0] not in (None, 4):
        fail("crop_window must have four elements", crop_window)
    window = const("crop_window")
    if window is None:
        return shape
    return (int(window[2]), int(window[3]), shape[2])


@decode_png.shape
def _(contents, *, channels):
    return _decoded_shape(contents, channels)


@decode_bmp.shape
def _(contents, *, channels):
    return _decoded_shape(contents, channels)


@decode_gif.shape
def _(contents):
    scalar(contents, "contents")
    return (None, None, None, 3)


@extract_jpeg_shape.shape
def _(contents):
    scalar(contents, "contents")
    return (3,)


@encode_jpeg.shape
def _(image):
    rank(image, 3, "image")
    return ()


@encode_jpeg_variable_quality.shape
def _(images, quality):
    rank(images, 3, "images")
    scalar(quality, "quality")
    return ()


@encode_png.shape
def _(image):
    rank(image, 3, "image")
    return ()


for _decl in (
    decode_jpeg,
    decode_and_crop_jpeg,
    decode_png,
    decode_gif,
    decode_bmp,
    extract_jpeg_shape,
    encode_jpeg,
    encode_jpeg_variable_quality,
    encode_png,
):
    _decl.not_differentiable()
