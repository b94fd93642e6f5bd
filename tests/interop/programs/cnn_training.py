"""A convolutional network with batch normalisation and dropout, trained with Adam."""

import numpy as np


def build(tf):
    random = np.random.RandomState(0)
    x = tf.placeholder(tf.float32, [None, 12, 12, 2], name="x")
    labels = tf.placeholder(tf.int64, [None], name="labels")

    def variable(name, *shape):
        value = random.randn(*shape).astype(np.float32) * 0.3
        return tf.get_variable(name, initializer=tf.constant(value))

    y = tf.nn.conv2d(x, variable("conv1", 3, 3, 2, 4), strides=[1, 1, 1, 1], padding="SAME")
    y, _, _ = tf.nn.fused_batch_norm(
        y, tf.get_variable("scale", [4], initializer=tf.ones_initializer()), variable("offset", 4)
    )
    y = tf.nn.max_pool(tf.nn.relu(y), [1, 2, 2, 1], [1, 2, 2, 1], padding="SAME")
    y = tf.nn.depthwise_conv2d(y, variable("depthwise", 3, 3, 4, 2), [1, 1, 1, 1], "SAME")
    y = tf.nn.conv2d(y, variable("conv2", 3, 3, 8, 8), strides=[1, 2, 2, 1], padding="VALID")
    y = tf.nn.avg_pool(tf.nn.elu(y), [1, 2, 2, 1], [1, 1, 1, 1], padding="VALID")
    y = tf.nn.dropout(tf.reshape(y, [-1, 8]), keep_prob=0.7, seed=3)
    logits = tf.nn.bias_add(tf.matmul(y, variable("dense", 8, 5)), variable("bias", 5))
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    step = tf.get_variable("step", [], tf.int64, tf.zeros_initializer(), trainable=False)
    loss = tf.reduce_mean(losses, name="loss")
    rate = (
        tf.train.exponential_decay(0.01, step, 2, 0.9)
        if hasattr(tf.train, "exponential_decay")
        else 0.01
    )
    tf.train.AdamOptimizer(rate).minimize(loss, global_step=step, name="train")
    tf.identity(tf.argmax(logits, 1), name="guess")
    tf.global_variables_initializer()

    feeds = {
        "x:0": random.randn(6, 12, 12, 2).astype(np.float32),
        "labels:0": random.randint(0, 5, 6),
    }
    evaluation = (feeds, ["logits_out:0", "guess:0", "step:0"])
    tf.identity(logits, name="logits_out")
    training = (feeds, ["loss:0", "train"])
    return {"init": "init", "runs": [training] * 4 + [evaluation]}
