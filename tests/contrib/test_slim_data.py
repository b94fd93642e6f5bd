"""Data sets of slim: records are read by queues and decoded into items."""

import numpy as np
import pytest

import weft as tf

slim = tf.contrib.slim
decoder = slim.tfexample_decoder


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as g:
        yield g


def example(**features):
    made = {}
    for name, value in features.items():
        name = name.replace("__", "/")
        if isinstance(value[0], bytes):
            made[name] = tf.train.Feature(bytes_list=tf.train.BytesList(value=value))
        elif isinstance(value[0], int):
            made[name] = tf.train.Feature(int64_list=tf.train.Int64List(value=value))
        else:
            made[name] = tf.train.Feature(float_list=tf.train.FloatList(value=value))
    features = tf.train.Features(feature=made)
    return tf.train.Example(features=features).SerializeToString()


def png(value):
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(tf.image.encode_png(value))


FEATURES = {
    "image/encoded": tf.FixedLenFeature([], tf.string, default_value=""),
    "image/format": tf.FixedLenFeature([], tf.string, default_value="png"),
    "label": tf.FixedLenFeature([1], tf.int64),
    "box/ymin": tf.VarLenFeature(tf.float32),
    "box/xmin": tf.VarLenFeature(tf.float32),
    "box/ymax": tf.VarLenFeature(tf.float32),
    "box/xmax": tf.VarLenFeature(tf.float32),
}
ITEMS = {
    "image": decoder.Image(shape=[2, 2, 3]),
    "label": decoder.Tensor("label", shape=[]),
    "boxes": decoder.BoundingBox(prefix="box/"),
}


def record(label, data, kind):
    return example(
        image__encoded=[data],
        image__format=[kind],
        label=[label],
        box__ymin=[0.1, 0.5],
        box__xmin=[0.2, 0.6],
        box__ymax=[0.3, 0.7],
        box__xmax=[0.4, 0.8],
    )


def test_items_of_examples():
    pixels = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
    serialized = tf.placeholder(tf.string, [])
    reader = decoder.TFExampleDecoder(FEATURES, ITEMS)
    assert reader.list_items() == ["image", "label", "boxes"]
    image, label, boxes = reader.decode(serialized)
    with tf.Session() as session:
        for data, kind in ((png(pixels), b"png"), (pixels.tobytes(), b"raw")):
            found = session.run([image, label, boxes], {serialized: record(3, data, kind)})
            np.testing.assert_array_equal(found[0], pixels)
            assert found[1] == 3
            np.testing.assert_allclose(found[2], [[0.1, 0.2, 0.3, 0.4], [0.5, 0.6, 0.7, 0.8]])


def test_shapes_and_sparse_items():
    features = {
        "values": tf.VarLenFeature(tf.float32),
        "indices": tf.VarLenFeature(tf.int64),
        "shape": tf.FixedLenFeature([2], tf.int64),
    }
    items = {
        "matrix": decoder.Tensor("values", shape_keys="shape"),
        "sparse": decoder.SparseTensor(shape=[6], densify=True),
        "doubled": decoder.ItemHandlerCallback(
            ["values"], lambda tensors: tensors["values"].values * 2
        ),
    }
    data = example(values=[1.0, 2.0, 3.0, 4.0], indices=[0, 2, 3, 5], shape=[2, 2])
    found = decoder.TFExampleDecoder(features, items).decode(tf.constant(data))
    with tf.Session() as session:
        matrix, sparse, doubled = session.run(found)
    assert matrix.tolist() == [[1, 2], [3, 4]]
    assert sparse.tolist() == [1, 0, 2, 3, 0, 4] and doubled.tolist() == [2, 4, 6, 8]


@pytest.mark.parametrize("shuffle", [False, True])
def test_a_data_set_goes_through_queues(tmp_path, shuffle):
    for i in range(2):
        with tf.io.TFRecordWriter(str(tmp_path / f"part-{i}")) as writer:
            for k in range(3):
                writer.write(example(label=[10 * i + k]))
    features = {"label": tf.FixedLenFeature([], tf.int64)}
    data = slim.dataset.Dataset(
        data_sources=str(tmp_path / "part-*"),
        reader=tf.TFRecordReader,
        decoder=decoder.TFExampleDecoder(features, {"label": decoder.Tensor("label")}),
        num_samples=6,
        items_to_descriptions={},
        num_classes=20,
    )
    provider = slim.dataset_data_provider.DatasetDataProvider(
        data, shuffle=shuffle, num_epochs=1, common_queue_min=2
    )
    assert provider.num_samples() == 6 and data.num_classes == 20
    label, key = provider.get(["label", "record_key"])
    key.set_shape([])
    queue = slim.prefetch_queue.prefetch_queue({"label": label, "key": key}, capacity=3)
    taken = queue.dequeue()
    with pytest.raises(ValueError, match="Item .what. is invalid"):
        provider.get(["what"])
    found = []
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        with slim.queues.QueueRunners(session):
            with pytest.raises(tf.errors.OutOfRangeError):
                while True:
                    found.append(session.run(taken))
    assert sorted(f["label"] for f in found) == [0, 1, 2, 10, 11, 12]
    assert len({f["key"] for f in found}) == 6
    with pytest.raises(ValueError, match="No data files found"):
        slim.parallel_reader.get_data_files(str(tmp_path / "none*"))
