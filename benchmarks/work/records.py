"""Record files: writing 20,000 Examples, and reading and parsing them one by one with tf.data."""

import os
import shutil
import tempfile

import numpy as np

from timing import once

RECORDS, ROUNDS = 20000, 3


def example(tf, pixels, i):
    feature = {
        "image": tf.train.Feature(bytes_list=tf.train.BytesList(value=[pixels])),
        "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[i % 10])),
        "weight": tf.train.Feature(float_list=tf.train.FloatList(value=[0.5])),
    }
    return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()


def parsed(tf, record):
    features = {
        "image": tf.FixedLenFeature([], tf.string),
        "label": tf.FixedLenFeature([], tf.int64),
        "weight": tf.FixedLenFeature([], tf.float32),
    }
    found = tf.parse_single_example(record, features)
    return tf.decode_raw(found["image"], tf.uint8), found["label"], found["weight"]


def measure(tf):
    random = np.random.RandomState(0)
    records = [example(tf, random.bytes(784), i) for i in range(RECORDS)]
    folder = tempfile.mkdtemp()
    path = os.path.join(folder, "records")

    def write():
        with tf.python_io.TFRecordWriter(path) as writer:
            for record in records:
                writer.write(record)

    try:
        written = min(once(write) for _ in range(ROUNDS))
        dataset = tf.data.TFRecordDataset(path).map(lambda record: parsed(tf, record))
        iterator = dataset.batch(100).make_initializable_iterator()
        following = iterator.get_next()
        with tf.Session() as session:

            def read():
                session.run(iterator.initializer)
                count = 0
                while True:
                    try:
                        count += len(session.run(following)[1])
                    except tf.errors.OutOfRangeError:
                        break
                assert count == RECORDS

            read()
            return {"write": written, "read": min(once(read) for _ in range(ROUNDS))}
    finally:
        shutil.rmtree(folder)
