"""slim.learning and slim.evaluation: a model trains, its checkpoints are evaluated."""

import os

import numpy as np
import pytest

import weft as tf

slim = tf.contrib.slim


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as g:
        yield g


X = np.random.RandomState(0).normal(size=[64, 3]).astype(np.float32)
Y = X @ np.array([[1.0], [-2.0], [0.5]], np.float32)


def model(training):
    h = slim.batch_norm(tf.constant(X), is_training=training, center=False)
    return slim.fully_connected(h, 1, activation_fn=None)


def test_training_and_evaluation(tmp_path):
    logdir = str(tmp_path)
    loss = slim.losses.mean_squared_error(model(True), tf.constant(Y))
    tf.summary.scalar("loss", loss)
    train_op = slim.learning.create_train_op(
        slim.losses.get_total_loss(),
        tf.train.GradientDescentOptimizer(0.1),
        clip_gradient_norm=5.0,
        gradient_multipliers={"fully_connected/weights": 2.0},
        summarize_gradients=True,
    )
    seen = []

    def step(*args):
        seen.append(slim.learning.train_step(*args))
        return seen[-1]

    last = slim.learning.train(
        train_op, logdir, step, number_of_steps=30, log_every_n_steps=10, save_summaries_secs=0
    )
    assert len(seen) == 30 and last == seen[-1][0] < 0.1 * seen[0][0]
    path = tf.train.latest_checkpoint(logdir)
    assert path.endswith("model.ckpt-30")

    with tf.Graph().as_default():
        error = tf.reduce_mean(tf.abs(model(False) - Y))
        total = slim.local_variable(0.0, name="total")
        tf.train.get_or_create_global_step()
        tf.summary.scalar("error", error)
        result = slim.evaluation.evaluate_once(
            "",
            path,
            os.path.join(logdir, "eval"),
            num_evals=4,
            eval_op=tf.assign_add(total, error),
            final_op={"mean": total / 4.0, "one": error},
            variables_to_restore=slim.get_variables_to_restore(),
        )
    assert result["one"] < 1.0
    np.testing.assert_allclose(result["mean"], result["one"], rtol=1e-5)
    assert any("tfevents" in name for name in os.listdir(os.path.join(logdir, "eval")))


def test_a_loop_of_evaluations_takes_new_checkpoints(tmp_path):
    value = tf.get_variable("value", initializer=3.0)
    tf.train.get_or_create_global_step()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        tf.train.Saver().save(session, str(tmp_path / "model.ckpt"), 7)
    path = tf.train.latest_checkpoint(str(tmp_path))
    assert tf.contrib.framework.list_variables(path) == [("global_step", []), ("value", [])]
    assert tf.contrib.framework.load_variable(path, "value") == 3.0
    with tf.Session() as session:
        slim.assign_from_checkpoint_fn(path, [value])(session)
        assert session.run(value) == 3.0
        assign, feeds = slim.assign_from_checkpoint(path, {"value": value})
        session.run([value.assign(0.0)])
        session.run(assign, feeds)
        assert session.run(value) == 3.0
    with pytest.raises(ValueError, match="Checkpoint is missing variable .other."):
        slim.assign_from_checkpoint(path, {"other": value})
    calls = []
    found = slim.evaluation.evaluation_loop(
        "",
        str(tmp_path),
        str(tmp_path / "eval"),
        final_op=value * 2.0,
        summary_op=None,
        eval_interval_secs=0,
        timeout=0.0,
        timeout_fn=lambda: calls.append(1) or True,
        eval_op=tf.no_op(),
    )
    assert found == 6.0 and calls == [1]


def test_training_stops_where_the_inputs_end(tmp_path):
    inputs = tf.train.limit_epochs(tf.constant(1.0), num_epochs=3)
    w = tf.get_variable("w", initializer=2.0)
    train_op = slim.learning.create_train_op(
        w * inputs, tf.train.GradientDescentOptimizer(0.5), check_numerics=False
    )
    assert slim.learning.train(train_op, str(tmp_path)) == 1.0  # 2, 1.5, 1 and no more
    with pytest.raises(ValueError, match="saver because logdir=None"):
        slim.learning.train(train_op, None, saver=object())


def test_gradients_are_changed():
    v, w = tf.get_variable("v", initializer=1.0), tf.get_variable("w", initializer=1.0)
    pairs = [(tf.constant([3.0, 4.0]), v), (tf.constant(1.0), w)]
    clipped = slim.learning.clip_gradient_norms(pairs, 1.0)
    doubled = slim.learning.multiply_gradients(pairs, {w: 2.0})
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(clipped[0][0]), [0.6, 0.8])
        assert session.run(doubled[1][0]) == 2.0 and doubled[0] == pairs[0]
    with pytest.raises(ValueError, match="multiple of `None` gradient"):
        slim.learning.multiply_gradients([(None, v)], {"v": 2.0})


def test_the_size_of_a_model(capsys):
    slim.fully_connected(tf.ones([2, 3]), 4)
    assert slim.model_analyzer.analyze_vars(slim.get_model_variables(), print_info=True) == (16, 64)
    assert "fully_connected/weights:0 (float32_ref 3x4) [12, bytes: 48]" in capsys.readouterr().out


def test_queue_runners_run_within_a_block():
    queue = tf.train.input_producer(tf.constant([5]), num_epochs=None)
    item = queue.dequeue()
    with tf.Session() as session:
        with slim.queues.QueueRunners(session):
            assert session.run(item) == 5
            with pytest.raises(slim.queues.NestedQueueRunnerError):
                with slim.queues.QueueRunners(session):
                    pass
