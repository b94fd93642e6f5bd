"""contrib.opt: optimizers; expected numbers are TensorFlow 1.15's."""

import numpy as np
import pytest

import weft as tf

opt = tf.contrib.opt

# Three steps from [[1, 2], [3, 4], [5, 6]] with gradients for the last row and the first; the first number
# of each row, with the gradient as a whole and by rows, where that makes a difference.
CASES = {
    "adamax": (lambda v: opt.AdaMaxOptimizer(0.1), [0.7, 3.0, 4.7], None),
    "adamw": (
        lambda v: opt.AdamWOptimizer(0.01, 0.1),
        [0.67329, 2.9109, 4.55449],
        [0.67329, 3.0, 4.55449],
    ),
    "add": (lambda v: opt.AddSignOptimizer(0.1), [0.94, 3.0, 4.7], None),
    "clipping": (
        lambda v: opt.VariableClippingOptimizer(
            tf.train.GradientDescentOptimizer(0.1), {v: [1]}, 2.0
        ),
        [0.87443, 1.2, 1.10196],
        [0.87443, 3.0, 1.10196],
    ),
    "lars": (lambda v: opt.LARSOptimizer(0.1), [0.99953, 3.0, 4.99765], [0.9439, 3.0, 4.7195]),
    "lazy": (lambda v: opt.LazyAdamOptimizer(0.1), [0.7, 3.0, 4.7], None),
    "momentumw": (
        lambda v: opt.MomentumWOptimizer(0.01, 0.1, 0.9),
        [0.91459, 2.9109, 4.57294],
        [0.91459, 3.0, 4.57294],
    ),
    "nadam": (lambda v: opt.NadamOptimizer(0.1), [0.54047, 3.0, 4.54047], None),
    "power": (lambda v: opt.PowerSignOptimizer(0.1), [0.91845, 3.0, 4.59226], None),
}


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as g:
        yield g


@pytest.mark.parametrize("use_resource", [False, True])
@pytest.mark.parametrize("by_rows", [False, True])
@pytest.mark.parametrize("name", sorted(CASES))
def test_steps(name, by_rows, use_resource):
    make, whole, rows = CASES[name]
    start = np.arange(1, 7, dtype=np.float32).reshape(3, 2)
    var = tf.get_variable("v", initializer=start, use_resource=use_resource)
    values = tf.constant([[0.5, -1.0], [0.1, 0.2]])
    grad = tf.IndexedSlices(values, tf.constant([2, 0]), tf.constant([3, 2]))
    step = make(var).apply_gradients([(grad if by_rows else tf.convert_to_tensor(grad), var)])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            session.run(step)
        found = session.run(var)
    np.testing.assert_allclose(found[:, 0], rows if by_rows and rows else whole, atol=1e-5)


def test_averages_are_saved_for_variables(tmp_path):
    var = tf.get_variable("v", initializer=[1.0, 2.0])
    optimizer = opt.MovingAverageOptimizer(tf.train.GradientDescentOptimizer(1.0), 0.5)
    with pytest.raises(RuntimeError, match="before creating the swapping_saver"):
        optimizer.swapping_saver()
    step = optimizer.minimize(tf.reduce_sum(var))
    saver = optimizer.swapping_saver()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(step)
        saver.save(session, str(tmp_path / "model"))
        assert session.run(var).tolist() == [0.0, 1.0]
    assert tf.train.load_variable(str(tmp_path / "model"), "v").tolist() == [0.5, 1.5]
    with pytest.raises(ValueError, match="not part of variables to save"):
        optimizer.swapping_saver([var])


def test_decays():
    steps = tf.constant([0, 5, 10, 20])
    for decay, values in (
        (opt.get_linear_decay_fn(10), [1, 0.5, 0, 0]),
        (opt.get_cosine_decay_fn(10), [1, 0.5, 0, 0]),
        (opt.get_restart_decay_fn(10, num_periods=2), [1, 1, 1, 1]),
        (opt.get_cosine_decay_fn(10, zero_after=0.1), [1, 0, 0, 0]),
    ):
        found = tf.map_fn(decay, steps, dtype=tf.float32)
        with tf.Session() as session:
            np.testing.assert_allclose(session.run(found), values, atol=1e-6)
    with pytest.raises(ValueError, match="global_step is required"):
        opt.get_linear_decay_fn(3)(None)
