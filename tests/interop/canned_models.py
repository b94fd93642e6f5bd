"""Trains canned estimators, or takes those that another implementation has trained, and says what comes of it.

Run as `canned_models.py IMPLEMENTATION FOLDER`, also by Python 3.7.
"""

import json
import os
import shutil
import sys

import numpy as np

if sys.argv[1] == "weft":
    import weft

    weft.install_as_tensorflow()

import tensorflow as tf

RNG = np.random.RandomState(0)
FEATURES = {
    "a": RNG.randn(32, 2).astype("f4"),
    "c": RNG.choice([b"x", b"y", b"z"], (32, 1)).astype(object),
    "w": RNG.rand(32, 1).astype("f4"),
}
LABELS = (RNG.rand(32, 1) > 0.5).astype("i4")


def models():
    fc = tf.feature_column
    number = fc.numeric_column("a", shape=(2,))
    words = fc.categorical_column_with_vocabulary_list("c", ["x", "y", "z"])
    config = tf.estimator.RunConfig(tf_random_seed=3)
    yield (
        "linear",
        lambda folder: tf.estimator.LinearClassifier(
            [number, words], folder, weight_column="w", config=config
        ),
    )
    yield (
        "network",
        lambda folder: tf.estimator.DNNClassifier(
            [4, 3], [number, fc.embedding_column(words, 2)], folder, config=config, batch_norm=True
        ),
    )
    yield (
        "combined",
        lambda folder: tf.estimator.DNNLinearCombinedRegressor(
            folder,
            linear_feature_columns=[words],
            dnn_feature_columns=[number],
            dnn_hidden_units=[4],
            config=config,
        ),
    )


def fed(epochs):
    return tf.compat.v1.estimator.inputs.numpy_input_fn(
        FEATURES, LABELS, batch_size=16, num_epochs=epochs, shuffle=False
    )


def plain(values):
    return {k: np.asarray(v, "f8").ravel().tolist() for k, v in values.items() if "class" not in k}


def main(implementation, folder):
    told = {}
    for name, make in models():
        first = os.path.join(folder, name)
        if not os.path.exists(first):
            make(first).train(fed(None), steps=3)
        own = os.path.join(folder, name + "_by_" + implementation)
        shutil.copytree(first, own)
        estimator = make(own)
        told[name] = {
            "before": plain(estimator.evaluate(fed(1))),
            "predicted": plain(next(estimator.predict(fed(1)))),
        }
        estimator.train(fed(None), steps=2)
        told[name]["after"] = plain(estimator.evaluate(fed(1)))
        told[name]["variables"] = estimator.get_variable_names()
    print(json.dumps(told))


main(sys.argv[1], sys.argv[2])
