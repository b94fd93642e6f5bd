"""Axes of a batch as axes of events."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.distributions.base import Distribution, parameters_of
from weft.distributions.divergence import RegisterKL, kl_divergence
from weft.framework.constant_value import constant_value
from weft.framework.export import export


@export("contrib.distributions.Independent")
class Independent(Distribution):
    """Independent events of the last axes of a batch as one event; all axes but the first unless told otherwise."""

    def __init__(
        self,
        distribution: Distribution,
        reinterpreted_batch_ndims: Any = None,
        validate_args: bool = False,
        name: str | None = None,
    ):
        parameters = parameters_of(locals())
        self._distribution = distribution
        ndims = distribution.batch_shape.ndims
        n = reinterpreted_batch_ndims
        if n is None:
            if ndims is None:
                raise ValueError(
                    "The rank of the batch must be known, or `reinterpreted_batch_ndims` be given."
                )
            n = max(0, ndims - 1)
        known = n if isinstance(n, int) else constant_value(tf.convert_to_tensor(n))
        if known is None:
            raise ValueError("`reinterpreted_batch_ndims` must be constant.")
        self._reinterpreted_batch_ndims = int(known)
        if ndims is not None and self._reinterpreted_batch_ndims > ndims:
            raise ValueError(
                f"reinterpreted_batch_ndims({self._reinterpreted_batch_ndims}) cannot exceed "
                f"distribution.batch_ndims({ndims})"
            )
        super().__init__(
            dtype=distribution.dtype,
            reparameterization_type=distribution.reparameterization_type,
            validate_args=validate_args,
            allow_nan_stats=distribution.allow_nan_stats,
            parameters=parameters,
            graph_parents=list(distribution._graph_parents),
            name=name or "Independent" + distribution.name,
        )

    @property
    def distribution(self) -> Distribution:
        """The one whose batch has these axes."""
        return self._distribution

    @property
    def reinterpreted_batch_ndims(self) -> int:
        """How many axes they are."""
        return self._reinterpreted_batch_ndims

    def _split(self, shape: Any) -> tuple[Any, Any]:
        """A batch's shape, as that of this batch and that of an event."""
        n = self._reinterpreted_batch_ndims
        if isinstance(shape, tf.TensorShape):
            return shape[: shape.ndims - n], shape[shape.ndims - n :]
        size = tf.size(shape) - n
        return shape[:size], shape[size:]

    def _batch_shape_tensor(self):
        return self._split(self.distribution.batch_shape_tensor())[0]

    def _batch_shape(self):
        shape = self.distribution.batch_shape
        return shape if shape.ndims is None else self._split(shape)[0]

    def _event_shape_tensor(self):
        of_batch = self._split(self.distribution.batch_shape_tensor())[1]
        return tf.concat([of_batch, self.distribution.event_shape_tensor()], 0)

    def _event_shape(self):
        shape = self.distribution.batch_shape
        if shape.ndims is None:
            return shape
        return self._split(shape)[1].concatenate(self.distribution.event_shape)

    def _sum(self, value: Any) -> Any:
        return tf.reduce_sum(value, axis=list(range(-self._reinterpreted_batch_ndims, 0)))

    def _sample_n(self, n, seed=None):
        return self.distribution.sample(n, seed=seed)

    def _log_prob(self, x):
        return self._sum(self.distribution.log_prob(x))

    def _entropy(self):
        return self._sum(self.distribution.entropy())

    def _mean(self):
        return self.distribution.mean()

    def _variance(self):
        return self.distribution.variance()

    def _stddev(self):
        return self.distribution.stddev()

    def _mode(self):
        return self.distribution.mode()


@RegisterKL(Independent, Independent)
def _kl(a: Any, b: Any, name: str | None = "kl_independent") -> Any:
    if a.event_shape.is_fully_defined() and b.event_shape.is_fully_defined():
        if a.event_shape != b.event_shape:
            raise ValueError("Event shapes do not match.")
        if a.distribution.event_shape != b.distribution.event_shape:
            raise NotImplementedError(
                "KL between Independents with different event shapes not supported."
            )
    return a._sum(kl_divergence(a.distribution, b.distribution, name=name))
