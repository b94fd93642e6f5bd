"""`tf.contrib.metrics` over two batches, through any `tf`-shaped module.

python3.7 tests/contrib/metrics/contrib_cases.py       # with TensorFlow 1.15: writes expected.json
"""

from __future__ import annotations

import json
import os

import numpy as np

EXPECTED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "expected.json")

LABELS = [[0, 1, 1, 0, 1], [1, 0, 0, 1, 0]]
SCORES = [[0.1, 0.8, 0.4, 0.6, 0.6], [0.9, 0.2, 0.5, 0.55, 0.6]]
WEIGHTS = [[1.0, 0.5, 2.0, 1.5, 1.0], [3.0, 1.0, 1.0, 0.25, 2.0]]
BATCHES = list(zip(LABELS, SCORES, WEIGHTS))
TOP = [[[1, 3], [0, 2]], [[3, 0], [1, 2]]]
ROWS = [[[0.1, 0.5, 0.3, 0.2], [0.7, 0.0, 0.2, 0.6]], [[0.4, 0.3, 0.2, 0.9], [0.0, 0.9, 0.8, 0.1]]]
SEVERAL = list(zip(TOP, ROWS, [[1.0, 0.5], [2.0, 0.0]]))
CLASSES = [
    ([0, 1, 2, 1], [0, 2, 2, 1], [1.0, 2, 1, 0.5]),
    ([2, 2, 0, 0], [2, 1, 0, 0], [1.0, 1, 0, 3]),
]


def programs(tf):
    """Name -> the batches (labels, predictions, weights), and a function of placeholders for them."""
    m, found = tf.contrib.metrics, {}

    def add(name, function, batches=BATCHES):
        found[name] = (batches, lambda *batch: function(getattr(m, name.split()[0]), *batch))

    for name in ("mean_absolute_error", "mean_squared_error", "root_mean_squared_error"):
        add("streaming_" + name, lambda f, y, p, w: f(p, tf.cast(y, tf.float32), w))
    for kind in ("true_positives", "true_negatives", "false_positives", "false_negatives"):
        add("streaming_" + kind, lambda f, y, p, w: f(p > 0.5, y, w))
        add("streaming_" + kind + "_at_thresholds", lambda f, y, p, w: f(p, y, [0.3, 0.58], w))
    for kind in ("precision", "recall", "false_positive_rate", "false_negative_rate"):
        add("streaming_" + kind, lambda f, y, p, w: f(p > 0.5, y, w))
        add("streaming_" + kind + "_at_thresholds", lambda f, y, p, w: f(p, y, [0.3, 0.58], w))
    for name in ("streaming_covariance", "streaming_pearson_correlation"):
        add(name, lambda f, y, p, w: f(p, tf.cast(y, tf.float32)))
        add(name + " weighted", lambda f, y, p, w: f(p, tf.cast(y, tf.float32), w))
    add("streaming_mean", lambda f, y, p, w: f(p, w))
    add("streaming_mean_tensor", lambda f, y, p, w: f(p, w))
    add("streaming_percentage_less", lambda f, y, p, w: f(p, 0.5, w))
    add("streaming_mean_cosine_distance", lambda f, y, p, w: f(p, tf.cast(y, tf.float32), 0))
    add(
        "streaming_mean_relative_error",
        lambda f, y, p, w: f(p, tf.cast(y, tf.float32), [0.0, 1.0, 2.0, 4.0, 1.0], w),
    )
    add("streaming_auc", lambda f, y, p, w: f(p, y, w, 50))
    add("streaming_dynamic_auc", lambda f, y, p, w: f(y, p))
    add("streaming_dynamic_auc weighted", lambda f, y, p, w: f(y, p, "PR", weights=w))
    add("auc_with_confidence_intervals", lambda f, y, p, w: f(y, p))
    add(
        "auc_with_confidence_intervals weighted",
        lambda f, y, p, w: f(y, p, w, alpha=0.8, logit_transformation=False),
    )
    add("auc_using_histogram", lambda f, y, p, w: f(tf.cast(y, tf.bool), p, [0.0, 1.0], nbins=20))
    add("streaming_curve_points", lambda f, y, p, w: f(y, p, w, 7))
    add("streaming_curve_points PR", lambda f, y, p, w: f(y, p, w, 7, curve="PR"))
    add("f1_score", lambda f, y, p, w: f(y, p, w, 30))
    add("precision_at_recall", lambda f, y, p, w: f(y, p, 0.6, w, 30))
    add("recall_at_precision", lambda f, y, p, w: f(y, p, 0.6, w, 30))
    add("recall_at_precision strict", lambda f, y, p, w: f(y, p, 0.99, w, 30, strict_mode=True))
    for name in ("sensitivity_at_specificity", "specificity_at_sensitivity"):
        add("streaming_" + name, lambda f, y, p, w: f(p, y, 0.7, w))
    add(
        "precision_recall_at_equal_thresholds",
        lambda f, y, p, w: f(tf.cast(y, tf.bool), p, w, num_thresholds=6),
    )
    add("count", lambda f, y, p, w: f(p, w))
    add("streaming_accuracy", lambda f, y, p, w: f(p, y, w), CLASSES)
    add("streaming_mean_iou", lambda f, y, p, w: f(p, y, 4, w), CLASSES)
    add("cohen_kappa", lambda f, y, p, w: f(y, p, 3), CLASSES)
    add("cohen_kappa weighted", lambda f, y, p, w: f(y, p, 3, w), CLASSES)
    for name in ("precision_at_k", "recall_at_k"):
        add(
            "streaming_sparse_" + name,
            lambda f, y, p, w: f(p, tf.cast(y, tf.int64), 2, weights=w),
            SEVERAL,
        )
    add(
        "streaming_sparse_average_precision_at_k",
        lambda f, y, p, w: f(p, tf.cast(y, tf.int64), 3, w),
        SEVERAL,
    )
    best = lambda p, k: tf.nn.top_k(p, k)[1]  # noqa: E731
    add(
        "streaming_sparse_average_precision_at_top_k",
        lambda f, y, p, w: f(best(p, 3), tf.cast(y, tf.int64), w),
        SEVERAL,
    )
    add(
        "streaming_sparse_precision_at_top_k",
        lambda f, y, p, w: f(best(p, 2), tf.cast(y, tf.int64), weights=w),
        SEVERAL,
    )
    add(
        "sparse_recall_at_top_k",
        lambda f, y, p, w: f(tf.cast(y, tf.int64), best(p, 2), weights=w),
        SEVERAL,
    )
    add("streaming_recall_at_k", lambda f, y, p, w: f(p, y[:, 0], 2, w), SEVERAL)
    add("streaming_concat", lambda f, y, p, w: f(p, axis=0), SEVERAL)
    add("streaming_concat axis", lambda f, y, p, w: f(p, axis=-1, max_size=6), SEVERAL)
    return found


def run(tf, name):
    """What the metric is after each batch, and the names of its variables."""
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
            session.run(update, dict(zip(fed, batch)))
            # In some of them only a step with a batch has a value.
            found = session.run(value, dict(zip(fed, batch)))
            values.append(
                [
                    np.asarray(x, np.float64).tolist()
                    for x in (found if isinstance(found, tuple) else [found])
                ]
            )
        return {"values": values, "variables": sorted(v.name for v in tf.local_variables())}


if __name__ == "__main__":
    import tensorflow

    results = {name: run(tensorflow, name) for name in programs(tensorflow)}
    with open(EXPECTED, "w") as file:
        json.dump(results, file, indent=1, sort_keys=True)
        file.write("\n")
