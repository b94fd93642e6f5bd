"""GIF: all frames of an animation, in TensorFlow's reading.

TensorFlow knows nothing of transparency or disposal: a frame is drawn over the one before. So the file is taken
apart here, and Pillow unpacks each frame by itself.
"""

from __future__ import annotations

import io
import struct
from dataclasses import dataclass

import numpy as np

MAGIC = b"GIF8"
# A code of at least three bits stands for at most 4,096 pixels.
_MOST_PIXELS_A_BYTE = 4096 * 8 / 3


@dataclass
class Frame:
    left: int
    top: int
    width: int
    height: int
    interlaced: bool
    palette: bytes | None
    code_size: int
    data: bytes  # its blocks, with their lengths


class _Reader:
    def __init__(self, contents: bytes):
        self.contents, self.at = contents, 0

    def take(self, n: int) -> bytes:
        part = self.contents[self.at : self.at + n]
        if len(part) < n:
            raise ValueError("it is cut short")
        self.at += n
        return part

    def blocks(self) -> bytes:
        """The blocks up to the empty one, as they stand."""
        start = self.at
        while length := self.take(1)[0]:
            self.take(length)
        return self.contents[start : self.at]

    def palette(self, flags: int) -> bytes | None:
        return self.take(3 << ((flags & 7) + 1)) if flags & 0x80 else None


def frames(contents: bytes) -> list[Frame]:
    """The frames, still packed."""
    reader = _Reader(contents)
    if reader.take(6) not in (b"GIF87a", b"GIF89a"):
        raise ValueError("failed to open gif file")
    shared = reader.palette(reader.take(7)[4])
    found = []
    while (kind := reader.take(1)) != b";":
        if kind == b"!":
            reader.take(1)
            reader.blocks()
        elif kind == b",":
            left, top, width, height, flags = struct.unpack("<HHHHB", reader.take(9))
            palette = reader.palette(flags) or shared
            code_size = reader.take(1)[0]
            found.append(
                Frame(
                    left,
                    top,
                    width,
                    height,
                    bool(flags & 0x40),
                    palette,
                    code_size,
                    reader.blocks(),
                )
            )
        else:
            raise ValueError("it has a block of an unknown kind")
    return found


def _indices(frame: Frame) -> np.ndarray:
    """Places in the palette: Pillow is given a file of this frame alone."""
    from PIL.GifImagePlugin import GifImageFile

    if not frame.width or not frame.height:
        return np.zeros((frame.height, frame.width), np.uint8)
    if frame.width * frame.height > _MOST_PIXELS_A_BYTE * len(frame.data):
        raise ValueError("its data are too short for its size")
    size = struct.pack("<HH", frame.width, frame.height)
    # A palette of 256 different greys: what Pillow calls a level is the place.
    ramp = bytes(i for i in range(256) for _ in range(3))
    file = (
        b"GIF89a"
        + size
        + b"\xf7\0\0"
        + ramp
        + b",\0\0\0\0"
        + size
        + (b"\x40" if frame.interlaced else b"\0")
        + bytes([frame.code_size])
        + frame.data
        + b";"
    )
    with GifImageFile(io.BytesIO(file)) as image:
        return np.asarray(image)


def decode(contents: bytes) -> np.ndarray:
    """The pixels [frames, height, width, 3]."""
    found = frames(contents)
    if not found:
        raise ValueError("gif file does not contain any image")
    height, width = max(f.height for f in found), max(f.width for f in found)
    drawn = []
    for k, frame in enumerate(found):
        if frame.palette is None:
            raise ValueError(f"missing color map for frame {k}")
        fills = (frame.left, frame.top, frame.width, frame.height) == (0, 0, width, height)
        if k == 0 and not fills:
            raise ValueError("the first frame does not fill the canvas")
        index = _indices(frame)
        palette = np.frombuffer(frame.palette, np.uint8).reshape(-1, 3)
        if index.size and index.max() >= len(palette):
            raise ValueError(
                f"found color index {index.max()} outside of color map range {len(palette)}"
            )
        if fills:
            drawn.append(palette[index])
            continue
        canvas = drawn[-1].copy()
        part = canvas[frame.top : frame.top + frame.height, frame.left : frame.left + frame.width]
        part[...] = palette[index[: part.shape[0], : part.shape[1]]]
        drawn.append(canvas)
    return np.stack(drawn)
