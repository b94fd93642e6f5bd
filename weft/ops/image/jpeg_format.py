"""JPEG: what its header says, and its pixels by libjpeg-turbo, TensorFlow's library too.

simplejpeg takes any choice of transform and upsampling, and gives TensorFlow's pixels. What it does not take (four
inks, shrinking) goes to Pillow, which knows the accurate transform with smooth upsampling and the fast one with plain
upsampling only: where something is upsampled, that decides. Pillow also tells how much there is of a file that was
cut short.
"""

from __future__ import annotations

import functools
import io
from dataclasses import dataclass

import numpy as np

MAGIC = b"\xff\xd8\xff"
# As TensorFlow: of more elements than that nothing is unpacked.
MOST_ELEMENTS = 1 << 29
_END_OF_IMAGE = b"\xff\xd9"
_XMP = b"http://ns.adobe.com/xap/1.0/\0"
_MOST_IN_SEGMENT = 65533
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_WITHOUT_LENGTH = frozenset((0x01, *range(0xD0, 0xD8)))


@dataclass(frozen=True)
class Header:
    height: int
    width: int
    components: int
    is_adobe: bool  # whose ink is stored as what is left of the paper's white
    sampling: tuple[tuple[int, int], ...]  # elements of each component in a unit, across and down

    def is_upsampled(self, ratio: int) -> bool:
        """Whether some component has fewer elements than there are pixels, the image shrunk by `ratio`."""
        widest, tallest = (max(s) for s in zip(*self.sampling))
        for h, v in self.sampling:
            across, down, shrunk = widest // h, tallest // v, 1
            # The library shrinks such a component less instead, if it can do so both ways.
            while shrunk < ratio and across % (2 * shrunk) == 0 and down % (2 * shrunk) == 0:
                shrunk *= 2
            if across > shrunk or down > shrunk:
                return True
        return False


def header(contents: bytes) -> Header:
    """What stands before the first scan."""
    frame = None
    is_adobe = False
    if not contents.startswith(MAGIC[:2]):
        raise ValueError("no JPEG")
    at = 2
    while True:
        at = contents.find(b"\xff", at)
        while 0 <= at < len(contents) and contents[at] == 0xFF:
            at += 1
        if at < 0 or at >= len(contents):
            raise ValueError("the header is cut short")
        marker = contents[at]
        at += 1
        if marker == 0 or marker in _WITHOUT_LENGTH:
            continue
        if marker == 0xD9:
            raise ValueError("there is no image in it")
        length = int.from_bytes(contents[at : at + 2], "big")
        segment = contents[at + 2 : at + length]
        if length < 2 or len(segment) != length - 2:
            raise ValueError("the header is cut short")
        if marker in _FRAMES:
            if frame is not None or len(segment) < 6 or len(segment) != 6 + 3 * segment[5]:
                raise ValueError("the frame header is malformed")
            frame = segment
        elif marker == 0xEE and len(segment) >= 12 and segment.startswith(b"Adobe"):
            is_adobe = True
        elif marker == 0xDA:
            break
        at += length
    if frame is None:
        raise ValueError("there is no frame before the first scan")
    size = [int.from_bytes(frame[i : i + 2], "big") for i in (1, 3)]
    if 0 in size or frame[5] == 0:
        raise ValueError("the image is empty")
    sampling = tuple(divmod(factors, 16) for factors in frame[7::3])
    if any(0 in pair for pair in sampling):
        raise ValueError("the frame header is malformed")
    return Header(size[0], size[1], frame[5], is_adobe, sampling)


@functools.cache
def _reader() -> type:
    """Pillow's reader, told what to do where a file ends before its image."""
    from PIL.JpegImagePlugin import JpegImageFile

    class Reader(JpegImageFile):
        goes_on = False  # whether the missing rows are made up
        rows_read: int | None = None  # by the time that the file ended, if too early

        def load_read(self, read_bytes: int) -> bytes:
            assert self.fp is not None
            part = self.fp.read(read_bytes)
            if part or not self.goes_on or self.rows_read is not None:
                return part
            # Rows that have not been read are black still.
            box = self.im.getbbox()
            self.rows_read = box[3] if box else 0
            return _END_OF_IMAGE  # upon which the library makes up what is missing

    return Reader


def _whole(
    contents: bytes, colours: str, fancy: bool, accurate: bool, strict: bool
) -> np.ndarray | None:
    """All pixels, by simplejpeg; None where it finds a fault, or if not `strict` one that it cannot live with."""
    import simplejpeg

    how = {"fastdct": not accurate, "fastupsample": not fancy, "strict": strict}
    try:
        return simplejpeg.decode_jpeg(contents, colours, **how)
    except (ValueError, KeyError):
        return None


def _unpacked(
    contents: bytes, components: int, ratio: int, is_quick: bool, goes_on: bool
) -> tuple[np.ndarray, int]:
    """All pixels, in the file's colours or in greys, and how many rows are not made up."""
    with _reader()(io.BytesIO(contents)) as image:
        image.goes_on = goes_on
        width, height = image.size
        # Sizes of which Pillow's quotients are the ratio, whatever the image's size.
        image.draft("L" if components == 1 else None, (width / ratio, height / ratio))
        if is_quick:
            image.decoderconfig = (ratio, 1)
        pixels = np.asarray(image)
        rows = len(pixels) if image.rows_read is None else image.rows_read
    return (pixels if pixels.ndim == 3 else pixels[:, :, None]), rows


def decode(
    contents: bytes,
    channels: int = 0,
    ratio: int = 1,
    fancy: bool = True,
    accurate: bool = False,
    recover: bool = False,
    acceptable: float = 1.0,
    window: np.ndarray | None = None,
) -> np.ndarray:
    """The pixels [height, width, channels], or those of a window (top, left, height, width)."""
    head = header(contents)
    components = channels or min(head.components, 3)
    height, width = -(-head.height // ratio), -(-head.width // ratio)
    if components == 2 or (components == 1 and head.components == 4):
        raise ValueError(f"{head.components} components make no image of {components} channels")
    if height * width * head.components >= MOST_ELEMENTS:
        raise ValueError(f"the image is too large: {head.height} x {head.width}")
    top, left, rows, columns = (0, 0, height, width) if window is None else map(int, window)
    if not (
        rows > 0 and columns > 0 and 0 <= top <= height - rows and 0 <= left <= width - columns
    ):
        raise ValueError(f"the window {[top, left, rows, columns]} is not in the image")
    goes_on = recover or acceptable < 1
    colours = "GRAY" if 1 in (components, head.components) else "RGB"
    is_usual = ratio == 1 and head.components in (1, 3)
    pixels = _whole(contents, colours, fancy, accurate, strict=True) if is_usual else None
    read = height
    if pixels is None:
        is_upsampled = components == 3 and head.is_upsampled(ratio)
        is_quick = not (fancy if is_upsampled else accurate)
        pixels, read = _unpacked(contents, components, ratio, is_quick, goes_on)
        better = _whole(contents, colours, fancy, accurate, strict=False) if is_usual else None
        pixels = pixels if better is None else better
    if read < len(pixels) and not recover:
        if not read or min(max(read - top, 0), rows) / rows < acceptable:
            raise ValueError(f"it has {read} of {height} rows")
        pixels = pixels.copy()
        pixels[read:] = 0
    pixels = pixels[top : top + rows, left : left + columns]
    if head.components == 4:
        pixels = _from_inks(pixels, head.is_adobe)
    if pixels.shape[2] == components:
        return np.ascontiguousarray(pixels)
    return np.repeat(pixels, components, axis=2)


def _from_inks(pixels: np.ndarray, is_adobe: bool) -> np.ndarray:
    """Red, green and blue of Pillow's cyan, magenta, yellow and black, which it inverts."""
    inks = pixels.astype(np.uint16)
    light = 255 - inks if is_adobe else inks
    return (light[..., :3] * light[..., 3:] // 255).astype(np.uint8)


def encode(
    pixels: np.ndarray,
    quality: int = 95,
    progressive: bool = False,
    optimize: bool = False,
    downsample: bool = True,
    unit: int = 1,
    density: tuple[int, int] = (300, 300),
    xmp: bytes = b"",
) -> bytes:
    """The file of an image [height, width, 1 or 3]; `unit` is 1 for densities by inch, 2 by centimeter."""
    from PIL import Image

    if 0 in pixels.shape or pixels.shape[0] * pixels.shape[1] >= MOST_ELEMENTS:
        raise ValueError(f"Invalid image size: {pixels.shape[1]} x {pixels.shape[0]}")
    if len(_XMP) + len(xmp) > _MOST_IN_SEGMENT:
        raise ValueError(f"xmp_metadata of {len(xmp)} bytes does not fit into a segment")
    image = Image.fromarray(pixels[:, :, 0] if pixels.shape[2] == 1 else pixels)
    out = io.BytesIO()
    image.save(
        out,
        "JPEG",
        quality=min(max(quality, 1), 100),
        progressive=progressive,
        optimize=optimize,
        subsampling=2 if downsample and pixels.shape[2] == 3 else 0,
        dpi=(1, 1),
    )
    file = bytearray(out.getvalue())
    # The first segment is JFIF's: unit and densities at fixed places, other metadata after it.
    file[13] = unit
    for at, value in zip((14, 16), density):
        file[at : at + 2] = (value & 0xFFFF).to_bytes(2, "big")
    if xmp:
        segment = _XMP + xmp
        file[20:20] = b"\xff\xe1" + (len(segment) + 2).to_bytes(2, "big") + segment
    return bytes(file)
