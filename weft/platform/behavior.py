"""Which TensorFlow the process behaves as: 1, or 2 as far as 1.15 had it."""

from __future__ import annotations

from typing import Any

from weft.framework import context, tensor_shape
from weft.framework.export import export
from weft.framework.tensor import Tensor
from weft.ops.by_name import raw
from weft.ops.flow import cond
from weft.variables import creation
from weft.variables.base import Variable


def _is_of_old_graph(item: Any) -> bool:
    """Whether a tensor or variable is of a graph of TensorFlow 1, rather than concrete or of a function."""
    tensor = getattr(item, "_handle", None) if isinstance(item, Variable) else item
    if tensor is None:
        return True  # a reference variable
    return tensor._op is not None and not tensor._op._graph.building_function


def _equal(self: Any, other: Any) -> Any:
    if other is None:
        return False
    if _is_of_old_graph(self):
        return self is other
    return raw.Equal(self, other)


def _not_equal(self: Any, other: Any) -> Any:
    if other is None:
        return True
    if _is_of_old_graph(self):
        return self is not other
    return raw.NotEqual(self, other)


_OF_IDENTITY = {cls: (cls.__eq__, cls.__ne__) for cls in (Tensor, Variable)}


@export("enable_tensor_equality")
def enable_tensor_equality() -> None:
    """Makes `==` and `!=` compare the elements of tensors and variables, outside of TensorFlow 1's graphs."""
    for cls in _OF_IDENTITY:
        cls.__eq__, cls.__ne__ = _equal, _not_equal  # type: ignore[assignment, method-assign]
    Tensor._USE_EQUALITY = True


@export("disable_tensor_equality")
def disable_tensor_equality() -> None:
    """Makes `==` and `!=` tell whether two tensors or variables are the same object; the default."""
    for cls, (equal, not_equal) in _OF_IDENTITY.items():
        cls.__eq__, cls.__ne__ = equal, not_equal  # type: ignore[method-assign]
    Tensor._USE_EQUALITY = False


@export("enable_v2_behavior")
def enable_v2_behavior() -> None:
    """Switches on what TensorFlow 2 does otherwise: eager execution, resource variables, plain sizes in shapes,
    elementwise equality, and control flow as functions. To be called at program startup."""
    context.enable_eager_execution()
    tensor_shape.enable_v2_tensorshape()
    creation.enable_resource_variables()
    enable_tensor_equality()
    cond.enable_control_flow_v2()


@export("disable_v2_behavior")
def disable_v2_behavior() -> None:
    """Switches off what `enable_v2_behavior` switched on."""
    context.disable_eager_execution()
    tensor_shape.disable_v2_tensorshape()
    creation.disable_resource_variables()
    disable_tensor_equality()
    cond.disable_control_flow_v2()
