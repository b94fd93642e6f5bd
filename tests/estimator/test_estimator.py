"""Estimators: training that goes on where it ended, evaluation, prediction, and what is refused."""

import json

import numpy as np
import pytest

import weft as tf
from tests.estimator.linear_model import X, Y, batches, linear, made


def test_training_goes_on_from_the_last_checkpoint(tmp_path):
    estimator = made(tmp_path)
    with pytest.raises(ValueError, match="Could not find trained model"):
        estimator.get_variable_names()
    assert estimator.train(batches(None), steps=5) is estimator
    kernel = estimator.get_variable_value("line/kernel")
    assert estimator.get_variable_value("global_step") == 5
    made(tmp_path).train(batches(None), steps=5)  # another process, as it were
    assert estimator.get_variable_value("global_step") == 10
    assert not np.array_equal(kernel, estimator.get_variable_value("line/kernel"))
    once = made(tmp_path / "once").train(batches(None), max_steps=10)
    # Both have begun the input anew: two batches are an epoch, so that ten steps see what five and five see, once
    # the sixth step is again the first batch.
    assert once.get_variable_value("global_step") == 10
    before = estimator.latest_checkpoint()
    estimator.train(batches(None), max_steps=10)
    assert estimator.latest_checkpoint() == before


def test_a_killed_training_continues(tmp_path):
    class Killed(Exception):
        pass

    class Kill(tf.train.SessionRunHook):
        def before_run(self, run_context):
            return tf.train.SessionRunArgs(tf.train.get_global_step())

        def after_run(self, run_context, run_values):
            if run_values.results >= 6:
                raise Killed

    estimator = made(tmp_path, save_checkpoints_steps=4)
    with pytest.raises(Killed):
        estimator.train(batches(None), hooks=[Kill()], max_steps=20)
    saved = estimator.get_variable_value("global_step")
    assert saved in (4, 5)
    estimator.train(batches(None), max_steps=20)
    assert estimator.get_variable_value("global_step") == 20


def test_evaluation_has_the_metrics_of_numpy_and_writes_them(tmp_path):
    estimator = made(tmp_path).train(batches(None), steps=3)
    kernel, bias = (estimator.get_variable_value(f"line/{v}") for v in ("kernel", "bias"))
    errors = X @ kernel + bias - Y
    results = estimator.evaluate(batches(1), name="held_out")
    assert set(results) == {"loss", "error", "global_step"} and results["global_step"] == 3
    np.testing.assert_allclose(results["loss"], np.mean(errors**2), rtol=1e-5)
    np.testing.assert_allclose(results["error"], np.mean(np.abs(errors)), rtol=1e-5)
    first = estimator.evaluate(batches(1), steps=1)
    np.testing.assert_allclose(first["loss"], np.mean(errors[:10] ** 2), rtol=1e-5)
    (path,) = (tmp_path / "eval_held_out").iterdir()
    values = {v.tag: v for e in tf.train.summary_iterator(str(path)) for v in e.summary.value}
    assert values["loss"].simple_value == results["loss"]
    assert values["checkpoint_path"].tensor.string_val[0].endswith(b"model.ckpt-3")
    tf.summary.FileWriterCache.clear()


def test_predictions_come_one_by_one_or_in_batches(tmp_path):
    estimator = made(tmp_path).train(batches(None), steps=3)
    kernel, bias = (estimator.get_variable_value(f"line/{v}") for v in ("kernel", "bias"))
    inputs = tf.estimator.inputs.numpy_input_fn({"x": X}, batch_size=8, shuffle=False)
    outer = tf.get_default_graph()
    rows = []
    for row in estimator.predict(inputs, predict_keys=["y"]):
        assert tf.get_default_graph() is outer  # what is yielded finds the caller's graph
        rows.append(row)
    assert set(rows[0]) == {"y"}
    np.testing.assert_allclose([r["y"] for r in rows], X @ kernel + bias, rtol=1e-5)
    sizes = [len(b["y"]) for b in estimator.predict(inputs, yield_single_examples=False)]
    assert sizes == [8, 8, 4]
    with pytest.raises(ValueError, match="Expected to run at least one output"):
        next(estimator.predict(inputs, predict_keys=["z"]))
    older = str(tmp_path / "model.ckpt-0")
    assert len(list(estimator.predict(inputs, checkpoint_path=older))) == 20


@pytest.mark.parametrize(
    ("function", "params", "message"),
    [
        (None, None, "model_fn must be provided"),
        (lambda x: None, None, "must include features"),
        (lambda features: None, {"a": 1}, "does not include params"),
        (lambda features, speed: None, None, "not expected args.*speed"),
    ],
)
def test_model_functions_are_checked(tmp_path, function, params, message):
    with pytest.raises(ValueError, match=message):
        tf.estimator.Estimator(function, str(tmp_path), params=params)


def test_what_a_call_refuses(tmp_path):
    estimator = made(tmp_path)
    with pytest.raises(ValueError, match="both steps and max_steps"):
        estimator.train(batches(1), steps=1, max_steps=1)
    with pytest.raises(ValueError, match="steps > 0"):
        estimator.evaluate(batches(1), steps=0)
    with pytest.raises(TypeError, match="SessionRunHook"):
        estimator.train(batches(1), hooks=["no hook"])
    with pytest.raises(ValueError, match="len 2 tuple"):
        estimator.train(lambda: (1, 2, 3), steps=1)
    with pytest.raises(ValueError, match="should return an EstimatorSpec"):
        made(tmp_path, lambda features, params: None).train(lambda: tf.constant(1.0), steps=1)
    with pytest.raises(ValueError, match="does not take labels"):
        made(tmp_path, lambda features, params: None).train(
            lambda: (tf.constant(1.0), tf.constant(1.0)), steps=1
        )


def test_specifications_are_checked():
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match="Missing loss"):
            tf.estimator.EstimatorSpec("train", train_op=tf.no_op())
        with pytest.raises(ValueError, match="Missing train_op"):
            tf.estimator.EstimatorSpec("train", loss=tf.constant(1.0))
        with pytest.raises(ValueError, match="Loss must be scalar"):
            tf.estimator.EstimatorSpec("eval", loss=tf.constant([1.0, 2.0]))
        with pytest.raises(ValueError, match="Missing predictions"):
            tf.estimator.EstimatorSpec("infer")
        with pytest.raises(TypeError, match="metric_value, update_op"):
            tf.estimator.EstimatorSpec(
                "eval", loss=tf.constant(1.0), eval_metric_ops={"a": tf.constant(1.0)}
            )
        spec = tf.estimator.EstimatorSpec("eval", loss=tf.constant([1.0]))
        assert spec.loss.shape.ndims == 0
        with pytest.raises(ValueError, match="mode of EstimatorSpec"):
            spec._replace(mode="train")
    with tf.Graph().as_default():
        elsewhere = tf.constant(1.0)
    with tf.Graph().as_default(), pytest.raises(ValueError, match="default graph"):
        tf.estimator.EstimatorSpec("eval", loss=elsewhere)


def test_members_are_not_overridden():
    class Other(tf.estimator.Estimator):
        def train(self):
            pass

    with pytest.raises(ValueError, match="cannot override members.*train"):
        Other(lambda features: None)


def test_warm_start_begins_where_another_model_ended(tmp_path):
    first = made(tmp_path / "first").train(batches(None), steps=4)
    second = tf.estimator.Estimator(
        linear,
        str(tmp_path / "second"),
        params={"rate": 0.0},
        warm_start_from=str(tmp_path / "first"),
    )
    second.train(batches(None), steps=1)
    for name in ("line/kernel", "line/bias"):
        np.testing.assert_array_equal(
            first.get_variable_value(name), second.get_variable_value(name)
        )
    assert second.get_variable_value("global_step") == 1


def test_metrics_are_added(tmp_path):
    estimator = made(tmp_path).train(batches(None), steps=1)

    def largest(features, labels):
        return {"mean_label": tf.metrics.mean(labels)}

    more = tf.estimator.add_metrics(estimator, largest)
    results = more.evaluate(batches(1))
    np.testing.assert_allclose(results["mean_label"], Y.mean(), rtol=1e-5)
    assert "error" in results
    with pytest.raises(ValueError, match="not expected args"):
        tf.estimator.add_metrics(estimator, lambda colour: {})


# -- configuration ------------------------------------------------------------------------------------------


def test_properties_are_replaced_in_copies():
    config = tf.estimator.RunConfig(save_checkpoints_secs=30)
    other = config.replace(save_checkpoints_steps=10, model_dir="/somewhere")
    assert (other.save_checkpoints_steps, other.save_checkpoints_secs) == (10, None)
    assert (config.save_checkpoints_secs, config.model_dir) == (30, None)
    with pytest.raises(ValueError, match="cannot be both set"):
        tf.estimator.RunConfig(save_checkpoints_steps=1, save_checkpoints_secs=1)
    with pytest.raises(ValueError, match="Replacing master is not supported"):
        config.replace(master="x")
    with pytest.raises(ValueError, match="keep_checkpoint_max should be >= 0"):
        config.replace(keep_checkpoint_max=-1)
    with pytest.raises(AttributeError):
        config.model_dir = "x"


CLUSTER = {"chief": ["h0:1"], "worker": ["h1:1", "h2:1"], "ps": ["h3:1"]}


@pytest.mark.parametrize(
    ("kind", "index", "expected"),
    [
        ("chief", 0, (True, "grpc://h0:1", 1, 3, 0)),
        ("worker", 1, (False, "grpc://h2:1", 1, 3, 2)),
        ("ps", 0, (False, "grpc://h3:1", 1, 3, 3)),
        ("evaluator", 0, (False, "", 0, 0, None)),
    ],
)
def test_the_environment_says_which_task_this_is(monkeypatch, kind, index, expected):
    told = {"cluster": CLUSTER, "task": {"type": kind, "index": index}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(told))
    config = tf.estimator.RunConfig()
    assert expected == (
        config.is_chief,
        config.master,
        config.num_ps_replicas,
        config.num_worker_replicas,
        config.global_id_in_cluster,
    )


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"cluster": CLUSTER}, "task type must be set"),
        ({"cluster": CLUSTER, "task": {"type": "worker"}}, "task index must be set"),
        ({"cluster": CLUSTER, "task": {"type": "worker", "index": 7}}, "not a valid task_id"),
        ({"cluster": CLUSTER, "task": {"type": "cook", "index": 0}}, "not a valid task_type"),
        ({"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 0}}, 'one "chief"'),
        ({"task": {"type": "chief", "index": 0}}, "must be WORKER"),
    ],
)
def test_an_environment_that_makes_no_sense_is_refused(monkeypatch, told, message):
    monkeypatch.setenv("TF_CONFIG", json.dumps(told))
    with pytest.raises(ValueError, match=message):
        tf.estimator.RunConfig()
