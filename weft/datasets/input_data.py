"""`tensorflow.examples.tutorials.mnist.input_data`, with which the tutorials read MNIST."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np

from weft.datasets.download import download
from weft.datasets.idx import read_idx
from weft.framework import dtypes
from weft.framework.random_seed import get_seed

DEFAULT_SOURCE_URL = "https://storage.googleapis.com/cvdf-datasets/mnist/"

# What MNIST's files are; other sources have files of the same names (Fashion-MNIST, for one).
_CHECKSUMS = {
    "train-images-idx3-ubyte.gz": "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    "train-labels-idx1-ubyte.gz": "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    "t10k-images-idx3-ubyte.gz": "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    "t10k-labels-idx1-ubyte.gz": "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
}


class Datasets(NamedTuple):
    train: DataSet
    validation: DataSet
    test: DataSet


class DataSet:
    """Images and labels that are given out in batches, shuffled anew for each epoch.

    Shuffling uses NumPy's global random numbers, seeded here, as TensorFlow does it: a program that sets
    its seeds sees the same batches.
    """

    def __init__(
        self,
        images: Any,
        labels: Any,
        fake_data: bool = False,
        one_hot: bool = False,
        dtype: Any = dtypes.float32,
        reshape: bool = True,
        seed: int | None = None,
    ):
        seed1, seed2 = get_seed(seed)
        np.random.seed(seed1 if seed is None else seed2)
        dtype = dtypes.as_dtype(dtype).base_dtype
        if dtype not in (dtypes.uint8, dtypes.float32):
            raise TypeError(f"Invalid image dtype {dtype!r}, expected uint8 or float32.")
        self.one_hot = one_hot
        self.epochs_completed = 0
        self._next = 0
        if fake_data:
            self.images, self.labels, self.num_examples = images, labels, 10000
            return
        if len(images) != len(labels):
            raise AssertionError(f"{len(images)} images, but {len(labels)} labels.")
        if reshape:
            if images.shape[3] != 1:
                raise AssertionError(
                    f"Images of shape {list(images.shape[1:])} can be reshaped to vectors only with one channel."
                )
            images = images.reshape(len(images), images.shape[1] * images.shape[2])
        if dtype == dtypes.float32:
            images = np.multiply(images.astype(np.float32), 1.0 / 255.0)
        self.images, self.labels, self.num_examples = images, labels, len(images)

    def next_batch(
        self, batch_size: int, fake_data: bool = False, shuffle: bool = True
    ) -> tuple[Any, Any]:
        """The next images and labels; where an epoch ends within the batch, the next one begins."""
        if fake_data:
            label = [1] + [0] * 9 if self.one_hot else 0
            return [[1] * 784] * batch_size, [label] * batch_size
        start, end = self._next, self._next + batch_size
        if shuffle and start == 0 and self.epochs_completed == 0:
            self._shuffle()
        if end <= self.num_examples:
            self._next = end
            return self.images[start:end], self.labels[start:end]
        rest = self.images[start:], self.labels[start:]
        self.epochs_completed += 1
        if shuffle:
            self._shuffle()
        self._next = end - self.num_examples
        new = self.images[: self._next], self.labels[: self._next]
        return np.concatenate((rest[0], new[0])), np.concatenate((rest[1], new[1]))

    def _shuffle(self) -> None:
        order = np.arange(self.num_examples)
        np.random.shuffle(order)
        self.images, self.labels = self.images[order], self.labels[order]


def dense_to_one_hot(labels_dense: np.ndarray, num_classes: int) -> np.ndarray:
    """Rows with a one in the label's column."""
    return np.eye(num_classes)[labels_dense.ravel()]


def read_data_sets(
    train_dir: str,
    fake_data: bool = False,
    one_hot: bool = False,
    dtype: Any = dtypes.float32,
    reshape: bool = True,
    validation_size: int = 5000,
    seed: int | None = None,
    source_url: str = DEFAULT_SOURCE_URL,
) -> Datasets:
    """Reads MNIST from a folder; files that are not in it are downloaded into it."""
    if fake_data:
        fakes = (
            DataSet([], [], fake_data=True, one_hot=one_hot, dtype=dtype, seed=seed)
            for _ in range(3)
        )
        return Datasets(*fakes)
    source_url = source_url or DEFAULT_SOURCE_URL

    def part(name: str) -> tuple[np.ndarray, np.ndarray]:
        images = _read(train_dir, f"{name}-images-idx3-ubyte.gz", source_url, rank=3)[..., None]
        labels = _read(train_dir, f"{name}-labels-idx1-ubyte.gz", source_url, rank=1)
        return images, dense_to_one_hot(labels, 10) if one_hot else labels

    images, labels = part("train")
    test = part("t10k")
    if not 0 <= validation_size <= len(images):
        raise ValueError(
            f"Validation size should be between 0 and {len(images)}. Received: {validation_size}."
        )
    train = images[validation_size:], labels[validation_size:]
    validation = images[:validation_size], labels[:validation_size]
    return Datasets(
        *(
            DataSet(*pair, dtype=dtype, reshape=reshape, seed=seed)
            for pair in (train, validation, test)
        )
    )


def load_mnist(train_dir: str = "MNIST-data") -> Datasets:
    return read_data_sets(train_dir)


def _read(folder: str, name: str, source_url: str, rank: int) -> np.ndarray:
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        official = source_url == DEFAULT_SOURCE_URL
        download(source_url + name, path, _CHECKSUMS[name] if official else None)
    return read_idx(path, rank)
