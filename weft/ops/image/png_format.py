"""PNG of 8 and 16 bits. Pillow unpacks and undoes the filters; colours, palettes and transparency are done here."""

from __future__ import annotations

import io
import struct
import zlib
from dataclasses import dataclass

import numpy as np

MAGIC = b"\x89PNG\r\n\x1a\n"
_MOST_ON_A_SIDE = 1_000_000
_MOST_PIXELS = 1 << 29
_SAMPLES = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}  # by colour type
_DEPTHS = {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}
_PALETTE = 3
# Weights of red and green in grey, of 32768: what is left is blue's.
_RED, _GREEN = 9797, 19234


@dataclass
class Parts:
    width: int
    height: int
    depth: int
    colour: int
    interlaced: int
    palette: np.ndarray | None
    transparency: bytes | None
    gamma: float | None  # with which levels were encoded, where the file says so
    data: bytes


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def parts(contents: bytes) -> Parts:
    """The chunks that make the image, checked; others are left alone."""
    found: dict[bytes, bytes] = {}
    data = []
    at, kind = len(MAGIC), b""
    while kind != b"IEND":
        if at + 12 > len(contents):
            raise ValueError("it is cut short")
        length, kind = struct.unpack_from(">I4s", contents, at)
        end = at + 8 + length
        if end + 4 > len(contents):
            raise ValueError("it is cut short")
        body = contents[at + 8 : end]
        if not kind[0] & 0x20:  # critical
            if zlib.crc32(body, zlib.crc32(kind)) != struct.unpack_from(">I", contents, end)[0]:
                raise ValueError(f"chunk {kind.decode('latin-1')} is damaged")
        if not found and kind != b"IHDR":
            raise ValueError("it does not begin with a header")
        if kind == b"IDAT":
            data.append(body)
        elif kind in (b"IHDR", b"PLTE", b"tRNS", b"gAMA", b"sRGB"):
            found.setdefault(kind, body)
        at = end + 4
    width, height, depth, colour, compression, filtering, interlaced = _header(found[b"IHDR"])
    palette = None
    if b"PLTE" in found:
        if len(found[b"PLTE"]) % 3:
            raise ValueError("its palette is malformed")
        palette = np.frombuffer(found[b"PLTE"], np.uint8).reshape(-1, 3)
    if colour == _PALETTE and palette is None:
        raise ValueError("its palette is missing")
    packed = b"".join(data)
    # A byte of packed data never stands for more than 1,032: what cannot be is not waited for.
    if height * (width * depth * _SAMPLES[colour] // 8) > 1032 * len(packed) + 1032:
        raise ValueError("its data are too short for its size")
    return Parts(
        width, height, depth, colour, interlaced, palette, found.get(b"tRNS"), _gamma(found), packed
    )


def _gamma(found: dict[bytes, bytes]) -> float | None:
    """What levels were raised to, where that is not nothing."""
    stated = 45455 if b"sRGB" in found else int.from_bytes(found.get(b"gAMA", b"")[:4], "big")
    return stated / 1e5 if stated and abs(stated - 100000) > 5000 else None


def _header(body: bytes) -> tuple[int, ...]:
    if len(body) != 13:
        raise ValueError("its header is malformed")
    width, height, depth, colour, *methods = struct.unpack(">IIBBBBB", body)
    if depth not in _DEPTHS.get(colour, ()) or methods[0] or methods[1] or methods[2] > 1:
        raise ValueError("its header is malformed")
    if not (0 < width <= _MOST_ON_A_SIDE and 0 < height <= _MOST_ON_A_SIDE):
        raise ValueError(f"its size is out of bounds: {width} by {height}")
    if width * height >= _MOST_PIXELS:
        raise ValueError(f"it is too large: {width} by {height}")
    return width, height, depth, colour, *methods


def _unpacked(png: Parts, depth: int, colour: int, rawmode: str | None = None) -> np.ndarray:
    """The bytes of the pixels, read as if they were of another depth and colour type of the same width."""
    from PIL.PngImagePlugin import PngImageFile

    head = struct.pack(">IIBBBBB", png.width, png.height, depth, colour, 0, 0, png.interlaced)
    file = MAGIC + _chunk(b"IHDR", head) + _chunk(b"IDAT", png.data) + _chunk(b"IEND", b"")
    with PngImageFile(io.BytesIO(file)) as image:
        if rawmode is not None:
            image.tile = [image.tile[0]._replace(args=rawmode)]
        image.load()
        pixels = np.asarray(image.convert("L") if image.mode == "1" else image)
    # Rows that are not there have been left 0. Only then is it worth counting what there is.
    if not pixels[-2:].reshape(min(2, len(pixels)), -1).any(axis=1).all():
        needed = _packed_size(png)
        if len(zlib.decompressobj().decompress(png.data, needed)) < needed:
            raise ValueError("its data end before the image does")
    return pixels if pixels.ndim == 3 else pixels[:, :, None]


def _packed_size(png: Parts) -> int:
    """How many bytes there must be, filters' numbers included."""
    passes = (
        [
            (0, 0, 8, 8),
            (0, 4, 8, 8),
            (4, 0, 8, 4),
            (0, 2, 4, 4),
            (2, 0, 4, 2),
            (0, 1, 2, 2),
            (1, 0, 2, 1),
        ]
        if png.interlaced
        else [(0, 0, 1, 1)]
    )
    total = 0
    for top, left, down, across in passes:
        rows, columns = -(-(png.height - top) // down), -(-(png.width - left) // across)
        if rows > 0 and columns > 0:
            total += rows * (1 + (columns * png.depth * _SAMPLES[png.colour] + 7) // 8)
    return total


def _samples(png: Parts) -> np.ndarray:
    """What the file says of each pixel: [height, width, samples]."""
    n = _SAMPLES[png.colour]
    if png.depth < 8:  # which Pillow stretches to the whole range
        return _unpacked(png, png.depth, 0) // (255 // ((1 << png.depth) - 1))
    if png.depth == 8:
        return _unpacked(png, 8, {1: 0, 2: 4, 3: 2, 4: 6}[n])
    if n <= 2:  # two bytes in one sample are two samples of one byte
        pairs = _unpacked(png, 8, 4 if n == 1 else 6)
        return np.ascontiguousarray(pairs).view(">u2").astype(np.uint16)
    name = "RGB" if n == 3 else "RGBA"
    high, low = (_unpacked(png, 16, png.colour, f"{name};16{end}") for end in "BL")
    return high.astype(np.uint16) << 8 | low


def decode(contents: bytes, channels: int = 0, dtype: type = np.uint8) -> np.ndarray:
    """The pixels [height, width, channels] as bytes or as 16 bits."""
    png = parts(contents)
    samples = _samples(png)
    most = (1 << png.depth) - 1
    alpha = None
    if png.colour == _PALETTE:
        colours, alpha = _by_palette(png, samples[:, :, 0])
        most, depth = 255, 8
        channels = channels or (3 if png.transparency is None else 4)
    else:
        if png.colour in (4, 6):
            colours, alpha = samples[:, :, :-1], samples[:, :, -1:]
        else:
            colours = samples
            if png.transparency is not None:
                alpha = _where_transparent(png, samples, most)
        channels = channels or samples.shape[2]
        if png.depth < 8:
            colours = (colours.astype(np.uint16) * 255 // most).astype(np.uint8)
            alpha = None if alpha is None else alpha // most * 255
        depth = max(png.depth, 8)
    if channels >= 3 and colours.shape[2] == 1:
        colours = np.repeat(colours, 3, axis=2)
    elif channels < 3 and colours.shape[2] == 3:
        colours = _greys(colours, png.gamma)
    if channels % 2 == 0:
        if alpha is None:
            # As TensorFlow's library, which fills in what is opaque in the file's own depth
            alpha = np.full((*colours.shape[:2], 1), (1 << png.depth) - 1, colours.dtype)
        colours = np.concatenate([colours, alpha.astype(colours.dtype)], axis=2)
    if dtype is np.uint8:
        return np.ascontiguousarray(colours if depth == 8 else colours >> 8, np.uint8)
    return colours.astype(np.uint16) * (257 if depth == 8 else 1)


def _by_palette(png: Parts, index: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    table = np.zeros((256, 3), np.uint8)
    assert png.palette is not None
    table[: len(png.palette)] = png.palette[:256]
    if png.transparency is None:
        return table[index], None
    opacity = np.full(256, 255, np.uint8)
    given = np.frombuffer(png.transparency[:256], np.uint8)
    opacity[: len(given)] = given
    return table[index], opacity[index][:, :, None]


def _where_transparent(png: Parts, samples: np.ndarray, most: int) -> np.ndarray | None:
    n = samples.shape[2]
    if png.transparency is None or len(png.transparency) != 2 * n:
        return None
    colour = np.frombuffer(png.transparency, ">u2")
    clear = (samples == colour).all(axis=2, keepdims=True)
    return np.where(clear, 0, most).astype(samples.dtype)


def _greys(colours: np.ndarray, gamma: float | None) -> np.ndarray:
    most = np.iinfo(colours.dtype).max
    if gamma is not None:  # weighed as light, but for what is grey already
        levels = np.arange(most + 1) / most
        light = np.floor(levels ** (1 / gamma) * most + 0.5).astype(np.uint32)
        back = np.floor(levels**gamma * most + 0.5).astype(colours.dtype)
        red, green, blue = (light[colours[:, :, i]] for i in range(3))
        grey = back[red * _RED + green * _GREEN + blue * (32768 - _RED - _GREEN) + 16384 >> 15]
        is_grey = (colours == colours[:, :, :1]).all(axis=2)
        return np.where(is_grey, colours[:, :, 0], grey)[:, :, None]
    red, green, blue = (colours[:, :, i].astype(np.uint32) for i in range(3))
    rounding = 16384 if most > 255 else 0  # so the library that TensorFlow has
    grey = red * _RED + green * _GREEN + blue * (32768 - _RED - _GREEN) + rounding >> 15
    return grey.astype(colours.dtype)[:, :, None]


def encode(pixels: np.ndarray, compression: int = -1) -> bytes:
    """The file of an image [height, width, 1 to 4] of bytes or 16 bits."""
    height, width, channels = pixels.shape
    colour = {1: 0, 2: 4, 3: 2, 4: 6}[channels]
    wide = pixels.dtype.itemsize
    rows = pixels.astype(pixels.dtype.newbyteorder(">")).view(np.uint8)
    packer = zlib.compressobj(compression, zlib.DEFLATED, 15, 9, zlib.Z_FILTERED)
    data = packer.compress(_filtered(rows.reshape(height, -1), channels * wide).tobytes())
    head = struct.pack(">IIBBBBB", width, height, 8 * wide, colour, 0, 0, 0)
    return (
        MAGIC
        + _chunk(b"IHDR", head)
        + _chunk(b"IDAT", data + packer.flush())
        + _chunk(b"IEND", b"")
    )


def _filtered(rows: np.ndarray, step: int) -> np.ndarray:
    """Each row by the filter that leaves the least, after the filter's number."""
    x = np.zeros((len(rows) + 1, rows.shape[1] + step), np.int16)
    x[1:, step:] = rows
    here, left, above, corner = x[1:, step:], x[1:, :-step], x[:-1, step:], x[:-1, :-step]
    slope = left + above - corner
    far = [np.abs(slope - n) for n in (left, above, corner)]
    nearest = np.where(
        (far[0] <= far[1]) & (far[0] <= far[2]), left, np.where(far[1] <= far[2], above, corner)
    )
    best = np.empty((len(rows), rows.shape[1] + 1), np.uint8)
    least = np.full(len(rows), np.iinfo(np.int64).max)
    for number, guess in enumerate((0, left, above, (left + above) >> 1, nearest)):
        rest = (here - guess).astype(np.uint8)
        weight = np.minimum(rest, -rest.view(np.int8).astype(np.int16) & 255).sum(1, dtype=np.int64)
        better = weight < least
        least = np.where(better, weight, least)
        best[better, 0] = number
        best[better, 1:] = rest[better]
    return best
