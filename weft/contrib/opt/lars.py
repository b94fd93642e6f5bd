"""Steps as long as the weights of each layer allow (You et al. 2017)."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.framework import conversion
from weft.framework.export import export
from weft.ops.by_name import raw
from weft.train.optimizer import Optimizer


@export("contrib.opt.LARSOptimizer")
class LARSOptimizer(Optimizer):
    """Momentum whose learning rate for each variable goes by the norms of variable and gradient."""

    def __init__(
        self,
        learning_rate: Any,
        momentum: Any = 0.9,
        weight_decay: float = 0.0001,
        eeta: float = 0.001,
        epsilon: float = 0.0,
        name: str = "LARSOptimizer",
        skip_list: Any = None,
        use_nesterov: bool = False,
    ):
        if momentum < 0.0:
            raise ValueError(f"momentum should be positive: {momentum}")
        if weight_decay < 0.0:
            raise ValueError(f"weight_decay should be positive: {weight_decay}")
        super().__init__(use_locking=False, name=name)
        self._learning_rate, self._momentum = learning_rate, momentum
        self._weight_decay, self._eeta, self._epsilon = weight_decay, eeta, epsilon
        self._skip_list, self._use_nesterov = skip_list, use_nesterov

    def _create_slots(self, var_list: list[Any]) -> None:
        for v in var_list:
            self._zeros_slot(v, "momentum", self._name)

    def _prepare(self) -> None:
        rate, momentum = (self._call_if_callable(x) for x in (self._learning_rate, self._momentum))
        self._learning_rate_tensor = conversion.convert_to_tensor(rate, name="learning_rate")
        self._momentum_tensor = conversion.convert_to_tensor(momentum, name="momentum")

    def compute_lr(self, grad: Any, var: Any) -> tuple[Any, Any]:
        """The learning rate of a variable, and its gradient with decay."""
        rate = tf.cast(self._learning_rate_tensor, var.dtype.base_dtype)
        if self._skip_list is not None and any(part in var.name for part in self._skip_list):
            return rate, grad
        w, g = tf.norm(var, ord=2), tf.norm(grad, ord=2)
        ratio = self._eeta * w / (g + self._weight_decay * w + self._epsilon)
        trust = tf.where(tf.greater(w, 0), tf.where(tf.greater(g, 0), ratio, 1.0), 1.0)
        return rate * trust, grad + self._weight_decay * var

    def _arguments(self, var: Any, grad: Any) -> dict[str, Any]:
        rate, grad = self.compute_lr(grad, var)
        return {
            "lr": tf.cast(1.0, var.dtype.base_dtype),
            "grad": grad * rate,
            "momentum": tf.cast(self._momentum_tensor, var.dtype.base_dtype),
            "use_nesterov": self._use_nesterov,
        }

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        slot = self.get_slot(var, "momentum")
        return raw.ApplyMomentum(var=var, accum=slot, **self._arguments(var, grad)).op

    def _resource_apply_dense(self, grad: Any, var: Any) -> Any:
        slot = self.get_slot(var, "momentum")
        return raw.ResourceApplyMomentum(
            var=var.handle, accum=slot.handle, **self._arguments(var, grad)
        )

    def _sparse_arguments(self, var: Any) -> dict[str, Any]:
        dtype = var.dtype.base_dtype
        return {
            "lr": tf.cast(self._learning_rate_tensor, dtype),
            "momentum": tf.cast(self._momentum_tensor, dtype),
            "use_nesterov": self._use_nesterov,
            "use_locking": self._use_locking,
        }

    def _apply_sparse(self, grad: Any, var: Any) -> Any:
        slot = self.get_slot(var, "momentum")
        return raw.SparseApplyMomentum(
            var=var,
            accum=slot,
            grad=grad.values,
            indices=grad.indices,
            **self._sparse_arguments(var),
        ).op

    def _resource_apply_sparse(self, grad: Any, var: Any, indices: Any) -> Any:
        slot = self.get_slot(var, "momentum")
        return raw.ResourceSparseApplyMomentum(
            var=var.handle,
            accum=slot.handle,
            grad=grad,
            indices=indices,
            **self._sparse_arguments(var),
        )
