"""Other forms of Adam: lazy, with Nesterov's momentum, and by the largest gradient."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.framework import context
from weft.framework.export import export
from weft.ops.by_name import raw
from weft.train.adam import AdamOptimizer
from weft.variables.resource import is_resource_variable


def _scatter(kind: str, var: Any, indices: Any, values: Any, use_locking: bool) -> Any:
    """Writes to rows of a variable: `Update`, `Add` or `Sub`; the operation, or the reference."""
    if is_resource_variable(var):
        return getattr(raw, f"ResourceScatter{kind}")(var.handle, indices, values)
    scatter = {"Update": tf.scatter_update, "Add": tf.scatter_add, "Sub": tf.scatter_sub}[kind]
    return scatter(var, indices, values, use_locking=use_locking)


@export("contrib.opt.LazyAdamOptimizer")
class LazyAdamOptimizer(AdamOptimizer):
    """Adam that leaves moments of rows alone that a sparse gradient doesn't have."""

    def _update(self, var: Any, grad: Any, indices: Any = None) -> Any:
        if indices is None:
            return super()._update(var, grad)
        a = self._op_arguments(var)
        rate = a["lr"] * tf.sqrt(1 - a["beta2_power"]) / (1 - a["beta1_power"])
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        m_rows = a["beta1"] * tf.gather(m, indices) + (1 - a["beta1"]) * grad
        v_rows = a["beta2"] * tf.gather(v, indices) + (1 - a["beta2"]) * tf.square(grad)
        step = rate * m_rows / (tf.sqrt(v_rows) + a["epsilon"])
        return tf.group(
            _scatter("Sub", var, indices, step, self._use_locking),
            _scatter("Update", m, indices, m_rows, self._use_locking),
            _scatter("Update", v, indices, v_rows, self._use_locking),
        )


@export("contrib.opt.NadamOptimizer")
class NadamOptimizer(AdamOptimizer):
    """Adam with Nesterov's momentum."""

    def _flags(self) -> dict[str, Any]:
        return {"use_nesterov": True}

    def _apply_sparse_shared(self, grad: Any, var: Any, indices: Any, scatter_add: Any) -> Any:
        a = self._op_arguments(var)
        rate = a["lr"] * tf.sqrt(1 - a["beta2_power"]) / (1 - a["beta1_power"])

        def decayed(slot: str, beta: Any, scaled: Any) -> Any:
            moment = self.get_slot(var, slot)
            smaller = tf.assign(moment, moment * beta, use_locking=self._use_locking)
            with tf.control_dependencies([smaller]):
                return scatter_add(moment, indices, scaled)

        scaled = grad * (1 - a["beta1"])
        m = decayed("m", a["beta1"], scaled)
        ahead = scaled + a["beta1"] * tf.gather(m, indices)
        v = decayed("v", a["beta2"], grad * grad * (1 - a["beta2"]))
        root = tf.sqrt(tf.gather(v, indices))
        update = scatter_add(var, indices, -rate * ahead / (root + a["epsilon"]))
        return tf.group(update, ahead, v)


@export("contrib.opt.AdaMaxOptimizer")
class AdaMaxOptimizer(AdamOptimizer):
    """Adam by the largest gradient instead of the mean square."""

    kind = "AdaMax"

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "AdaMax",
    ):
        super().__init__(learning_rate, beta1, beta2, epsilon, use_locking, name)

    def _get_beta_accumulators(self) -> Any:
        graph = None if context.executing_eagerly() else context.get_default_graph()
        return self._get_non_slot_variable("beta1_power", graph)

    def _create_slots(self, var_list: list[Any]) -> None:
        first = min(var_list, key=lambda v: v.name)
        self._create_non_slot_variable(self._beta1, "beta1_power", first)
        for v in var_list:
            self._zeros_slot(v, "m", self._name)
            self._zeros_slot(v, "v", self._name)

    def _op_arguments(self, var: Any) -> dict[str, Any]:
        # Adam's own arguments, but for the second power.
        power = tf.cast(self._get_beta_accumulators(), var.dtype.base_dtype)
        return {"beta1_power": power, **super(AdamOptimizer, self)._op_arguments(var)}

    def _update(self, var: Any, grad: Any, indices: Any = None) -> Any:
        if indices is None:
            return super()._update(var, grad)
        a = self._op_arguments(var)
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        m_rows = tf.gather(m, indices) * a["beta1"] + grad * (1 - a["beta1"])
        v_rows = tf.maximum(tf.gather(v, indices) * a["beta2"], tf.abs(grad))
        step = -a["lr"] / (1 - a["beta1_power"]) * (m_rows / (v_rows + a["epsilon"]))
        return tf.group(
            _scatter("Add", var, indices, step, self._use_locking),
            _scatter("Update", m, indices, m_rows, self._use_locking),
            _scatter("Update", v, indices, v_rows, self._use_locking),
        )

    def _finish(self, update_ops: list[Any], name_scope: str) -> Any:
        with tf.control_dependencies(update_ops):
            power = self._get_beta_accumulators()
            with tf.colocate_with(power):
                update = power.assign(power * self._beta1_t, use_locking=self._use_locking)
        return tf.group(*update_ops, update, name=name_scope)
