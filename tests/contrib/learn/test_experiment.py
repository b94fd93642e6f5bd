"""Experiments over estimators."""

import pytest

import weft as tf
from tests.estimator.linear_model import batches, linear

learn = tf.contrib.learn


def make(config, hparams=None, **options):
    estimator = tf.estimator.Estimator(linear, config=config, params={"rate": 0.1})
    return learn.Experiment(
        estimator, batches(None), batches(1), train_steps=12, eval_delay_secs=0, **options
    )


def test_a_schedule_is_run(tmp_path):
    config = learn.RunConfig(model_dir=str(tmp_path), tf_random_seed=1, save_checkpoints_steps=5)
    assert config.save_checkpoints_secs is None
    metrics, exports = learn.python.learn.learn_runner.run(make, run_config=config)
    assert metrics["global_step"] == 12 and exports == []
    again = learn.learn_runner.run(make, run_config=config, schedule="evaluate")
    assert again["loss"] == metrics["loss"]
    with pytest.raises(ValueError, match="non-existent task"):
        learn.learn_runner.run(make, run_config=config, schedule="cook")
    tf.summary.FileWriterCache.clear()


def test_models_are_exported_after_checkpoints(tmp_path):
    seen = []

    def note(estimator, export_dir_base, checkpoint_path, eval_result):
        seen.append(int(eval_result["global_step"]))
        return export_dir_base

    config = learn.RunConfig(model_dir=str(tmp_path), save_checkpoints_steps=6)
    experiment = make(
        config,
        checkpoint_and_export=True,
        export_strategies=learn.ExportStrategy("note", note),
    )
    metrics, exports = experiment.train_and_evaluate()
    assert seen == [0, 6, 12] and exports == [str(tmp_path / "export" / "note")]
    assert experiment.continuous_eval(throttle_delay_secs=0) is None
    assert seen[-1] == 12 and len(seen) == 4
    tf.summary.FileWriterCache.clear()


def test_by_turns(tmp_path):
    config = learn.RunConfig(model_dir=str(tmp_path))
    metrics, _ = make(config, train_steps_per_iteration=5).continuous_train_and_eval()
    assert metrics["global_step"] == 15


def test_what_is_refused(tmp_path):
    config = learn.RunConfig(model_dir=str(tmp_path))
    with pytest.raises(ValueError, match="eval_metrics"):
        make(config, eval_metrics={})
    with pytest.raises(ValueError, match="must implement"):
        learn.Experiment(None, batches(1), batches(1))
    with pytest.raises(ValueError, match="Cannot provide both"):
        learn.learn_runner.run(make, output_dir="x", run_config=config)
    with pytest.raises(ValueError, match="Invalid mode"):
        learn.ModeKeys.validate("cook")
    assert learn.ModeKeys.INFER == tf.estimator.ModeKeys.PREDICT
    assert config.uid() == learn.RunConfig(model_dir=str(tmp_path), save_summary_steps=7).uid()
