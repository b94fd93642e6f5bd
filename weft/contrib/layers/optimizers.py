"""`optimize_loss`: a training operation, with clipped, noisy or scaled gradients and their summaries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import weft as tf
from weft.contrib.framework.checks import assert_scalar
from weft.contrib.layers.layer import exported
from weft.framework.export import export_all
from weft.framework.graph_keys import GraphKeys
from weft.framework.indexed_slices import IndexedSlices
from weft.framework.tensor import Tensor
from weft.train.moving_averages import assign_moving_average
from weft.train.optimizer import Optimizer

OPTIMIZER_CLS_NAMES: dict[str, Callable] = {
    "Adagrad": lambda learning_rate: tf.train.AdagradOptimizer(learning_rate),
    "Adam": lambda learning_rate: tf.train.AdamOptimizer(learning_rate),
    "Ftrl": lambda learning_rate: tf.train.FtrlOptimizer(learning_rate),
    "Momentum": lambda learning_rate: tf.train.MomentumOptimizer(learning_rate, momentum=0.9),
    "RMSProp": lambda learning_rate: tf.train.RMSPropOptimizer(learning_rate),
    "SGD": lambda learning_rate: tf.train.GradientDescentOptimizer(learning_rate),
}
OPTIMIZER_SUMMARIES = [
    "learning_rate",
    "loss",
    "gradients",
    "gradient_norm",
    "global_gradient_norm",
]
for _room in ("contrib.layers", "contrib.slim"):
    export_all(
        _room, OPTIMIZER_CLS_NAMES=OPTIMIZER_CLS_NAMES, OPTIMIZER_SUMMARIES=OPTIMIZER_SUMMARIES
    )


@exported("optimize_loss")
def optimize_loss(
    loss: Any,
    global_step: Any,
    learning_rate: Any,
    optimizer: Any,
    gradient_noise_scale: float | None = None,
    gradient_multipliers: dict[Any, Any] | None = None,
    clip_gradients: Any = None,
    learning_rate_decay_fn: Callable | None = None,
    update_ops: Any = None,
    variables: Any = None,
    name: str | None = None,
    summaries: Any = None,
    colocate_gradients_with_ops: bool = False,
    increment_global_step: bool = True,
) -> Any:
    """The loss, with a step of training before it."""
    loss = assert_scalar(loss)
    if global_step is None:
        global_step = tf.train.get_global_step()
    else:
        tf.train.assert_global_step(global_step)
    if summaries is None:
        summaries = ["loss", "learning_rate", "global_gradient_norm"]
    for wanted in summaries:
        if wanted not in OPTIMIZER_SUMMARIES:
            raise ValueError(
                f"Summaries should be one of [{', '.join(OPTIMIZER_SUMMARIES)}], you provided {wanted}."
            )
    with tf.variable_scope(name, "OptimizeLoss", [loss, global_step]):
        if update_ops is None:
            update_ops = tf.get_collection(GraphKeys.UPDATE_OPS)
        if update_ops:
            with tf.control_dependencies(list(update_ops)):
                loss = tf.identity(loss)
        rate = _rate(learning_rate)
        if rate is not None and learning_rate_decay_fn is not None:
            if global_step is None:
                raise ValueError("global_step is required for learning_rate_decay_fn.")
            rate = learning_rate_decay_fn(rate, global_step)
            if "learning_rate" in summaries:
                tf.summary.scalar("learning_rate", rate)
        made = _optimizer(optimizer, rate)
        pairs = made.compute_gradients(
            loss,
            tf.trainable_variables() if variables is None else variables,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
        )
        if gradient_noise_scale is not None:
            pairs = [(_noisy(g, gradient_noise_scale), v) for g, v in pairs]
        if gradient_multipliers is not None:
            pairs = [(_scaled(g, v, gradient_multipliers), v) for g, v in pairs]
            if not pairs:
                raise ValueError(
                    "Empty list of (gradient, var) pairs encountered. This is most likely to be caused by an "
                    "improper value of gradient_multipliers."
                )
        norms = "global_gradient_norm" in summaries or "gradient_norm" in summaries
        if norms:
            tf.summary.scalar("global_norm/gradient_norm", tf.global_norm([g for g, _ in pairs]))
        if isinstance(clip_gradients, float):
            clipped, _ = tf.clip_by_global_norm([g for g, _ in pairs], clip_gradients)
            pairs = [(g, v) for g, (_, v) in zip(clipped, pairs)]
        elif callable(clip_gradients):
            pairs = clip_gradients(pairs)
        elif clip_gradients is not None:
            raise ValueError(f"Unknown type {type(clip_gradients)} for clip_gradients")
        if "loss" in summaries:
            tf.summary.scalar("loss", loss)
        _summarize(pairs, summaries)
        if clip_gradients is not None and norms:
            tf.summary.scalar(
                "global_norm/clipped_gradient_norm", tf.global_norm([g for g, _ in pairs])
            )
        step = global_step if increment_global_step else None
        with tf.control_dependencies([made.apply_gradients(pairs, global_step=step, name="train")]):
            return tf.identity(loss)


def _rate(learning_rate: Any) -> Any:
    if learning_rate is None:
        return None
    if isinstance(learning_rate, Tensor) and learning_rate.get_shape().ndims == 0:
        return learning_rate
    if not isinstance(learning_rate, float):
        raise ValueError(
            f"Learning rate should be 0d Tensor or float. Got {learning_rate} of type {type(learning_rate)}"
        )
    if learning_rate < 0.0:
        raise ValueError("Invalid learning_rate %s.", learning_rate)
    return tf.get_variable(
        "learning_rate",
        [],
        trainable=False,
        initializer=tf.constant_initializer(learning_rate),
    )


def _optimizer(optimizer: Any, rate: Any) -> Any:
    """An optimizer by name, by class, made by a function, or itself."""
    if isinstance(optimizer, Optimizer):
        return optimizer
    is_class = isinstance(optimizer, type) and issubclass(optimizer, Optimizer)
    if isinstance(optimizer, str) or is_class:
        if rate is None:
            kind = "string" if isinstance(optimizer, str) else "class"
            raise ValueError(
                f"Learning rate is None, but should be specified if optimizer is {kind} ({optimizer})."
            )
        if not is_class and optimizer not in OPTIMIZER_CLS_NAMES:
            raise ValueError(
                f"Optimizer name should be one of [{', '.join(OPTIMIZER_CLS_NAMES)}], you provided {optimizer}."
            )
        return (optimizer if is_class else OPTIMIZER_CLS_NAMES[optimizer])(learning_rate=rate)
    if callable(optimizer):
        made = optimizer() if rate is None else optimizer(rate)
        if isinstance(made, Optimizer):
            return made
        raise ValueError(
            f"Unrecognized optimizer: function should return subclass of Optimizer. Got {made}."
        )
    raise ValueError(
        "Unrecognized optimizer: should be string, subclass of Optimizer, instance of subclass of Optimizer or "
        f"function with one argument. Got {optimizer}."
    )


def _with_values(gradient: Any, change: Callable) -> Any:
    """A gradient with its values changed; None stays."""
    if isinstance(gradient, IndexedSlices):
        return IndexedSlices(change(gradient.values), gradient.indices, gradient.dense_shape)
    return None if gradient is None else change(gradient)


def _noisy(gradient: Any, scale: float) -> Any:
    return _with_values(gradient, lambda g: g + tf.truncated_normal(tf.shape(g)) * scale)


def _scaled(gradient: Any, variable: Any, multipliers: dict[Any, Any]) -> Any:
    for key, factor in multipliers.items():
        if key is variable or (isinstance(key, str) and key == variable.name):
            return _with_values(gradient, lambda g, f=factor: g * tf.cast(f, g.dtype))
    return gradient


def _summarize(pairs: Any, summaries: Any) -> None:
    for gradient, variable in pairs:
        values = gradient.values if isinstance(gradient, IndexedSlices) else gradient
        if values is None:
            continue
        name = variable.name.replace(":", "_")
        if "gradients" in summaries:
            tf.summary.histogram(f"gradients/{name}", values)
        if "gradient_norm" in summaries:
            tf.summary.scalar(f"gradient_norm/{name}", tf.global_norm([values]))


@exported("adaptive_clipping_fn")
def adaptive_clipping_fn(
    std_factor: float = 2.0,
    decay: float = 0.95,
    static_max_norm: float | None = None,
    global_step: Any = None,
    report_summary: bool = False,
    epsilon: float = 1e-8,
    name: str | None = None,
) -> Callable:
    """A function that clips gradients whose norm is beyond what has been usual."""

    def usual(norm: Any) -> tuple[Any, Any]:
        """The norm to clip at, and the logarithm of the mean norm."""
        with tf.variable_scope(name, "AdaptiveMaxNorm", [norm]):
            log_norm = tf.log(norm + epsilon)
            rate: Any = decay
            if global_step is not None:
                n = tf.cast(global_step, tf.float32)
                rate = tf.minimum(rate, n / (n + 1.0))

            def average(name: str, value: Any) -> Any:
                variable = tf.get_variable(
                    name,
                    shape=value.get_shape(),
                    dtype=value.dtype,
                    initializer=tf.zeros_initializer(),
                    trainable=False,
                )
                return assign_moving_average(variable, value, rate, zero_debias=False)

            mean, squares = average("mean", log_norm), average("sq_mean", tf.square(log_norm))
            deviation = tf.sqrt(tf.maximum(epsilon, squares - tf.square(mean)))
            return tf.exp(mean + std_factor * deviation), mean

    def gradient_clipping(grads_and_vars: Any) -> Any:
        norm = tf.global_norm([g for g, _ in grads_and_vars])
        max_norm, log_mean = usual(norm)
        if report_summary:
            tf.summary.scalar("global_norm/adaptive_max_gradient_norm", max_norm)
        factor = tf.where(norm < max_norm, tf.ones_like(norm), tf.exp(log_mean) / norm)
        if static_max_norm is not None:
            factor = tf.minimum(static_max_norm / norm, factor)
        return [(_with_values(g, lambda x: x * factor), v) for g, v in grads_and_vars]

    return gradient_clipping
