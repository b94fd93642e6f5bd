"""What tf.contrib.eager has for checkpoints."""

import pytest

import weft as tf
from weft.testing import eager_mode

tfe = tf.contrib.eager


def test_variables_are_saved_and_restored_without_a_session(tmp_path):
    with eager_mode():
        v = tf.Variable([1.0, 2.0], name="v", use_resource=True)
        saver = tfe.Saver([v])
        path = saver.save(str(tmp_path / "c"), global_step=3)
        assert path.endswith("c-3")
        v.assign([0.0, 0.0])
        saver.restore(path)
        assert v.numpy().tolist() == [1.0, 2.0]
    with pytest.raises(RuntimeError, match="Use tf.train.Saver"):
        tfe.Saver([])


def test_variables_are_restored_as_they_are_made(tmp_path):
    with eager_mode():
        path = tfe.Saver([tf.Variable(7.0, name="v", use_resource=True)]).save(str(tmp_path / "c"))
        with tfe.restore_variables_on_create(path):
            assert tf.Variable(0.0, name="v", use_resource=True).numpy() == 7.0
            with pytest.raises(tf.errors.NotFoundError, match="w not found in checkpoint"):
                tf.Variable(0.0, name="w", use_resource=True)
        with tfe.restore_variables_on_create(path, lambda name: "v"):
            assert tf.Variable(0.0, name="w", use_resource=True).numpy() == 7.0
        with tfe.restore_variables_on_create(None):
            assert tf.Variable(0.0, name="v", use_resource=True).numpy() == 0.0
        with (
            pytest.raises(ValueError, match="must be callable"),
            tfe.restore_variables_on_create(path, 3),
        ):
            pass


def test_the_other_names(tmp_path):
    assert tfe.Checkpoint is tf.train.Checkpoint
    with eager_mode():
        optimizer = tf.train.AdagradOptimizer(0.1)
        v = tf.Variable(1.0, use_resource=True)
        optimizer.minimize(lambda: v * v, var_list=[v])
        assert len(tfe.get_optimizer_variables(optimizer)) == 1
