"""A sparse matrix of 10,000 x 10,000 with 100,000 elements times a dense one of 64 columns, and its gradients."""

import numpy as np

from timing import per_call

SIZE, COUNT, WIDTH = 10000, 100000, 64


def measure(tf):
    random = np.random.RandomState(0)
    rows = np.unique(random.randint(0, SIZE, [COUNT, 2]), axis=0).astype(np.int64)
    numbers = random.randn(len(rows)).astype(np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        values = tf.placeholder(tf.float32, [len(rows)])
        factor = tf.placeholder(tf.float32, [SIZE, WIDTH])
        matrix = tf.SparseTensor(rows, values, [SIZE, SIZE])
        product = tf.sparse_tensor_dense_matmul(matrix, factor)
        loss = tf.reduce_sum(tf.square(product))
        gradients = [tf.reduce_sum(g) for g in tf.gradients(loss, [values, factor])]
        feeds = {values: numbers, factor: random.randn(SIZE, WIDTH).astype(np.float32)}
        forward = per_call(lambda: session.run(loss, feeds), warm=20)
        step = per_call(lambda: session.run([loss, *gradients], feeds), warm=20)
        return {"forward": forward, "step": step}
