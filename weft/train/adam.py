"""Adam."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.framework import context
from weft.framework.export import export
from weft.framework.func_graph import init_scope
from weft.ops.by_name import raw
from weft.train.rule_optimizer import Hyperparameter, RuleOptimizer
from weft.variables.resource import is_resource_variable


@export("train.AdamOptimizer")
class AdamOptimizer(RuleOptimizer):
    """Steps by the mean gradient over the root of the mean squared gradient, both without their start's bias.

    A sparse gradient updates the moments of all rows, as a dense one with zeros would.
    """

    kind = "Adam"
    slot_arguments = {"m": "m", "v": "v"}
    hyperparameters = (
        Hyperparameter("lr", "_lr", "_lr_t", "learning_rate"),
        Hyperparameter("beta1", "_beta1", "_beta1_t", "beta1"),
        Hyperparameter("beta2", "_beta2", "_beta2_t", "beta2"),
        Hyperparameter("epsilon", "_epsilon", "_epsilon_t", "epsilon"),
    )

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "Adam",
    ):
        super().__init__(use_locking, name)
        self._lr, self._beta1, self._beta2, self._epsilon = learning_rate, beta1, beta2, epsilon
        self._lr_t = self._beta1_t = self._beta2_t = self._epsilon_t = None

    def _get_beta_accumulators(self) -> tuple[Any, Any]:
        """The powers of the betas, as variables."""
        with init_scope():
            graph = None if context.executing_eagerly() else context.get_default_graph()
            return (
                self._get_non_slot_variable("beta1_power", graph),
                self._get_non_slot_variable("beta2_power", graph),
            )

    def _create_slots(self, var_list: list[Any]) -> None:
        # The powers stand beside the same variable whatever the order of the list.
        first = min(var_list, key=lambda v: v.name)
        for name, value in (("beta1_power", self._beta1), ("beta2_power", self._beta2)):
            self._create_non_slot_variable(self._call_if_callable(value), name, first)
        for v in var_list:
            self._zeros_slot(v, "m", self._name)
            self._zeros_slot(v, "v", self._name)

    def _op_arguments(self, var: Any) -> dict[str, Any]:
        dtype = var.dtype.base_dtype
        beta1_power, beta2_power = self._get_beta_accumulators()
        return {
            "beta1_power": tf.cast(beta1_power, dtype),
            "beta2_power": tf.cast(beta2_power, dtype),
            **super()._op_arguments(var),
        }

    def _update(self, var: Any, grad: Any, indices: Any = None) -> Any:
        if indices is None:
            return super()._update(var, grad)
        if is_resource_variable(var):
            return self._apply_sparse_shared(grad, var, indices, self._resource_scatter_add)
        return self._apply_sparse_shared(grad, var, indices, self._scatter_add)

    def _scatter_add(self, x: Any, indices: Any, values: Any) -> Any:
        return tf.scatter_add(x, indices, values, use_locking=self._use_locking)

    def _resource_scatter_add(self, x: Any, indices: Any, values: Any) -> Any:
        with tf.control_dependencies([raw.ResourceScatterAdd(x.handle, indices, values)]):
            return x.value()

    def _apply_sparse_shared(self, grad: Any, var: Any, indices: Any, scatter_add: Any) -> Any:
        a = self._op_arguments(var)
        rate = a["lr"] * tf.sqrt(1 - a["beta2_power"]) / (1 - a["beta1_power"])

        def decayed(slot: str, beta: Any, part: Any) -> Any:
            moment = self.get_slot(var, slot)
            scaled = part * (1 - beta)
            smaller = tf.assign(moment, moment * beta, use_locking=self._use_locking)
            with tf.control_dependencies([smaller]):
                return scatter_add(moment, indices, scaled)

        m = decayed("m", a["beta1"], grad)
        v = decayed("v", a["beta2"], grad * grad)
        update = tf.assign_sub(
            var, rate * m / (tf.sqrt(v) + a["epsilon"]), use_locking=self._use_locking
        )
        return tf.group(update, m, v)

    def _finish(self, update_ops: list[Any], name_scope: str) -> Any:
        with tf.control_dependencies(update_ops):
            beta1_power, beta2_power = self._get_beta_accumulators()
            with tf.colocate_with(beta1_power):
                powers = [
                    power.assign(power * beta, use_locking=self._use_locking)
                    for power, beta in (
                        (beta1_power, self._beta1_t),
                        (beta2_power, self._beta2_t),
                    )
                ]
        return tf.group(*update_ops, *powers, name=name_scope)
