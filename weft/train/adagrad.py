"""Adagrad, with and without dual averaging, and Adadelta."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.framework.export import export
from weft.train.rule_optimizer import Hyperparameter, RuleOptimizer, constant_slot_value

_RATE = Hyperparameter("lr", "_learning_rate", "_learning_rate_tensor", "learning_rate")


@export("train.AdagradOptimizer")
class AdagradOptimizer(RuleOptimizer):
    """Steps by the gradient over the root of the sum of squared gradients."""

    kind = "Adagrad"
    slot_arguments = {"accum": "accumulator"}
    hyperparameters = (_RATE,)

    def __init__(
        self,
        learning_rate: Any,
        initial_accumulator_value: float = 0.1,
        use_locking: bool = False,
        name: str = "Adagrad",
    ):
        if initial_accumulator_value <= 0.0:
            raise ValueError(
                f"initial_accumulator_value must be positive: {initial_accumulator_value}"
            )
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._initial_accumulator_value = initial_accumulator_value
        self._learning_rate_tensor: Any = None

    def _create_slots(self, var_list: list[Any]) -> None:
        for v in var_list:
            dtype = v.dtype.base_dtype
            if v.get_shape().is_fully_defined():
                start: Any = tf.constant_initializer(self._initial_accumulator_value, dtype=dtype)
            else:
                start = self._init_constant_op(v, dtype)
            self._get_or_make_slot_with_initializer(
                v, start, v.get_shape(), dtype, "accumulator", self._name
            )

    def _init_constant_op(self, v: Any, dtype: Any) -> Any:
        return lambda: tf.cast(tf.fill(tf.shape(v), self._initial_accumulator_value), dtype)


@export("train.AdagradDAOptimizer")
class AdagradDAOptimizer(RuleOptimizer):
    """Dual averaging: the variable follows from the sums of gradients and of their squares; zeros stay zero in
    models that are sparse."""

    kind = "AdagradDA"
    slot_arguments = {
        "gradient_accumulator": "gradient_accumulator",
        "gradient_squared_accumulator": "gradient_squared_accumulator",
    }
    hyperparameters = (_RATE,)

    def __init__(
        self,
        learning_rate: Any,
        global_step: Any,
        initial_gradient_squared_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "AdagradDA",
    ):
        if initial_gradient_squared_accumulator_value <= 0.0:
            raise ValueError(
                "initial_gradient_squared_accumulator_value must be positive: "
                f"{initial_gradient_squared_accumulator_value}"
            )
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._initial_gradient_squared_accumulator_value = (
            initial_gradient_squared_accumulator_value
        )
        self._learning_rate_tensor: Any = None
        self._l1_regularization_strength = l1_regularization_strength
        self._l2_regularization_strength = l2_regularization_strength
        self._global_step = global_step
        self._global_step_on_worker: Any = None

    def _create_slots(self, var_list: list[Any]) -> None:
        for v in var_list:
            zeros = constant_slot_value(0.0, v)
            squares = constant_slot_value(self._initial_gradient_squared_accumulator_value, v)
            self._get_or_make_slot(v, zeros, "gradient_accumulator", self._name)
            self._get_or_make_slot(v, squares, "gradient_squared_accumulator", self._name)

    def _prepare(self) -> None:
        super()._prepare()
        # A copy beside the worker, so that not every update asks who holds the global step.
        with tf.colocate_with(self._learning_rate_tensor):
            self._global_step_on_worker = tf.identity(self._global_step) + 1

    def _op_arguments(self, var: Any) -> dict[str, Any]:
        dtype = var.dtype.base_dtype
        with tf.device(var.device):
            global_step = tf.identity(self._global_step_on_worker)
        return {
            **super()._op_arguments(var),
            "l1": tf.cast(self._l1_regularization_strength, dtype),
            "l2": tf.cast(self._l2_regularization_strength, dtype),
            "global_step": global_step,
        }


@export("train.AdadeltaOptimizer")
class AdadeltaOptimizer(RuleOptimizer):
    """Steps by the gradient times the ratio of decaying means of squared steps and of squared gradients."""

    kind = "Adadelta"
    slot_arguments = {"accum": "accum", "accum_update": "accum_update"}
    hyperparameters = (
        Hyperparameter("lr", "_lr", "_lr_t", "lr"),
        Hyperparameter("rho", "_rho", "_rho_t", "rho"),
        Hyperparameter("epsilon", "_epsilon", "_epsilon_t", "epsilon"),
    )

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: Any = 0.95,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "Adadelta",
    ):
        super().__init__(use_locking, name)
        self._lr, self._rho, self._epsilon = learning_rate, rho, epsilon
        self._lr_t = self._rho_t = self._epsilon_t = None

    def _create_slots(self, var_list: list[Any]) -> None:
        for v in var_list:
            self._zeros_slot(v, "accum", self._name)
            self._zeros_slot(v, "accum_update", self._name)
