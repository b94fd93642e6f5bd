"""Training with evaluations in between, early stopping, and evaluations in memory."""

import numpy as np
import pytest

import weft as tf
from tests.estimator.linear_model import batches, made


def test_evaluates_after_checkpoints_and_at_the_end(tmp_path):
    exported = []

    class Note(tf.estimator.Exporter):
        name = "note"

        def export(self, estimator, export_path, checkpoint_path, eval_result, is_the_final_export):
            exported.append((checkpoint_path[-2:], eval_result["global_step"], is_the_final_export))
            return export_path

    estimator = made(tmp_path, save_checkpoints_steps=10)
    metrics, exports = tf.estimator.train_and_evaluate(
        estimator,
        tf.estimator.TrainSpec(batches(None), max_steps=25),
        tf.estimator.EvalSpec(batches(1), exporters=Note(), start_delay_secs=0, throttle_secs=0),
    )
    assert metrics["global_step"] == 25
    assert exports == [str(tmp_path / "export" / "note")]
    assert exported == [("10", 10, False), ("20", 20, False), ("25", 25, True)]
    tf.summary.FileWriterCache.clear()


def test_specifications_are_checked(tmp_path):
    with pytest.raises(TypeError, match="must be callable"):
        tf.estimator.TrainSpec("no function")
    with pytest.raises(ValueError, match="max_steps > 0"):
        tf.estimator.TrainSpec(batches(1), max_steps=0)
    with pytest.raises(TypeError, match="must be an Exporter"):
        tf.estimator.EvalSpec(batches(1), exporters=[1])
    with pytest.raises(ValueError, match="throttle_secs >= 0"):
        tf.estimator.EvalSpec(batches(1), throttle_secs=-1)
    with pytest.raises(TypeError, match="eval_spec"):
        tf.estimator.train_and_evaluate(made(tmp_path), tf.estimator.TrainSpec(batches(1)), None)


def test_training_stops_when_a_metric_is_at_rest(tmp_path):
    estimator = made(tmp_path)
    with tf.summary.FileWriter(estimator.eval_dir()) as writer:
        for step, value in ((1, 3.0), (3, 2.0), (5, 2.5)):
            summary = tf.Summary(value=[tf.Summary.Value(tag="loss", simple_value=value)])
            writer.add_summary(summary, step)

    def steps_with(make, *args, **options):
        hook = make(estimator, "loss", *args, run_every_secs=None, run_every_steps=1, **options)
        before = estimator.get_variable_value("global_step") if estimator.latest_checkpoint() else 0
        estimator.train(batches(None), hooks=[hook], steps=3)
        return estimator.get_variable_value("global_step") - before

    experimental = tf.estimator.experimental
    assert steps_with(experimental.stop_if_no_decrease_hook, 2) == 1
    assert steps_with(experimental.stop_if_no_decrease_hook, 3) == 3
    assert steps_with(experimental.stop_if_no_increase_hook, 4) == 1
    assert steps_with(experimental.stop_if_lower_hook, 2.1) == 1
    assert steps_with(experimental.stop_if_lower_hook, 2.1, min_steps=4) == 3
    assert steps_with(experimental.stop_if_higher_hook, 2.9) == 1


def test_a_model_is_evaluated_while_it_is_trained(tmp_path):
    estimator = made(tmp_path)
    hook = tf.estimator.experimental.InMemoryEvaluatorHook(
        estimator, batches(1), every_n_iter=4, name="inner"
    )
    estimator.train(batches(None), hooks=[hook], steps=6)
    tf.summary.FileWriterCache.clear()
    (path,) = (tmp_path / "eval_inner").iterdir()
    losses = {
        e.step: v.simple_value
        for e in tf.train.summary_iterator(str(path))
        for v in e.summary.value
        if v.tag == "loss"
    }
    assert list(losses) == [0, 4, 6]
    np.testing.assert_allclose(losses[6], estimator.evaluate(batches(1))["loss"], rtol=1e-5)
