"""Eager execution: adding two scalars, and a training step of a small perceptron."""

from timing import per_call
from work.mlp import BATCH, SIZES, batch


def measure(tf):
    tf.enable_eager_execution()
    a, b = tf.constant(1.0), tf.constant(2.0)
    add = per_call(lambda: a + b, warm=1000)

    images, labels = batch(SIZES, BATCH)
    images, labels = tf.constant(images), tf.constant(labels)
    initial = tf.random_normal([784, 128], stddev=0.05), tf.zeros([128])
    initial += tf.random_normal([128, 10], stddev=0.1), tf.zeros([10])
    variables = [tf.Variable(value) for value in initial]
    optimizer = tf.train.AdamOptimizer(1e-3)

    def step():
        with tf.GradientTape() as tape:
            hidden = tf.nn.relu(tf.matmul(images, variables[0]) + variables[1])
            logits = tf.matmul(hidden, variables[2]) + variables[3]
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
            loss = tf.reduce_mean(losses)
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss.numpy()

    return {"add": add, "step": per_call(step, warm=50)}
