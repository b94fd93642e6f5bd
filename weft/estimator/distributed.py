"""Training and evaluating under a strategy: the model function is called once for each replica."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import weft as tf
from weft.estimator.inputs_of_model import DatasetInitializerHook, ModelInputs
from weft.estimator.spec import EstimatorSpec
from weft.train.scaffold import Scaffold


def inputs_for(estimator: Any, strategy: Any, input_fn: Callable, mode: str) -> ModelInputs:
    """The inputs of all replicas: each gets an element of its own of what the input function gives."""
    iterator = strategy.make_input_fn_iterator(
        lambda context: _dataset(estimator._call_input_fn(input_fn, mode, context))
    )
    given = iterator.get_next()
    hook = DatasetInitializerHook(iterator)
    if not isinstance(given, (list, tuple)):
        return ModelInputs(given, None, [hook])
    if len(given) != 2:
        raise ValueError("input_fn should return (features, labels) as a len 2 tuple.")
    return ModelInputs(given[0], given[1], [hook])


def _dataset(given: Any) -> Any:
    if not hasattr(given, "element_spec"):
        raise ValueError(
            "Under a strategy input_fn must return a tf.data.Dataset, whose elements the replicas take in turns; it "
            f"returned {given!r}"
        )
    return given


def training_spec(estimator: Any, strategy: Any, inputs: ModelInputs, mode: str) -> EstimatorSpec:
    """What the model functions of all replicas come to together."""
    specs: list[EstimatorSpec] = []

    def model(features: Any, labels: Any) -> Any:
        spec = estimator._call_model_fn(features, labels, mode, estimator.config)
        specs.append(spec)
        return spec.loss, spec.train_op

    loss, train_op = strategy.extended.call_for_each_replica(
        model, args=(inputs.features, inputs.labels)
    )
    loss = strategy.reduce(strategy._loss_reduction(), loss, axis=None)
    first = specs[0]
    return EstimatorSpec(
        mode=mode,
        loss=loss,
        train_op=strategy.group(train_op),
        training_hooks=first.training_hooks,
        training_chief_hooks=first.training_chief_hooks,
        scaffold=_together([s.scaffold for s in specs]),
    )


def evaluation_spec(
    estimator: Any, strategy: Any, inputs: ModelInputs, mode: str
) -> tuple[EstimatorSpec, dict[str, Any]]:
    """The first replica's spec, and the metrics of all replicas together, with that of the loss."""
    specs: list[EstimatorSpec] = []

    def model(features: Any, labels: Any) -> Any:
        spec = estimator._call_model_fn(features, labels, mode, estimator.config)
        specs.append(spec)
        return {**spec.eval_metric_ops, _LOSS: tf.metrics.mean(spec.loss)}

    metrics = strategy.extended.call_for_each_replica(model, args=(inputs.features, inputs.labels))
    together = {
        name: (strategy.experimental_local_results(value)[0], strategy.group(update))
        for name, (value, update) in metrics.items()
    }
    return specs[0]._replace(scaffold=_together([s.scaffold for s in specs])), together


_LOSS = "loss/of all replicas"  # no metric of a program's is called that


def loss_of(metrics: dict[str, Any]) -> Any:
    """Takes the metric of the loss out of those of `evaluation_spec`."""
    return metrics.pop(_LOSS)


def _together(scaffolds: list[Scaffold]) -> Scaffold:
    """One scaffold of those of all replicas: what they initialise and wait for, and what the first has."""
    first = scaffolds[0]
    if len(scaffolds) == 1:
        return first

    def group(name: str) -> Any:
        found = [v for v in (getattr(s, name) for s in scaffolds) if v is not None]
        operations = list(dict.fromkeys(found))
        return tf.group(*operations) if operations else None

    def names(name: str) -> Any:
        found = [v for v in (getattr(s, name) for s in scaffolds) if v is not None]
        return tf.concat(list(dict.fromkeys(found)), 0) if found else None

    functions = [s.init_fn for s in scaffolds if s.init_fn is not None]

    def init_fn(scaffold: Any, session: Any) -> None:
        for function in functions:
            function(session)

    return Scaffold(
        init_op=group("init_op"),
        local_init_op=group("local_init_op"),
        ready_op=names("ready_op"),
        ready_for_local_init_op=names("ready_for_local_init_op"),
        init_feed_dict=first.init_feed_dict,
        summary_op=first.summary_op,
        saver=first.saver,
        init_fn=init_fn if functions else None,
    )
