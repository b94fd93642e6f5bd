"""Images in files of whichever format, and what JPEG does to images."""

from __future__ import annotations

from typing import Any

from weft.framework import context, dtypes
from weft.framework.conversion import convert_to_tensor
from weft.framework.export import export, find
from weft.framework.graph import control_dependencies
from weft.framework.scopes import name_scope
from weft.framework.tensor import Tensor
from weft.images.spaces import convert_image_dtype
from weft.ops.by_name import raw


@export("image.decode_jpeg", "io.decode_jpeg")
def decode_jpeg(
    contents: Any,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Any:
    """The pixels of a JPEG file: uint8 [height, width, channels], shrunk by `ratio`.

    With `try_recover_truncated` what is missing of the file is made up; otherwise the rows that are there must be
    `acceptable_fraction` of all, and the others are black.
    """
    return raw.DecodeJpeg(
        contents,
        channels=channels,
        ratio=ratio,
        fancy_upscaling=fancy_upscaling,
        try_recover_truncated=try_recover_truncated,
        acceptable_fraction=acceptable_fraction,
        dct_method=dct_method,
        name=name,
    )


@export("image.decode_and_crop_jpeg", "io.decode_and_crop_jpeg")
def decode_and_crop_jpeg(
    contents: Any,
    crop_window: Any,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Any:
    """The pixels of a JPEG file in a window: top, left, height and width."""
    return raw.DecodeAndCropJpeg(
        contents,
        crop_window,
        channels=channels,
        ratio=ratio,
        fancy_upscaling=fancy_upscaling,
        try_recover_truncated=try_recover_truncated,
        acceptable_fraction=acceptable_fraction,
        dct_method=dct_method,
        name=name,
    )


@export("image.decode_png", "io.decode_png")
def decode_png(
    contents: Any, channels: int = 0, dtype: Any = dtypes.uint8, name: str | None = None
) -> Any:
    """The pixels of a PNG file, as uint8 or uint16."""
    return raw.DecodePng(contents, channels=channels, dtype=dtype, name=name)


@export("image.decode_gif", "io.decode_gif")
def decode_gif(contents: Any, name: str | None = None) -> Any:
    """The frames of a GIF file: [frames, height, width, 3]."""
    return raw.DecodeGif(contents, name=name)


@export("image.decode_bmp", "io.decode_bmp")
def decode_bmp(contents: Any, channels: int = 0, name: str | None = None) -> Any:
    """The pixels of a BMP file."""
    return raw.DecodeBmp(contents, channels=channels, name=name)


@export("image.extract_jpeg_shape", "io.extract_jpeg_shape")
def extract_jpeg_shape(
    contents: Any, output_type: Any = dtypes.int32, name: str | None = None
) -> Any:
    """Height, width and channels of a JPEG file, without decoding it."""
    return raw.ExtractJpegShape(contents, output_type=output_type, name=name)


@export("image.encode_jpeg", "io.encode_jpeg")
def encode_jpeg(
    image: Any,
    format: str = "",
    quality: int = 95,
    progressive: bool = False,
    optimize_size: bool = False,
    chroma_downsampling: bool = True,
    density_unit: str = "in",
    x_density: int = 300,
    y_density: int = 300,
    xmp_metadata: str | bytes = "",
    name: str | None = None,
) -> Any:
    """The JPEG file of an image of one channel or three."""
    return raw.EncodeJpeg(
        image,
        format=format,
        quality=quality,
        progressive=progressive,
        optimize_size=optimize_size,
        chroma_downsampling=chroma_downsampling,
        density_unit=density_unit,
        x_density=x_density,
        y_density=y_density,
        xmp_metadata=xmp_metadata,
        name=name,
    )


@export("image.encode_png")
def encode_png(image: Any, compression: int = -1, name: str | None = None) -> Any:
    """The PNG file of an image of uint8 or uint16, of one to four channels."""
    return raw.EncodePng(image, compression=compression, name=name)


def _begins_with(contents: Any, magic: bytes, name: str | None = None) -> Any:
    """Whether contents, or the beginning of them, is `magic`."""
    return raw.Equal(raw.Substr(contents, 0, len(magic)), magic, name=name)


@export("image.is_jpeg", "io.is_jpeg")
def is_jpeg(contents: Any, name: str | None = None) -> Any:
    """Whether contents begin as a JPEG file does."""
    with name_scope(name, "is_jpeg") as scope:
        return _begins_with(contents, b"\xff\xd8\xff", name=scope)


@export("image.decode_image", "io.decode_image")
def decode_image(
    contents: Any,
    channels: int | None = None,
    dtype: Any = dtypes.uint8,
    name: str | None = None,
    expand_animations: bool = True,
) -> Any:
    """The image in a BMP, GIF, JPEG or PNG file, converted to `dtype`.

    A GIF file gives four axes, the first one of frames, unless `expand_animations` is False: then its first frame.
    """
    dtype = dtypes.as_dtype(dtype)
    cond = find("", "cond", "tf")
    with name_scope(name, "decode_image"):
        if channels not in (None, 0, 1, 3, 4):
            raise ValueError("channels must be in (None, 0, 1, 3, 4)")
        wanted = channels or 0

        def checked(*checks: tuple[Any, str]) -> Any:
            assert_ = find("", "Assert", "tf")
            made = [assert_(condition, [message]) for condition, message in checks]
            return control_dependencies([check for check in made if check is not None])

        def bmp() -> Any:
            is_bmp = _begins_with(contents, b"BM", "is_bmp")
            with checked(
                (is_bmp, "Unable to decode bytes as JPEG, PNG, GIF, or BMP"),
                (wanted != 1, "Channels must be in (None, 0, 3) when decoding BMP images"),
            ):
                return convert_image_dtype(raw.DecodeBmp(contents), dtype)

        def gif() -> Any:
            message = "Channels must be in (None, 0, 3) when decoding GIF images"
            with checked((wanted not in (1, 4), message)):
                frames = convert_image_dtype(raw.DecodeGif(contents), dtype)
                return frames if expand_animations else find("", "gather", "tf")(frames, 0)

        def png() -> Any:
            depth = dtypes.uint8 if dtype == dtypes.uint8 else dtypes.uint16
            return convert_image_dtype(raw.DecodePng(contents, channels=wanted, dtype=depth), dtype)

        def jpeg() -> Any:
            message = "Channels must be in (None, 0, 1, 3) when decoding JPEG images"
            with checked((wanted != 4, message)):
                return convert_image_dtype(raw.DecodeJpeg(contents, channels=wanted), dtype)

        def gif_or_bmp() -> Any:
            return cond(_begins_with(contents, b"GIF", "is_gif"), gif, bmp, name="cond_gif")

        def png_or_other() -> Any:
            with name_scope(None, "is_png") as scope:
                is_png = _begins_with(contents, b"\x89PN", scope)
            return cond(is_png, png, gif_or_bmp, name="cond_png")

        return cond(is_jpeg(contents), jpeg, png_or_other, name="cond_jpeg")


@export("image.adjust_jpeg_quality")
def adjust_jpeg_quality(image: Any, jpeg_quality: Any, name: str | None = None) -> Any:
    """The image as it comes out of a JPEG file of this quality, from 0 to 100."""
    with name_scope(name, "adjust_jpeg_quality", [image]):
        image = convert_to_tensor(image, name="image")
        original = image.dtype.base_dtype
        image = convert_image_dtype(image, dtypes.uint8)
        if not isinstance(jpeg_quality, Tensor) or context.executing_eagerly():
            jpeg_quality = convert_to_tensor(jpeg_quality, dtype=dtypes.int32)
        image = raw.DecodeJpeg(raw.EncodeJpegVariableQuality(image, jpeg_quality))
        return convert_image_dtype(image, original)


@export("image.random_jpeg_quality")
def random_jpeg_quality(
    image: Any, min_jpeg_quality: int, max_jpeg_quality: int, seed: int | None = None
) -> Any:
    """The image as it comes out of a JPEG file of random quality."""
    if not (0 <= min_jpeg_quality <= 100 and 0 <= max_jpeg_quality <= 100):
        raise ValueError("jpeg encoding range must be between 0 and 100.")
    if min_jpeg_quality >= max_jpeg_quality:
        raise ValueError("`min_jpeg_quality` must be less than `max_jpeg_quality`.")
    quality = find("", "random_uniform", "tf")(
        [], min_jpeg_quality, max_jpeg_quality, seed=seed, dtype=dtypes.int32
    )
    return adjust_jpeg_quality(image, quality)
