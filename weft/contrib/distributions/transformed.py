"""A distribution that another one becomes by a bijector."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.contrib.distributions.bijectors.base import Bijector
from weft.contrib.distributions.bijectors.elementwise import Identity
from weft.distributions.base import Distribution, parameters_of
from weft.framework.constant_value import constant_value
from weft.framework.export import export


def _override(shape: Any, is_scalar: Any, what: str) -> Any:
    """A shape that takes the place of the base's, which must be a single one; None for no override."""
    if shape is None:
        return None
    shape = tf.convert_to_tensor(shape, dtype=tf.int32, name=f"{what}_shape")
    if shape.shape.ndims != 1 or not shape.shape.is_fully_defined():
        raise ValueError(f"The length of `{what}_shape` must be known.")
    if shape.shape.as_list()[0] == 0:
        return None
    known = constant_value(is_scalar) if tf.is_tensor(is_scalar) else is_scalar
    if known is not None and not known:
        raise ValueError(
            f"Base distribution must have a scalar {what} shape if `{what}_shape` is given."
        )
    return shape


@export("contrib.distributions.TransformedDistribution")
class TransformedDistribution(Distribution):
    """What comes out of `bijector` when samples of `distribution` go in.

    A base of single numbers can be given another batch or event shape: its samples are then independent.
    """

    def __init__(
        self,
        distribution: Distribution,
        bijector: Bijector | None = None,
        batch_shape: Any = None,
        event_shape: Any = None,
        validate_args: bool = False,
        name: str | None = None,
    ):
        parameters = parameters_of(locals())
        name = name or (("" if bijector is None else bijector.name) + distribution.name)
        bijector = Identity(validate_args) if bijector is None else bijector
        with tf.name_scope(name, values=[batch_shape, event_shape]) as name:
            self._new_batch = _override(batch_shape, distribution.is_scalar_batch(), "batch")
            self._new_event = _override(event_shape, distribution.is_scalar_event(), "event")
        self._distribution, self._bijector = distribution, bijector
        super().__init__(
            dtype=distribution.dtype,
            reparameterization_type=distribution.reparameterization_type,
            validate_args=validate_args,
            allow_nan_stats=distribution.allow_nan_stats,
            parameters=parameters,
            graph_parents=distribution._graph_parents + bijector.graph_parents,
            name=name,
        )

    @property
    def distribution(self) -> Any:
        """The base."""
        return self._distribution

    @property
    def bijector(self) -> Bijector:
        """What is applied to samples of the base."""
        return self._bijector

    # -- shapes ------------------------------------------------------------------------------------------

    def _batch_shape_tensor(self):
        if self._new_batch is not None:
            return tf.identity(self._new_batch)
        return self.distribution.batch_shape_tensor()

    def _batch_shape(self):
        if self._new_batch is not None:
            return _static(self._new_batch)
        return self.distribution.batch_shape

    def _event_shape_tensor(self):
        shape = self._new_event
        if shape is None:
            shape = self.distribution.event_shape_tensor()
        return self.bijector.forward_event_shape_tensor(shape)

    def _event_shape(self):
        shape = (
            self.distribution.event_shape if self._new_event is None else _static(self._new_event)
        )
        return self.bijector.forward_event_shape(shape)

    def _base_event_ndims(self) -> int:
        """The number of axes of what goes into the bijector."""
        if self._new_event is not None:
            return self._new_event.shape.as_list()[0]
        ndims = self.distribution.event_shape.ndims
        if ndims is None:
            raise ValueError("The rank of the base distribution's events must be known.")
        return ndims

    def _event_ndims(self) -> int:
        ndims = self.event_shape.ndims
        if ndims is None:
            raise ValueError("The rank of the bijector's outputs must be known.")
        return ndims

    def _is_rotated(self) -> bool:
        """Whether samples of the base have the new event's axes before those of its batch."""
        if self._new_event is None or self._new_batch is not None:
            return False
        return self.distribution.batch_shape.ndims != 0

    def _rotated(self, x: Any, by: int) -> Any:
        """With the last `by` axes first, or the first -by axes last."""
        axes = tf.range(tf.rank(x))
        return tf.transpose(x, tf.concat([axes[-by:], axes[:-by]], 0))

    # -- samples -----------------------------------------------------------------------------------------

    def _call_sample_n(self, sample_shape, seed, name, **kwargs):
        with self._name_scope(name, values=[sample_shape]):
            sample_shape = tf.convert_to_tensor(sample_shape, dtype=tf.int32, name="sample_shape")
            sample_shape, n = self._expand_sample_shape_to_vector(sample_shape, "sample_shape")
            x = self._sample_n(n, seed, **kwargs)
            x = tf.reshape(x, tf.concat([sample_shape, tf.shape(x)[1:]], 0))
            # Last, so that the bijector knows its outputs when they come back.
            return self._set_sample_static_shape(self.bijector.forward(x), sample_shape)

    def _sample_n(self, n, seed=None):
        new = [shape for shape in (self._new_batch, self._new_event) if shape is not None]
        if self._is_rotated():
            drawn = self.distribution.sample(tf.concat([*new, [n]], 0), seed=seed)
            return self._rotated(drawn, -self._base_event_ndims())
        return self.distribution.sample(tf.concat([[n], *new], 0), seed=seed)

    # -- functions of values ------------------------------------------------------------------------------

    def _base_of(self, which: str, reduce: Any, x: Any) -> Any:
        """A function of the base at inputs of the bijector, over new events."""
        ndims = self._base_event_ndims()
        if self._is_rotated():
            x = self._rotated(x, ndims)
            axes = list(range(ndims))
        else:
            axes = list(range(-ndims, 0))
        value = getattr(self.distribution, which)(x)
        return value if self._new_event is None else reduce(value, axis=axes)

    def _log_prob(self, y):
        x = self.bijector.inverse(y)
        jacobian = self.bijector.inverse_log_det_jacobian(y, event_ndims=self._event_ndims())
        value = self._base_of("log_prob", tf.reduce_sum, x)
        return value + tf.cast(jacobian, value.dtype.base_dtype)

    def _prob(self, y):
        x = self.bijector.inverse(y)
        jacobian = self.bijector.inverse_log_det_jacobian(y, event_ndims=self._event_ndims())
        value = self._base_of("prob", tf.reduce_prod, x)
        return value * tf.exp(tf.cast(jacobian, value.dtype.base_dtype))

    def _of_single(self, which: str, y: Any) -> Any:
        if self._new_event is not None:
            raise NotImplementedError(f"{which} is not implemented when overriding event_shape")
        return getattr(self.distribution, which)(self.bijector.inverse(y))

    def _log_cdf(self, y):
        return self._of_single("log_cdf", y)

    def _cdf(self, y):
        return self._of_single("cdf", y)

    def _log_survival_function(self, y):
        return self._of_single("log_survival_function", y)

    def _survival_function(self, y):
        return self._of_single("survival_function", y)

    def _quantile(self, value):
        if self._new_event is not None:
            raise NotImplementedError("quantile is not implemented when overriding event_shape")
        return self.bijector.forward(self.distribution.quantile(value))

    # -- statistics -----------------------------------------------------------------------------------------

    def _entropy(self):
        if not self.bijector.is_constant_jacobian:
            raise NotImplementedError("entropy is not implemented")
        entropy = self.distribution.entropy()
        if self._new_event is not None:
            entropy *= tf.cast(tf.reduce_prod(self._new_event), entropy.dtype.base_dtype)
        if self._new_batch is not None:
            entropy = tf.broadcast_to(entropy, self._new_batch)
        zeros = tf.zeros(
            tf.concat([self.batch_shape_tensor(), self.event_shape_tensor()], 0), self.dtype
        )
        jacobian = self.bijector.inverse_log_det_jacobian(zeros, event_ndims=self._event_ndims())
        return entropy - tf.cast(jacobian, entropy.dtype.base_dtype)

    def _mean(self):
        if not self.bijector.is_constant_jacobian:
            raise NotImplementedError("mean is not implemented for non-affine bijectors")
        x = self.distribution.mean()
        if self._new_batch is not None or self._new_event is not None:
            batch = self.batch_shape_tensor()
            if self._new_event is not None:
                x = tf.reshape(x, tf.concat([tf.shape(x), tf.ones_like(self._new_event)], 0))
                shape = tf.concat([batch, self._new_event], 0)
            else:
                shape = tf.concat([batch, self.distribution.event_shape_tensor()], 0)
            x = tf.broadcast_to(x, shape)
        return self.bijector.forward(x)


def _static(shape: Any) -> Any:
    known = constant_value(shape)
    if known is not None:
        return tf.TensorShape(known)
    return tf.TensorShape([None] * shape.shape.as_list()[0])
