"""Variables that are clipped after each step."""

from __future__ import annotations

import contextlib
from typing import Any

import weft as tf
from weft.framework.export import export
from weft.framework.indexed_slices import IndexedSlices
from weft.train.optimizer import Optimizer
from weft.variables.resource import is_resource_variable


@export("contrib.opt.VariableClippingOptimizer", "contrib.gan.features.VariableClippingOptimizer")
class VariableClippingOptimizer(Optimizer):
    """Steps of another optimizer, after which the norms of variables along some axes are limited."""

    def __init__(
        self,
        opt: Any,
        vars_to_clip_dims: dict[Any, Any],
        max_norm: Any,
        use_locking: bool = False,
        colocate_clip_ops_with_vars: bool = False,
        name: str = "VariableClipping",
    ):
        super().__init__(use_locking, name)
        self._opt, self._max_norm = opt, max_norm
        self._vars_to_clip_dims = {id(v): list(dims) for v, dims in vars_to_clip_dims.items()}
        self._clipped = list(vars_to_clip_dims)  # as their ids have to stay theirs
        self._colocate_clip_ops_with_vars = colocate_clip_ops_with_vars

    def compute_gradients(self, *args: Any, **kwargs: Any) -> Any:
        return self._opt.compute_gradients(*args, **kwargs)

    def get_slot(self, *args: Any, **kwargs: Any) -> Any:
        return self._opt.get_slot(*args, **kwargs)

    def get_slot_names(self, *args: Any, **kwargs: Any) -> Any:
        return self._opt.get_slot_names(*args, **kwargs)

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Any:
        grads_and_vars = list(grads_and_vars)
        with tf.name_scope(name, self._name) as name:
            update = self._opt.apply_gradients(grads_and_vars, global_step=global_step)
            clips = []
            with tf.control_dependencies([update]):
                for grad, var in grads_and_vars:
                    axes = self._vars_to_clip_dims.get(id(var))
                    if grad is None or axes is None:
                        continue
                    with tf.name_scope("clip_" + var.op.name):
                        clips.append(self._clip(grad, var, axes))
            return tf.group(update, *clips, name=name)

    def _clip(self, grad: Any, var: Any, axes: list[int]) -> Any:
        if isinstance(grad, IndexedSlices):
            if 0 not in axes:
                return self._clip_rows(grad, var, axes)
            tf.logging.warning(
                f"Clipping norm across dims {axes} for {var.op.name} is inefficient when including sparse dimension 0."
            )
        with self._near(var):
            value = var.read_value()
            delta = value - tf.clip_by_norm(value, self._max_norm, axes)
        with tf.colocate_with(var):
            return var.assign_sub(delta, use_locking=self._use_locking)

    def _clip_rows(self, grad: Any, var: Any, axes: list[int]) -> Any:
        with tf.colocate_with(var):
            # What is read is the value after the step, not the one that the graph has read already.
            if is_resource_variable(var):
                rows = var.sparse_read(grad.indices)
            else:
                rows = tf.gather(var.read_value(), grad.indices)
        with self._near(var):
            clipped = tf.clip_by_norm(rows, self._max_norm, axes)
            delta = IndexedSlices(rows - clipped, grad.indices, grad.dense_shape)
        with tf.colocate_with(var):
            return var.scatter_sub(delta, use_locking=self._use_locking)

    def _near(self, var: Any) -> Any:
        if self._colocate_clip_ops_with_vars:
            return tf.colocate_with(var)
        return contextlib.nullcontext()


@export("contrib.gan.features.clip_variables")
def clip_variables(optimizer: Any, variables: Any, weight_clip: Any) -> VariableClippingOptimizer:
    """An optimizer after whose steps the norms of variables are limited."""
    if weight_clip < 0:
        raise ValueError(
            f"`discriminator_weight_clip` must be positive. Instead, was {weight_clip}"
        )
    return VariableClippingOptimizer(
        opt=optimizer,
        vars_to_clip_dims={v: [] for v in variables},
        max_norm=weight_clip,
        use_locking=True,
        colocate_clip_ops_with_vars=True,
    )


@export("contrib.gan.features.clip_discriminator_weights")
def clip_discriminator_weights(optimizer: Any, model: Any, weight_clip: Any) -> Any:
    """An optimizer after whose steps the norms of a discriminator's variables are limited."""
    return clip_variables(optimizer, model.discriminator_variables, weight_clip)
