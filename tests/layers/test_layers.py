"""tf.layers: names, sharing, collections, and what the layers compute."""

import inspect

import numpy as np
import pytest

import weft as tf
from weft.framework import context


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as g:
        yield g


def started():
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    return session


def names(variables=None):
    return [v.op.name for v in (tf.global_variables() if variables is None else variables)]


def test_variables_are_named_after_their_layers():
    x = tf.ones([2, 8, 8, 3])
    with tf.variable_scope("net"):
        h = tf.layers.conv2d(x, 4, 3, activation=tf.nn.relu)
        h = tf.layers.batch_normalization(h)
        h = tf.layers.dense(tf.layers.flatten(h), 5, name="fc", use_bias=False)
        h = tf.layers.dense(tf.layers.dense(h, 5), 5)
    assert h.op.name == "net/dense_1/BiasAdd"
    assert names() == [
        "net/conv2d/kernel",
        "net/conv2d/bias",
        "net/batch_normalization/gamma",
        "net/batch_normalization/beta",
        "net/batch_normalization/moving_mean",
        "net/batch_normalization/moving_variance",
        "net/fc/kernel",
        "net/dense/kernel",
        "net/dense/bias",
        "net/dense_1/kernel",
        "net/dense_1/bias",
    ]
    assert len(tf.trainable_variables()) == 9


def test_reuse_finds_the_variables():
    x = tf.ones([2, 3])
    a = tf.layers.dense(x, 4, name="fc")
    b = tf.layers.dense(x, 4, name="fc", reuse=True)
    assert names() == ["fc/kernel", "fc/bias"]
    with pytest.raises(ValueError, match="fc/kernel already exists"):
        tf.layers.dense(x, 4, name="fc")
    with started() as session:
        np.testing.assert_array_equal(*session.run([a, b]))


def test_a_layer_that_is_called_twice_has_one_set_of_variables():
    layer = tf.layers.Dense(4)
    layer(tf.ones([2, 3]))
    with tf.variable_scope("elsewhere"):
        layer(tf.ones([5, 3]))
    assert names(layer.weights) == names() == ["dense/kernel", "dense/bias"]
    with pytest.raises(ValueError, match="expected axis -1 of input shape to have value 3"):
        layer(tf.ones([2, 7]))


def test_partitioned_kernels():
    with tf.variable_scope("p", partitioner=tf.fixed_size_partitioner(2)):
        y = tf.layers.dense(tf.ones([2, 4]), 3)
        z = tf.layers.batch_normalization(y, training=True)
    assert names() == [
        "p/dense/kernel/part_0",
        "p/dense/kernel/part_1",
        "p/dense/bias/part_0",
        "p/dense/bias/part_1",
        "p/batch_normalization/gamma/part_0",
        "p/batch_normalization/gamma/part_1",
        "p/batch_normalization/beta/part_0",
        "p/batch_normalization/beta/part_1",
        "p/batch_normalization/moving_mean",
        "p/batch_normalization/moving_variance",
    ]
    with started() as session:
        np.testing.assert_allclose(session.run(z), np.zeros([2, 3]), atol=1e-5)


def test_regularizers_and_their_collection():
    x = tf.ones([2, 3])
    layer = tf.layers.Dense(
        4,
        kernel_initializer=tf.ones_initializer(),
        kernel_regularizer=tf.keras.regularizers.l1_l2(0.5, 0.25),
        activity_regularizer=tf.reduce_sum,
    )
    layer(x)
    layer(x)
    losses = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
    assert len(losses) == 3  # the penalty on the kernel once, that on the outputs at each call
    assert losses[0].op.name == "dense/kernel/Regularizer/add_1"
    assert len(layer.get_losses_for(None)) == 1
    assert len(layer.get_losses_for(x)) == 2
    with started() as session:
        assert session.run(losses) == [9.0, 12.0, 12.0]


def test_frozen_layers_have_no_updates():
    x = tf.ones([4, 3])
    tf.layers.batch_normalization(x, training=True, trainable=False)
    assert tf.get_collection(tf.GraphKeys.UPDATE_OPS) == []
    assert tf.trainable_variables() == []
    tf.layers.batch_normalization(x, training=True)
    assert [op.type for op in tf.get_collection(tf.GraphKeys.UPDATE_OPS)] == ["AssignSub"] * 2


@pytest.mark.parametrize("axis", [1, 2, 3, [1, 2]])
@pytest.mark.parametrize("fused", [True, False])
def test_batch_normalization_of_each_axis(axis, fused):
    value = np.random.RandomState(0).normal(3, 2, [4, 3, 5, 6]).astype(np.float32)
    training = tf.placeholder(tf.bool, [])
    y = tf.layers.batch_normalization(
        tf.constant(value), axis=axis, momentum=0.5, training=training, fused=fused
    )
    kept = [axis] if isinstance(axis, int) else axis
    others = tuple(i for i in range(4) if i not in kept)
    mean, variance = value.mean(others, keepdims=True), value.var(others, keepdims=True)
    with started() as session:
        trained = session.run(y, {training: True})
        np.testing.assert_allclose(trained, (value - mean) / np.sqrt(variance + 1e-3), atol=1e-4)
        np.testing.assert_allclose(session.run(y, {training: False}), value, rtol=1e-3)
        for _ in range(20):
            session.run(tf.get_collection(tf.GraphKeys.UPDATE_OPS), {training: True})
        moved = session.run(tf.global_variables()[2])
        np.testing.assert_allclose(np.ravel(moved), np.ravel(mean), atol=1e-4)
        session.run(tf.get_collection(tf.GraphKeys.UPDATE_OPS), {training: False})
        np.testing.assert_array_equal(session.run(tf.global_variables()[2]), moved)


def test_renormalization_begins_as_batch_normalization():
    value = np.random.RandomState(0).normal(3, 2, [16, 3]).astype(np.float32)
    y = tf.layers.batch_normalization(
        tf.constant(value), renorm=True, training=True, renorm_clipping={"rmax": 1.5, "dmax": 0.5}
    )
    assert [n.split("/")[1] for n in names()] == [
        "gamma",
        "beta",
        "moving_mean",
        "moving_variance",
        "moving_stddev",
        "renorm_mean",
        "renorm_stddev",
    ]
    with started() as session:
        r = np.minimum(np.sqrt(value.var(0) + 1e-3) / 1, 1.5)
        d = np.clip(value.mean(0), -0.5, 0.5)
        normal = (value - value.mean(0)) / np.sqrt(value.var(0) + 1e-3)
        np.testing.assert_allclose(session.run(y), normal * r + d, rtol=1e-3, atol=1e-4)


def test_dropout_follows_its_switch():
    training = tf.placeholder_with_default(False, [])
    x = tf.ones([50, 40])
    y = tf.layers.dropout(x, 0.25, noise_shape=[None, 1], training=training)
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(y), np.ones([50, 40]))
        dropped = session.run(y, {training: True})
        np.testing.assert_array_equal(dropped, np.broadcast_to(dropped[:, :1], [50, 40]))
        assert set(np.unique(dropped)) == {0, np.float32(1 / 0.75)}


def test_types_follow_the_inputs():
    layer = tf.layers.Dense(2)
    assert layer(tf.ones([1, 2], tf.float64)).dtype == tf.float64
    assert layer.kernel.dtype.base_dtype == tf.float64 and layer.dtype == "float64"
    with pytest.raises(TypeError, match="non-floating point dtype"):
        tf.layers.dense(tf.ones([1, 2], tf.int32), 2)


def test_own_layers():
    class Scale(tf.layers.Layer):
        def build(self, input_shape):
            self.factor = self.add_weight("factor", [], initializer=tf.constant_initializer(3.0))
            self.count = self.add_variable("count", [], trainable=False, initializer="zeros")
            super().build(input_shape)

        def call(self, x, training=False):
            if training:
                self.add_update(tf.assign_add(self.count, 1.0), inputs=True)
            return x * self.factor

    layer = Scale(name="s")
    y = layer(tf.constant(2.0), training=True)
    assert names(layer.trainable_variables) == ["s/factor"]
    assert names(layer.non_trainable_variables) == ["s/count"]
    assert len(layer.updates) == 1 and layer.scope_name == "s"
    with started() as session:
        assert session.run(y) == 6.0


def test_keras_layers_have_their_own_variables():
    x = tf.ones([2, 3])
    first, second = tf.keras.layers.Dense(4, activation="relu"), tf.keras.layers.Dense(4)
    second(first(x))
    assert names() == ["dense/kernel", "dense/bias", "dense_1/kernel", "dense_1/bias"]
    copy = tf.keras.layers.Dense.from_config(first.get_config())
    assert copy.activation is first.activation and copy.name == "dense"


def test_functions_have_their_signatures():
    parameters = inspect.signature(tf.layers.batch_normalization).parameters
    assert list(parameters)[14:19] == ["training", "trainable", "name", "reuse", "renorm"]
    assert list(inspect.signature(tf.layers.max_pooling2d).parameters) == [
        "inputs",
        "pool_size",
        "strides",
        "padding",
        "data_format",
        "name",
    ]


def test_layers_run_eagerly():
    with context.execution_mode(True):
        layer = tf.keras.layers.BatchNormalization(momentum=0.0)
        x = tf.constant([[1.0, 2.0], [3.0, 6.0]])
        np.testing.assert_allclose(layer(x, training=True).numpy(), [[-1, -1], [1, 1]], atol=1e-3)
        np.testing.assert_allclose(layer.moving_mean.numpy(), [2.0, 4.0], atol=1e-5)


def test_dense_takes_sparse_inputs():
    x = tf.SparseTensor([[0, 1], [1, 2]], [2.0, 3.0], [2, 3])
    y = tf.layers.dense(x, 2, kernel_initializer=tf.ones_initializer())
    with started() as session:
        np.testing.assert_array_equal(session.run(y), [[2, 2], [3, 3]])


def test_transposed_convolutions_undo_strides():
    x = tf.ones([1, 4, 5, 2])
    y = tf.layers.conv2d_transpose(x, 3, 3, strides=2, padding="same", activation=tf.nn.relu)
    z = tf.keras.layers.Conv2DTranspose(3, 3, padding="same", dilation_rate=2)(x)
    w = tf.layers.conv3d_transpose(tf.ones([1, 2, 3, 4, 2]), 3, 2, data_format="channels_last")
    assert [t.shape.as_list() for t in (y, z, w)] == [[1, 8, 10, 3], [1, 4, 5, 3], [1, 3, 4, 5, 3]]
    with started() as session:
        assert all(
            v.shape == tuple(t.shape.as_list()) for v, t in zip(session.run([y, z, w]), (y, z, w))
        )
