"""Parsing Examples as training reads them: a batch of 128, and one alone."""

import numpy as np

from timing import per_call

BATCH = 128


def examples(tf):
    """Labels, vectors, a name and a picture's bytes; ids, weights and tags in any number."""
    rng = np.random.RandomState(0)
    feature = {
        "int": lambda v: tf.train.Feature(int64_list=tf.train.Int64List(value=v)),
        "float": lambda v: tf.train.Feature(float_list=tf.train.FloatList(value=v)),
        "bytes": lambda v: tf.train.Feature(bytes_list=tf.train.BytesList(value=v)),
    }
    for i in range(BATCH):
        ids = rng.randint(0, 50000, rng.randint(1, 20)).tolist()
        given = {
            "label": feature["int"]([int(rng.randint(1000))]),
            "height": feature["int"]([int(rng.randint(1, 500))]),
            "score": feature["float"]([float(rng.rand())]),
            "dense": feature["float"](rng.rand(64).tolist()),
            "box": feature["float"](rng.rand(4).tolist()),
            "name": feature["bytes"]([b"example-%d" % i]),
            "picture": feature["bytes"]([rng.bytes(784)]),
            "ids": feature["int"](ids),
            "weights": feature["float"](rng.rand(len(ids)).tolist()),
            "tags": feature["bytes"]([b"tag%d" % k for k in rng.randint(0, 99, rng.randint(4))]),
        }
        features = tf.train.Features(feature=given)
        yield tf.train.Example(features=features).SerializeToString()


def measure(tf):
    rows = list(examples(tf))
    features = {
        "label": tf.FixedLenFeature([], tf.int64),
        "height": tf.FixedLenFeature([], tf.int64),
        "score": tf.FixedLenFeature([], tf.float32),
        "dense": tf.FixedLenFeature([64], tf.float32),
        "box": tf.FixedLenFeature([4], tf.float32),
        "name": tf.FixedLenFeature([], tf.string),
        "picture": tf.FixedLenFeature([], tf.string),
        "ids": tf.VarLenFeature(tf.int64),
        "weights": tf.VarLenFeature(tf.float32),
        "tags": tf.VarLenFeature(tf.string),
    }
    batch, one = tf.placeholder(tf.string, [None]), tf.placeholder(tf.string, [])
    many, single = tf.parse_example(batch, features), tf.parse_single_example(one, features)
    with tf.Session() as session:
        return {
            "batch": per_call(lambda: session.run(many, {batch: rows}), warm=50),
            "one": per_call(lambda: session.run(single, {one: rows[0]}), warm=50),
        }
