"""Ops whose results have shapes that only their values tell."""

import numpy as np


def build(tf):
    x = tf.placeholder(tf.float32, [None], name="x")
    mask = x > 0
    values, indices, counts = tf.unique_with_counts(tf.cast(x, tf.int32))
    small, large = tf.dynamic_partition(x, tf.cast(mask, tf.int32), 2)
    order = tf.dynamic_partition(tf.range(tf.size(x)), tf.cast(mask, tf.int32), 2)
    kept = tf.boolean_mask(x, mask)
    results = [
        tf.where(mask),
        kept,
        tf.gradients(tf.reduce_sum(kept * kept), x)[0],
        values,
        indices,
        counts,
        small * 2.0,
        tf.dynamic_stitch(order, [small, large]),
        tf.setdiff1d(tf.range(5), tf.cast(x, tf.int32))[0],
        tf.reshape(x, [tf.size(kept), -1]),
        tf.sequence_mask(tf.cast(tf.abs(x), tf.int32)),
    ]
    names = [tf.identity(result, name="result_%d" % i).name for i, result in enumerate(results)]
    inputs = ([1.0, -2.0, 3.0, 1.0, -5.0, 0.0], [2.0, 2.0])
    return {"runs": [({"x:0": np.array(value, np.float32)}, names) for value in inputs]}
