"""What all distributions are: parameters, shapes, and functions that a class has or derives from others."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import weft as tf
from weft.distributions import divergence
from weft.framework.constant_value import constant_value
from weft.framework.export import export, export_all
from weft.framework.tensor import Tensor


@export("distributions.ReparameterizationType", "contrib.distributions.ReparameterizationType")
class ReparameterizationType:
    """How samples depend on parameters. Each instance is only equal to itself."""

    def __init__(self, rep_type: str):
        self._rep_type = rep_type

    def __repr__(self) -> str:
        return f"<Reparameteriation Type: {self._rep_type}>"

    def __eq__(self, other: Any) -> bool:
        return self is other

    __hash__ = object.__hash__


FULLY_REPARAMETERIZED = ReparameterizationType("FULLY_REPARAMETERIZED")
NOT_REPARAMETERIZED = ReparameterizationType("NOT_REPARAMETERIZED")
for _space in ("distributions", "contrib.distributions"):
    export_all(
        _space,
        FULLY_REPARAMETERIZED=FULLY_REPARAMETERIZED,
        NOT_REPARAMETERIZED=NOT_REPARAMETERIZED,
    )


def parameters_of(local_names: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a constructor, of its `locals()` before anything else is in them."""
    return {k: v for k, v in local_names.items() if not k.startswith("__") and k != "self"}


@export("distributions.Distribution", "contrib.distributions.Distribution")
class Distribution:
    """A batch of distributions of one kind.

    A sample has the shape `sample_shape + batch_shape + event_shape`: an event is one draw (of a vector, say),
    the batch follows from the parameters' shapes. A subclass implements functions under their names with an
    underscore (`_log_prob(value)`, `_sample_n(n, seed)`, `_batch_shape()`, ...); `prob` and `log_prob`, `cdf` and
    `log_cdf`, `stddev` and `variance` follow from each other.

    With `validate_args` parameters and arguments are checked; where a statistic is not defined it is NaN, or
    an error if `allow_nan_stats` is False.
    """

    def __init__(
        self,
        dtype: Any,
        reparameterization_type: ReparameterizationType,
        validate_args: bool,
        allow_nan_stats: bool,
        parameters: dict[str, Any] | None = None,
        graph_parents: list[Any] | None = None,
        name: str | None = None,
    ):
        graph_parents = [] if graph_parents is None else graph_parents
        for i, parent in enumerate(graph_parents):
            if parent is None or not tf.is_tensor(parent):
                raise ValueError(f"Graph parent item {i} is not a Tensor; {parent}.")
        if not name or name[-1] != "/":  # not the name of a scope yet
            with tf.name_scope(name or type(self).__name__) as name:
                pass
        self._dtype = dtype
        self._reparameterization_type = reparameterization_type
        self._allow_nan_stats = allow_nan_stats
        self._validate_args = validate_args
        self._parameters = parameters or {}
        self._graph_parents = graph_parents
        self._name = name

    @property
    def name(self) -> str:
        """The name scope of the operations that it creates."""
        return self._name

    @property
    def dtype(self) -> Any:
        """The dtype of samples."""
        return self._dtype

    @property
    def parameters(self) -> dict[str, Any]:
        """The arguments that it was made of."""
        return parameters_of(self._parameters)

    @property
    def reparameterization_type(self) -> ReparameterizationType:
        """Whether gradients flow through samples to the parameters."""
        return self._reparameterization_type

    @property
    def allow_nan_stats(self) -> bool:
        """Whether statistics that are not defined are NaN rather than errors."""
        return self._allow_nan_stats

    @property
    def validate_args(self) -> bool:
        """Whether parameters and arguments are checked."""
        return self._validate_args

    def copy(self, **override_parameters_kwargs: Any) -> Any:
        """Another one of the same parameters but for those given."""
        return type(self)(**{**self.parameters, **override_parameters_kwargs})

    def __str__(self) -> str:
        shapes = [
            f", {which}_shape={shape}"
            for which, shape in (("batch", self.batch_shape), ("event", self.event_shape))
            if shape.ndims is not None
        ]
        kind = type(self).__name__
        dtype = tf.as_dtype(self.dtype).name
        return f'tfp.distributions.{kind}("{self.name}"{"".join(shapes)}, dtype={dtype})'

    def __repr__(self) -> str:
        return (
            f"<tfp.distributions.{type(self).__name__} '{self.name}' batch_shape={self.batch_shape} "
            f"event_shape={self.event_shape} dtype={tf.as_dtype(self.dtype).name}>"
        )

    @contextlib.contextmanager
    def _name_scope(self, name: str | None = None, values: list[Any] | None = None) -> Iterator:
        with tf.name_scope(self.name):
            with tf.name_scope(name, values=(values or []) + self._graph_parents) as scope:
                yield scope

    # -- shapes ------------------------------------------------------------------------------------------

    @classmethod
    def param_shapes(cls, sample_shape: Any, name: str = "DistributionParamShapes") -> dict:
        """The shapes that parameters must have for samples of this shape, as tensors by name."""
        with tf.name_scope(name, values=[sample_shape]):
            return cls._param_shapes(sample_shape)

    @classmethod
    def param_static_shapes(cls, sample_shape: Any) -> dict:
        """As `param_shapes`, as TensorShapes."""
        if isinstance(sample_shape, tf.TensorShape):
            if not sample_shape.is_fully_defined():
                raise ValueError("TensorShape sample_shape must be fully defined")
            sample_shape = sample_shape.as_list()
        found = {}
        for name, shape in cls.param_shapes(sample_shape).items():
            known = constant_value(shape)
            if known is None:
                raise ValueError("sample_shape must be a fully-defined TensorShape or list/tuple")
            found[name] = tf.TensorShape(known)
        return found

    _shaped_as_samples: tuple[str, ...] = ()  # the parameters that have the shape of samples

    @classmethod
    def _param_shapes(cls, sample_shape: Any) -> dict:
        if not cls._shaped_as_samples:
            raise NotImplementedError("_param_shapes not implemented")
        shape = tf.convert_to_tensor(sample_shape, dtype=tf.int32)
        return dict.fromkeys(cls._shaped_as_samples, shape)

    def _missing(self, what: str) -> NotImplementedError:
        return NotImplementedError(f"{what} is not implemented: {type(self).__name__}")

    def _batch_shape_tensor(self) -> Any:
        raise self._missing("batch_shape_tensor")

    def _batch_shape(self) -> Any:
        return tf.TensorShape(None)

    def _event_shape_tensor(self) -> Any:
        raise self._missing("event_shape_tensor")

    def _event_shape(self) -> Any:
        return tf.TensorShape(None)

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Any:
        """The shape of the batch, as a vector."""
        with self._name_scope(name):
            return _known_shape(self.batch_shape, "batch_shape", self._batch_shape_tensor)

    @property
    def batch_shape(self) -> Any:
        """The shape of the batch, as far as it is known."""
        return tf.TensorShape(self._batch_shape())

    def event_shape_tensor(self, name: str = "event_shape_tensor") -> Any:
        """The shape of one event, as a vector."""
        with self._name_scope(name):
            return _known_shape(self.event_shape, "event_shape", self._event_shape_tensor)

    @property
    def event_shape(self) -> Any:
        """The shape of one event, as far as it is known."""
        return tf.TensorShape(self._event_shape())

    def is_scalar_event(self, name: str = "is_scalar_event") -> Any:
        """Whether an event is a single number."""
        with self._name_scope(name):
            return _is_scalar(self.event_shape, self.event_shape_tensor, "is_scalar_event")

    def is_scalar_batch(self, name: str = "is_scalar_batch") -> Any:
        """Whether there is one distribution only."""
        with self._name_scope(name):
            return _is_scalar(self.batch_shape, self.batch_shape_tensor, "is_scalar_batch")

    # -- samples -----------------------------------------------------------------------------------------

    def _sample_n(self, n: Any, seed: Any = None) -> Any:
        raise self._missing("sample_n")

    def _call_sample_n(self, sample_shape: Any, seed: Any, name: str, **kwargs: Any) -> Any:
        with self._name_scope(name, values=[sample_shape]):
            sample_shape = tf.convert_to_tensor(sample_shape, dtype=tf.int32, name="sample_shape")
            sample_shape, n = self._expand_sample_shape_to_vector(sample_shape, "sample_shape")
            samples = self._sample_n(n, seed, **kwargs)
            final = tf.concat([sample_shape, tf.shape(samples)[1:]], 0)
            return self._set_sample_static_shape(tf.reshape(samples, final), sample_shape)

    def sample(self, sample_shape: Any = (), seed: Any = None, name: str = "sample") -> Any:
        """Samples of shape `sample_shape + batch_shape + event_shape`."""
        return self._call_sample_n(sample_shape, seed, name)

    def _expand_sample_shape_to_vector(self, x: Any, name: str) -> tuple[Any, Any]:
        """The shape as a vector, and how many samples that makes."""
        known = constant_value(x)
        n = tf.reduce_prod(x) if known is None else np.prod(known, dtype=np.int32)
        ndims = x.shape.ndims
        if ndims is None:
            x = tf.reshape(x, [-1])
        elif ndims == 0:
            x = (
                tf.reshape(x, [1])
                if known is None
                else tf.convert_to_tensor(known[None], name=name)
            )
        elif ndims != 1:
            raise ValueError("Input is neither scalar nor vector.")
        return x, n

    def _set_sample_static_shape(self, x: Any, sample_shape: Any) -> Any:
        """Tells the samples what is known of the three parts of their shape."""
        if tf.executing_eagerly():
            return x
        known = constant_value(sample_shape)
        parts = [tf.TensorShape(known), self.batch_shape, self.event_shape]
        if known is None and sample_shape.shape.is_fully_defined():
            parts[0] = tf.TensorShape([None] * sample_shape.shape.as_list()[0])
        unknown = [i for i, part in enumerate(parts) if part.ndims is None]
        ndims = x.shape.ndims
        if len(unknown) == 1 and ndims is not None:
            rest = ndims - sum(part.ndims for part in parts if part.ndims is not None)
            parts[unknown[0]] = tf.TensorShape([None] * rest)
            unknown = []
        if not unknown:
            x.set_shape(parts[0].concatenate(parts[1]).concatenate(parts[2]))
        elif ndims is not None:
            first, _, last = (0 if part.ndims is None else part.ndims for part in parts)
            middle = tf.TensorShape([None] * (ndims - first - last))
            ends = [tf.TensorShape([]) if p.ndims is None else p for p in (parts[0], parts[2])]
            x.set_shape(ends[0].concatenate(middle).concatenate(ends[1]))
        return x

    # -- functions of values ------------------------------------------------------------------------------

    def _log_prob(self, value: Any) -> Any:
        raise self._missing("log_prob")

    def _prob(self, value: Any) -> Any:
        raise self._missing("prob")

    def _log_cdf(self, value: Any) -> Any:
        raise self._missing("log_cdf")

    def _cdf(self, value: Any) -> Any:
        raise self._missing("cdf")

    def _log_survival_function(self, value: Any) -> Any:
        raise self._missing("log_survival_function")

    def _survival_function(self, value: Any) -> Any:
        raise self._missing("survival_function")

    def _quantile(self, value: Any) -> Any:
        raise self._missing("quantile")

    def _of_value(
        self, own: Callable, value: Any, name: str, other: Callable | None, **kwargs: Any
    ) -> Any:
        """What the class says of a value itself, or else what follows from `other`."""
        with self._name_scope(name, values=[value]):
            value = _as_value(value, self.dtype)
            return _or_else(
                lambda: own(value, **kwargs), other and (lambda: other(value, **kwargs))
            )

    def _call_log_prob(self, value: Any, name: str, **kwargs: Any) -> Any:
        other = lambda x, **kw: tf.log(self._prob(x, **kw))  # noqa: E731
        return self._of_value(self._log_prob, value, name, other, **kwargs)

    def _call_prob(self, value: Any, name: str, **kwargs: Any) -> Any:
        other = lambda x, **kw: tf.exp(self._log_prob(x, **kw))  # noqa: E731
        return self._of_value(self._prob, value, name, other, **kwargs)

    def _call_log_cdf(self, value: Any, name: str, **kwargs: Any) -> Any:
        other = lambda x, **kw: tf.log(self._cdf(x, **kw))  # noqa: E731
        return self._of_value(self._log_cdf, value, name, other, **kwargs)

    def _call_cdf(self, value: Any, name: str, **kwargs: Any) -> Any:
        other = lambda x, **kw: tf.exp(self._log_cdf(x, **kw))  # noqa: E731
        return self._of_value(self._cdf, value, name, other, **kwargs)

    def _call_log_survival_function(self, value: Any, name: str, **kwargs: Any) -> Any:
        other = lambda x, **kw: tf.log1p(-self.cdf(x, **kw))  # noqa: E731
        return self._of_value(self._log_survival_function, value, name, other, **kwargs)

    def _call_survival_function(self, value: Any, name: str, **kwargs: Any) -> Any:
        other = lambda x, **kw: 1.0 - self.cdf(x, **kw)  # noqa: E731
        return self._of_value(self._survival_function, value, name, other, **kwargs)

    def _call_quantile(self, value: Any, name: str, **kwargs: Any) -> Any:
        return self._of_value(self._quantile, value, name, None, **kwargs)

    def log_prob(self, value: Any, name: str = "log_prob") -> Any:
        """The logarithm of the probability, or of the density, of a value."""
        return self._call_log_prob(value, name)

    def prob(self, value: Any, name: str = "prob") -> Any:
        """The probability, or the density, of a value."""
        return self._call_prob(value, name)

    def log_cdf(self, value: Any, name: str = "log_cdf") -> Any:
        """log P[X <= value]."""
        return self._call_log_cdf(value, name)

    def cdf(self, value: Any, name: str = "cdf") -> Any:
        """P[X <= value]."""
        return self._call_cdf(value, name)

    def log_survival_function(self, value: Any, name: str = "log_survival_function") -> Any:
        """log P[X > value]."""
        return self._call_log_survival_function(value, name)

    def survival_function(self, value: Any, name: str = "survival_function") -> Any:
        """P[X > value]."""
        return self._call_survival_function(value, name)

    def quantile(self, value: Any, name: str = "quantile") -> Any:
        """The x for which P[X <= x] is `value`."""
        return self._call_quantile(value, name)

    # -- statistics -----------------------------------------------------------------------------------------

    def _entropy(self) -> Any:
        raise self._missing("entropy")

    def _mean(self) -> Any:
        raise self._missing("mean")

    def _variance(self) -> Any:
        raise self._missing("variance")

    def _stddev(self) -> Any:
        raise self._missing("stddev")

    def _covariance(self) -> Any:
        raise self._missing("covariance")

    def _mode(self) -> Any:
        raise self._missing("mode")

    def entropy(self, name: str = "entropy") -> Any:
        """Shannon's entropy in nats."""
        with self._name_scope(name):
            return self._entropy()

    def mean(self, name: str = "mean") -> Any:
        """The mean."""
        with self._name_scope(name):
            return self._mean()

    def variance(self, name: str = "variance") -> Any:
        """The variance."""
        with self._name_scope(name):
            return _or_else(self._variance, lambda: tf.square(self._stddev()))

    def stddev(self, name: str = "stddev") -> Any:
        """The standard deviation."""
        with self._name_scope(name):
            return _or_else(self._stddev, lambda: tf.sqrt(self._variance()))

    def covariance(self, name: str = "covariance") -> Any:
        """The covariance of the elements of an event."""
        with self._name_scope(name):
            return self._covariance()

    def mode(self, name: str = "mode") -> Any:
        """The most probable value."""
        with self._name_scope(name):
            return self._mode()

    def _cross_entropy(self, other: Any) -> Any:
        return divergence.cross_entropy(self, other, allow_nan_stats=self.allow_nan_stats)

    def cross_entropy(self, other: Any, name: str = "cross_entropy") -> Any:
        """The entropy of this one coded by the other."""
        with self._name_scope(name):
            return self._cross_entropy(other)

    def _kl_divergence(self, other: Any) -> Any:
        return divergence.kl_divergence(self, other, allow_nan_stats=self.allow_nan_stats)

    def kl_divergence(self, other: Any, name: str = "kl_divergence") -> Any:
        """The Kullback-Leibler divergence KL(self || other)."""
        with self._name_scope(name):
            return self._kl_divergence(other)


class ScalarDistribution(Distribution):
    """A distribution of single numbers, whose batch is that of its broadcast parameters."""

    def _batch_parameters(self) -> list[Any]:
        """The parameters that make the batch."""
        raise self._missing("batch_shape")

    def _batch_shape_tensor(self) -> Any:
        shapes = [tf.shape(p) for p in self._batch_parameters()]
        out = shapes[0]
        for shape in shapes[1:]:
            out = tf.broadcast_dynamic_shape(out, shape)
        return out

    def _batch_shape(self) -> Any:
        first, *others = (p.shape for p in self._batch_parameters())
        for shape in others:
            first = tf.broadcast_static_shape(first, shape)
        return first

    def _event_shape_tensor(self) -> Any:
        return tf.constant([], dtype=tf.int32)

    def _event_shape(self) -> Any:
        return tf.TensorShape([])

    def _sample_shape(self, n: Any) -> Any:
        """The shape of n samples."""
        return tf.concat([[n], self.batch_shape_tensor()], 0)


def parameter(name: str, doc: str) -> property:
    """A parameter that a constructor keeps under its name with an underscore."""
    return property(lambda self: getattr(self, "_" + name), doc=doc)


def _or_else(own: Callable, other: Callable | None) -> Any:
    """What `own` gives, or where that is not implemented `other`; if neither is, it is `own` that is missing."""
    try:
        return own()
    except NotImplementedError as missing:
        if other is None:
            raise
        try:
            return other()
        except NotImplementedError:
            raise missing from None


def _as_value(value: Any, dtype: Any) -> Any:
    preferred = None if dtype is None else tf.as_dtype(dtype)
    if isinstance(value, Tensor):
        return value
    if tf.executing_eagerly() and preferred is not None and not preferred.is_floating:
        converted = tf.convert_to_tensor(value, name="value")
        if converted.dtype.is_floating:  # rather than cut to integers
            return converted
    return tf.convert_to_tensor(value, name="value", preferred_dtype=preferred)


def _known_shape(shape: Any, name: str, dynamic: Callable) -> Any:
    if shape.is_fully_defined():
        return tf.convert_to_tensor(shape.as_list(), dtype=tf.int32, name=name)
    return dynamic()


def _is_scalar(shape: Any, dynamic: Callable, name: str) -> Any:
    if shape.ndims is not None:
        return tf.convert_to_tensor(shape.ndims == 0, name=name)
    return tf.equal(tf.shape(dynamic())[0], 0, name=name)
