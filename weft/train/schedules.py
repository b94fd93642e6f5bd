"""Learning-rate schedules: objects that give the learning rate of a step."""

from __future__ import annotations

import math
from typing import Any

import weft as tf


class LearningRateSchedule:
    """Called with a step, gives the learning rate of that step."""

    _settings: tuple[str, ...] = ()  # what `get_config` tells, by the names of the constructor

    def __call__(self, step: Any) -> Any:
        raise NotImplementedError("A learning rate schedule says what a call with a step gives.")

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal schedule."""
        return {name: getattr(self, name) for name in self._settings}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> LearningRateSchedule:
        return cls(**config)


class _Decay(LearningRateSchedule):
    """A schedule that multiplies or bends one initial rate."""

    _scope = ""
    initial_learning_rate: Any
    name: str | None

    def __call__(self, step: Any) -> Any:
        with tf.name_scope(self.name or self._scope) as scope:
            rate = tf.convert_to_tensor(self.initial_learning_rate, name="initial_learning_rate")
            return self._decayed(rate, step, scope)

    def _decayed(self, rate: Any, step: Any, scope: str) -> Any:
        raise NotImplementedError


class ExponentialDecay(_Decay):
    """`initial_learning_rate * decay_rate ** (step / decay_steps)`; `staircase` rounds the exponent down."""

    _scope = "ExponentialDecay"
    _settings = ("initial_learning_rate", "decay_steps", "decay_rate", "staircase", "name")

    def __init__(
        self,
        initial_learning_rate: Any,
        decay_steps: Any,
        decay_rate: Any,
        staircase: bool = False,
        name: str | None = None,
    ):
        self.initial_learning_rate, self.decay_steps = initial_learning_rate, decay_steps
        self.decay_rate, self.staircase, self.name = decay_rate, staircase, name

    def _decayed(self, rate: Any, step: Any, scope: str) -> Any:
        decay_steps = tf.cast(self.decay_steps, rate.dtype)
        decay_rate = tf.cast(self.decay_rate, rate.dtype)
        p = tf.cast(step, rate.dtype) / decay_steps
        p = tf.floor(p) if self.staircase else p
        return tf.multiply(rate, tf.pow(decay_rate, p), name=scope)


class InverseTimeDecay(_Decay):
    """`initial_learning_rate / (1 + decay_rate * step / decay_steps)`."""

    _scope = "InverseTimeDecay"
    _settings = ("initial_learning_rate", "decay_steps", "decay_rate", "staircase", "name")

    def __init__(
        self,
        initial_learning_rate: Any,
        decay_steps: Any,
        decay_rate: Any,
        staircase: bool = False,
        name: str | None = None,
    ):
        self.initial_learning_rate, self.decay_steps = initial_learning_rate, decay_steps
        self.decay_rate, self.staircase, self.name = decay_rate, staircase, name

    def _decayed(self, rate: Any, step: Any, scope: str) -> Any:
        decay_steps = tf.cast(self.decay_steps, rate.dtype)
        decay_rate = tf.cast(self.decay_rate, rate.dtype)
        p = tf.cast(step, rate.dtype) / decay_steps
        p = tf.floor(p) if self.staircase else p
        one = tf.cast(tf.constant(1), rate.dtype)
        return tf.divide(rate, tf.add(one, tf.multiply(decay_rate, p)), name=scope)


class PolynomialDecay(_Decay):
    """From the initial rate to `end_learning_rate` in `decay_steps`, as a power of the part that is left.

    With `cycle` the number of steps grows by whole multiples, so that the rate rises again.
    """

    _scope = "PolynomialDecay"
    _settings = (
        "initial_learning_rate",
        "decay_steps",
        "end_learning_rate",
        "power",
        "cycle",
        "name",
    )

    def __init__(
        self,
        initial_learning_rate: Any,
        decay_steps: Any,
        end_learning_rate: Any = 0.0001,
        power: Any = 1.0,
        cycle: bool = False,
        name: str | None = None,
    ):
        self.initial_learning_rate, self.decay_steps = initial_learning_rate, decay_steps
        self.end_learning_rate, self.power, self.cycle = end_learning_rate, power, cycle
        self.name = name

    def _decayed(self, rate: Any, step: Any, scope: str) -> Any:
        dtype = rate.dtype
        end = tf.cast(self.end_learning_rate, dtype)
        power = tf.cast(self.power, dtype)
        step = tf.cast(step, dtype)
        steps = tf.cast(self.decay_steps, dtype)
        if self.cycle:
            times = tf.cond(
                tf.equal(step, 0),
                lambda: tf.constant(1.0, dtype),
                lambda: tf.ceil(step / self.decay_steps),
            )
            steps = tf.multiply(steps, times)
        else:
            step = tf.minimum(step, self.decay_steps)
        left = 1 - tf.divide(step, steps)
        return tf.add(tf.multiply(rate - end, tf.pow(left, power)), end, name=scope)


def _cosine(fraction: Any) -> Any:
    """1 + cos of a part of a half turn, in the dtype of `fraction`."""
    return 1.0 + tf.cos(tf.constant(math.pi, fraction.dtype.base_dtype) * fraction)


class CosineDecay(_Decay):
    """Half a cosine wave, from the initial rate to the part `alpha` of it in `decay_steps`."""

    _scope = "CosineDecay"
    _settings = ("initial_learning_rate", "decay_steps", "alpha", "name")

    def __init__(
        self,
        initial_learning_rate: Any,
        decay_steps: Any,
        alpha: Any = 0.0,
        name: str | None = None,
    ):
        self.initial_learning_rate, self.decay_steps = initial_learning_rate, decay_steps
        self.alpha, self.name = alpha, name

    def _decayed(self, rate: Any, step: Any, scope: str) -> Any:
        decay_steps = tf.cast(self.decay_steps, rate.dtype)
        step = tf.minimum(tf.cast(step, rate.dtype), decay_steps)
        wave = 0.5 * _cosine(step / decay_steps)
        return tf.multiply(rate, (1 - self.alpha) * wave + self.alpha)


class CosineDecayRestarts(_Decay):
    """Cosine decay that starts again, each time `t_mul` times as long and from `m_mul` times the height."""

    _scope = "SGDRDecay"
    _settings = ("initial_learning_rate", "first_decay_steps", "t_mul", "m_mul", "alpha", "name")

    def __init__(
        self,
        initial_learning_rate: Any,
        first_decay_steps: Any,
        t_mul: Any = 2.0,
        m_mul: Any = 1.0,
        alpha: Any = 0.0,
        name: str | None = None,
    ):
        self.initial_learning_rate, self.first_decay_steps = (
            initial_learning_rate,
            first_decay_steps,
        )
        self.t_mul, self.m_mul, self.alpha, self.name = t_mul, m_mul, alpha, name

    def _decayed(self, rate: Any, step: Any, scope: str) -> Any:
        dtype = rate.dtype
        first = tf.cast(self.first_decay_steps, dtype)
        alpha, t_mul, m_mul = (tf.cast(v, dtype) for v in (self.alpha, self.t_mul, self.m_mul))
        done = tf.cast(step, dtype) / first

        def even() -> tuple[Any, Any]:
            """(number of the restart, part of its period that is over), of periods of one length."""
            restart = tf.floor(done)
            return restart, done - restart

        def geometric() -> tuple[Any, Any]:
            restart = tf.floor(tf.log(1.0 - done * (1.0 - t_mul)) / tf.log(t_mul))
            before = (1.0 - t_mul**restart) / (1.0 - t_mul)
            return restart, (done - before) / t_mul**restart

        restart, part = tf.cond(tf.equal(t_mul, 1.0), even, geometric)
        wave = 0.5 * m_mul**restart * _cosine(part)
        return tf.multiply(rate, (1 - alpha) * wave + alpha, name=scope)


class LinearCosineDecay(_Decay):
    """A line to zero times a cosine wave of `num_periods`, lifted by `alpha` before and `beta` after."""

    _scope = "LinearCosineDecay"
    _settings: tuple[str, ...] = (
        "initial_learning_rate",
        "decay_steps",
        "num_periods",
        "alpha",
        "beta",
        "name",
    )

    def __init__(
        self,
        initial_learning_rate: Any,
        decay_steps: Any,
        num_periods: Any = 0.5,
        alpha: Any = 0.0,
        beta: Any = 0.001,
        name: str | None = None,
    ):
        self.initial_learning_rate, self.decay_steps = initial_learning_rate, decay_steps
        self.num_periods, self.alpha, self.beta, self.name = num_periods, alpha, beta, name

    def _line(self, step: Any, decay_steps: Any) -> Any:
        return (decay_steps - step) / decay_steps

    def _decayed(self, rate: Any, step: Any, scope: str) -> Any:
        dtype = rate.dtype
        decay_steps = tf.cast(self.decay_steps, dtype)
        periods, alpha, beta = (
            tf.cast(v, dtype) for v in (self.num_periods, self.alpha, self.beta)
        )
        step = tf.minimum(tf.cast(step, dtype), decay_steps)
        line = self._line(step, decay_steps)
        wave = 0.5 * _cosine(2.0 * periods * (step / decay_steps))
        return tf.multiply(rate, (alpha + line) * wave + beta, name=scope)


class NoisyLinearCosineDecay(LinearCosineDecay):
    """Linear cosine decay with normal noise on the line, whose variance shrinks as
    `initial_variance / (1 + step) ** variance_decay`."""

    _scope = "NoisyLinearCosineDecay"
    _settings = (
        "initial_learning_rate",
        "decay_steps",
        "initial_variance",
        "variance_decay",
        "num_periods",
        "alpha",
        "beta",
        "name",
    )

    def __init__(
        self,
        initial_learning_rate: Any,
        decay_steps: Any,
        initial_variance: Any = 1.0,
        variance_decay: Any = 0.55,
        num_periods: Any = 0.5,
        alpha: Any = 0.0,
        beta: Any = 0.001,
        name: str | None = None,
    ):
        super().__init__(initial_learning_rate, decay_steps, num_periods, alpha, beta, name)
        self.initial_variance, self.variance_decay = initial_variance, variance_decay

    def _line(self, step: Any, decay_steps: Any) -> Any:
        line = super()._line(step, decay_steps)
        dtype = line.dtype
        variance = tf.cast(self.initial_variance, dtype) / tf.pow(
            1.0 + step, tf.cast(self.variance_decay, dtype)
        )
        return line + tf.random_normal(line.shape, stddev=tf.sqrt(variance), dtype=dtype)


class PiecewiseConstantDecay(LearningRateSchedule):
    """`values[0]` up to and with `boundaries[0]`, and so on; `values[-1]` after the last boundary."""

    _settings = ("boundaries", "values", "name")

    def __init__(self, boundaries: Any, values: Any, name: str | None = None):
        if len(boundaries) != len(values) - 1:
            raise ValueError("The length of boundaries should be 1 less than the length of values")
        self.boundaries, self.values, self.name = boundaries, values, name

    def __call__(self, step: Any) -> Any:
        with tf.name_scope(self.name or "PiecewiseConstant"):
            values = [tf.convert_to_tensor(v) for v in self.values]
            step = tf.convert_to_tensor(step)
            boundaries = [
                tf.cast(tf.convert_to_tensor(b), step.dtype.base_dtype) for b in self.boundaries
            ]
            pieces: list[tuple[Any, Any]] = [
                (step <= boundaries[0], lambda: values[0]),
                (step > boundaries[-1], lambda: values[-1]),
            ]
            for low, high, value in zip(boundaries[:-1], boundaries[1:], values[1:-1]):
                pieces.append(((step > low) & (step <= high), lambda value=value: value))
            # A step belongs to one piece; the default serves those that are no numbers.
            return tf.case(pieces, lambda: values[0], exclusive=True)
