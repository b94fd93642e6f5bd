"""A training step of the MNIST network of the tutorials: two 5x5 convolutions with pools."""

import numpy as np

from timing import per_call

BATCH = 64
HIDDEN = 512


def batch():
    random = np.random.RandomState(0)
    return random.rand(BATCH, 28, 28, 1).astype(np.float32), random.randint(0, 10, BATCH)


def measure(tf):
    x = tf.placeholder(tf.float32, [None, 28, 28, 1])
    labels = tf.placeholder(tf.int64, [None])
    y = x
    for i, (inputs, filters) in enumerate([(1, 32), (32, 64)]):
        kernel = tf.get_variable("conv_%d" % i, [5, 5, inputs, filters])
        bias = tf.get_variable("conv_bias_%d" % i, [filters], initializer=tf.zeros_initializer())
        y = tf.nn.conv2d(y, kernel, strides=[1, 1, 1, 1], padding="SAME")
        y = tf.nn.relu(tf.nn.bias_add(y, bias))
        y = tf.nn.max_pool(y, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")
    y = tf.reshape(y, [-1, 7 * 7 * 64])
    for i, (inputs, outputs) in enumerate([(7 * 7 * 64, HIDDEN), (HIDDEN, 10)]):
        kernel = tf.get_variable("dense_%d" % i, [inputs, outputs])
        bias = tf.get_variable("dense_bias_%d" % i, [outputs], initializer=tf.zeros_initializer())
        y = tf.nn.bias_add(tf.matmul(y, kernel), bias)
        if i == 0:
            y = tf.nn.relu(y)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=y)
    loss = tf.reduce_mean(losses)
    train = tf.train.AdamOptimizer(1e-3).minimize(loss)
    images, targets = batch()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        feeds = {x: images, labels: targets}
        return {"step": per_call(lambda: session.run([loss, train], feeds), warm=8, seconds=3)}


def measure_jax():
    import jax
    import jax.numpy as jnp

    from work import by_hand

    def loss_of(parameters, x, labels):
        for kernel, bias in parameters[:2]:
            x = jax.lax.conv_general_dilated(
                x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
            )
            x = jax.nn.relu(x + bias)
            x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "SAME")
        x = x.reshape(x.shape[0], -1)
        (kernel, bias), (last_kernel, last_bias) = parameters[2:]
        x = jax.nn.relu(x @ kernel + bias)
        return by_hand.cross_entropy(x @ last_kernel + last_bias, labels)

    random = np.random.RandomState(1)
    shapes = [(5, 5, 1, 32), (5, 5, 32, 64), (7 * 7 * 64, HIDDEN), (HIDDEN, 10)]
    parameters = [
        (
            jnp.asarray(random.randn(*shape) * np.prod(shape[:-1]) ** -0.5, jnp.float32),
            jnp.zeros(shape[-1], jnp.float32),
        )
        for shape in shapes
    ]
    step = by_hand.training(loss_of, parameters)
    images, targets = batch()
    return {"step": per_call(lambda: float(step(images, targets)), warm=8, seconds=3)}
