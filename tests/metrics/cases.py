"""Metrics over two batches, through any `tf`-shaped module: weft in the tests, TensorFlow for what is expected.

python3.7 tests/metrics/cases.py       # with TensorFlow 1.15: writes expected.json
"""

from __future__ import annotations

import json
import os

import numpy as np

EXPECTED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "expected.json")

LABELS = [[0, 1, 1, 0], [1, 0, 0, 1]]
PROBABILITIES = [[0.1, 0.8, 0.4, 0.6], [0.9, 0.2, 0.5, 0.55]]
WEIGHTS = [[1.0, 0.5, 2.0, 0.0], [3.0, 1.0, 1.0, 0.25]]
YES_OR_NO = list(zip(LABELS, PROBABILITIES, WEIGHTS))
NUMBERED = [
    ([0, 1, 2, 1], [0, 2, 2, 1], [1.0, 2.0, 1.0, 0.5]),
    ([2, 2, 0, 0], [2, 1, 0, 0], [1.0, 1.0, 0.0, 3.0]),
]
SCORES = [
    [[0.1, 0.5, 0.3, 0.2], [0.7, 0.0, 0.2, 0.6]],
    [[0.4, 0.3, 0.2, 0.9], [0.0, 0.9, 0.8, 0.1]],
]
SEVERAL = list(zip([[[1, 3], [0, 2]], [[3, 0], [-1, 2]]], SCORES, [[1.0, 0.5], [2.0, 0.0]]))


def programs(tf):
    """Name -> the batches (labels, predictions, weights), and a function of placeholders for them."""
    m, found = tf.metrics, {}

    def add(name, batches, function):
        found[name] = (batches, function)

    def with_function(name, batches, call):
        add(name, batches, lambda *batch: call(getattr(m, name), *batch))

    for name in ("mean_absolute_error", "mean_squared_error", "root_mean_squared_error"):
        with_function(name, YES_OR_NO, lambda f, y, p, w: f(tf.cast(y, tf.float32), p, w))
    outcomes = ["true_positives", "true_negatives", "false_positives", "false_negatives"]
    for name in [*outcomes, "precision", "recall"]:
        with_function(name, YES_OR_NO, lambda f, y, p, w: f(y, p > 0.5, w))
        with_function(
            name + "_at_thresholds", YES_OR_NO, lambda f, y, p, w: f(y, p, [0.3, 0.5, 0.7], w)
        )
    for curve in ("ROC", "PR"):
        for method in ("careful_interpolation", "minoring", "majoring"):
            options = {"curve": curve, "summation_method": method, "num_thresholds": 50}
            add(
                "auc " + curve + " " + method,
                YES_OR_NO,
                lambda y, p, w, options=options: m.auc(y, p, w, **options),
            )
    add("auc", YES_OR_NO, lambda y, p, w: m.auc(y, p, thresholds=[0.45, 0.3, 0.7]))
    for name in ("sensitivity_at_specificity", "specificity_at_sensitivity"):
        with_function(name, YES_OR_NO, lambda f, y, p, w: f(y, p, 0.7, w))
    for name in ("mean", "mean_tensor"):
        with_function(name, YES_OR_NO, lambda f, y, p, w: f(p, w))
    with_function("percentage_below", YES_OR_NO, lambda f, y, p, w: f(p, 0.5, w))
    with_function("accuracy", NUMBERED, lambda f, y, p, w: f(y, p, w))
    with_function(
        "mean_relative_error",
        YES_OR_NO,
        lambda f, y, p, w: f(tf.cast(y, tf.float32), p, [0.0, 1.0, 2.0, 4.0], w),
    )
    with_function(
        "mean_cosine_distance", YES_OR_NO, lambda f, y, p, w: f(tf.cast(y, tf.float32), p, 0)
    )
    with_function("mean_iou", NUMBERED, lambda f, y, p, w: f(y, p, 4, w))
    with_function("mean_per_class_accuracy", NUMBERED, lambda f, y, p, w: f(y, p, 3, w))
    for name in ("precision_at_k", "recall_at_k", "sparse_precision_at_k"):
        with_function(name, SEVERAL, lambda f, y, p, w: f(tf.cast(y, tf.int64), p, 2, weights=w))
    add(
        "precision_at_k of a class",
        SEVERAL,
        lambda y, p, w: m.precision_at_k(tf.cast(y, tf.int64), p, 3, class_id=2),
    )
    add(
        "recall_at_k of a class",
        SEVERAL,
        lambda y, p, w: m.recall_at_k(tf.cast(y, tf.int64), p, 3, class_id=2),
    )
    for name in ("average_precision_at_k", "sparse_average_precision_at_k"):
        with_function(name, SEVERAL, lambda f, y, p, w: f(tf.cast(y, tf.int64), p, 3, w))
    return found


def run(tf, name):
    """What the metric is after each batch, what the last update gives, and the names of its variables."""
    batches, function = programs(tf)[name]
    with tf.Graph().as_default(), tf.Session() as session:
        first = [np.array(part) for part in batches[0]]
        fed = [
            tf.placeholder("int32" if x.dtype.kind == "i" else "float32", x.shape) for x in first
        ]
        value, update = function(*fed)
        session.run(tf.local_variables_initializer())
        values = []
        for batch in batches:
            last = session.run(update, dict(zip(fed, batch)))
            values.append(np.asarray(session.run(value)).tolist())
        variables = tf.get_collection(tf.GraphKeys.METRIC_VARIABLES)
        return {
            "values": values,
            "update": np.asarray(last).tolist(),
            "variables": sorted(v.name for v in variables),
        }


if __name__ == "__main__":
    import tensorflow

    results = {name: run(tensorflow, name) for name in programs(tensorflow)}
    with open(EXPECTED, "w") as file:
        json.dump(results, file, indent=1, sort_keys=True)
        file.write("\n")
