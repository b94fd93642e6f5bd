"""Normal vectors."""

from __future__ import annotations

import math
from typing import Any

import weft as tf
from weft.contrib.distributions.linear_map import LinearMap, diagonal_map, lower_triangle
from weft.distributions.arguments import with_checks
from weft.distributions.base import FULLY_REPARAMETERIZED, Distribution, parameters_of
from weft.distributions.divergence import RegisterKL
from weft.framework.export import export

_SPACE = "contrib.distributions."


class MultivariateNormal(Distribution):
    """loc + scale @ z, where z are independent standard normal numbers."""

    def __init__(
        self,
        loc: Any,
        scale: LinearMap,
        validate_args: bool,
        allow_nan_stats: bool,
        parameters: dict[str, Any],
        name: str,
    ):
        with tf.name_scope(name, values=[loc, *scale.parts]):
            if not scale.dtype.is_floating:
                raise TypeError("`scale` parameter must have floating-point dtype.")
            self._loc = (
                None if loc is None else tf.convert_to_tensor(loc, name="loc", dtype=scale.dtype)
            )
            if validate_args:
                scale = _regular(scale)
        self._map = scale
        super().__init__(
            dtype=scale.dtype,
            reparameterization_type=FULLY_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[*([] if self._loc is None else [self._loc]), *scale.parts],
            name=name,
        )

    @property
    def loc(self) -> Any:
        """The mean; None stands for zeros."""
        return self._loc

    @property
    def scale(self) -> Any:
        """The linear operator whose outer product is the covariance."""
        return self._map.operator()

    def _batch_shape_tensor(self):
        shape = self._map.batch_shape_tensor()
        if self._loc is None:
            return shape
        return tf.broadcast_dynamic_shape(tf.shape(self._loc)[:-1], shape)

    def _batch_shape(self):
        shape = self._map.batch_shape()
        if self._loc is None:
            return shape
        loc = self._loc.shape
        return tf.broadcast_static_shape(loc if loc.ndims is None else loc[:-1], shape)

    def _event_shape_tensor(self):
        return self._map.size_tensor()[None]

    def _event_shape(self):
        return tf.TensorShape([self._map.size()])

    def _full_shape(self):
        return tf.concat([self.batch_shape_tensor(), self.event_shape_tensor()], 0)

    def _sample_n(self, n, seed=None):
        shape = tf.concat([[n], self._full_shape()], 0)
        drawn = self._map.apply(tf.random_normal(shape, dtype=self.dtype, seed=seed))
        return drawn if self._loc is None else drawn + self._loc

    def _log_prob(self, x):
        z = self._map.solve(x if self._loc is None else x - self._loc)
        size = tf.cast(self._map.size_tensor(), self.dtype)
        constant = 0.5 * math.log(2.0 * math.pi) * size
        return -0.5 * tf.reduce_sum(tf.square(z), axis=-1) - constant - self._map.log_abs_det()

    def _entropy(self):
        size = tf.cast(self._map.size_tensor(), self.dtype)
        entropy = 0.5 * math.log(2.0 * math.pi * math.e) * size + self._map.log_abs_det()
        return tf.broadcast_to(entropy, self.batch_shape_tensor())

    def _mean(self):
        zeros = tf.zeros(self._full_shape(), self.dtype)
        return zeros if self._loc is None else zeros + self._loc

    def _mode(self):
        return self._mean()

    def _variance(self):
        return self._map.outer_diagonal()

    def _covariance(self):
        return self._map.outer()


def _regular(scale: LinearMap) -> LinearMap:
    """The map, checked to have an inverse where that is easily seen."""
    message = "Singular operator: Diagonal contained zero values."

    def check(diagonal: Any) -> Any:
        zero = tf.zeros([], diagonal.dtype.base_dtype)
        return tf.assert_none_equal(diagonal, zero, message=message)

    if scale.matrix is None:
        return LinearMap(with_checks([check(scale.diagonal)], scale.diagonal))
    diagonal = tf.matrix_diag_part(scale.matrix)
    return LinearMap(
        matrix=with_checks([check(diagonal)], scale.matrix), is_triangular=scale.is_triangular
    )


@export(_SPACE + "MultivariateNormalDiag")
class MultivariateNormalDiag(MultivariateNormal):
    """Independent normal numbers, of standard deviations scale_diag + scale_identity_multiplier."""

    def __init__(
        self,
        loc: Any = None,
        scale_diag: Any = None,
        scale_identity_multiplier: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MultivariateNormalDiag",
    ):
        parameters = parameters_of(locals())
        with tf.name_scope(name, values=[loc, scale_diag, scale_identity_multiplier]) as name:
            scale = diagonal_map(loc, scale_diag, scale_identity_multiplier)
        super().__init__(loc, scale, validate_args, allow_nan_stats, parameters, name)


@export(_SPACE + "MultivariateNormalDiagWithSoftplusScale")
class MultivariateNormalDiagWithSoftplusScale(MultivariateNormalDiag):
    """`MultivariateNormalDiag` whose `scale_diag` is given before softplus."""

    def __init__(
        self,
        loc: Any,
        scale_diag: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MultivariateNormalDiagWithSoftplusScale",
    ):
        parameters = parameters_of(locals())
        with tf.name_scope(name, values=[scale_diag]) as name:
            super().__init__(
                loc,
                tf.nn.softplus(scale_diag),
                validate_args=validate_args,
                allow_nan_stats=allow_nan_stats,
                name=name,
            )
        self._parameters = parameters


@export(_SPACE + "MultivariateNormalTriL")
class MultivariateNormalTriL(MultivariateNormal):
    """Normal vectors whose covariance is scale_tril @ scale_tril^T."""

    def __init__(
        self,
        loc: Any = None,
        scale_tril: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MultivariateNormalTriL",
    ):
        parameters = parameters_of(locals())
        with tf.name_scope(name, values=[loc, scale_tril]) as name:
            if scale_tril is None:
                scale = diagonal_map(loc, None, None)
            else:
                scale = lower_triangle(tf.convert_to_tensor(scale_tril, name="scale_tril"))
        super().__init__(loc, scale, validate_args, allow_nan_stats, parameters, name)


@export(_SPACE + "MultivariateNormalFullCovariance")
class MultivariateNormalFullCovariance(MultivariateNormalTriL):
    """Normal vectors of a given covariance."""

    def __init__(
        self,
        loc: Any = None,
        covariance_matrix: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MultivariateNormalFullCovariance",
    ):
        parameters = parameters_of(locals())
        with tf.name_scope(name, values=[loc, covariance_matrix]) as name:
            scale_tril = None
            if covariance_matrix is not None:
                matrix = tf.convert_to_tensor(covariance_matrix, name="covariance_matrix")
                if validate_args:
                    message = "Matrix was not symmetric."
                    symmetric = tf.assert_equal(
                        matrix, tf.matrix_transpose(matrix), message=message
                    )
                    matrix = with_checks([symmetric], matrix)
                scale_tril = tf.linalg.cholesky(matrix)
            super().__init__(loc, scale_tril, validate_args, allow_nan_stats, name)
        self._parameters = parameters


@RegisterKL(MultivariateNormal, MultivariateNormal)
def _kl(a: Any, b: Any, name: str | None = None) -> Any:
    with tf.name_scope(name, "kl_mvn", values=[*a._map.parts, *b._map.parts]):
        if a._map.matrix is None and b._map.matrix is None:
            spread = tf.reduce_sum(tf.square(a._map.diagonal / b._map.diagonal), axis=-1)
        else:
            relative = b._map.solve_columns(a._map.dense())
            spread = tf.reduce_sum(tf.square(relative), axis=[-2, -1])
        distance = tf.reduce_sum(tf.square(b._map.solve(b.mean() - a.mean())), axis=-1)
        size = tf.cast(a._map.size_tensor(), a.dtype)
        volume = b._map.log_abs_det() - a._map.log_abs_det()
        return volume + 0.5 * (spread + distance - size)
