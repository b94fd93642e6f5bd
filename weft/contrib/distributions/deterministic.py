"""Distributions that always give the same."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.distributions.arguments import with_checks
from weft.distributions.base import (
    NOT_REPARAMETERIZED,
    Distribution,
    ScalarDistribution,
    parameter,
    parameters_of,
)
from weft.framework.export import export

_SPACE = "contrib.distributions."


class _Fixed(Distribution):
    """All of the probability at `loc`, or within atol + rtol * |loc| of it."""

    def __init__(
        self,
        loc: Any,
        atol: Any,
        rtol: Any,
        validate_args: bool,
        allow_nan_stats: bool,
        parameters: dict[str, Any],
        name: str,
    ):
        with tf.name_scope(name, values=[loc, atol, rtol]) as name:
            self._loc = tf.convert_to_tensor(loc, name="loc")
            super().__init__(
                dtype=self._loc.dtype,
                reparameterization_type=NOT_REPARAMETERIZED,
                validate_args=validate_args,
                allow_nan_stats=allow_nan_stats,
                parameters=parameters,
                graph_parents=[self._loc],
                name=name,
            )
            self._atol, self._rtol = self._tolerance(atol), self._tolerance(rtol)
            self._slack = self._atol
            if rtol is not None:
                self._slack = self._atol + self._rtol * tf.abs(self._loc)

    loc = parameter("loc", "What it always gives.")
    atol = parameter("atol", "How near is near enough.")
    rtol = parameter("rtol", "How near, as a part of `loc`, is near enough.")

    def _tolerance(self, value: Any) -> Any:
        dtype = self._loc.dtype.base_dtype
        value = tf.convert_to_tensor(0 if value is None else value, dtype=dtype)
        if not self.validate_args:
            return value
        message = "Argument 'tol' must be non-negative"
        return with_checks([tf.assert_non_negative(value, message=message)], value)

    def _sample_n(self, n, seed=None):
        ones = tf.ones_like(tf.shape(self.loc))
        return tf.tile(self.loc[None, ...], tf.concat([[n], ones], 0))

    def _entropy(self):
        return tf.zeros(self.batch_shape_tensor(), dtype=self.dtype.base_dtype)

    def _mean(self):
        return tf.identity(self.loc)

    def _variance(self):
        return tf.zeros_like(self.loc)

    def _mode(self):
        return tf.identity(self.loc)

    def _is_near(self, x: Any) -> Any:
        return tf.abs(x - self.loc) <= self._slack


@export(_SPACE + "Deterministic")
class Deterministic(_Fixed, ScalarDistribution):
    """A number that is certain."""

    def __init__(
        self,
        loc: Any,
        atol: Any = None,
        rtol: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Deterministic",
    ):
        parameters = parameters_of(locals())
        super().__init__(loc, atol, rtol, validate_args, allow_nan_stats, parameters, name)

    def _batch_parameters(self):
        return [self.loc]

    def _prob(self, x):
        return tf.cast(self._is_near(x), self.dtype.base_dtype)

    def _cdf(self, x):
        return tf.cast(x >= self.loc - self._slack, self.dtype.base_dtype)


@export(_SPACE + "VectorDeterministic")
class VectorDeterministic(_Fixed):
    """A vector that is certain."""

    def __init__(
        self,
        loc: Any,
        atol: Any = None,
        rtol: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "VectorDeterministic",
    ):
        parameters = parameters_of(locals())
        loc = tf.convert_to_tensor(loc, name="loc")
        if loc.shape.ndims == 0:
            raise ValueError("Argument loc must be at least rank 1.")
        super().__init__(loc, atol, rtol, validate_args, allow_nan_stats, parameters, name)

    def _batch_shape_tensor(self):
        return tf.shape(self.loc)[:-1]

    def _batch_shape(self):
        shape = self.loc.shape
        return shape if shape.ndims is None else shape[:-1]

    def _event_shape_tensor(self):
        return tf.shape(self.loc)[-1:]

    def _event_shape(self):
        return self.loc.shape.with_rank_at_least(1)[-1:]

    def _prob(self, x):
        if self.validate_args:
            message = "Argument 'x' not defined in the same space R^k as this distribution"
            size = tf.assert_equal(tf.shape(self.loc)[-1], tf.shape(x)[-1], message=message)
            x = with_checks([tf.assert_rank_at_least(x, 1), size], x)
        return tf.cast(tf.reduce_all(self._is_near(x), axis=-1), self.dtype.base_dtype)
