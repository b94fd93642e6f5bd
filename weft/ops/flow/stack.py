"""Stacks of values for the time of a step: how loops of TensorFlow 1 keep what their gradients need."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework.registry import op
from weft.ops.flow.list_value import invalid
from weft.ops.flow.tensor_array_storage import shown


class Stack:
    """Values, the last one pushed on top."""

    def __init__(self, name: str, element_dtype: Any, most: int):
        self.name, self.element_dtype, self.most = name, element_dtype, most
        self.values: list[Any] = []
        self.closed = False

    def push(self, value: Any, dtype: Any) -> None:
        self._open()
        if dtype is not self.element_dtype:
            raise invalid(
                f"Must have type {shown(self.element_dtype)} but got {shown(dtype)} for stack {self.name}"
            )
        if 0 <= self.most <= len(self.values):
            raise invalid(f"Stack[{self.name}] overflowed its max_size ({self.most})")
        self.values.append(value)

    def pop(self) -> Any:
        self._open()
        if not self.values:
            raise invalid(f"Stack[{self.name}] is empty when calling Pop().")
        return self.values.pop()

    def close(self) -> None:
        self.values, self.closed = [], True

    def _open(self) -> None:
        if self.closed:
            raise invalid(f"Stack[{self.name}] has already been closed.")


@op(
    "StackV2",
    "max_size: int32 -> handle: resource",
    'elem_type: type; stack_name: string = ""',
    stateful=True,
    host=True,
)
def stack_v2(ctx, max_size, *, elem_type, stack_name):
    """Makes a stack; a negative size means any number of values."""
    if np.ndim(max_size):
        raise invalid(f"Stack size must be a scalar, but had shape: {list(max_size.shape)}")
    return Stack(stack_name or ctx.op._name, elem_type, int(max_size))


@stack_v2.shape
def _(max_size):
    return ()


stack_v2.not_differentiable()


@op(
    "StackPushV2",
    "handle: resource, elem: T -> output: T",
    "T: type; swap_memory: bool = false",
    stateful=True,
    host=True,
)
def stack_push(ctx, handle, elem, *, T):
    """Puts a value on top, and passes it on."""
    handle.push(elem, T)
    return elem


@stack_push.shape
def _(handle, elem):
    return elem


stack_push.not_differentiable()


@op(
    "StackPopV2", "handle: resource -> elem: elem_type", "elem_type: type", stateful=True, host=True
)
def stack_pop(ctx, handle):
    """Takes the value on top."""
    return handle.pop()


@stack_pop.shape
def _(handle):
    return None


stack_pop.not_differentiable()


@op("StackCloseV2", "handle: resource", stateful=True, host=True)
def stack_close(ctx, handle):
    """Gives back what a stack holds."""
    handle.close()


stack_close.not_differentiable()
