"""Weights that decay by themselves, apart from the gradients (Loshchilov and Hutter 2017)."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.framework import conversion
from weft.framework.export import export
from weft.ops.by_name import raw
from weft.train.adam import AdamOptimizer
from weft.train.optimizer import Optimizer
from weft.variables.resource import is_resource_variable

MomentumOptimizer: Any = tf.train.MomentumOptimizer


@export("contrib.opt.DecoupledWeightDecayExtension")
class DecoupledWeightDecayExtension:
    """Before another optimizer in the list of bases: variables get smaller before each of its steps."""

    def __init__(self, weight_decay: Any, **kwargs: Any):
        self._decay_var_list: Any = None
        self._weight_decay = weight_decay
        self._weight_decay_tensor: Any = None
        super().__init__(**kwargs)

    def minimize(
        self,
        loss: Any,
        global_step: Any = None,
        var_list: Any = None,
        gate_gradients: int = Optimizer.GATE_OP,
        aggregation_method: Any = None,
        colocate_gradients_with_ops: bool = False,
        name: str | None = None,
        grad_loss: Any = None,
        decay_var_list: Any = None,
    ) -> Any:
        """A step of training, with decay of some variables or of all."""
        pairs = self.compute_gradients(  # type: ignore[attr-defined]
            loss,
            var_list=var_list,
            gate_gradients=gate_gradients,
            aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
            grad_loss=grad_loss,
        )
        if all(g is None for g, _ in pairs):
            raise ValueError(
                "No gradients provided for any variable, check your graph for ops that do not support "
                f"gradients, between variables {[str(v) for _, v in pairs]} and loss {loss}."
            )
        return self.apply_gradients(pairs, global_step, name, decay_var_list)

    def apply_gradients(
        self,
        grads_and_vars: Any,
        global_step: Any = None,
        name: str | None = None,
        decay_var_list: Any = None,
    ) -> Any:
        """Applies gradients, with decay of some variables or of all."""
        self._decay_var_list = {id(v) for v in decay_var_list} if decay_var_list else None
        return super().apply_gradients(  # type: ignore[misc]
            grads_and_vars, global_step=global_step, name=name
        )

    def _prepare(self) -> None:
        given = self._weight_decay() if callable(self._weight_decay) else self._weight_decay
        self._weight_decay_tensor = conversion.convert_to_tensor(given, name="weight_decay")
        super()._prepare()  # type: ignore[misc]

    def _decayed(self, var: Any, indices: Any = None) -> list[Any]:
        """Operations after which the variable, or some of its rows, has decayed."""
        if self._decay_var_list is not None and id(var) not in self._decay_var_list:
            return []
        decay = tf.cast(self._weight_decay_tensor, var.dtype.base_dtype)
        locked = self._use_locking  # type: ignore[attr-defined]
        if indices is None:
            return [var.assign_sub(decay * var, use_locking=locked)]
        rows = decay * tf.gather(var, indices)
        if is_resource_variable(var):
            return [raw.ResourceScatterSub(var.handle, indices, rows)]
        return [tf.scatter_sub(var, indices, rows, use_locking=locked)]

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        with tf.control_dependencies(self._decayed(var)):
            return super()._apply_dense(grad, var)  # type: ignore[misc]

    def _resource_apply_dense(self, grad: Any, var: Any) -> Any:
        with tf.control_dependencies(self._decayed(var)):
            return super()._resource_apply_dense(grad, var)  # type: ignore[misc]

    def _apply_sparse(self, grad: Any, var: Any) -> Any:
        with tf.control_dependencies(self._decayed(var, grad.indices)):
            return super()._apply_sparse(grad, var)  # type: ignore[misc]

    def _resource_apply_sparse(self, grad: Any, var: Any, indices: Any) -> Any:
        with tf.control_dependencies(self._decayed(var, indices)):
            return super()._resource_apply_sparse(grad, var, indices)  # type: ignore[misc]


@export("contrib.opt.extend_with_decoupled_weight_decay")
def extend_with_decoupled_weight_decay(base_optimizer: Any) -> Any:
    """The class of an optimizer, with decay."""

    class OptimizerWithDecoupledWeightDecay(DecoupledWeightDecayExtension, base_optimizer):
        """An optimizer with decay."""

        def __init__(self, weight_decay: Any, *args: Any, **kwargs: Any):
            # Positional arguments are those of the optimizer.
            self._decay_var_list = self._weight_decay_tensor = None
            self._weight_decay = weight_decay
            base_optimizer.__init__(self, *args, **kwargs)

    return OptimizerWithDecoupledWeightDecay


@export("contrib.opt.AdamWOptimizer")
class AdamWOptimizer(DecoupledWeightDecayExtension, AdamOptimizer):
    """Adam with decay."""

    def __init__(
        self,
        weight_decay: Any,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "AdamW",
    ):
        super().__init__(
            weight_decay,
            learning_rate=learning_rate,
            beta1=beta1,
            beta2=beta2,
            epsilon=epsilon,
            use_locking=use_locking,
            name=name,
        )


@export("contrib.opt.MomentumWOptimizer")
class MomentumWOptimizer(DecoupledWeightDecayExtension, MomentumOptimizer):
    """Momentum with decay."""

    def __init__(
        self,
        weight_decay: Any,
        learning_rate: Any,
        momentum: Any,
        use_locking: bool = False,
        name: str = "MomentumW",
        use_nesterov: bool = False,
    ):
        super().__init__(
            weight_decay,
            learning_rate=learning_rate,
            momentum=momentum,
            use_locking=use_locking,
            name=name,
            use_nesterov=use_nesterov,
        )
