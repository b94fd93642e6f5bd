"""Optimizers that keep a model sparse: FTRL, and the proximal forms of gradient descent and Adagrad."""

from __future__ import annotations

from typing import Any

from weft.framework.export import export
from weft.train.rule_optimizer import Hyperparameter, RuleOptimizer, constant_slot_value


def _strength(norm: str) -> Hyperparameter:
    name = f"{norm}_regularization_strength"
    return Hyperparameter(norm, f"_{name}", f"_{name}_tensor", name)


_RATE = Hyperparameter("lr", "_learning_rate", "_learning_rate_tensor", "learning_rate")
_L1, _L2 = _strength("l1"), _strength("l2")


@export("train.FtrlOptimizer")
class FtrlOptimizer(RuleOptimizer):
    """Follows the regularised leader: a weight is zero while its summed gradient stays within the l1 strength."""

    slot_arguments = {"accum": "accum", "linear": "linear"}
    hyperparameters = (
        _RATE,
        _L1,
        _L2,
        Hyperparameter(
            "l2_shrinkage",
            "_l2_shrinkage_regularization_strength",
            "_l2_shrinkage_regularization_strength_tensor",
            "l2_shrinkage_regularization_strength",
        ),
        Hyperparameter(
            "lr_power", "_learning_rate_power", "_learning_rate_power_tensor", "learning_rate_power"
        ),
    )

    def __init__(
        self,
        learning_rate: Any,
        learning_rate_power: float = -0.5,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "Ftrl",
        accum_name: str | None = None,
        linear_name: str | None = None,
        l2_shrinkage_regularization_strength: float = 0.0,
    ):
        super().__init__(use_locking, name)
        for what, value in (
            ("initial_accumulator_value", initial_accumulator_value),
            ("l1_regularization_strength", l1_regularization_strength),
            ("l2_regularization_strength", l2_regularization_strength),
            ("l2_shrinkage_regularization_strength", l2_shrinkage_regularization_strength),
        ):
            if value < 0.0:
                raise ValueError(f"{what} {value:f} needs to be positive or zero")
        if learning_rate_power > 0.0:
            raise ValueError(
                f"learning_rate_power {learning_rate_power:f} needs to be negative or zero"
            )
        self._learning_rate, self._learning_rate_power = learning_rate, learning_rate_power
        self._initial_accumulator_value = initial_accumulator_value
        self._l1_regularization_strength = l1_regularization_strength
        self._l2_regularization_strength = l2_regularization_strength
        self._l2_shrinkage_regularization_strength = l2_shrinkage_regularization_strength
        self._accum_name, self._linear_name = accum_name, linear_name

    def _create_slots(self, var_list: list[Any]) -> None:
        for v in var_list:
            start = constant_slot_value(self._initial_accumulator_value, v)
            self._get_or_make_slot(v, start, "accum", self._accum_name or self._name)
            self._zeros_slot(v, "linear", self._linear_name or self._name)

    def _shrinks(self) -> bool:
        return self._l2_shrinkage_regularization_strength > 0.0

    def _kind(self) -> str:
        return "FtrlV2" if self._shrinks() else "Ftrl"

    def _op_arguments(self, var: Any) -> dict[str, Any]:
        arguments = super()._op_arguments(var)
        if not self._shrinks():
            del arguments["l2_shrinkage"]
        return arguments


@export("train.ProximalAdagradOptimizer")
class ProximalAdagradOptimizer(RuleOptimizer):
    """Adagrad, then toward zero as the l1 and l2 strengths ask."""

    kind = "ProximalAdagrad"
    slot_arguments = {"accum": "accumulator"}
    hyperparameters = (_RATE, _L1, _L2)

    def __init__(
        self,
        learning_rate: Any,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "ProximalAdagrad",
    ):
        if initial_accumulator_value <= 0.0:
            raise ValueError(
                f"initial_accumulator_value must be positive: {initial_accumulator_value}"
            )
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._initial_accumulator_value = initial_accumulator_value
        self._l1_regularization_strength = l1_regularization_strength
        self._l2_regularization_strength = l2_regularization_strength

    def _create_slots(self, var_list: list[Any]) -> None:
        for v in var_list:
            start = constant_slot_value(self._initial_accumulator_value, v)
            self._get_or_make_slot(v, start, "accumulator", self._name)


@export("train.ProximalGradientDescentOptimizer")
class ProximalGradientDescentOptimizer(RuleOptimizer):
    """Steps against the gradient, then toward zero as the l1 and l2 strengths ask."""

    kind = "ProximalGradientDescent"
    gradient_argument = "delta"
    hyperparameters = (_RATE._replace(argument="alpha"), _L1, _L2)

    def __init__(
        self,
        learning_rate: Any,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "ProximalGradientDescent",
    ):
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._l1_regularization_strength = l1_regularization_strength
        self._l2_regularization_strength = l2_regularization_strength
