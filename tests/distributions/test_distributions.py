"""Distributions against SciPy's, and what is TensorFlow's own about them."""

import numpy as np
import pytest
import scipy.stats as st

import weft as tf
from weft import testing

d = tf.distributions
SCALARS = {
    # name: (ours, SciPy's, values)
    "normal": (lambda: d.Normal([1.0, -2.0], [0.5, 3.0]), st.norm([1, -2], [0.5, 3]), [0.3, 1.7]),
    "laplace": (lambda: d.Laplace(0.5, [1.0, 2.0]), st.laplace(0.5, [1, 2]), [-1.5, 1.2]),
    "uniform": (lambda: d.Uniform([0.0, -1.0], 2.0), st.uniform([0, -1], [2, 3]), [0.5, 1.9]),
    "gamma": (lambda: d.Gamma([2.0, 3.5], 2.0), st.gamma([2, 3.5], scale=0.5), [0.7, 1.1]),
    "exponential": (lambda: d.Exponential([0.5, 2.0]), st.expon(scale=[2, 0.5]), [0.1, 2.0]),
    "beta": (lambda: d.Beta([2.0, 3.0], [4.0, 1.5]), st.beta([2, 3], [4, 1.5]), [0.2, 0.8]),
    "student": (lambda: d.StudentT(5.0, [1.0, 2.0], 2.0), st.t(5, [1, 2], 2), [0.0, 3.0]),
}


def evaluated(build):
    """What a function builds, by both ways of running."""
    with tf.Graph().as_default(), tf.Session() as session:
        by_graph = session.run(build())
    with testing.eager_mode():
        at_once = {key: np.asarray(value) for key, value in build().items()}
    for key, value in by_graph.items():
        np.testing.assert_allclose(at_once[key], value, rtol=1e-5, err_msg=key)
    return by_graph


@pytest.mark.parametrize("name", SCALARS)
def test_numbers_are_scipys(name):
    make, theirs, values = SCALARS[name]
    ours = evaluated(
        lambda: {
            "log_prob": make().log_prob(values),
            "prob": make().prob(values),
            "cdf": make().cdf(values),
            "log_cdf": make().log_cdf(values),
            "sf": make().survival_function(values),
            "log_sf": make().log_survival_function(values),
            "mean": make().mean(),
            "variance": make().variance(),
            "stddev": make().stddev(),
            "entropy": make().entropy(),
        }
    )
    x = np.array(values)
    wanted = {
        "log_prob": theirs.logpdf(x),
        "prob": theirs.pdf(x),
        "cdf": theirs.cdf(x),
        "log_cdf": theirs.logcdf(x),
        "sf": theirs.sf(x),
        "log_sf": theirs.logsf(x),
        "mean": theirs.mean(),
        "variance": theirs.var(),
        "stddev": theirs.std(),
        "entropy": theirs.entropy(),
    }
    for key, value in wanted.items():
        np.testing.assert_allclose(
            ours[key], np.broadcast_to(value, ours[key].shape), rtol=3e-4, err_msg=key
        )


def test_quantiles_and_tails_of_the_normal():
    with tf.Graph().as_default(), tf.Session() as session:
        for dtype, tolerance in ((np.float32, 1e-5), (np.float64, 1e-12)):
            normal = d.Normal(dtype(1.0), dtype(2.0))
            p = np.array([1e-30, 1e-5, 0.1, 0.5, 0.8, 0.999], dtype)
            x = np.array([-70.0, -15.0, -3.0, 0.0, 2.0, 12.0], dtype)
            quantile, log_cdf = session.run([normal.quantile(p), normal.log_cdf(x)])
            np.testing.assert_allclose(quantile, st.norm(1, 2).ppf(p), rtol=tolerance * 10)
            # The series stops after three terms.
            np.testing.assert_allclose(log_cdf, st.norm(1, 2).logcdf(x), rtol=2e-4)
            edges = session.run(normal.quantile(np.array([0, 1], dtype)))
            np.testing.assert_array_equal(edges, [-np.inf, np.inf])


def test_vectors_are_scipys():
    concentration, counts = [2.0, 3.0, 1.5], [1.0, 3.0, 2.0]
    probs, x = [0.2, 0.5, 0.3], [0.2, 0.3, 0.5]
    ours = evaluated(
        lambda: {
            "dirichlet": d.Dirichlet(concentration).log_prob(x),
            "dirichlet entropy": d.Dirichlet(concentration).entropy(),
            "dirichlet covariance": d.Dirichlet(concentration).covariance(),
            "multinomial": d.Multinomial(6.0, probs=probs).log_prob(counts),
            "multinomial covariance": d.Multinomial(6.0, probs=probs).covariance(),
            "mixed": d.DirichletMultinomial(6.0, concentration).log_prob(counts),
            "mixed variance": d.DirichletMultinomial(6.0, concentration).variance(),
            "categorical": d.Categorical(probs=probs).log_prob([0, 2]),
            "categorical entropy": d.Categorical(probs=probs).entropy(),
            "coin": d.Bernoulli(probs=0.3).log_prob([0, 1]),
            "coin variance": d.Bernoulli(probs=0.3).variance(),
        }
    )
    dirichlet, multinomial = st.dirichlet(concentration), st.multinomial(6, probs)
    mixed = st.dirichlet_multinomial(concentration, 6)
    wanted = {
        "dirichlet": dirichlet.logpdf(x),
        "dirichlet entropy": dirichlet.entropy(),
        "dirichlet covariance": dirichlet.cov(),
        "multinomial": multinomial.logpmf(counts),
        "multinomial covariance": multinomial.cov(),
        "mixed": mixed.logpmf([1, 3, 2]),
        "mixed variance": mixed.var(),
        "categorical": np.log([0.2, 0.3]),
        "categorical entropy": st.entropy(probs),
        "coin": np.log([0.7, 0.3]),
        "coin variance": 0.21,
    }
    for key, value in wanted.items():
        np.testing.assert_allclose(ours[key], value, rtol=1e-4, err_msg=key)


# What TensorFlow 1.15.5 draws: two samples each, with graph seed 3 and seed 5.
DRAWN = {
    "normal": [[0.4326303, 2.37304], [0.01593488, 0.6841923]],
    "laplace": [[0.8855062, 2.577808], [-1.353157, 2.11433]],
    "uniform": [[0.3976692, 1.685136], [0.004518986, 1.2044]],
    "gamma": [[0.7825868, 3.305022], [0.4133296, 3.306837]],
    "exponential": [[1.84427, 0.08565036], [10.79893, 0.2535827]],
    "beta": [[0.5977856, 0.6826032], [0.1337629, 0.5209199]],
    "student": [[-1.140612, 1.590921], [-1.698405, -1.022203]],
    "bernoulli": [[1, 0], [1, 0]],
    "categorical": [0, 0],
    "dirichlet": [[0.0110186, 0.9889814], [0.1180527, 0.8819473]],
    "multinomial": [[2.0, 3.0], [3.0, 2.0]],
    "mixed": [[1.0, 4.0], [1.0, 4.0]],
}
DRAWN_FROM = {
    "normal": lambda: d.Normal([1.0, 2.0], 0.5),
    "laplace": lambda: d.Laplace([1.0, 2.0], 0.5),
    "uniform": lambda: d.Uniform(0.0, [1.0, 2.0]),
    "gamma": lambda: d.Gamma([0.5, 2.0], 1.0),
    "exponential": lambda: d.Exponential([0.5, 2.0]),
    "beta": lambda: d.Beta([0.5, 2.0], 1.5),
    "student": lambda: d.StudentT(3.0, [0.0, 1.0], 1.0),
    "bernoulli": lambda: d.Bernoulli(probs=[0.4, 0.6]),
    "categorical": lambda: d.Categorical(probs=[0.2, 0.3, 0.5]),
    "dirichlet": lambda: d.Dirichlet([1.0, 2.0]),
    "multinomial": lambda: d.Multinomial(5.0, probs=[0.4, 0.6]),
    "mixed": lambda: d.DirichletMultinomial(5.0, [1.0, 2.0]),
}


@pytest.mark.parametrize("name", DRAWN)
def test_samples_are_tensorflows(name):
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(3)
        drawn = session.run(DRAWN_FROM[name]().sample(2, seed=5))
        np.testing.assert_allclose(drawn, DRAWN[name], rtol=1e-5)


PAIRS = {
    "normal": lambda: (d.Normal(0.5, 1.5), d.Normal(1.0, 2.0)),
    "gamma": lambda: (d.Gamma(2.0, 1.0), d.Gamma(3.0, 2.0)),
    "beta": lambda: (d.Beta(2.0, 3.0), d.Beta(4.0, 1.5)),
    "bernoulli": lambda: (d.Bernoulli(probs=0.3), d.Bernoulli(probs=0.6)),
    "categorical": lambda: (d.Categorical(probs=[0.3, 0.7]), d.Categorical(probs=[0.6, 0.4])),
    "dirichlet": lambda: (d.Dirichlet([2.0, 3.0, 4.0]), d.Dirichlet([3.0, 1.0, 2.0])),
}


@pytest.mark.parametrize("name", PAIRS)
def test_divergence_is_what_samples_show(name):
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(1)
        a, b = PAIRS[name]()
        x = a.sample(40000, seed=2)
        shown = tf.reduce_mean(a.log_prob(x) - b.log_prob(x))
        divergence, cross, entropy, shown = session.run(
            [d.kl_divergence(a, b), a.cross_entropy(b), a.entropy(), shown]
        )
    np.testing.assert_allclose(divergence, shown, atol=0.03)
    np.testing.assert_allclose(cross, entropy + divergence, rtol=1e-5)


def test_divergence_by_the_nearest_classes():
    class Mine(d.Normal):
        pass

    class Other(d.Distribution):
        pass

    with tf.Graph().as_default():
        mine = Mine(0.0, 1.0)
        assert d.kl_divergence(mine, d.Normal(0.0, 1.0)).shape == []

        @d.RegisterKL(Mine, d.Normal)
        def own(a, b, name=None):
            return "own"

        assert d.kl_divergence(mine, d.Normal(0.0, 1.0)) == "own"
        with pytest.raises(ValueError, match="already been registered"):
            d.RegisterKL(Mine, d.Normal)(own)
        with pytest.raises(TypeError, match="callable"):
            d.RegisterKL(Mine, Mine)("not")
        with pytest.raises(NotImplementedError, match="No KL"):
            d.kl_divergence(mine, d.Uniform())


def test_shapes_names_and_copies():
    with tf.Graph().as_default() as graph:
        rows = tf.placeholder(tf.float32, [None, 1])
        normal = d.Normal(rows, tf.ones([3]), name="mine")
        assert normal.batch_shape.as_list() == [None, 3]
        assert normal.sample([2, 4]).shape.as_list() == [2, 4, None, 3]
        assert normal.sample(5).op.name.startswith("mine")
        assert normal.name == "mine/"
        assert normal.log_prob(0.0).op.name.startswith("mine")
        assert repr(normal) == (
            "<tfp.distributions.Normal 'mine/' batch_shape=(?, 3) event_shape=() dtype=float32>"
        )
        again = normal.copy(loc=0.0)
        assert again.parameters["loc"] == 0.0 and again.batch_shape.as_list() == [3]
        multinomial = d.Multinomial(4.0, logits=tf.zeros([2, 5]))
        assert multinomial.sample(7).shape.as_list() == [7, 2, 5]
        assert multinomial.event_shape.as_list() == [5]
        assert d.Normal.param_static_shapes([2, 3]) == {"loc": [2, 3], "scale": [2, 3]}
        shape = tf.placeholder(tf.int32, [None])
        drawn = d.Normal([0.0, 1.0], 1.0).sample(shape)
        with tf.Session(graph=graph) as session:
            assert session.run(drawn, {shape: [3, 1]}).shape == (3, 1, 2)
            assert session.run(normal.is_scalar_batch()) == np.False_
            assert session.run(normal.is_scalar_event()) == np.True_


def test_gradients_flow_through_samples():
    with tf.Graph().as_default(), tf.Session() as session:
        loc, scale = tf.constant(0.5), tf.constant(2.0)
        normal = d.Normal(loc, scale)
        assert normal.reparameterization_type == d.FULLY_REPARAMETERIZED
        x = normal.sample(seed=3)
        value, grads = session.run([x, tf.gradients(x, [loc, scale])])
        np.testing.assert_allclose(grads, [1.0, (value - 0.5) / 2.0], rtol=1e-5)
        probs = tf.constant([0.3, 0.7])
        categorical = d.Categorical(probs=probs)
        assert categorical.reparameterization_type == d.NOT_REPARAMETERIZED
        (grad,) = session.run(tf.gradients(categorical.log_prob(1), probs))
        np.testing.assert_allclose(grad, [-1.0, 1 / 0.7 - 1.0], rtol=1e-5)


def test_bad_arguments():
    with tf.Graph().as_default(), tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="x > 0"):
            session.run(d.Normal(0.0, tf.placeholder_with_default(-1.0, []), True).mean())
        with pytest.raises(ValueError, match="Must pass probs or logits"):
            d.Bernoulli()
        with pytest.raises(ValueError, match="at least 2 events"):
            d.Categorical(logits=[1.0], validate_args=True)
        with pytest.raises(ValueError, match="float"):
            d.Normal(1, 2)
        with pytest.raises(NotImplementedError, match="cdf is not implemented: Multinomial"):
            d.Multinomial(2.0, probs=[0.5, 0.5]).cdf([1.0, 1.0])
        beta = d.Beta(tf.placeholder_with_default(0.5, []), 2.0, allow_nan_stats=False)
        with pytest.raises(tf.errors.InvalidArgumentError, match="Mode undefined"):
            session.run(beta.mode())
        assert np.isnan(session.run(d.Beta(0.5, 2.0).mode()))
        counts = tf.placeholder_with_default([1.0, 2.0], [2])
        multinomial = d.Multinomial(4.0, probs=[0.5, 0.5], validate_args=True)
        with pytest.raises(tf.errors.InvalidArgumentError, match="must sum to"):
            session.run(multinomial.prob(counts))


def test_a_program_may_derive_its_own():
    class Ramp(d.Distribution):
        """Density 2x on [0, 1], of which only the distribution function is given."""

        def __init__(self):
            super().__init__(tf.float32, d.FULLY_REPARAMETERIZED, False, True)

        def _cdf(self, x):
            return x * x

        def _variance(self):
            return tf.constant(1 / 18)

    with tf.Graph().as_default(), tf.Session() as session:
        ramp = Ramp()
        found = session.run([ramp.log_cdf(0.5), ramp.survival_function(0.5), ramp.stddev()])
        np.testing.assert_allclose(found, [np.log(0.25), 0.75, 18**-0.5], rtol=1e-6)
        with pytest.raises(NotImplementedError, match="log_prob is not implemented: Ramp"):
            ramp.log_prob(0.5)
