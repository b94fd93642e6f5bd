"""Estimators that train and evaluate under a strategy, over two CPU devices. TensorFlow 1.15.5 gives the same
numbers."""

from __future__ import annotations

import json
import threading

import numpy as np
import pytest

import weft as tf

from . import training
from .test_multi_worker import cluster_of


def input_fn(batch):
    def given(input_context=None):
        if input_context is not None:
            assert input_context.num_replicas_in_sync == 2
        return tf.data.Dataset.from_tensor_slices(training.data()).repeat().batch(batch)

    return given


def model_fn(features, labels, mode):
    loss = training.loss_of(features, labels)
    step = tf.train.get_global_step()
    train_op = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss, step)
    metrics = {
        "mean label": tf.metrics.mean(labels),
        "recall": tf.metrics.recall(labels > 0, labels > 1),
    }
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op, eval_metric_ops=metrics)


class Losses(tf.train.SessionRunHook):
    """Keeps the losses of a training."""

    def __init__(self):
        self.seen = []

    def begin(self):
        self._loss = tf.get_collection(tf.GraphKeys.LOSSES)[-1]

    def before_run(self, run_context):
        return tf.train.SessionRunArgs(self._loss)

    def after_run(self, run_context, run_values):
        self.seen.append(run_values.results)


def estimator(folder, **distribute):
    config = tf.estimator.RunConfig(
        session_config=tf.ConfigProto(device_count={"CPU": 2}), model_dir=str(folder), **distribute
    )
    return tf.estimator.Estimator(model_fn, config=config)


@pytest.fixture(scope="module")
def strategy():
    return tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])


def test_training_and_evaluating_are_those_of_one_device(strategy, tmp_path):
    two = estimator(tmp_path / "two", train_distribute=strategy, eval_distribute=strategy)
    one = estimator(tmp_path / "one")
    hooks = Losses(), Losses()
    two.train(input_fn(8), steps=6, hooks=[hooks[0]])
    one.train(input_fn(16), steps=6, hooks=[hooks[1]])
    np.testing.assert_allclose(hooks[0].seen, training.LOSSES["momentum"], rtol=1e-5)
    np.testing.assert_allclose(hooks[1].seen, training.LOSSES["momentum"], rtol=1e-5)
    both = two.evaluate(input_fn(8), steps=3), one.evaluate(input_fn(16), steps=3)
    assert sorted(both[0]) == sorted(both[1])
    for name, value in both[0].items():
        np.testing.assert_allclose(value, both[1][name], rtol=1e-5, err_msg=name)
    # A checkpoint is that of a program with one device.
    np.testing.assert_allclose(
        one.evaluate(input_fn(16), steps=3, checkpoint_path=two.latest_checkpoint())["loss"],
        both[1]["loss"],
        rtol=1e-5,
    )
    two.train(input_fn(8), max_steps=8)
    assert two.get_variable_value("global_step") == 8


def test_input_must_be_a_dataset(strategy, tmp_path):
    made = estimator(tmp_path, train_distribute=strategy)
    with pytest.raises(ValueError, match=r"must return a tf\.data\.Dataset"):
        made.train(lambda: (tf.zeros([2, 10]), tf.zeros([2], tf.int32)), steps=1)


def test_workers_train_together(monkeypatch, tmp_path):
    cluster = cluster_of(worker=2)
    hooks, threads, errors = [Losses(), Losses()], [], []
    for i in range(2):
        config = {"cluster": cluster, "task": {"type": "worker", "index": i}}
        monkeypatch.setenv("TF_CONFIG", json.dumps(config))
        strategy = tf.distribute.experimental.MultiWorkerMirroredStrategy()
        run_config = tf.estimator.RunConfig(
            model_dir=str(tmp_path / "model"), train_distribute=strategy, save_checkpoints_steps=3
        )
        assert run_config.is_chief == (i == 0) and run_config.num_worker_replicas == 2
        made = tf.estimator.Estimator(model_fn, config=run_config)

        def mine(input_context=None):
            dataset = input_fn(8)(input_context)
            return dataset.shard(input_context.num_input_pipelines, input_context.input_pipeline_id)

        train_spec = tf.estimator.TrainSpec(mine, max_steps=6, hooks=[hooks[i]])
        eval_spec = tf.estimator.EvalSpec(input_fn(8))

        def work(made=made, train_spec=train_spec, eval_spec=eval_spec):
            try:
                tf.estimator.train_and_evaluate(made, train_spec, eval_spec)
            except BaseException as e:
                errors.append(e)

        threads.append(threading.Thread(target=work))
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert not errors
    for hook in hooks:
        np.testing.assert_allclose(hook.seen, training.LOSSES["momentum"], rtol=1e-5)
    assert tf.train.latest_checkpoint(str(tmp_path / "model")).endswith("model.ckpt-6")
