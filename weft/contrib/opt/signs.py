"""Optimizers that go further where gradient and momentum agree (Bello et al. 2017), and how that decays."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import weft as tf
from weft.framework import conversion
from weft.framework.export import export
from weft.train.rule_optimizer import Hyperparameter, RuleOptimizer
from weft.variables.resource import is_resource_variable


class _SignOptimizer(RuleOptimizer):
    """An optimizer whose steps depend on the signs of gradient and momentum."""

    slot_arguments = {"m": "m"}

    def __init__(self, sign_decay_fn: Callable | None, use_locking: bool, name: str):
        super().__init__(use_locking, name)
        self._sign_decay_fn = sign_decay_fn
        self._sign_decay_t: Any = None

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Any:
        decay = 1.0 if self._sign_decay_fn is None else self._sign_decay_fn(global_step)
        self._sign_decay_t = conversion.convert_to_tensor(decay, name="sign_decay")
        return super().apply_gradients(grads_and_vars, global_step=global_step, name=name)

    def _create_slots(self, var_list: list[Any]) -> None:
        for v in var_list:
            self._zeros_slot(v, "m", self._name)

    def _op_arguments(self, var: Any) -> dict[str, Any]:
        decay = tf.cast(self._sign_decay_t, var.dtype.base_dtype)
        return {"sign_decay": decay, **super()._op_arguments(var)}

    def _multiplier(self, arguments: dict[str, Any], agreement: Any) -> Any:
        raise NotImplementedError

    def _update(self, var: Any, grad: Any, indices: Any = None) -> Any:
        if indices is None:
            return super()._update(var, grad)
        a = self._op_arguments(var)
        m = self.get_slot(var, "m")
        dense = tf.scatter_nd(tf.expand_dims(indices, 1), grad, tf.shape(m, out_type=indices.dtype))
        moved = tf.assign(m, m * a["beta"] + dense * (1 - a["beta"]), use_locking=self._use_locking)
        agreement = tf.gather(tf.sign(moved), indices) * tf.sign(grad)
        step = a["lr"] * self._multiplier(a, agreement) * grad
        if is_resource_variable(var):
            update = tf.raw_ops.ResourceScatterSub(
                resource=var.handle, indices=indices, updates=step
            )
        else:
            update = tf.scatter_sub(var, indices, step, use_locking=self._use_locking)
        return tf.group(update, moved)


@export("contrib.opt.PowerSignOptimizer")
class PowerSignOptimizer(_SignOptimizer):
    """Gradients times `base ** (decay * sign(g) * sign(m))`."""

    kind = "PowerSign"
    hyperparameters = (
        Hyperparameter("lr", "_lr", "_lr_t", "learning_rate"),
        Hyperparameter("beta", "_beta", "_beta_t", "beta"),
        Hyperparameter("logbase", "_logbase", "_logbase_t", "logbase"),
    )

    def __init__(
        self,
        learning_rate: Any = 0.1,
        base: float = math.e,
        beta: Any = 0.9,
        sign_decay_fn: Callable | None = None,
        use_locking: bool = False,
        name: str = "PowerSignOptimizer",
    ):
        super().__init__(sign_decay_fn, use_locking, name)
        self._lr, self._beta, self._logbase = learning_rate, beta, math.log(base)

    def _multiplier(self, arguments: dict[str, Any], agreement: Any) -> Any:
        return tf.exp(arguments["logbase"] * arguments["sign_decay"] * agreement)


@export("contrib.opt.AddSignOptimizer")
class AddSignOptimizer(_SignOptimizer):
    """Gradients times `alpha + decay * sign(g) * sign(m)`."""

    kind = "AddSign"
    hyperparameters = (
        Hyperparameter("lr", "_lr", "_lr_t", "learning_rate"),
        Hyperparameter("beta", "_beta", "_beta_t", "beta"),
        Hyperparameter("alpha", "_alpha", "_alpha_t", "alpha"),
    )

    def __init__(
        self,
        learning_rate: Any = 0.1,
        alpha: Any = 1.0,
        beta: Any = 0.9,
        sign_decay_fn: Callable | None = None,
        use_locking: bool = False,
        name: str = "AddSignOptimizer",
    ):
        super().__init__(sign_decay_fn, use_locking, name)
        self._lr, self._beta, self._alpha = learning_rate, beta, alpha

    def _multiplier(self, arguments: dict[str, Any], agreement: Any) -> Any:
        return arguments["alpha"] + arguments["sign_decay"] * agreement


def _decay(name: str, decay_steps: Any, at: Callable) -> Callable:
    """A function of the global step, from what `at` gives for steps up to the last."""

    def decayed(global_step: Any) -> Any:
        if global_step is None:
            raise ValueError(f"global_step is required for {name}.")
        return at(tf.to_float(tf.minimum(global_step, decay_steps)), tf.to_float(decay_steps))

    decayed.__name__ = f"{name}_fn"
    return decayed


def _cosine(fraction: Any) -> Any:
    return 0.5 * (1.0 + tf.cos(math.pi * fraction))


@export("contrib.opt.get_linear_decay_fn")
def get_linear_decay_fn(decay_steps: Any) -> Callable:
    """From one to zero, straight."""
    return _decay("linear_decay", decay_steps, lambda t, n: tf.maximum(0.0, (n - t) / n))


@export("contrib.opt.get_cosine_decay_fn")
def get_cosine_decay_fn(
    decay_steps: Any, num_periods: float = 0.5, zero_after: Any = None
) -> Callable:
    """From one to zero, or up and down, as a cosine."""

    def at(t: Any, n: Any) -> Any:
        fraction = 2.0 * num_periods * (t / n)
        value = _cosine(fraction)
        return value if zero_after is None else tf.where(fraction >= 2 * zero_after, 0.0, value)

    return _decay("cosine_decay", decay_steps, at)


@export("contrib.opt.get_restart_decay_fn")
def get_restart_decay_fn(
    decay_steps: Any, num_periods: int = 1, zero_after: Any = None
) -> Callable:
    """From one to zero as a cosine, several times over."""

    def at(t: Any, n: Any) -> Any:
        value = _cosine(tf.mod(num_periods * t, n) / n)
        if zero_after is None:
            return value
        return tf.where(num_periods * t / n >= zero_after, 0.0, value)

    return _decay("restart_decay", decay_steps, at)
