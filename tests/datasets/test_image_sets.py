"""MNIST and CIFAR from files in their own formats, with damage."""

import gzip
import io
import pickle
import tarfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import weft as tf
from weft.datasets import cifar, input_data, mnist
from weft.datasets.idx import read_idx

RANDOM = np.random.RandomState(0)
EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "data"


def idx(array, kind=8):
    head = bytes([0, 0, kind, array.ndim]) + np.array(array.shape, ">u4").tobytes()
    return head + array.tobytes()


def write(path, content):
    with gzip.open(path, "wb") as file:
        file.write(content)


@pytest.fixture
def folder(tmp_path):
    for part, count in (("train", 30), ("t10k", 7)):
        images = RANDOM.randint(0, 256, (count, 28, 28)).astype(np.uint8)
        write(tmp_path / f"{part}-images-idx3-ubyte.gz", idx(images))
        write(
            tmp_path / f"{part}-labels-idx1-ubyte.gz", idx((np.arange(count) % 10).astype(np.uint8))
        )
    return tmp_path


def test_tutorials_read_their_data(folder):
    data = input_data.read_data_sets(str(folder), one_hot=True, validation_size=5)
    assert [part.num_examples for part in data] == [25, 5, 7]
    assert data.train.images.shape == (25, 784)
    assert data.train.images.dtype == np.float32
    assert data.train.images.max() == 1.0
    np.testing.assert_array_equal(data.test.labels, np.eye(10)[:7])
    plain = input_data.read_data_sets(str(folder), dtype=tf.uint8, reshape=False, validation_size=0)
    assert plain.train.images.shape == (30, 28, 28, 1)
    assert plain.train.images.dtype == np.uint8
    with pytest.raises(ValueError, match="between 0 and 30"):
        input_data.read_data_sets(str(folder), validation_size=31)


def test_batches_cross_epochs_and_hold_each_example_once(folder):
    train = input_data.read_data_sets(str(folder), validation_size=0, seed=3).train
    seen = np.concatenate([train.next_batch(8)[1] for _ in range(15)])
    assert train.epochs_completed == 3
    for epoch in seen.reshape(4, 30):
        assert sorted(epoch) == sorted(np.arange(30) % 10)
    straight = input_data.read_data_sets(str(folder), validation_size=0).test
    np.testing.assert_array_equal(straight.next_batch(5, shuffle=False)[1], range(5))
    images, labels = input_data.read_data_sets("", fake_data=True, one_hot=True).train.next_batch(
        2, True
    )
    assert (len(images), len(images[0]), labels[1]) == (2, 784, [1] + [0] * 9)


def test_batches_are_those_of_tensorflow():
    """With seed 7 TensorFlow 1.15 gives these labels of the part of MNIST that the examples have."""
    data = input_data.read_data_sets(str(EXAMPLES), validation_size=500, seed=7)
    assert data.train.next_batch(8)[1].tolist() == [4, 2, 4, 5, 1, 7, 1, 5]


def test_the_tutorials_network_learns():
    from weft.datasets import tutorial_mnist as net

    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(1)
        data = input_data.read_data_sets(str(EXAMPLES), seed=1).train
        images = tf.placeholder(tf.float32, [100, net.IMAGE_PIXELS])
        labels = tf.placeholder(tf.int32, [100])
        logits = net.inference(images, 32, 16)
        loss = net.loss(logits, labels)
        train, right = net.training(loss, 0.2), net.evaluation(logits, labels)
        session.run(tf.global_variables_initializer())
        for _ in range(100):
            session.run(train, dict(zip((images, labels), data.next_batch(100))))
        assert session.run(right, dict(zip((images, labels), data.next_batch(100)))) >= 75


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (gzip.compress(idx(np.zeros((3, 4, 4), np.uint8)))[:-9], "cut or damaged"),
        (
            gzip.compress(idx(np.zeros((3, 4, 4), np.uint8))[:-1]),
            r"has 47 bytes for the shape \[3, 4, 4\]",
        ),
        (idx(np.zeros((3, 4, 4), np.uint8), kind=13), "no IDX file"),
        (idx(np.zeros(3, np.uint8)), "no IDX file of bytes with rank 3"),
        (b"<html>", "no IDX file"),
        (b"", "no IDX file"),
    ],
    ids=["cut", "short", "floats", "rank", "page", "empty"],
)
def test_damaged_idx_files(tmp_path, content, match):
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(tf.errors.DataLossError, match=match):
        read_idx(str(tmp_path / "x"), 3)


@given(st.binary(max_size=60), st.booleans())
def test_any_bytes_are_an_array_or_data_loss(tmp_path_factory, content, zipped):
    path = tmp_path_factory.mktemp("idx") / "x"
    path.write_bytes(b"\x1f\x8b" + content if zipped else b"\0\0\x08\x01" + content)
    try:
        assert read_idx(str(path), 1).ndim == 1
    except tf.errors.DataLossError:
        pass


def test_mnist_of_keras(tmp_path, monkeypatch):
    arrays = {
        "x_train": np.ones((4, 28, 28), np.uint8),
        "y_train": np.arange(4, dtype=np.uint8),
        "x_test": np.zeros((2, 28, 28), np.uint8),
        "y_test": np.arange(2, dtype=np.uint8),
    }
    file = tmp_path / "mnist.npz"
    monkeypatch.setattr(mnist, "get_file", lambda *args, **kwargs: str(file))
    np.savez(file, **arrays)
    (x, y), (x_test, y_test) = tf.keras.datasets.mnist.load_data()
    np.testing.assert_array_equal(x, arrays["x_train"])
    assert (y.tolist(), x_test.shape, y_test.tolist()) == ([0, 1, 2, 3], (2, 28, 28), [0, 1])
    np.savez(file, x_train=np.array([{}], object))
    with pytest.raises(tf.errors.DataLossError, match="not the MNIST file"):
        tf.keras.datasets.mnist.load_data()
    file.write_bytes(file.read_bytes()[:50])
    with pytest.raises(tf.errors.DataLossError, match="not the MNIST file"):
        tf.keras.datasets.mnist.load_data()


def test_fashion_mnist(folder, monkeypatch):
    monkeypatch.setattr(mnist, "get_file", lambda name, origin, **kwargs: str(folder / name))
    (x, y), (x_test, _) = tf.keras.datasets.fashion_mnist.load_data()
    assert (x.shape, y.shape, x_test.shape) == ((30, 28, 28), (30,), (7, 28, 28))


def cifar_archive(path, **batches):
    with tarfile.open(path, "w:gz") as archive:
        for name, content in batches.items():
            # Python 2 wrote the files, with strings that are bytes and NumPy's old module names.
            pickled = pickle.dumps(content, protocol=2).replace(b"numpy._core", b"numpy.core")
            info = tarfile.TarInfo(name)
            info.size = len(pickled)
            archive.addfile(info, io.BytesIO(pickled))


def test_cifar_10(tmp_path, monkeypatch):
    pixels = RANDOM.randint(0, 256, (3, 3072)).astype(np.uint8)
    names = [f"data_batch_{i}" for i in range(1, 6)] + ["test_batch"]
    batch = {b"data": pixels, b"labels": [1, 2, 3]}
    archive = tmp_path / "cifar.tar.gz"
    cifar_archive(archive, **{"cifar-10-batches-py/" + name: batch for name in names})
    monkeypatch.setattr(cifar, "_FOLDER", tmp_path.as_uri() + "/")
    monkeypatch.setattr(cifar, "_CIFAR_10", tf_hash(archive))
    monkeypatch.setenv("HOME", str(tmp_path))
    archive.rename(tmp_path / "cifar-10-python.tar.gz")
    (x, y), (x_test, y_test) = tf.keras.datasets.cifar10.load_data()
    assert (x.shape, y.shape, x_test.shape, y_test.shape) == (
        (15, 32, 32, 3),
        (15, 1),
        (3, 32, 32, 3),
        (3, 1),
    )
    np.testing.assert_array_equal(x[0, 0, :, 0], pixels[0, :32])
    np.testing.assert_array_equal(x[0, 0, 0], pixels[0, ::1024])
    assert y[:4, 0].tolist() == [1, 2, 3, 1]


def tf_hash(path):
    from weft.datasets.download import digest

    return digest(str(path), "sha256")


class Command:
    def __reduce__(self):
        return print, ("a file has run something",)


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (pickle.dumps({b"data": Command()}, protocol=2), "wants to load"),
        (pickle.dumps({b"data": np.array([{}], object)}, protocol=2), "array of objects"),
        (pickle.dumps({b"labels": [1]}, protocol=2), "no CIFAR file"),
        (
            pickle.dumps({b"data": np.zeros(9, np.uint8), b"fine_labels": [1]}, protocol=2),
            "no CIFAR file",
        ),
        (pickle.dumps([1], protocol=2), "no CIFAR file"),
        (b"<html>", "no CIFAR file"),
        (b"", "no CIFAR file"),
    ],
    ids=["command", "objects", "without data", "small", "list", "page", "empty"],
)
def test_hostile_cifar_files(tmp_path, monkeypatch, capsys, content, match):
    monkeypatch.setattr(cifar, "get_file", lambda *args, **kwargs: str(tmp_path))
    (tmp_path / "train").write_bytes(content)
    with pytest.raises(tf.errors.DataLossError, match=match):
        tf.keras.datasets.cifar100.load_data()
    assert capsys.readouterr().out == ""


def test_cifar_100(tmp_path, monkeypatch):
    monkeypatch.setattr(cifar, "get_file", lambda *args, **kwargs: str(tmp_path))
    batch = {
        b"data": np.zeros((2, 3072), np.uint8),
        b"fine_labels": [99, 3],
        b"coarse_labels": [5, 6],
    }
    for name in ("train", "test"):
        (tmp_path / name).write_bytes(pickle.dumps(batch, protocol=2))
    assert tf.keras.datasets.cifar100.load_data()[0][1].tolist() == [[99], [3]]
    assert tf.keras.datasets.cifar100.load_data("coarse")[1][1].tolist() == [[5], [6]]
    with pytest.raises(ValueError, match="label_mode"):
        tf.keras.datasets.cifar100.load_data("rough")
