"""A model whose course NumPy can follow: a line through points."""

import numpy as np

import weft as tf

X = np.linspace(-1, 1, 40, dtype=np.float32).reshape(20, 2)
Y = X @ np.array([[1.0], [-2.0]], np.float32) + 3


def linear(features, labels, mode, params):
    x = features["x"] if isinstance(features, dict) else features
    predicted = tf.layers.dense(x, 1, name="line")
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions={"y": predicted, "x": x})
    loss = tf.losses.mean_squared_error(labels, predicted)
    train = tf.train.GradientDescentOptimizer(params["rate"]).minimize(
        loss, global_step=tf.train.get_global_step()
    )
    error = tf.metrics.mean_absolute_error(labels, predicted)
    return tf.estimator.EstimatorSpec(
        mode, loss=loss, train_op=train, eval_metric_ops={"error": error}
    )


def made(folder, model_fn=linear, **options):
    config = tf.estimator.RunConfig(tf_random_seed=1, **options)
    return tf.estimator.Estimator(model_fn, str(folder), config, params={"rate": 0.1})


def batches(epochs, size=10):
    return tf.estimator.inputs.numpy_input_fn(
        {"x": X}, Y, batch_size=size, num_epochs=epochs, shuffle=False
    )
