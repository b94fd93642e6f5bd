"""TPUEstimator without TPUs: batch sizes in the parameters, metrics and summaries as functions."""

import numpy as np
import pytest

import weft as tf
from tests.estimator.linear_model import X, Y


def input_fn(params):
    size = params["batch_size"]
    return tf.constant(X[:size]), tf.constant(Y[:size])


def once(params):
    return tf.train.limit_epochs(tf.constant(X), num_epochs=1)


def model_fn(features, labels, mode, params):
    assert params["use_tpu"] is False
    assert mode == "infer" or params["batch_size"] == features.shape[0].value
    predicted = tf.layers.dense(features, 1, name="line")
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.contrib.tpu.TPUEstimatorSpec(mode, predictions={"y": predicted})
    loss = tf.losses.mean_squared_error(labels, predicted)
    optimizer = tf.contrib.tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(0.1))
    step = tf.train.get_global_step()
    train = optimizer.minimize(loss, global_step=step)

    def metrics(labels, predicted):
        return {"error": tf.metrics.mean_absolute_error(labels, predicted)}

    def summarise(step, loss):
        writer = tf.contrib.summary.create_file_writer(params["folder"])
        with writer.as_default(), tf.contrib.summary.always_record_summaries():
            tf.contrib.summary.scalar("halved", loss[0] / 2, step=step[0])
            return tf.contrib.summary.all_summary_ops()

    host_call = (summarise, [tf.reshape(step, [1]), tf.reshape(loss, [1])])
    return tf.contrib.tpu.TPUEstimatorSpec(
        mode,
        loss=loss,
        train_op=train,
        eval_metrics=(metrics, [labels, predicted]),
        host_call=host_call if mode == "train" else None,
    )


def made(folder, use_tpu=False, model_fn=model_fn, **options):
    config = tf.contrib.tpu.RunConfig(
        model_dir=str(folder / "model"),
        tf_random_seed=1,
        tpu_config=tf.contrib.tpu.TPUConfig(
            iterations_per_loop=10,
            per_host_input_for_training=tf.contrib.tpu.InputPipelineConfig.PER_HOST_V2,
        ),
    )
    return tf.contrib.tpu.TPUEstimator(
        model_fn,
        config=config,
        params={"folder": str(folder / "host")},
        use_tpu=use_tpu,
        train_batch_size=8,
        eval_batch_size=4,
        **options,
    )


def test_trains_evaluates_and_predicts_without_a_tpu(tmp_path):
    estimator = made(tmp_path).train(input_fn, steps=12)
    kernel, bias = (estimator.get_variable_value(f"line/{v}") for v in ("kernel", "bias"))
    results = estimator.evaluate(input_fn, steps=2)
    errors = X[:4] @ kernel + bias - Y[:4]
    np.testing.assert_allclose(results["error"], np.mean(np.abs(errors)), rtol=1e-5)
    rows = [row["y"] for row in estimator.predict(once)]
    np.testing.assert_allclose(rows, X @ kernel + bias, rtol=1e-5)
    (path,) = (tmp_path / "host").iterdir()
    tags = [v.tag for e in tf.train.summary_iterator(str(path)) for v in e.summary.value]
    assert tags == ["halved"] * 12


def test_what_is_refused(tmp_path):
    with pytest.raises(ValueError, match="must be provided with type"):
        tf.contrib.tpu.TPUEstimator(model_fn, config=tf.estimator.RunConfig())
    with pytest.raises(RuntimeError, match="Cannot find any TPU cores.*use_tpu=False"):
        made(tmp_path, use_tpu=True).train(input_fn, steps=1)
    with pytest.raises(ValueError, match="does not include params"):
        made(tmp_path).train(lambda: None, steps=1)
    with pytest.raises(ValueError, match="iterations_per_loop"):
        tf.contrib.tpu.TPUConfig(iterations_per_loop=0)
    with tf.Graph().as_default():
        with pytest.raises(RuntimeError, match="does not match method args"):
            tf.contrib.tpu.TPUEstimatorSpec(
                "eval", loss=tf.constant(1.0), eval_metrics=(lambda a, b: None, [1])
            )
        with pytest.raises(ValueError, match="Unsupported reduction"):
            tf.contrib.tpu.CrossShardOptimizer(tf.train.AdamOptimizer(), reduction="none")


def test_evaluation_may_be_off_the_tpu(tmp_path):
    made(tmp_path).train(input_fn, steps=1)
    results = made(tmp_path, use_tpu=True, eval_on_tpu=False).evaluate(input_fn, steps=1)
    assert results["global_step"] == 1
