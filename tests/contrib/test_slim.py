"""tf.contrib.slim, layers and framework: scopes of arguments, names of variables, what layers compute."""

import numpy as np
import pytest

import weft as tf

slim = tf.contrib.slim


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as g:
        yield g


def started():
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    return session


def names(variables):
    return [v.op.name for v in variables]


def network(x, training):
    with slim.arg_scope(
        [slim.conv2d, slim.fully_connected],
        normalizer_fn=slim.batch_norm,
        normalizer_params={"is_training": training},
        weights_regularizer=slim.l2_regularizer(0.01),
    ):
        h = slim.repeat(x, 2, slim.conv2d, 4, [3, 3], scope="conv1")
        h = slim.max_pool2d(h, [2, 2], scope="pool1")
        h = slim.separable_conv2d(h, 6, [3, 3])
        h = slim.conv2d_transpose(h, 3, [3, 3], stride=2)
        h = slim.dropout(slim.flatten(h), 0.5, is_training=training)
        h = slim.stack(h, slim.fully_connected, [8, 6], scope="fc")
        return slim.fully_connected(h, 3, activation_fn=None, normalizer_fn=None)


def test_a_network_has_tensorflows_names():
    x = tf.placeholder(tf.float32, [None, 8, 8, 3])
    with tf.variable_scope("net"):
        y = network(x, True)
    assert y.op.name == "net/fully_connected/BiasAdd" and y.shape.as_list() == [None, 3]
    norm = ["beta", "moving_mean", "moving_variance"]
    assert names(slim.get_model_variables()) == [
        f"net/{name}"
        for name in [
            "conv1/conv1_1/weights",
            *(f"conv1/conv1_1/BatchNorm/{n}" for n in norm),
            "conv1/conv1_2/weights",
            *(f"conv1/conv1_2/BatchNorm/{n}" for n in norm),
            "SeparableConv2d/depthwise_weights",
            "SeparableConv2d/pointwise_weights",
            "SeparableConv2d/biases",
            "Conv2d_transpose/weights",
            "Conv2d_transpose/biases",
            "fc/fc_1/weights",
            *(f"fc/fc_1/BatchNorm/{n}" for n in norm),
            "fc/fc_2/weights",
            *(f"fc/fc_2/BatchNorm/{n}" for n in norm),
            "fully_connected/weights",
            "fully_connected/biases",
        ]
    ]
    assert len(tf.get_collection(tf.GraphKeys.UPDATE_OPS)) == 8
    assert len(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)) == 5
    with tf.variable_scope("net", reuse=True):
        network(x, False)
    assert len(slim.get_model_variables()) == 23
    with started() as session:
        assert session.run(y, {x: np.ones([2, 8, 8, 3])}).shape == (2, 3)


def test_scopes_of_arguments_nest_and_can_be_entered_again():
    @slim.add_arg_scope
    def f(a, b=2, c=3):
        return a, b, c

    @slim.add_arg_scope
    def g(b=0):
        return b

    with slim.arg_scope([f, g], b=20):
        with slim.arg_scope([f], c=30) as inner:
            assert f(1) == (1, 20, 30) and g() == 20
            assert f(1, c=4) == (1, 20, 4)
        assert f(1) == (1, 20, 3)
    assert f(1) == (1, 2, 3)
    with slim.arg_scope(inner):
        assert f(1) == (1, 20, 30)
    assert slim.arg_scoped_arguments(f) == ("b", "c")
    with pytest.raises(ValueError, match="is not decorated with @add_arg_scope"):
        with slim.arg_scope([len], x=1):
            pass
    with pytest.raises(TypeError, match="must either be a list/tuple or reused scope"):
        with slim.arg_scope(f, x=1):
            pass


def test_variables_are_found_by_name():
    with tf.variable_scope("a"):
        w = slim.model_variable("w", [2], collections=["mine"])
        b = slim.variable("b", [2], trainable=False)
    with tf.variable_scope("c"):
        other = slim.local_variable(0, name="w")
    assert slim.get_variables() == [w, b] and slim.get_model_variables() == [w]
    assert slim.get_variables("a", "b") == [b] and slim.get_variables_by_suffix("w") == [w]
    assert slim.get_variables_by_name("b") == [b] and slim.get_local_variables() == [other]
    assert slim.get_variables_to_restore(exclude=["a/b"]) == [w]
    assert slim.get_unique_variable("a/w") is w and tf.get_collection("mine") == [w]
    assert slim.filter_variables([w, b], ["a/.*"], ["w"]) == [b]
    with started() as session:
        slim.assign_from_values_fn({"a/w": np.array([1.0, 2.0])})(session)
        assert session.run(w).tolist() == [1, 2]


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
@pytest.mark.parametrize("collection", [tf.GraphKeys.UPDATE_OPS, None])
def test_batch_normalization(fused, data_format, collection):
    value = np.random.RandomState(0).normal(2, 3, [4, 5, 6, 3]).astype(np.float32)
    if data_format == "NCHW":
        value = value.transpose(0, 3, 1, 2)
    axes = (0, 2, 3) if data_format == "NCHW" else (0, 1, 2)
    training = tf.placeholder(tf.bool, [])
    y = slim.batch_norm(
        tf.constant(value),
        0.5,
        is_training=training,
        fused=fused,
        data_format=data_format,
        updates_collections=collection,
    )
    mean = value.mean(axes, keepdims=True)
    expected = (value - mean) / np.sqrt(value.var(axes, keepdims=True) + 1e-3)
    moving_mean = slim.get_variables_by_suffix("moving_mean")[0]
    with started() as session:
        np.testing.assert_allclose(session.run(y, {training: True}), expected, atol=1e-3)
        updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
        assert len(updates) == (0 if collection is None else 2)
        session.run(updates, {training: True})
        np.testing.assert_allclose(session.run(moving_mean), mean.ravel() / 2, atol=1e-4)
        before = session.run(moving_mean)
        session.run([y, updates], {training: False})
        np.testing.assert_array_equal(session.run(moving_mean), before)


def test_weights_of_the_batch():
    value = np.random.RandomState(0).normal(2, 3, [4, 3]).astype(np.float32)
    y = slim.batch_norm(tf.constant(value), batch_weights=tf.constant([1.0, 1.0, 0.0, 0.0]))
    with started() as session:
        mean, variance = value[:2].mean(0), value[:2].var(0)
        expected = (value - mean) / np.sqrt(variance + 1e-3)
        np.testing.assert_allclose(session.run(y), expected, rtol=1e-3, atol=1e-4)


def test_other_normalizations():
    value = np.random.RandomState(0).normal(2, 3, [2, 4, 4, 6]).astype(np.float32)

    def normal(x, axes):
        return (x - x.mean(axes, keepdims=True)) / x.std(axes, keepdims=True)

    x = tf.constant(value)
    layers = tf.contrib.layers
    results = layers.layer_norm(x), layers.instance_norm(x), layers.group_norm(x, groups=3)
    with started() as session:
        by_layer, by_instance, by_group = session.run(results)
    np.testing.assert_allclose(by_layer, normal(value, (1, 2, 3)), atol=1e-4)
    np.testing.assert_allclose(by_instance, normal(value, (1, 2)), atol=1e-4)
    grouped = normal(value.reshape(2, 4, 4, 3, 2), (1, 2, 4)).reshape(value.shape)
    np.testing.assert_allclose(by_group, grouped, atol=1e-4)
    assert names(tf.global_variables())[::2] == [
        "LayerNorm/beta",
        "InstanceNorm/beta",
        "GroupNorm/beta",
    ]


def test_regularizers():
    w = tf.constant([1.0, -2.0])
    both = slim.l1_l2_regularizer(0.5, 0.25)(w)
    assert both.op.name.startswith("l1_l2_regularizer")
    with tf.Session() as session:
        assert session.run(both) == 0.5 * 3 + 0.25 * 2.5
    assert slim.l2_regularizer(0.0)(w) is None
    with pytest.raises(ValueError, match="scale cannot be an integer"):
        slim.l1_regularizer(1)


def test_small_layers():
    with tf.Session() as session:
        ones = session.run(slim.one_hot_encoding([1, 0], 3))
        np.testing.assert_array_equal(ones, [[0, 1, 0], [1, 0, 0]])
        np.testing.assert_allclose(
            session.run(slim.unit_norm(tf.constant([[3.0, 4.0]]), 1)), [[0.6, 0.8]], rtol=1e-5
        )
        np.testing.assert_array_equal(
            session.run(tf.contrib.layers.maxout(tf.constant([[1.0, 5.0, 2.0, 3.0]]), 2)), [[5, 3]]
        )
        x = tf.constant(2.0)
        y = tf.contrib.layers.scale_gradient(x, 3.0) ** 2
        assert session.run(tf.gradients(y, x)) == [12.0]


def test_losses_join_their_collection():
    p, y = tf.constant([[1.0, 2.0], [3.0, 4.0]]), tf.constant([[1.0, 0.0], [0.0, 4.0]])
    total = slim.losses.mean_squared_error(p, y, weights=tf.constant([1.0, 0.0]))
    cross = slim.losses.softmax_cross_entropy(p, tf.constant([[0.0, 1.0], [0.0, 1.0]]))
    assert slim.losses.get_losses() == [total, cross]
    with tf.Session() as session:
        assert session.run(total) == 2.0
        np.testing.assert_allclose(session.run(cross), np.log1p(np.exp(-1)), rtol=1e-6)
        np.testing.assert_allclose(
            session.run(slim.losses.get_total_loss()), session.run(total + cross), rtol=1e-6
        )


def test_optimize_loss_trains():
    x = tf.get_variable("x", initializer=[4.0, 2.0])
    step = tf.train.get_or_create_global_step()
    loss = tf.reduce_sum(x**2)
    train = tf.contrib.layers.optimize_loss(
        loss,
        step,
        0.25,
        "SGD",
        clip_gradients=100.0,
        gradient_multipliers={"x:0": 0.5},
        summaries=[],
    )
    with started() as session:
        session.run(train)
        np.testing.assert_allclose(session.run(x), [3.0, 1.5])
        assert session.run(step) == 1
