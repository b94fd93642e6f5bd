"""Mixtures: one of several distributions, by chance."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.distributions.arguments import another_seed, with_checks
from weft.distributions.base import NOT_REPARAMETERIZED, Distribution, parameters_of
from weft.distributions.categorical import Categorical
from weft.framework.constant_value import constant_value
from weft.framework.export import export

_SPACE = "contrib.distributions."


class _MixtureOf(Distribution):
    """A mixture, of which components come as an axis before those of events."""

    def _event_axis(self) -> int:
        """The axis of components in what is stacked, before those of an event."""
        ndims = self.event_shape.ndims
        if ndims is None:
            raise ValueError("The rank of the components' events must be known.")
        return -1 - ndims

    def _spread(self, weights: Any) -> Any:
        """Weights [..., components], with an axis of one for each of an event's."""
        for _ in range(-1 - self._event_axis()):
            weights = weights[..., None]
        return weights

    def _chosen(self, stacked: Any, choice: Any, count: Any) -> Any:
        """What the chosen components gave, of all that they gave."""
        mask = tf.one_hot(choice, depth=count, dtype=stacked.dtype.base_dtype)
        return tf.reduce_sum(stacked * self._spread(mask), axis=self._event_axis())

    def _averaged(self, stacked: Any, probs: Any) -> Any:
        return tf.reduce_sum(self._spread(probs) * stacked, axis=self._event_axis())

    def _total_variance(self, probs: Any, means: Any, variances: Any) -> Any:
        """The mean of the variances, and the variance of the means."""
        mean = tf.expand_dims(self._averaged(means, probs), self._event_axis())
        return self._averaged(variances + tf.squared_difference(means, mean), probs)


@export(_SPACE + "Mixture")
class Mixture(_MixtureOf):
    """One of a list of distributions, of the kinds that they like, chosen by a Categorical one."""

    def __init__(
        self,
        cat: Categorical,
        components: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        use_static_graph: bool = False,
        name: str = "Mixture",
    ):
        parameters = parameters_of(locals())
        if not isinstance(cat, Categorical):
            raise TypeError(f"cat must be a Categorical distribution, but saw: {cat}")
        if not components:
            raise ValueError("components must be a non-empty list or tuple")
        if not isinstance(components, (list, tuple)):
            raise TypeError(f"components must be a list or tuple, but saw: {components}")
        if not all(isinstance(c, Distribution) for c in components):
            raise TypeError(
                f"all entries in components must be Distribution instances but saw: {components}"
            )
        dtype = components[0].dtype
        if not all(c.dtype == dtype for c in components):
            seen = [(c.name, c.dtype) for c in components]
            raise TypeError(f"All components must have the same dtype, but saw dtypes: {seen}")
        event, batch = components[0].event_shape, cat.batch_shape
        for c in components:
            event, batch = event.merge_with(c.event_shape), batch.merge_with(c.batch_shape)
        if event.ndims is None:
            raise ValueError(
                "Expected to know rank(event_shape) from components, but none of the components provide "
                "a static number of ndims"
            )
        with tf.name_scope(name, values=[cat.logits]) as name:
            count = constant_value(cat.event_size)
            if count is None:
                raise ValueError(
                    "Could not infer number of classes from cat and unable to compare this value to the "
                    "number of components passed in."
                )
            if int(count) != len(components):
                raise ValueError(
                    f"cat.num_classes != len(components): {int(count)} vs. {len(components)}"
                )
            self._assertions = []
            if validate_args:
                shape = cat.batch_shape_tensor()
                self._assertions = [
                    tf.assert_equal(
                        shape,
                        c.batch_shape_tensor(),
                        message=f"components[{i}] batch shape must match cat batch shape",
                    )
                    for i, c in enumerate(components)
                ]
        self._cat, self._components = cat, list(components)
        self._static_event_shape, self._static_batch_shape = event, batch
        self._use_static_graph = use_static_graph
        super().__init__(
            dtype=dtype,
            reparameterization_type=NOT_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[p for d in (cat, *components) for p in d._graph_parents],
            name=name,
        )

    @property
    def cat(self) -> Categorical:
        """What chooses."""
        return self._cat

    @property
    def components(self) -> list[Distribution]:
        """What is chosen from."""
        return self._components

    @property
    def num_components(self) -> int:
        """How many there are."""
        return len(self._components)

    def _batch_shape_tensor(self):
        return self._cat.batch_shape_tensor()

    def _batch_shape(self):
        return self._static_batch_shape

    def _event_shape_tensor(self):
        return self._components[0].event_shape_tensor()

    def _event_shape(self):
        return self._static_event_shape

    def _stacked(self, which: str) -> Any:
        values = [getattr(c, which)() for c in self.components]
        return with_checks(self._assertions, tf.stack(values, axis=self._event_axis()))

    def _probs(self) -> Any:
        return tf.nn.softmax(self.cat.logits)

    def _mean(self):
        return self._averaged(self._stacked("mean"), self._probs())

    def _variance(self):
        return self._total_variance(self._probs(), self._stacked("mean"), self._stacked("variance"))

    def _log_of(self, which: str, x: Any) -> Any:
        values = [getattr(c, which)(x) for c in self.components]
        logs = tf.nn.log_softmax(self.cat.logits) + tf.stack(values, axis=-1)
        return tf.reduce_logsumexp(with_checks(self._assertions, logs), axis=-1)

    def _log_prob(self, x):
        return self._log_of("log_prob", x)

    def _log_cdf(self, x):
        return self._log_of("log_cdf", x)

    def _sample_n(self, n, seed=None):
        choice = with_checks(self._assertions, self.cat.sample(n, seed=seed))
        if self._use_static_graph:
            drawn = []
            for component in self.components:
                seed = another_seed(seed, "mixture")
                drawn.append(component.sample(n, seed=seed))
            stacked = tf.stack(drawn, self._event_axis())
            return self._chosen(stacked, choice, self.num_components)
        return self._stitched(n, choice, seed)

    def _stitched(self, n: Any, choice: Any, seed: Any) -> Any:
        """Of each component as many samples as it was chosen for, put in their places."""
        shape, batch = tf.shape(choice), self.batch_shape_tensor()
        event, size = self.event_shape_tensor(), tf.reduce_prod(batch)
        count = self.num_components
        places = tf.reshape(tf.range(tf.size(choice)), shape)
        members = tf.reshape(tf.tile(tf.range(size), [n]), shape)
        where = tf.dynamic_partition(places, choice, count)
        of_batch = tf.dynamic_partition(members, choice, count)
        drawn = []
        for i, component in enumerate(self.components):
            seed = another_seed(seed, "mixture")
            wanted = tf.size(where[i])
            all_ = component.sample(wanted, seed=seed)  # for the whole batch, of which one is taken
            rows = tf.reshape(all_, tf.concat([[wanted * size], event], 0))
            drawn.append(tf.gather(rows, size * tf.range(wanted) + of_batch[i]))
        flat = tf.dynamic_stitch(where, drawn)
        return tf.reshape(flat, tf.concat([shape, event], 0))

    def entropy_lower_bound(self, name: str = "entropy_lower_bound") -> Any:
        """The mean of the components' entropies, which that of the mixture is not less than."""
        with self._name_scope(name, values=[self.cat.logits]):
            entropies = tf.stack([c.entropy() for c in self.components], axis=-1)
            return tf.reduce_sum(self._probs() * entropies, axis=-1)


@export(_SPACE + "MixtureSameFamily")
class MixtureSameFamily(_MixtureOf):
    """One of the last axis of a batch of distributions."""

    def __init__(
        self,
        mixture_distribution: Categorical,
        components_distribution: Distribution,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MixtureSameFamily",
    ):
        parameters = parameters_of(locals())
        mixture, components = mixture_distribution, components_distribution
        with tf.name_scope(name) as name:
            if not mixture.dtype.is_integer:
                raise ValueError(
                    f"`mixture_distribution.dtype` ({mixture.dtype.name}) is not over integers"
                )
            if mixture.event_shape.ndims not in (None, 0):
                raise ValueError("`mixture_distribution` must have scalar `event_dim`s")
            checks = self._checks(mixture, components, validate_args)
        self._mixture_distribution, self._components_distribution = mixture, components
        self._assertions = checks
        super().__init__(
            dtype=components.dtype,
            reparameterization_type=NOT_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=mixture._graph_parents + components._graph_parents,
            name=name,
        )

    @staticmethod
    def _checks(mixture: Any, components: Any, validate_args: bool) -> list[Any]:
        """Requires batches that fit; gives what can be checked only in a step."""
        checks = []
        outer = mixture.batch_shape
        inner = components.batch_shape.with_rank_at_least(1)[:-1]
        if outer.is_fully_defined() and inner.is_fully_defined():
            if outer.ndims and outer != inner:
                raise ValueError(
                    f"`mixture_distribution.batch_shape` (`{outer.as_list()}`) is not compatible with "
                    f"`components_distribution.batch_shape` (`{inner.as_list()}`)"
                )
        elif validate_args and outer.ndims != 0:
            message = (
                "`mixture_distribution.batch_shape` is not compatible with "
                "`components_distribution.batch_shape`"
            )
            shapes = mixture.batch_shape_tensor(), components.batch_shape_tensor()[:-1]
            checks.append(tf.assert_equal(*shapes, message=message))
        ours, theirs = mixture.logits.shape, components.batch_shape
        km = None if ours.ndims is None else ours.as_list()[-1]
        kc = None if theirs.ndims is None else theirs.as_list()[-1]
        what = "`mixture_distribution components`{} does not equal `components_distribution.batch_shape[-1]`{}"
        if km is not None and kc is not None:
            if km != kc:
                raise ValueError(what.format(f" ({km})", f" ({kc})"))
        elif validate_args:
            sizes = tf.shape(mixture.logits)[-1], components.batch_shape_tensor()[-1]
            checks.append(tf.assert_equal(*sizes, message=what.format("", "")))
        return checks

    @property
    def mixture_distribution(self) -> Categorical:
        """What chooses."""
        return self._mixture_distribution

    @property
    def components_distribution(self) -> Distribution:
        """What is chosen from."""
        return self._components_distribution

    def _batch_shape_tensor(self):
        return with_checks(self._assertions, self.components_distribution.batch_shape_tensor()[:-1])

    def _batch_shape(self):
        return self.components_distribution.batch_shape.with_rank_at_least(1)[:-1]

    def _event_shape_tensor(self):
        return self.components_distribution.event_shape_tensor()

    def _event_shape(self):
        return self.components_distribution.event_shape

    def _sample_n(self, n, seed=None):
        x = with_checks(self._assertions, self.components_distribution.sample(n, seed=seed))
        choice = self.mixture_distribution.sample(n, seed=another_seed(seed, "mixture"))
        return self._chosen(x, choice, tf.shape(self.mixture_distribution.logits)[-1])

    def _log_of(self, which: str, x: Any) -> Any:
        x = tf.expand_dims(x, self._event_axis())
        logs = tf.nn.log_softmax(self.mixture_distribution.logits)
        logs += getattr(self.components_distribution, which)(x)
        return tf.reduce_logsumexp(with_checks(self._assertions, logs), axis=-1)

    def _log_prob(self, x):
        return self._log_of("log_prob", x)

    def _log_cdf(self, x):
        return self._log_of("log_cdf", x)

    def _mean(self):
        means = with_checks(self._assertions, self.components_distribution.mean())
        return self._averaged(means, self.mixture_distribution.probs)

    def _variance(self):
        parts = self.components_distribution
        means = with_checks(self._assertions, parts.mean())
        return self._total_variance(self.mixture_distribution.probs, means, parts.variance())

    def _covariance(self):
        if self.event_shape.ndims != 1:
            raise NotImplementedError("covariance is not implemented")
        probs = self.mixture_distribution.probs[..., None, None]
        means = with_checks(self._assertions, self.components_distribution.mean())
        off = means - tf.expand_dims(self._averaged(means, self.mixture_distribution.probs), -2)
        outer = off[..., None, :] * off[..., None]
        return tf.reduce_sum(probs * (self.components_distribution.covariance() + outer), axis=-3)
