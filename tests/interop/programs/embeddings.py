"""Embedding tables, whole and partitioned, with sparse gradients and sparse updates."""

import numpy as np


def build(tf):
    random = np.random.RandomState(0)
    ids = tf.placeholder(tf.int32, [None], name="ids")
    whole = random.randn(10, 4).astype(np.float32)
    table = tf.get_variable("table", initializer=tf.constant(whole))
    parts = tf.get_variable(
        "parts",
        [9, 4],
        initializer=tf.ones_initializer(),
        partitioner=tf.fixed_size_partitioner(3),
    )
    resource = tf.get_variable("resource", initializer=tf.constant(whole), use_resource=True)
    looked = tf.nn.embedding_lookup(table, ids) * tf.nn.embedding_lookup(parts, ids)
    looked += tf.gather(resource, ids)
    loss = tf.reduce_sum(tf.square(looked - 0.5), name="loss")
    sgd = tf.train.GradientDescentOptimizer(0.05)
    tf.group(sgd.minimize(loss), name="update_sgd")
    tf.group(tf.train.AdamOptimizer(0.01).minimize(loss), name="update_adam")
    tf.group(tf.train.MomentumOptimizer(0.01, 0.9).minimize(loss), name="update_momentum")
    bag = tf.SparseTensor([[0, 0], [0, 1], [2, 0]], tf.constant([1, 3, 2], tf.int64), [3, 2])
    if hasattr(tf.nn, "embedding_lookup_sparse"):
        tf.nn.embedding_lookup_sparse(table, bag, None, combiner="mean", name="bag")
    tf.identity(tf.unsorted_segment_sum(looked, ids, 10), name="summed")
    tf.global_variables_initializer()
    runs = []
    for update in ("sgd", "adam", "momentum"):
        for chosen in ([1, 2, 2, 8], [0, 1]):
            runs.append(({"ids:0": np.array(chosen, np.int32)}, ["loss:0", "update_" + update]))
    last = ["summed:0", "table:0", "resource/Read/ReadVariableOp:0"]
    return {"init": "init", "runs": runs + [({"ids:0": np.array([3, 1, 1], np.int32)}, last)]}
