"""`tf.keras.datasets.mnist` and `fashion_mnist`."""

from __future__ import annotations

import os
import zipfile
import zlib

import numpy as np

from weft.datasets.cache import get_file
from weft.datasets.idx import read_idx
from weft.framework.errors import DataLossError
from weft.framework.export import export

_FOLDER = "https://storage.googleapis.com/tensorflow/tf-keras-datasets/"
_MNIST = "731c5ac602752760c8e48fbffcf8c3b850d9dc2a2aedcf2cc48468fc17b673d1"

Pair = tuple[np.ndarray, np.ndarray]


@export("keras.datasets.mnist.load_data")
def load_data(path: str = "mnist.npz") -> tuple[Pair, Pair]:
    """Gives 60,000 images of digits with their labels, and 10,000 for the test."""
    file = get_file(path, _FOLDER + "mnist.npz", file_hash=_MNIST)
    try:
        # NumPy leaves a file that it opened itself open when it is damaged.
        with open(file, "rb") as opened, np.load(opened, allow_pickle=False) as arrays:
            x_train, y_train = arrays["x_train"], arrays["y_train"]
            x_test, y_test = arrays["x_test"], arrays["y_test"]
    except (zipfile.BadZipFile, zlib.error, ValueError, EOFError, KeyError, TypeError) as e:
        raise DataLossError(None, None, f"{file} is not the MNIST file of Keras: {e}.") from e
    return (x_train, y_train), (x_test, y_test)


def _load_fashion() -> tuple[Pair, Pair]:
    """Gives 60,000 images of clothes with their labels, and 10,000 for the test."""

    def part(name: str) -> Pair:
        images, labels = (
            read_idx(
                get_file(
                    file, _FOLDER + file, cache_subdir=os.path.join("datasets", "fashion-mnist")
                ),
                rank,
            )
            for file, rank in (
                (f"{name}-images-idx3-ubyte.gz", 3),
                (f"{name}-labels-idx1-ubyte.gz", 1),
            )
        )
        return images, labels

    return part("train"), part("t10k")


_load_fashion.__name__ = _load_fashion.__qualname__ = "load_data"
export("keras.datasets.fashion_mnist.load_data")(_load_fashion)
