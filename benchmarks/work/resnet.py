"""A training step of ResNet-20 on images of CIFAR-10's shape, with momentum."""

import numpy as np

from timing import per_call

BATCH = 64


def convolution(tf, name, x, filters, stride, size=3):
    """A convolution, then batch normalization that keeps moving averages."""
    channels = int(x.shape[-1])
    one, zero = tf.ones_initializer(), tf.zeros_initializer()
    with tf.variable_scope(name):
        kernel = tf.get_variable("kernel", [size, size, channels, filters])
        scale = tf.get_variable("scale", [filters], initializer=one)
        offset = tf.get_variable("offset", [filters], initializer=zero)
        averages = [
            tf.get_variable("mean", [filters], initializer=zero, trainable=False),
            tf.get_variable("variance", [filters], initializer=one, trainable=False),
        ]
    x = tf.nn.conv2d(x, kernel, strides=[1, stride, stride, 1], padding="SAME")
    x, mean, variance = tf.nn.fused_batch_norm(x, scale, offset)
    for average, new in zip(averages, (mean, variance)):
        update = tf.assign_sub(average, 0.01 * (average - new))
        tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, update)
    return x


def block(tf, name, x, filters, stride):
    shortcut = x
    if stride != 1:
        shortcut = convolution(tf, name + "_shortcut", x, filters, stride, size=1)
    x = tf.nn.relu(convolution(tf, name + "_first", x, filters, stride))
    return tf.nn.relu(convolution(tf, name + "_second", x, filters, 1) + shortcut)


def measure(tf):
    images = tf.placeholder(tf.float32, [BATCH, 32, 32, 3])
    labels = tf.placeholder(tf.int64, [BATCH])
    x = tf.nn.relu(convolution(tf, "first", images, 16, 1))
    for filters in (16, 32, 64):
        for i in range(3):
            stride = 2 if filters > 16 and i == 0 else 1
            x = block(tf, "block_%d_%d" % (filters, i), x, filters, stride)
    logits = tf.matmul(tf.reduce_mean(x, [1, 2]), tf.get_variable("out", [64, 10]))
    decay = tf.add_n([tf.nn.l2_loss(v) for v in tf.trainable_variables() if "kernel" in v.name])
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits) + 1e-4 * decay
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
    random = np.random.RandomState(0)
    feeds = {
        images: random.randn(BATCH, 32, 32, 3).astype(np.float32),
        labels: random.randint(0, 10, BATCH),
    }
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return {"step": per_call(lambda: session.run([loss, train], feeds), warm=5, seconds=6)}
