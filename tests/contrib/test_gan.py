"""contrib.gan: models, losses, training, and what is generated in the end."""

import numpy as np
import pytest

import weft as tf

gan = tf.contrib.gan


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as g:
        yield g


def generator(noise):
    return tf.layers.dense(noise, 2, name="g")


def discriminator(data, _):
    return tf.layers.dense(tf.layers.dense(data, 4, tf.nn.tanh, name="d1"), 1, name="d2")


def model():
    tf.set_random_seed(1)
    noise = tf.random_normal([8, 3])
    return gan.gan_model(generator, discriminator, tf.random_normal([8, 2]) + 3.0, noise)


def numbers(fetches):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches)


def test_a_game_is_trained(tmp_path):
    made = model()
    assert [v.op.name for v in made.generator_variables] == [
        "Generator/g/kernel",
        "Generator/g/bias",
    ]
    loss = gan.gan_loss(made, gradient_penalty_weight=1.0)
    ops = gan.gan_train_ops(made, loss, tf.train.AdamOptimizer(0.05), tf.train.AdamOptimizer(0.05))
    hooks = gan.get_sequential_train_hooks(gan.GANTrainSteps(1, 2))
    stop = tf.train.StopAtStepHook(num_steps=60)
    before = float(np.mean(numbers(made.generated_data)))
    assert gan.gan_train(ops, str(tmp_path), hooks, hooks=[stop]) == 60
    bias = tf.train.load_variable(str(tmp_path), "Generator/g/bias")
    assert before < 1.0 < np.mean(bias)  # on the way to the real data's mean of three
    names = tf.get_collection(tf.GraphKeys.SUMMARIES)
    assert any("gradient_penalty_loss" in t.op.name for t in names)


def test_joint_steps_and_slim():
    made = model()
    loss = gan.gan_loss(
        made, gan.losses.modified_generator_loss, gan.losses.modified_discriminator_loss
    )
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    ops = gan.gan_train_ops(made, loss, optimizer, optimizer)
    hooks = gan.get_joint_train_hooks(gan.GANTrainSteps(1, 3))(ops)
    assert [h._train_steps for h in hooks] == [1, 0, 2]
    steps = gan.get_sequential_train_steps()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        total, stop = steps(session, ops, tf.train.get_global_step(), {})
        assert np.isfinite(total) and not stop
        assert session.run(tf.train.get_global_step()) == 1


def test_losses():
    real, fake = tf.constant([[1.0], [2.0]]), tf.constant([[-1.0], [0.5]])
    wargs = gan.losses.wargs
    found = numbers(
        [
            wargs.wasserstein_generator_loss(fake),
            wargs.wasserstein_discriminator_loss(real, fake),
            wargs.least_squares_generator_loss(fake),
            wargs.least_squares_discriminator_loss(real, fake),
            wargs.minimax_discriminator_loss(real, fake, label_smoothing=0.0),
            wargs.modified_generator_loss(fake),
        ]
    )
    softplus = lambda x: np.log1p(np.exp(np.array(x)))  # noqa: E731
    minimax = softplus([-1.0, -2.0]).mean() + softplus([-1.0, 0.5]).mean()
    wanted = [0.25, -1.75, 1.0625, 0.5625, minimax, softplus([1.0, -0.5]).mean()]
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    with pytest.raises(ValueError, match="must be supplied to wasserstein_generator_loss"):
        gan.losses.wasserstein_generator_loss(gan.CycleGANLoss(1, 2))
    with pytest.raises(ValueError, match="must be an `InfoGANModel`"):
        gan.gan_loss(model(), mutual_information_penalty_weight=1.0)


def test_cycle():
    def picture(x):
        return tf.layers.conv2d(x, 3, 3, padding="same")

    def judge(x, _):
        return tf.layers.dense(tf.layers.flatten(x), 1)

    x, y = tf.ones([2, 4, 4, 3]), tf.zeros([2, 4, 4, 3])
    made = gan.cyclegan_model(picture, judge, x, y)
    loss = gan.cyclegan_loss(made, add_summaries=False)
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    ops = gan.gan_train_ops(made, loss, optimizer, optimizer)
    gan.eval.add_cyclegan_image_summaries(made)
    found = numbers([ops.generator_train_op, ops.discriminator_train_op, tf.summary.merge_all()])
    assert len(found[0]) == len(found[1]) == 2


def test_metrics_and_features():
    logits = tf.constant([[9.0, 0.0], [0.0, 9.0]])
    same = tf.constant(np.random.RandomState(0).randn(20, 3))
    distance = gan.eval.frechet_classifier_distance_from_activations
    score, zero, three, means = numbers(
        [
            gan.eval.classifier_score_from_logits(logits),
            distance(same, same),
            distance(same, same + 1.0),
            gan.eval.mean_only_frechet_classifier_distance_from_activations(same, same + 2.0),
        ]
    )
    np.testing.assert_allclose([score, zero, three, means], [2.0, 0.0, 3.0, 12.0], atol=3e-3)
    grid = gan.eval.python_image_grid(np.arange(4).reshape(4, 1, 1, 1), (2, 2))
    assert grid[..., 0].tolist() == [[0, 1], [2, 3]]
    pooled = gan.features.tensor_pool(tf.constant([5.0]), pool_size=2)
    assert numbers(pooled).tolist() == [5.0]
    with tf.variable_scope(
        "n",
        custom_getter=gan.features.spectral_normalization_custom_getter(power_iteration_rounds=30),
    ):
        kernel = tf.get_variable("kernel", initializer=np.diag([3.0, 2.0]))
    np.testing.assert_allclose(np.diag(numbers(kernel)), [1, 2 / 3], atol=1e-3)
    batch = tf.constant(np.random.RandomState(1).randn(6, 4), tf.float32)
    normalized = numbers(gan.features.VBN(batch).reference_batch_normalization())
    np.testing.assert_allclose(normalized.mean(0), 0, atol=1e-5)
