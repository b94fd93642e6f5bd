"""Expected values of a family as one .npz: a JSON index, and the numbers by dtype.

Imported by the tests and, on Python 3.7, by `tools/oracle.py`. Written twice from the same
values, the bytes are the same.
"""

from __future__ import annotations

import io
import json
import os
import zipfile

import numpy as np

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "expected")
OLDEST_DATE = (1980, 1, 1, 0, 0, 0)


def path_of(family, folder=FOLDER):
    return os.path.join(folder, family + ".npz")


class Writer:
    def __init__(self):
        self.index = {"cases": {}, "scripts": {}}
        self._parts = {}
        self._lengths = {}

    def put(self, array, dtype):
        """Stores the array (bfloat16 as float32); gives its reference for the index."""
        array = np.asarray(array)
        shape = list(array.shape)
        if dtype == "string":
            return [dtype, shape, [as_bytes(item).decode("latin-1") for item in array.ravel()]]
        kept = "float32" if dtype == "bfloat16" else dtype
        offset = self._lengths.get(kept, 0)
        self._parts.setdefault(kept, []).append(array.astype(kept).ravel())
        self._lengths[kept] = offset + array.size
        return [dtype, shape, offset]

    def write(self, path):
        index = json.dumps(self.index, sort_keys=True, separators=(",", ":")).encode()
        arrays = {"index": np.frombuffer(index, np.uint8)}
        for dtype, parts in self._parts.items():
            arrays[dtype] = np.concatenate(parts)
        with zipfile.ZipFile(path, "w") as archive:
            for name in sorted(arrays):
                content = io.BytesIO()
                np.lib.format.write_array(content, arrays[name], version=(1, 0))
                member = zipfile.ZipInfo(name + ".npy", OLDEST_DATE)
                member.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(member, content.getvalue())


def as_bytes(item):
    return item if isinstance(item, bytes) else str(item).encode()


class Reader:
    """The expected values of a family: `cases`, `scripts` as in the index; `get` for an array."""

    def __init__(self, path):
        with np.load(path) as archive:
            self._arrays = {name: archive[name] for name in archive.files}
        index = json.loads(self._arrays.pop("index").tobytes().decode())
        self.cases = index["cases"]
        self.scripts = index["scripts"]

    def get(self, reference):
        """(dtype name, array) of a reference; bfloat16 comes as float32, strings as objects."""
        dtype, shape, place = reference
        if dtype == "string":
            array = np.empty(len(place), object)
            array[:] = [item.encode("latin-1") for item in place]
            return dtype, array.reshape(shape)
        kept = "float32" if dtype == "bfloat16" else dtype
        size = int(np.prod(shape, dtype=np.int64))
        return dtype, self._arrays[kept][place : place + size].reshape(shape)
