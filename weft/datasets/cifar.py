"""`tf.keras.datasets.cifar10` and `cifar100`: colour images of 32 by 32 pixels."""

from __future__ import annotations

import os
import pickle
from typing import Any

import numpy as np

from weft.datasets.cache import get_file
from weft.framework.errors import DataLossError
from weft.framework.export import export
from weft.keras.backend import image_data_format

_FOLDER = "https://www.cs.toronto.edu/~kriz/"
_CIFAR_10 = "6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce"
_CIFAR_100 = "85cd44d02ba6437773c5bbd22e183051d648de2e7d6b014e1ef29b855ba677a7"

Pair = tuple[np.ndarray, np.ndarray]


@export("keras.datasets.cifar10.load_data")
def load_data() -> tuple[Pair, Pair]:
    """Gives 50,000 images of ten kinds of things with their labels, and 10,000 for the test."""
    folder = get_file(
        "cifar-10-batches-py", _FOLDER + "cifar-10-python.tar.gz", untar=True, file_hash=_CIFAR_10
    )
    parts = [_batch(os.path.join(folder, f"data_batch_{i}"), "labels") for i in range(1, 6)]
    images, labels = (np.concatenate(arrays) for arrays in zip(*parts))
    return (images, labels), _batch(os.path.join(folder, "test_batch"), "labels")


def _load_100(label_mode: str = "fine") -> tuple[Pair, Pair]:
    """Gives images of 100 kinds of things ("fine" labels) in 20 groups ("coarse" labels)."""
    if label_mode not in ("fine", "coarse"):
        raise ValueError(f"label_mode must be 'fine' or 'coarse', not {label_mode!r}.")
    folder = get_file(
        "cifar-100-python", _FOLDER + "cifar-100-python.tar.gz", untar=True, file_hash=_CIFAR_100
    )
    train, test = (
        _batch(os.path.join(folder, name), f"{label_mode}_labels") for name in ("train", "test")
    )
    return train, test


_load_100.__name__ = _load_100.__qualname__ = "load_data"
export("keras.datasets.cifar100.load_data")(_load_100)


def _batch(path: str, key: str) -> Pair:
    """Images and labels of one pickled dictionary."""
    try:
        with open(path, "rb") as file:
            content = _ArraysOnly(file, encoding="bytes").load()
        pixels = np.asarray(content[b"data"], np.uint8)
        labels = np.asarray(content[key.encode()], np.uint8)
        images = pixels.reshape(len(labels), 3, 32, 32)
    except (pickle.UnpicklingError, EOFError, KeyError, TypeError, ValueError, IndexError) as e:
        raise DataLossError(None, None, f"{path} is cut or no CIFAR file: {e}.") from e
    if image_data_format() == "channels_last":
        images = images.transpose(0, 2, 3, 1)
    return images, labels.reshape(-1, 1)


class _ArraysOnly(pickle.Unpickler):
    """Unpickles arrays, numbers, strings and containers of them: a file cannot run anything."""

    def find_class(self, module: str, name: str) -> Any:
        if name == "_reconstruct" and module in ("numpy.core.multiarray", "numpy._core.multiarray"):
            return _empty
        if (module, name) == ("numpy", "ndarray"):
            return np.ndarray
        if (module, name) == ("numpy", "dtype"):
            return _dtype
        if (module, name) == (
            "_codecs",
            "encode",
        ):  # bytes, as Python 3 writes them in old protocols
            return lambda text, encoding: text.encode("latin-1")
        raise pickle.UnpicklingError(f"it wants to load {module}.{name}")


def _empty(kind: type, shape: tuple[int, ...], code: bytes) -> np.ndarray:
    return np.ndarray.__new__(np.ndarray, (0,), np.uint8)


def _dtype(name: Any, align: Any = False, copy: Any = False) -> np.dtype:
    # Old pickles give 0 and 1 for the flags, which newer NumPy warns of.
    found = np.dtype(
        name.decode() if isinstance(name, bytes) else name, align=bool(align), copy=bool(copy)
    )
    if found.hasobject:
        raise pickle.UnpicklingError("it holds an array of objects")
    return found
