"""The IDX format of the MNIST files: type and rank, the sizes, then the elements."""

from __future__ import annotations

import gzip
import math
import zlib

import numpy as np

from weft.framework.errors import DataLossError

_UNSIGNED_BYTES = b"\0\0\x08"


def read_idx(path: str, rank: int) -> np.ndarray:
    """Reads an array of bytes of this rank from an IDX file, gzipped or not."""
    try:
        with open(path, "rb") as file:
            content = file.read()
        if content[:2] == b"\x1f\x8b":
            content = gzip.decompress(content)
    except (EOFError, zlib.error, gzip.BadGzipFile) as e:
        raise DataLossError(None, None, f"{path} is cut or damaged: {e}.") from e
    start = 4 + 4 * rank
    if len(content) < start or content[:4] != _UNSIGNED_BYTES + bytes([rank]):
        raise DataLossError(
            None,
            None,
            f"{path} is no IDX file of bytes with rank {rank}: it begins {content[:4]!r}.",
        )
    shape = tuple(np.frombuffer(content, ">u4", rank, offset=4).tolist())
    if len(content) - start != math.prod(shape):
        raise DataLossError(
            None,
            None,
            f"{path} is cut or damaged: it has {len(content) - start:,} bytes for the shape {list(shape)}.",
        )
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape)
