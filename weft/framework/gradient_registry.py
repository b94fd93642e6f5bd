"""Gradients by op type: what ops declare, and what programs register with `tf.RegisterGradient`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.framework import registry
from weft.framework.export import export

_registered_by_user: dict[str, Callable | None] = {}


@export("RegisterGradient")
class RegisterGradient:
    """A decorator that registers a function `(op, *grads)` as the gradient of an op type, or under a name
    for `gradient_override_map`."""

    def __init__(self, op_type: str):
        if not isinstance(op_type, str):
            raise TypeError("op_type must be a string")
        self._op_type = op_type

    def __call__(self, function: Callable) -> Callable:
        _register(self._op_type, function)
        return function


def takes_none(rule: Callable) -> Callable:
    """Lets a rule be called with None for gradients that are not there, and with `wanted`: which inputs need one."""
    rule.__dict__["takes_none"] = True
    return rule


@export("NotDifferentiable", "no_gradient", "NoGradient")
def not_differentiable(op_type: str) -> None:
    """States that no gradient flows through ops of a type."""
    if not isinstance(op_type, str):
        raise TypeError("op_type must be a string")
    _register(op_type, None)


def _register(op_type: str, function: Callable | None) -> None:
    if op_type in registry.gradients:
        place = ""
        known = registry.gradients[op_type]
        if known is not None:
            place = f" It was registered at {known.__code__.co_filename}:{known.__code__.co_firstlineno}."
        raise KeyError(f"Registering two gradient with name '{op_type}'!{place}")
    registry.gradients[op_type] = function


@export("get_gradient_function")
def get_gradient_function(op: Any) -> Callable | None:
    """Returns the function that computes gradients for an operation, None if it is not differentiable."""
    if not op.inputs:
        return None
    override = op._attrs.get("_gradient_op_type") if hasattr(op, "_attrs") else None
    name = override.decode() if override else op.type
    registry.find(op.type)
    try:
        return registry.gradients[name]
    except KeyError:
        raise LookupError(f"gradient registry has no entry for: {name}") from None
