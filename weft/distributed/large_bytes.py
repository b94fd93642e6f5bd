"""Large bytes objects, put together without the cost of small pages.

Memory that comes fresh from the system is made page by page, when it is first touched. For 64 MB in pages of 4 kB
that takes several times as long as the copy. NumPy asks for pages of 2 MB for its large arrays; this does it for
bytes, which is what gRPC sends.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
from typing import Any

import numpy as np

_LARGE = 1 << 22
_PAGE = 1 << 12


def _functions() -> tuple[Any, Any, Any] | None:
    """What makes a bytes object, tells where it lies, and advises on memory; None where there is no such advice."""
    if not hasattr(mmap, "MADV_HUGEPAGE") or sys.implementation.name != "cpython":
        return None
    make = ctypes.pythonapi.PyBytes_FromStringAndSize
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_char_p, ctypes.c_ssize_t]
    where = ctypes.pythonapi.PyBytes_AsString
    where.restype, where.argtypes = ctypes.c_void_p, [ctypes.py_object]
    advise = ctypes.CDLL(None).madvise
    advise.restype, advise.argtypes = (
        ctypes.c_int,
        [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int],
    )
    return make, where, advise


_found = _functions()


def joined(pieces: list[Any]) -> bytes:
    """As `b"".join(pieces)`."""
    size = sum(map(len, pieces))
    if size < _LARGE or _found is None:
        return b"".join(pieces)
    make, where, advise = _found
    out = make(None, size)  # not filled, and nobody else has it yet
    start = where(out)
    first = -(-start // _PAGE) * _PAGE
    advise(first, (start + size - first) // _PAGE * _PAGE, mmap.MADV_HUGEPAGE)
    memory: Any = np.ctypeslib.as_array((ctypes.c_ubyte * size).from_address(start))
    at = 0
    for piece in pieces:
        memory[at : at + len(piece)] = np.frombuffer(piece, np.uint8)
        at += len(piece)
    return out
