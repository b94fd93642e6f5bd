"""A training step of a small perceptron, 784-128-10, with the loss fetched."""

import numpy as np

from timing import per_call

SIZES = (784, 128, 10)
BATCH = 32


def batch(sizes, count):
    random = np.random.RandomState(0)
    images = random.rand(count, sizes[0]).astype(np.float32)
    return images, random.randint(0, sizes[-1], count).astype(np.int32)


def measure(tf, sizes=SIZES, count=BATCH, warm=50):
    x = tf.placeholder(tf.float32, [None, sizes[0]])
    labels = tf.placeholder(tf.int32, [None])
    y = x
    for i in range(1, len(sizes)):
        kernel = tf.get_variable("kernel_%d" % i, [sizes[i - 1], sizes[i]])
        bias = tf.get_variable("bias_%d" % i, [sizes[i]], initializer=tf.zeros_initializer())
        y = tf.matmul(y, kernel) + bias
        if i + 1 < len(sizes):
            y = tf.nn.relu(y)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=y)
    loss = tf.reduce_mean(losses)
    train = tf.train.AdamOptimizer(1e-3).minimize(loss)
    images, targets = batch(sizes, count)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        feeds = {x: images, labels: targets}
        return {"step": per_call(lambda: session.run([loss, train], feeds), warm=warm)}


def measure_jax(sizes=SIZES, count=BATCH, warm=50):
    import jax
    import jax.numpy as jnp

    import work.by_hand as by_hand

    def loss_of(parameters, x, labels):
        for i, (kernel, bias) in enumerate(parameters):
            x = x @ kernel + bias
            if i + 1 < len(parameters):
                x = jax.nn.relu(x)
        return by_hand.cross_entropy(x, labels)

    random = np.random.RandomState(1)
    parameters = [
        (
            jnp.asarray(random.randn(a, b) * (2.0 / a) ** 0.5, jnp.float32),
            jnp.zeros(b, jnp.float32),
        )
        for a, b in zip(sizes[:-1], sizes[1:])
    ]
    step = by_hand.training(loss_of, parameters)
    images, targets = batch(sizes, count)
    return {"step": per_call(lambda: float(step(images, targets)), warm=warm)}
