"""`tf.contrib.distributions` against SciPy's, and its bijectors against differences."""

import numpy as np
import pytest
import scipy.stats as st

import weft as tf
from weft import testing

d = tf.contrib.distributions
b = d.bijectors
COVARIANCE = [[2.0, 0.6], [0.6, 1.0]]
ROOT = np.linalg.cholesky(COVARIANCE).astype(np.float32)
F = np.float32


def mixed(x):
    return np.log(0.3 * st.norm(0, 1).pdf(x) + 0.7 * st.norm(3, 0.5).pdf(x))


# name: (ours, values, SciPy's logarithm of the probability there)
KINDS = {
    "logistic": (lambda: d.Logistic(1.0, 2.0), F(0.3), st.logistic(1, 2).logpdf(0.3)),
    "cauchy": (lambda: d.Cauchy(1.0, 2.0), F(0.3), st.cauchy(1, 2).logpdf(0.3)),
    "half normal": (lambda: d.HalfNormal(2.0), F(0.3), st.halfnorm(scale=2).logpdf(0.3)),
    "inverse gamma": (
        lambda: d.InverseGamma(3.5, 2.0),
        F(0.3),
        st.invgamma(3.5, scale=2).logpdf(0.3),
    ),
    "chi2": (lambda: d.Chi2(3.0), F(0.3), st.chi2(3).logpdf(0.3)),
    "poisson": (lambda: d.Poisson(3.0), F(4), st.poisson(3).logpmf(4)),
    "binomial": (lambda: d.Binomial(5.0, probs=0.3), F(4), st.binom(5, 0.3).logpmf(4)),
    "negative binomial": (
        lambda: d.NegativeBinomial(5.0, probs=0.3),
        F(4),
        st.nbinom(5, 0.7).logpmf(4),
    ),
    "geometric": (lambda: d.Geometric(probs=0.3), F(4), st.geom(0.3).logpmf(5)),
    "one hot": (lambda: d.OneHotCategorical(probs=[0.3, 0.7]), [0, 1], np.log(0.7)),
    "diagonal": (
        lambda: d.MultivariateNormalDiag([1.0, 2.0], [0.5, 2.0]),
        F([0.3, 1.0]),
        st.norm([1, 2], [0.5, 2]).logpdf([0.3, 1]).sum(),
    ),
    "covariance": (
        lambda: d.MultivariateNormalFullCovariance([1.0, 2.0], COVARIANCE),
        F([0.3, 1.0]),
        st.multivariate_normal([1, 2], COVARIANCE).logpdf([0.3, 1]),
    ),
    "triangle": (
        lambda: d.MultivariateNormalTriL([1.0, 2.0], ROOT),
        F([0.3, 1.0]),
        st.multivariate_normal([1, 2], COVARIANCE).logpdf([0.3, 1]),
    ),
    "mixture": (
        lambda: d.Mixture(
            d.Categorical(probs=[0.3, 0.7]), [d.Normal(0.0, 1.0), d.Normal(3.0, 0.5)]
        ),
        F(1.3),
        mixed(1.3),
    ),
    "mixture of a family": (
        lambda: d.MixtureSameFamily(
            d.Categorical(probs=[0.3, 0.7]), d.Normal([0.0, 3.0], [1.0, 0.5])
        ),
        F(1.3),
        mixed(1.3),
    ),
    "independent": (
        lambda: d.Independent(d.Normal([0.0, 3.0], [1.0, 0.5]), 1),
        F([0.3, 1.0]),
        st.norm([0, 3], [1, 0.5]).logpdf([0.3, 1]).sum(),
    ),
    "log normal": (
        lambda: d.TransformedDistribution(d.Normal(0.0, 1.0), b.Exp()),
        F(1.3),
        st.lognorm(1).logpdf(1.3),
    ),
    "affine": (
        lambda: d.TransformedDistribution(
            d.Normal(0.0, 1.0), b.Affine([1.0, 2.0], scale_tril=ROOT), event_shape=[2]
        ),
        F([0.3, 1.0]),
        st.multivariate_normal([1, 2], COVARIANCE).logpdf([0.3, 1]),
    ),
}


@pytest.mark.parametrize("name", KINDS)
def test_probabilities_are_scipys(name):
    make, value, wanted = KINDS[name]
    with tf.Graph().as_default(), tf.Session() as session:
        log_prob, prob = session.run([make().log_prob(value), make().prob(value)])
    np.testing.assert_allclose(log_prob, wanted, rtol=2e-4)
    np.testing.assert_allclose(prob, np.exp(wanted), rtol=2e-4)
    with testing.eager_mode():
        np.testing.assert_allclose(np.asarray(make().log_prob(value)), log_prob, rtol=1e-5)


# A Cauchy distribution has no mean; the others TensorFlow does not say the mean of, or does not sample.
WITHOUT = ("cauchy", "log normal", "binomial")


@pytest.mark.parametrize("name", [name for name in KINDS if name not in WITHOUT])
def test_samples_have_the_mean_and_the_spread(name):
    make = KINDS[name][0]
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(1)
        dist = make()
        drawn = dist.sample(20000, seed=2)
        shape = dist.batch_shape.concatenate(dist.event_shape).as_list()
        assert drawn.shape.as_list() == [20000, *shape]
        drawn, mean = session.run([drawn, dist.mean()])
        drawn = drawn.astype(np.float64)
        np.testing.assert_allclose(drawn.mean(0), mean, atol=5 * drawn.std(0).max() / 141)
        if name != "affine":
            deviation = session.run(dist.stddev())
            np.testing.assert_allclose(drawn.std(0), deviation, rtol=0.1)


BIJECTORS = {
    "identity": (b.Identity, [0.3, 2.0]),
    "exp": (b.Exp, [0.3, 2.0]),
    "power": (lambda: b.PowerTransform(0.5), [0.3, 2.0]),
    "sigmoid": (b.Sigmoid, [0.3, -2.0]),
    "softplus": (b.Softplus, [0.3, -2.0]),
    "softer plus": (lambda: b.Softplus(hinge_softness=0.5), [0.3, -2.0]),
    "softsign": (b.Softsign, [0.3, -2.0]),
    "square": (b.Square, [0.3, 2.0]),
    "gumbel": (lambda: b.Gumbel(0.5, 2.0), [0.3, 2.0]),
    "scalar": (lambda: b.AffineScalar(1.0, -2.0), [0.3, 2.0]),
    "inverse": (lambda: b.Invert(b.Exp()), [0.3, 2.0]),
    "chain": (lambda: b.Chain([b.Sigmoid(), b.AffineScalar(1.0, 2.0)]), [0.3, -0.4]),
    "vectors": (lambda: b.Chain([b.Exp(), b.Affine(scale_tril=ROOT)]), [0.3, 0.4]),
    "affine": (lambda: b.Affine([1.0, 2.0], 2.0, [1.0, 3.0]), [0.3, 2.0]),
    "multiple": (lambda: b.Affine([1.0, 2.0], 2.0), [0.3, 2.0]),
    "permutation": (lambda: b.Permute([1, 0]), [0.3, 2.0]),
    "inline": (
        lambda: b.Inline(
            tf.exp, tf.log, forward_log_det_jacobian_fn=lambda x: x, forward_min_event_ndims=0
        ),
        [0.3, 2.0],
    ),
}


@pytest.mark.parametrize("name", BIJECTORS)
def test_bijectors_are_what_differences_show(name):
    make, x = BIJECTORS[name]
    x, step = np.array(x, np.float32), 1e-2
    with tf.Graph().as_default(), tf.Session() as session:
        fed = tf.placeholder(tf.float32, [2])
        bijector = make()
        y = bijector.forward(fed)
        run = lambda at: session.run(y, {fed: at}).astype(np.float64)  # noqa: E731
        jacobian = [(run(x + h) - run(x - h)) / (2 * step) for h in step * np.eye(2, dtype="f")]
        forward = bijector.forward_log_det_jacobian(fed, event_ndims=1)
        # of another one, which has not seen the input
        back = make().inverse(y)
        backward = make().inverse_log_det_jacobian(y, event_ndims=1)
        again, forward, backward = session.run([back, forward, backward], {fed: x})
        np.testing.assert_allclose(again, x, rtol=1e-4)
        np.testing.assert_allclose(forward, np.linalg.slogdet(jacobian)[1], atol=2e-2)
        np.testing.assert_allclose(forward, -backward, atol=1e-4)
        assert bijector.inverse(y) is fed or name == "inverse"


def test_reshaping_and_centered_softmax():
    with tf.Graph().as_default(), tf.Session() as session:
        reshape = b.Reshape([-1, 2], [6])
        assert reshape.forward_event_shape([4, 6]).as_list() == [4, 3, 2]
        y = session.run(reshape.forward(np.arange(12.0).reshape(2, 6)))
        assert y.shape == (2, 3, 2)
        softmax = b.SoftmaxCentered()
        y = softmax.forward([[0.5, -1.0]])
        value, ahead, back = session.run(
            [y, softmax.forward_log_det_jacobian([[0.5, -1.0]], 1), b.SoftmaxCentered().inverse(y)]
        )
        np.testing.assert_allclose(value.sum(), 1.0, rtol=1e-6)
        np.testing.assert_allclose(ahead, np.log(value).sum(axis=-1), rtol=1e-5)
        np.testing.assert_allclose(back, [[0.5, -1.0]], rtol=1e-5)


def test_gradients_flow_through_relaxed_samples():
    with tf.Graph().as_default(), tf.Session() as session:
        logits = tf.constant([0.5, -0.3, 0.1])
        relaxed = d.RelaxedOneHotCategorical(0.5, logits=logits)
        drawn = relaxed.sample(4, seed=3)
        grad = tf.gradients(drawn[:, 0], logits)[0]
        value, log_prob, grad = session.run([drawn, relaxed.log_prob(drawn), grad])
        np.testing.assert_allclose(value.sum(-1), 1.0, rtol=1e-5)
        assert np.isfinite(log_prob).all() and (grad != 0).all()
        np.testing.assert_allclose(grad.sum(), 0.0, atol=1e-6)
        coin = d.RelaxedBernoulli(0.5, probs=[0.2, 0.8])
        assert ((coin_value := session.run(coin.sample(5))) > 0).all() and (coin_value < 1).all()


def test_divergences():
    with tf.Graph().as_default(), tf.Session() as session:
        first = d.MultivariateNormalTriL([1.0, 2.0], ROOT)
        second = d.MultivariateNormalDiag([0.0, 1.0], [1.5, 0.5])
        drawn = first.sample(50000, seed=4)
        shown = tf.reduce_mean(first.log_prob(drawn) - second.log_prob(drawn))
        divergence, shown = session.run([d.kl_divergence(first, second), shown])
        np.testing.assert_allclose(divergence, shown, rtol=0.02)
        apart = d.kl_divergence(
            d.Independent(d.Normal([0.0, 1.0], 1.0), 1), d.Independent(d.Normal([1.0, 3.0], 1.0), 1)
        )
        np.testing.assert_allclose(session.run(apart), 2.5, rtol=1e-5)


def test_batches_and_mixtures_of_vectors():
    with tf.Graph().as_default(), tf.Session() as session:
        weights = d.Categorical(probs=[[0.3, 0.7], [0.5, 0.5]])
        parts = [d.MultivariateNormalDiag(tf.ones([2, 3]) * m) for m in (0.0, 5.0)]
        for static in (False, True):
            mixture = d.Mixture(weights, parts, use_static_graph=static)
            assert mixture.batch_shape.as_list() == [2]
            drawn = session.run(mixture.sample(3000, seed=5))
            assert drawn.shape == (3000, 2, 3)
            # Elements of one vector come from one component.
            assert (np.abs(drawn.mean(-1)[..., None] - drawn) < 4.5).mean() > 0.999
            np.testing.assert_allclose(drawn.mean((0, 2)), [3.5, 2.5], atol=0.15)
        shifted = d.TransformedDistribution(
            d.Normal([0.0, 2.0, 3.0], 1.0),
            b.Affine([1.0, 2.0], scale_diag=[1.0, 3.0]),
            event_shape=[2],
        )
        assert shifted.sample(4).shape.as_list() == [4, 3, 2]
        wanted = st.norm([[1, 2], [3, 8], [4, 11]], [1, 3]).logpdf([0.3, 1]).sum(-1)
        np.testing.assert_allclose(
            session.run(shifted.log_prob([[0.3, 1.0]] * 3)), wanted, rtol=1e-5
        )
        with pytest.raises(ValueError, match="scalar event shape"):
            d.TransformedDistribution(parts[0], b.Exp(), event_shape=[2])


def test_wrong_components_and_temperatures():
    with tf.Graph().as_default(), tf.Session() as session:
        coin = d.Categorical(probs=[0.5, 0.5])
        with pytest.raises(ValueError, match=r"cat.num_classes != len\(components\): 2 vs. 1"):
            d.Mixture(coin, [d.Normal(0.0, 1.0)])
        with pytest.raises(TypeError, match="must be a Categorical"):
            d.Mixture(d.Normal(0.0, 1.0), [d.Normal(0.0, 1.0)])
        with pytest.raises(ValueError, match="does not equal"):
            d.MixtureSameFamily(coin, d.Normal([0.0, 1.0, 2.0], 1.0))
        cold = tf.placeholder_with_default(-1.0, [])
        relaxed = d.RelaxedOneHotCategorical(cold, probs=[0.5, 0.5], validate_args=True)
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(relaxed.sample())
        with pytest.raises(ValueError, match="Permutation"):
            b.Permute([0, 0])
        with pytest.raises(ValueError, match="event_ndims"):
            b.Affine(scale_diag=[1.0, 2.0]).forward_log_det_jacobian([1.0, 2.0], event_ndims=0)


def test_functions():
    with tf.Graph().as_default(), tf.Session() as session:
        x = np.array([1e-9, 0.1, 3.0, 50.0], np.float32)
        np.testing.assert_allclose(session.run(tf.nn.softplus(d.softplus_inverse(x))), x, rtol=1e-5)
        total, sign = session.run(
            d.reduce_weighted_logsumexp([[1.0, 2.0]], [[1.0, -2.0]], axis=1, return_sign=True)
        )
        exact = np.exp(1) - 2 * np.exp(2)
        np.testing.assert_allclose(total, [np.log(-exact)], rtol=1e-5)
        assert sign == [-1]
        three = session.run(d.tridiag([1.0], [2.0, 3.0], [4.0]))
        np.testing.assert_array_equal(three, [[2, 4], [1, 3]])
        matrix = session.run(d.matrix_diag_transform([[0.0, 2.0], [3.0, 0.0]], tf.exp))
        np.testing.assert_array_equal(matrix, [[1, 2], [3, 1]])


@pytest.mark.parametrize("interpolation", ["lower", "higher", "nearest"])
def test_percentiles_are_numpys(interpolation):
    x = np.random.default_rng(1).standard_normal((4, 5, 6)).astype(np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        for q in (0.0, 33.3, 47.0, 100.0):  # nowhere half-way between two
            kinds = {
                "all": d.percentile(x, q, interpolation=interpolation),
                "axes": d.percentile(x, q, axis=[0, -1], interpolation=interpolation),
                "kept": d.percentile(x, q, axis=1, interpolation=interpolation, keep_dims=True),
            }
            found = session.run(kinds)
            for kind, axis in (("all", None), ("axes", (0, 2)), ("kept", 1)):
                wanted = np.percentile(
                    x, q, axis=axis, method=interpolation, keepdims=kind == "kept"
                )
                np.testing.assert_allclose(found[kind], wanted, err_msg=kind)
        with pytest.raises(ValueError, match="interpolation"):
            d.percentile(x, 50.0, interpolation="linear")
        percent = tf.placeholder_with_default(np.float64(120.0), [])
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(d.percentile(x, percent, validate_args=True))


@pytest.mark.parametrize("upper", [False, True])
def test_triangles(upper):
    with tf.Graph().as_default(), tf.Session() as session:
        given = np.arange(1.0, 13.0).reshape(2, 6)
        fed = tf.placeholder(tf.float64, [2, None])
        for x in (tf.constant(given), fed):
            triangle = d.fill_triangular(x, upper)
            back = d.fill_triangular_inverse(triangle, upper)
            triangle, back = session.run([triangle, back], {fed: given})
            np.testing.assert_array_equal(back, given)
        wanted = [[1, 2, 3], [0, 5, 6], [0, 0, 4]] if upper else [[4, 0, 0], [6, 5, 0], [3, 2, 1]]
        np.testing.assert_array_equal(triangle[0], wanted)
        with pytest.raises(ValueError, match="triangular matrix"):
            d.fill_triangular([1.0, 2.0])
