"""A network of `tf.layers` with batch normalisation and dropout, trained with RMSProp; as a MetaGraphDef."""

import numpy as np


def build(tf):
    random = np.random.RandomState(0)
    tf.set_random_seed(7)
    x = tf.placeholder(tf.float32, [None, 10, 10, 2], name="x")
    labels = tf.placeholder(tf.int64, [None], name="labels")
    training = tf.placeholder_with_default(False, [], name="training")
    step = tf.train.get_or_create_global_step()

    y = tf.layers.conv2d(x, 6, 3, padding="same", use_bias=False, name="conv1")
    y = tf.nn.relu(tf.layers.batch_normalization(y, momentum=0.8, training=training, name="norm1"))
    y = tf.layers.max_pooling2d(y, 2, 2)
    y = tf.layers.separable_conv2d(tf.nn.elu(y), 8, 3, use_bias=False, name="separable")
    y = tf.layers.batch_normalization(y, training=training, fused=False, name="norm2")
    y = tf.layers.dropout(tf.layers.flatten(y), 0.3, seed=3, training=training)
    regularizer = tf.contrib.layers.l2_regularizer(0.01)
    logits = tf.layers.dense(y, 4, kernel_regularizer=regularizer, name="logits")

    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    loss = tf.identity(loss + tf.losses.get_regularization_loss(), name="loss")
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    # Without the gate an update may come before a gradient that reads the variable, in TensorFlow.
    optimizer = tf.train.RMSPropOptimizer(0.01, momentum=0.5)
    with tf.control_dependencies(updates):
        optimizer.minimize(loss, step, gate_gradients=optimizer.GATE_GRAPH, name="train")
    tf.identity(tf.nn.softmax(logits), name="guess")
    tf.global_variables_initializer()

    feeds = {
        "x:0": random.randn(8, 10, 10, 2).astype(np.float32),
        "labels:0": random.randint(0, 4, 8),
    }
    fit = (dict(feeds, **{"training:0": np.array(True)}), ["loss:0", "train"])
    look = (
        feeds,
        ["guess:0", "global_step:0", "norm1/moving_mean:0", "norm2/moving_variance:0"]
        + ["logits/kernel/RMSProp:0", "norm1/gamma/RMSProp_1:0"],
    )
    return {
        "init": "init",
        "meta": True,
        "trainable": [v.name for v in tf.trainable_variables()],
        "runs": [look] + [fit] * 4 + [look],
    }
