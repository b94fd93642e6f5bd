"""Categories and coins made smooth, so that gradients flow through samples."""

from __future__ import annotations

from typing import Any

import numpy as np

import weft as tf
from weft.contrib.distributions.bijectors.elementwise import Exp, Sigmoid
from weft.contrib.distributions.one_hot import OverCategories
from weft.contrib.distributions.real import Logistic
from weft.contrib.distributions.transformed import TransformedDistribution
from weft.distributions.arguments import logits_and_probs, with_checks
from weft.distributions.base import FULLY_REPARAMETERIZED, parameter, parameters_of
from weft.framework.export import export

_SPACE = "contrib.distributions."


@export(_SPACE + "ExpRelaxedOneHotCategorical")
class ExpRelaxedOneHotCategorical(OverCategories):
    """The logarithm of what `RelaxedOneHotCategorical` gives."""

    def __init__(
        self,
        temperature: Any,
        logits: Any = None,
        probs: Any = None,
        dtype: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "ExpRelaxedOneHotCategorical",
    ):
        parameters = parameters_of(locals())
        with tf.name_scope(name, values=[logits, probs, temperature]) as name:
            self._logits, self._probs = logits_and_probs(
                logits, probs, multidimensional=True, validate_args=validate_args, name=name
            )
            dtype = self._logits.dtype.base_dtype if dtype is None else tf.as_dtype(dtype)
            temperature = tf.cast(tf.convert_to_tensor(temperature), dtype)
            if validate_args:
                temperature = with_checks([tf.assert_positive(temperature)], temperature)
            self._temperature = tf.identity(temperature, name="temperature")
        super().__init__(
            dtype=dtype,
            reparameterization_type=FULLY_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[self._logits, self._probs, self._temperature],
            name=name,
        )

    temperature = parameter(
        "temperature", "The nearer to 0 it is, the nearer to 0 and 1 are the elements."
    )

    def _rows(self, x: Any) -> Any:
        return tf.reshape(x, [-1, self.event_size])

    def _column(self) -> Any:
        """The temperature of each row."""
        return tf.reshape(self.temperature, [-1, 1])

    def _sample_n(self, n, seed=None):
        shape = tf.concat([[n], tf.shape(self.logits)], 0)
        rows = self._rows(self.logits * tf.ones(shape, dtype=self.dtype))
        tiny = np.finfo(self.dtype.as_numpy_dtype).tiny
        uniform = tf.random_uniform(
            tf.shape(rows), minval=tiny, maxval=1.0, dtype=self.dtype, seed=seed
        )
        gumbel = -tf.log(-tf.log(uniform))
        return tf.reshape(tf.nn.log_softmax((gumbel + rows) / self._column()), shape)

    def _log_prob(self, x):
        if self.validate_args:
            zero = tf.zeros([], self.dtype)
            checks = [
                tf.assert_non_positive(x),
                tf.assert_near(zero, tf.reduce_logsumexp(x, axis=[-1])),
            ]
            x = with_checks(checks, x)
        x, logits = self._alike(x)
        size = tf.cast(self.event_size, x.dtype.base_dtype)
        constant = tf.math.lgamma(size) + (size - 1.0) * tf.log(self.temperature)
        each = tf.nn.log_softmax(self._rows(logits) - self._rows(x) * self._column())
        total = tf.reshape(tf.reduce_sum(each, axis=-1), tf.shape(logits)[:-1])
        return constant + total


@export(_SPACE + "RelaxedOneHotCategorical")
class RelaxedOneHotCategorical(TransformedDistribution):
    """Vectors of positive numbers that sum to 1, near those of `OneHotCategorical` (Gumbel-softmax)."""

    def __init__(
        self,
        temperature: Any,
        logits: Any = None,
        probs: Any = None,
        dtype: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "RelaxedOneHotCategorical",
    ):
        parameters = parameters_of(locals())
        base = ExpRelaxedOneHotCategorical(
            temperature, logits, probs, dtype, validate_args, allow_nan_stats
        )
        super().__init__(base, Exp(), name=name)
        self._parameters = parameters

    @property
    def temperature(self) -> Any:
        """The nearer to 0 it is, the nearer to 0 and 1 are the elements."""
        return self.distribution.temperature

    @property
    def event_size(self) -> Any:
        """The number of categories, a tensor."""
        return self.distribution.event_size

    @property
    def logits(self) -> Any:
        """Logarithms of probabilities, up to a constant."""
        return self.distribution.logits

    @property
    def probs(self) -> Any:
        """The probability of each category."""
        return self.distribution.probs


@export(_SPACE + "RelaxedBernoulli")
class RelaxedBernoulli(TransformedDistribution):
    """Numbers in (0, 1), near those of `Bernoulli`."""

    def __init__(
        self,
        temperature: Any,
        logits: Any = None,
        probs: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "RelaxedBernoulli",
    ):
        parameters = parameters_of(locals())
        with tf.name_scope(name, values=[logits, probs, temperature]) as name:
            temperature = tf.convert_to_tensor(temperature, name="temperature")
            if validate_args:
                temperature = with_checks([tf.assert_positive(temperature)], temperature)
            self._temperature = temperature
            self._logits, self._probs = logits_and_probs(logits, probs, validate_args=validate_args)
            base = Logistic(
                self._logits / temperature,
                1.0 / temperature,
                validate_args=validate_args,
                allow_nan_stats=allow_nan_stats,
                name="Logistic",
            )
        super().__init__(base, Sigmoid(validate_args=validate_args), name=name)
        self._parameters = parameters

    temperature = parameter(
        "temperature", "The nearer to 0 it is, the nearer to 0 and 1 are samples."
    )
    logits = parameter("logits", "log(probs / (1 - probs)).")
    probs = parameter("probs", "The probability of 1.")
