"""RuleOptimizer: an optimizer that is one training op for each variable."""

from __future__ import annotations

from typing import Any, NamedTuple

import weft as tf
from weft.framework import conversion
from weft.ops.by_name import raw
from weft.train.optimizer import Optimizer
from weft.variables.resource import is_resource_variable


class Hyperparameter(NamedTuple):
    """A number that an optimizer is configured with, and its ways to the op."""

    argument: str  # of the op
    given: str  # the attribute that keeps what the program gave
    tensor: str  # the attribute that keeps its tensor
    name: str  # of that tensor in the graph


class RuleOptimizer(Optimizer):
    """Applies each gradient with the training op `kind`, given slots and hyperparameters by name."""

    kind = ""
    slot_arguments: dict[str, str] = {}  # argument of the op -> slot
    hyperparameters: tuple[Hyperparameter, ...] = ()

    def _prepare(self) -> None:
        for h in self.hyperparameters:
            value = self._call_if_callable(getattr(self, h.given))
            setattr(self, h.tensor, conversion.convert_to_tensor(value, name=h.name))

    def _kind(self) -> str:
        return self.kind

    def _slot_arguments(self) -> dict[str, str]:
        return self.slot_arguments

    def _op_arguments(self, var: Any) -> dict[str, Any]:
        """The op's arguments besides variables and gradient."""
        dtype = var.dtype.base_dtype
        return {h.argument: tf.cast(getattr(self, h.tensor), dtype) for h in self.hyperparameters}

    def _flags(self) -> dict[str, Any]:
        """The op's attributes besides `use_locking`."""
        return {}

    gradient_argument = "grad"

    def _update(self, var: Any, grad: Any, indices: Any = None) -> Any:
        is_resource = is_resource_variable(var)
        form = ("Resource" if is_resource else "") + ("Apply" if indices is None else "SparseApply")
        cells = {"var": var}
        for argument, slot in self._slot_arguments().items():
            cells[argument] = self.get_slot(var, slot)
        if is_resource:
            cells = {name: cell.handle for name, cell in cells.items()}
        arguments = {**cells, **self._op_arguments(var)}
        if indices is None:
            arguments[self.gradient_argument] = grad
        else:
            arguments.update(grad=grad, indices=indices)
        decl = getattr(raw, form + self._kind())
        result = decl(**arguments, use_locking=self._use_locking, **self._flags())
        return result if is_resource else result.op

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        return self._update(var, grad)

    def _resource_apply_dense(self, grad: Any, handle: Any) -> Any:
        return self._update(handle, grad)

    def _apply_sparse(self, grad: Any, var: Any) -> Any:
        return self._update(var, grad.values, grad.indices)

    def _resource_apply_sparse(self, grad: Any, handle: Any, indices: Any) -> Any:
        return self._update(handle, grad, indices)


def constant_slot_value(value: float, var: Any) -> Any:
    """A constant of a variable's shape and dtype, beside it, for the start of a slot."""
    with tf.colocate_with(var):
        return tf.constant(value, dtype=var.dtype.base_dtype, shape=var.get_shape())
