"""Attention with layer normalisation, trained; its variables are resources."""

import numpy as np

WIDTH, HEADS = 8, 2


def build(tf):
    random = np.random.RandomState(0)
    x = tf.placeholder(tf.float32, [None, 5, WIDTH], name="x")

    def dense(value, units, name):
        kernel = random.randn(int(value.shape[-1]), units).astype(np.float32) * 0.2
        kernel = tf.get_variable(name, initializer=tf.constant(kernel), use_resource=True)
        return tf.tensordot(value, kernel, [[2], [0]])

    def heads(value):
        value = tf.reshape(value, [-1, 5, HEADS, WIDTH // HEADS])
        return tf.transpose(value, [0, 2, 1, 3])

    query, key, value = [heads(dense(x, WIDTH, name)) for name in ("query", "key", "value")]
    scores = tf.matmul(query, key, transpose_b=True) / 2.0
    mask = tf.linalg.band_part(tf.ones([5, 5]), -1, 0)
    weights = tf.nn.softmax(scores + (1.0 - mask) * -1e9)
    mixed = tf.reshape(tf.transpose(tf.matmul(weights, value), [0, 2, 1, 3]), [-1, 5, WIDTH])
    y = x + dense(mixed, WIDTH, "out")
    mean, variance = tf.nn.moments(y, [-1], keep_dims=True)
    y = (y - mean) * tf.rsqrt(variance + 1e-6)
    inner = dense(y, 16, "inner")
    y = y + dense(inner * 0.5 * (1.0 + tf.erf(inner / np.float32(np.sqrt(2)))), WIDTH, "outer")
    loss = tf.reduce_mean(tf.square(y), name="loss")
    optimizer = tf.train.AdamOptimizer(0.01)
    gradients, variables = zip(*optimizer.compute_gradients(loss))
    clipped, norm = tf.clip_by_global_norm(gradients, 0.5)
    tf.identity(norm, name="norm")
    optimizer.apply_gradients(zip(clipped, variables), name="train")
    tf.identity(weights, name="weights")
    tf.global_variables_initializer()
    feeds = {"x:0": random.randn(3, 5, WIDTH).astype(np.float32)}
    runs = [(feeds, ["loss:0", "norm:0", "train"])] * 3
    return {"init": "init", "runs": runs + [(feeds, ["weights:0"])]}
