"""Decayed learning rates: `tf.train.exponential_decay` and its like, tensors that follow the global step.

Under eager execution each gives a function without arguments that reads the step when it is called.
"""

from __future__ import annotations

import functools
from typing import Any

import weft as tf
from weft.framework import context
from weft.framework.export import export
from weft.train import schedules


def _at(schedule: schedules.LearningRateSchedule, step: Any) -> Any:
    if context.executing_eagerly():
        return functools.partial(schedule, step)
    return schedule(step)


def _needs_step(global_step: Any, what: str) -> None:
    if global_step is None:
        raise ValueError(f"global_step is required for {what}.")


@export("train.exponential_decay")
def exponential_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    decay_rate: Any,
    staircase: bool = False,
    name: str | None = None,
) -> Any:
    """`learning_rate * decay_rate ** (global_step / decay_steps)`; `staircase` rounds the exponent down."""
    _needs_step(global_step, "exponential_decay")
    return _at(
        schedules.ExponentialDecay(learning_rate, decay_steps, decay_rate, staircase, name),
        global_step,
    )


@export("train.natural_exp_decay")
def natural_exp_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    decay_rate: Any,
    staircase: bool = False,
    name: str | None = None,
) -> Any:
    """`learning_rate * exp(-decay_rate * global_step / decay_steps)`."""
    _needs_step(global_step, "natural_exp_decay")
    rate = tf.exp(tf.negative(decay_rate))
    return _at(
        schedules.ExponentialDecay(learning_rate, decay_steps, rate, staircase, name), global_step
    )


@export("train.inverse_time_decay")
def inverse_time_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    decay_rate: Any,
    staircase: bool = False,
    name: str | None = None,
) -> Any:
    """`learning_rate / (1 + decay_rate * global_step / decay_steps)`."""
    _needs_step(global_step, "inverse_time_decay")
    return _at(
        schedules.InverseTimeDecay(learning_rate, decay_steps, decay_rate, staircase, name),
        global_step,
    )


@export("train.piecewise_constant", "train.piecewise_constant_decay")
def piecewise_constant(x: Any, boundaries: Any, values: Any, name: str | None = None) -> Any:
    """`values[0]` while `x <= boundaries[0]`, and so on; `values[-1]` after the last boundary."""
    boundaries = [tf.convert_to_tensor(b) for b in boundaries]
    values = [tf.convert_to_tensor(v) for v in values]
    kind = tf.convert_to_tensor(x).dtype.base_dtype
    for i, b in enumerate(boundaries):
        own = b.dtype.base_dtype
        if own == kind:
            continue
        # Steps are mostly int64, and Python's numbers become int32.
        if not (own == tf.int32 and kind == tf.int64):
            raise ValueError(f"Boundaries ({own}) must have the same dtype as x ({kind}).")
        boundaries[i] = tf.cast(b, kind)
    first = values[0].dtype.base_dtype
    for v in values[1:]:
        if v.dtype.base_dtype != first:
            raise ValueError(
                f"Values must have elements all with the same dtype ({first} vs {v.dtype.base_dtype})."
            )
    return _at(schedules.PiecewiseConstantDecay(boundaries, values, name), x)


@export("train.polynomial_decay")
def polynomial_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    end_learning_rate: Any = 0.0001,
    power: Any = 1.0,
    cycle: bool = False,
    name: str | None = None,
) -> Any:
    """From `learning_rate` to `end_learning_rate` in `decay_steps`, as a power of the part that is left."""
    _needs_step(global_step, "polynomial_decay")
    schedule = schedules.PolynomialDecay(
        learning_rate, decay_steps, end_learning_rate, power, cycle, name
    )
    return _at(schedule, global_step)


@export("train.cosine_decay")
def cosine_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    alpha: Any = 0.0,
    name: str | None = None,
) -> Any:
    """Half a cosine wave from `learning_rate` to the part `alpha` of it, in `decay_steps`."""
    _needs_step(global_step, "cosine_decay")
    return _at(schedules.CosineDecay(learning_rate, decay_steps, alpha, name), global_step)


@export("train.cosine_decay_restarts")
def cosine_decay_restarts(
    learning_rate: Any,
    global_step: Any,
    first_decay_steps: Any,
    t_mul: Any = 2.0,
    m_mul: Any = 1.0,
    alpha: Any = 0.0,
    name: str | None = None,
) -> Any:
    """Cosine decay that starts again, each time `t_mul` times as long and from `m_mul` times the height."""
    _needs_step(global_step, "cosine_decay_restarts")
    schedule = schedules.CosineDecayRestarts(
        learning_rate, first_decay_steps, t_mul, m_mul, alpha, name
    )
    return _at(schedule, global_step)


@export("train.linear_cosine_decay")
def linear_cosine_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    num_periods: Any = 0.5,
    alpha: Any = 0.0,
    beta: Any = 0.001,
    name: str | None = None,
) -> Any:
    """`learning_rate * ((alpha + line) * wave + beta)`: a line to zero, a cosine wave of `num_periods`."""
    _needs_step(global_step, "linear_cosine_decay")
    schedule = schedules.LinearCosineDecay(
        learning_rate, decay_steps, num_periods, alpha, beta, name
    )
    return _at(schedule, global_step)


@export("train.noisy_linear_cosine_decay")
def noisy_linear_cosine_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    initial_variance: Any = 1.0,
    variance_decay: Any = 0.55,
    num_periods: Any = 0.5,
    alpha: Any = 0.0,
    beta: Any = 0.001,
    name: str | None = None,
) -> Any:
    """Linear cosine decay with normal noise whose variance shrinks with the steps."""
    _needs_step(global_step, "noisy_linear_cosine_decay")
    schedule = schedules.NoisyLinearCosineDecay(
        learning_rate,
        decay_steps,
        initial_variance,
        variance_decay,
        num_periods,
        alpha,
        beta,
        name,
    )
    return _at(schedule, global_step)
