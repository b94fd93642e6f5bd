"""RMSProp."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.framework.export import export
from weft.train.rule_optimizer import Hyperparameter, RuleOptimizer


@export("train.RMSPropOptimizer")
class RMSPropOptimizer(RuleOptimizer):
    """Steps by the gradient over the root of the decaying mean of its square, with momentum; `centered`, of its
    variance."""

    hyperparameters = (
        Hyperparameter("lr", "_learning_rate", "_learning_rate_tensor", "learning_rate"),
        Hyperparameter("rho", "_decay", "_decay_tensor", "decay"),
        Hyperparameter("momentum", "_momentum", "_momentum_tensor", "momentum"),
        Hyperparameter("epsilon", "_epsilon", "_epsilon_tensor", "epsilon"),
    )

    def __init__(
        self,
        learning_rate: Any,
        decay: Any = 0.9,
        momentum: Any = 0.0,
        epsilon: Any = 1e-10,
        use_locking: bool = False,
        centered: bool = False,
        name: str = "RMSProp",
    ):
        super().__init__(use_locking, name)
        self._learning_rate, self._decay = learning_rate, decay
        self._momentum, self._epsilon, self._centered = momentum, epsilon, centered

    def _create_slots(self, var_list: list[Any]) -> None:
        for v in var_list:
            dtype, shape = v.dtype.base_dtype, v.get_shape()
            ones = tf.ones_initializer(dtype=dtype) if shape.is_fully_defined() else tf.ones_like(v)
            self._get_or_make_slot_with_initializer(v, ones, shape, dtype, "rms", self._name)
            if self._centered:
                self._zeros_slot(v, "mg", self._name)
            self._zeros_slot(v, "momentum", self._name)

    def _kind(self) -> str:
        return "CenteredRMSProp" if self._centered else "RMSProp"

    def _slot_arguments(self) -> dict[str, str]:
        slots = {"ms": "rms", "mom": "momentum"}
        return {"mg": "mg", **slots} if self._centered else slots
