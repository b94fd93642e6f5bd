"""BMP of 8, 24 and 32 bits, not packed: what TensorFlow reads."""

from __future__ import annotations

import struct

import numpy as np

_MOST_PIXELS = (2**31 - 1) // 8


def decode(contents: bytes, channels: int = 0) -> np.ndarray:
    """The pixels [height, width, channels]."""
    if len(contents) < 32:
        raise ValueError(
            "Incomplete bmp content, requires at least 32 bytes to find the header size, width, "
            f"height, and bpp, got {len(contents)} bytes"
        )
    (start,) = struct.unpack_from("<i", contents, 10)
    width, height = struct.unpack_from("<ii", contents, 18)
    (bits,) = struct.unpack_from("<H", contents, 28)
    if channels and channels != bits // 8:
        raise ValueError(
            f"channels attribute {channels} does not match bits per pixel from file {bits // 8}"
        )
    channels = bits // 8
    if channels not in (1, 3, 4):
        raise ValueError(f"Number of channels must be 1, 3 or 4, was {channels}")
    if width <= 0:
        raise ValueError("Width must be positive")
    if height == 0:
        raise ValueError("Height must be nonzero")
    if start < 0:
        raise ValueError("header size must be nonnegative")
    rows = abs(height)
    if width * rows >= _MOST_PIXELS:
        raise ValueError("Total possible pixel bytes must be less than 2^30")
    stride = (channels * width + 3) // 4 * 4
    needed = start + (rows - 1) * stride + width * channels
    if needed > len(contents):
        raise ValueError(
            f"Incomplete bmp content, requires at least {needed} bytes, got {len(contents)} bytes"
        )
    flat = np.frombuffer(contents, np.uint8, offset=start)
    image = np.lib.stride_tricks.as_strided(
        flat, (rows, width, channels), (stride, channels, 1), writeable=False
    )
    order = {1: [0], 3: [2, 1, 0], 4: [2, 1, 0, 3]}[channels]
    return image[:: 1 if height < 0 else -1, :, order]
