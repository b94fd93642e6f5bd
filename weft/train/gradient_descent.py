"""Gradient descent, plain and with momentum."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.framework.export import export
from weft.framework.indexed_slices import IndexedSlices
from weft.ops.by_name import raw
from weft.train.rule_optimizer import Hyperparameter, RuleOptimizer


@export("train.GradientDescentOptimizer")
class GradientDescentOptimizer(RuleOptimizer):
    """Steps against the gradient by the learning rate times it."""

    kind = "GradientDescent"
    gradient_argument = "delta"
    hyperparameters = (
        Hyperparameter("alpha", "_learning_rate", "_learning_rate_tensor", "learning_rate"),
    )

    def __init__(
        self, learning_rate: Any, use_locking: bool = False, name: str = "GradientDescent"
    ):
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._learning_rate_tensor: Any = None

    # Rows at one index may be subtracted one after the other: they need not be summed first.

    def _apply_sparse_duplicate_indices(self, grad: Any, var: Any) -> Any:
        rate = tf.cast(self._learning_rate_tensor, var.dtype.base_dtype)
        step = IndexedSlices(grad.values * rate, grad.indices, grad.dense_shape)
        return var.scatter_sub(step, use_locking=self._use_locking)

    def _resource_apply_sparse_duplicate_indices(self, grad: Any, handle: Any, indices: Any) -> Any:
        rate = tf.cast(self._learning_rate_tensor, grad.dtype.base_dtype)
        return raw.ResourceScatterAdd(handle.handle, indices, -grad * rate)


@export("train.MomentumOptimizer")
class MomentumOptimizer(RuleOptimizer):
    """Steps along a decaying sum of gradients; with `use_nesterov`, along where that sum is going."""

    kind = "Momentum"
    slot_arguments = {"accum": "momentum"}
    hyperparameters = (
        Hyperparameter("lr", "_learning_rate", "_learning_rate_tensor", "learning_rate"),
        Hyperparameter("momentum", "_momentum", "_momentum_tensor", "momentum"),
    )

    def __init__(
        self,
        learning_rate: Any,
        momentum: Any,
        use_locking: bool = False,
        name: str = "Momentum",
        use_nesterov: bool = False,
    ):
        super().__init__(use_locking, name)
        self._learning_rate, self._momentum = learning_rate, momentum
        self._use_nesterov = use_nesterov

    def _create_slots(self, var_list: list[Any]) -> None:
        for v in var_list:
            self._zeros_slot(v, "momentum", self._name)

    def _flags(self) -> dict[str, Any]:
        return {"use_nesterov": self._use_nesterov}
