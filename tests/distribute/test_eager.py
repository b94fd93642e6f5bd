"""Strategies under eager execution, with and without `tf.function`."""

from __future__ import annotations

import numpy as np
import pytest

import weft as tf
from weft import testing

from . import training

STRATEGIES = {
    "mirrored": lambda: tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"]),
    "one device": lambda: tf.distribute.OneDeviceStrategy("/cpu:0"),
    "central storage": lambda: tf.distribute.experimental.CentralStorageStrategy(
        ["/cpu:0", "/cpu:1"]
    ),
}


@pytest.mark.parametrize("in_function", [False, True])
@pytest.mark.parametrize("kind", sorted(STRATEGIES))
def test_training_is_that_of_one_device(kind, in_function):
    with testing.eager_mode():
        strategy = STRATEGIES[kind]()
        with strategy.scope():
            hidden = tf.layers.Dense(8, tf.nn.relu, kernel_initializer=training.start(10, 8))
            logits = tf.layers.Dense(3, kernel_initializer=training.start(8, 3))
            hidden.build((None, 10))
            logits.build((None, 8))
            variables = hidden.trainable_variables + logits.trainable_variables
            optimizer = training.OPTIMIZERS["momentum"]()
            dataset = tf.data.Dataset.from_tensor_slices(training.data()).repeat().batch(16)
            batches = iter(strategy.experimental_distribute_dataset(dataset))

            def replica(inputs):
                x, y = inputs
                with tf.GradientTape() as tape:
                    loss = tf.losses.sparse_softmax_cross_entropy(y, logits(hidden(x)))
                    loss = loss / strategy.num_replicas_in_sync
                optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
                return loss

            def step(inputs):
                losses = strategy.experimental_run_v2(replica, args=(inputs,))
                return strategy.reduce(tf.distribute.ReduceOp.SUM, losses, axis=None)

            step = tf.function(step) if in_function else step
            losses = [float(step(next(batches))) for _ in range(6)]
        np.testing.assert_allclose(losses, training.LOSSES["momentum"], rtol=1e-5)
        for variable in variables:
            first, *others = strategy.experimental_local_results(variable)
            for other in others:
                np.testing.assert_array_equal(first.numpy(), other.numpy())


def test_variables_and_checkpoints(tmp_path):
    with testing.eager_mode():
        strategy = STRATEGIES["mirrored"]()
        with strategy.scope():
            v = tf.Variable([1.0, 2.0], aggregation=tf.VariableAggregation.SUM)
            strategy.experimental_run_v2(lambda: v.assign_add([1.0, 0.0]))
        assert [c.numpy().tolist() for c in v.values] == [[3.0, 2.0]] * 2
        path = tf.train.Checkpoint(v=v).save(str(tmp_path / "model"))
        with strategy.scope():
            v.assign([0.0, 0.0])
            tf.train.Checkpoint(v=v).restore(path).assert_consumed()
        assert [c.numpy().tolist() for c in v.values] == [[3.0, 2.0]] * 2
        plain = tf.Variable([0.0, 0.0])
        tf.train.Checkpoint(v=plain).restore(path)
        assert plain.numpy().tolist() == [3, 2]
