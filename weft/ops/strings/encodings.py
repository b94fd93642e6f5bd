"""Text in some encoding as code points and back, of many strings at once."""

from __future__ import annotations

import codecs
from typing import NamedTuple

import numpy as np

from weft.ops.strings.elements import invalid

# What Python decodes but no character set is.
_NO_CHARACTER_SETS = frozenset(
    "idna punycode raw-unicode-escape unicode-escape undefined utf-8-sig mbcs oem".split()
)
# A byte order mark may begin these; without one the bytes are big-endian.
_MARKED = {"utf-16": (b"\xff\xfe", b"\xfe\xff"), "utf-32": (b"\xff\xfe\0\0", b"\0\0\xfe\xff")}
_MALFORMED = 0xDC00  # and more by its length: stands for bytes that are no character


def _keep_length(error: UnicodeError) -> tuple[str, int]:
    """Puts a lone surrogate, which no decoder gives, in the place of malformed bytes."""
    assert isinstance(error, UnicodeDecodeError)
    return chr(_MALFORMED + min(error.end - error.start, 0x3FF)), error.end


_POLICY = "weft.keep_length_of_malformed"
codecs.register_error(_POLICY, _keep_length)


class Decoded(NamedTuple):
    """The characters of many strings, one after the other."""

    values: np.ndarray  # int32 code points
    malformed: np.ndarray  # bool: what stands for bytes that are no character
    counts: np.ndarray  # how many characters each string has
    starts: np.ndarray  # int64: the byte of its string that each character begins at


def codec_of(encoding: str) -> str:
    """Python's name of an encoding; InvalidArgumentError where there is none."""
    try:
        found = codecs.lookup(encoding)
    except (LookupError, ValueError):
        found = None
    if found is None or not found._is_text_encoding or found.name in _NO_CHARACTER_SETS:
        raise invalid(f"Could not create converter for input encoding: {encoding}")
    return found.name


def decode(strings: list[bytes], encoding: str) -> Decoded:
    """The code points of strings, U+FFFD for what is malformed."""
    codec = codec_of(encoding)
    texts = [_decoded(data, codec) for data in strings]
    counts = np.fromiter(map(len, texts), np.int64, len(texts))
    values = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), "<i4")
    malformed = (values >= _MALFORMED) & (values < 0xE000)
    sizes = _sizes(strings, texts, values, codec)
    sizes = np.where(malformed, values - _MALFORMED, sizes).astype(np.int64)
    firsts = np.cumsum(counts) - counts
    if codec in _MARKED:  # the mark belongs to the first character
        little, big = _MARKED[codec]
        for i in np.flatnonzero(counts).tolist():
            if strings[i].startswith((little, big)):
                sizes[firsts[i]] += len(big)
    before = np.cumsum(sizes) - sizes
    rows = np.repeat(np.arange(len(texts)), counts)
    starts = before - before[firsts[rows]] if rows.size else before
    return Decoded(np.where(malformed, 0xFFFD, values).astype(np.int32), malformed, counts, starts)


def _decoded(data: bytes, codec: str) -> str:
    if codec in _MARKED:
        little, big = _MARKED[codec]
        if data.startswith(little):
            return data[len(little) :].decode(codec + "-le", _POLICY)
        start = len(big) if data.startswith(big) else 0
        return data[start:].decode(codec + "-be", _POLICY)
    return data.decode(codec, _POLICY)


def _sizes(strings: list[bytes], texts: list[str], values: np.ndarray, codec: str) -> np.ndarray:
    """How many bytes each character takes; of malformed ones anything."""
    if codec == "utf-8":
        return 1 + (values >= 0x80) + (values >= 0x800).astype(np.int64) + (values >= 0x10000)
    if codec.startswith("utf-16"):
        return 2 + 2 * (values >= 0x10000).astype(np.int64)
    if codec.startswith("utf-32"):
        return np.full(values.shape, 4)
    if len(values) == sum(map(len, strings)):
        return np.ones(values.shape, np.int64)
    return np.array([n for data in strings for n in _by_byte(data, codec)], np.int64)


def _by_byte(data: bytes, codec: str) -> list[int]:
    """The sizes of characters in an encoding of which only its decoder knows them."""
    decoder = codecs.getincrementaldecoder(codec)(_POLICY)
    sizes, pending = [], 0
    for i in range(len(data)):
        text = decoder.decode(data[i : i + 1], i + 1 == len(data))
        pending += 1
        if text:
            held = len(
                decoder.getstate()[0]
            )  # of the next character, which a malformed one made known
            found = [ord(c) - _MALFORMED if _MALFORMED <= ord(c) < 0xE000 else 0 for c in text]
            left = pending - held - sum(found)  # of what is well formed, one character here
            sizes += [n or left for n in found]
            pending = held
    return sizes


OUTPUT_ENCODINGS = "string in {UTF-8, UTF-16-BE, UTF-32-BE}"


def encode(values: np.ndarray, counts: np.ndarray, encoding: str) -> list[bytes]:
    """Strings of so many code points each in UTF-8, UTF-16-BE or UTF-32-BE."""
    text = values.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")
    ends = np.cumsum(counts)
    parts = [text[i:j] for i, j in zip((ends - counts).tolist(), ends.tolist())]
    if ((values >= 0xD800) & (values < 0xE000)).any():
        parts = [_paired(part, encoding) for part in parts]
    codec = encoding.replace("-BE", "BE").lower().replace("be", "-be")
    return [part.encode(codec, "surrogatepass") for part in parts]


def _paired(text: str, encoding: str) -> str:
    """Surrogates side by side as the character they make; UTF-8 has none that are alone."""
    data = text.encode("utf-16-le", "surrogatepass")
    return data.decode("utf-16-le", "replace" if encoding == "UTF-8" else "surrogatepass")
