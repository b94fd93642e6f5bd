"""NoOp, and what is made of it: `group`, `tuple` and `no_op` only say what runs before what."""

from __future__ import annotations

from typing import Any

from weft.framework import context, conversion, nest
from weft.framework.export import export
from weft.framework.graph import colocate_with, control_dependencies, device
from weft.framework.indexed_slices import IndexedSlices
from weft.framework.operation import Operation
from weft.framework.registry import op
from weft.framework.scopes import name_scope
from weft.framework.tensor import Tensor
from weft.ops.by_name import raw


@op("NoOp")
def no_op_decl(xp):
    """Does nothing; others may have to run before or after it."""


no_op_decl.not_differentiable()


@export("no_op")
def no_op(name: str | None = None) -> Any:
    """Does nothing; a placeholder for control edges."""
    return no_op_decl(name=name)


def _after(ops: list[Any], device_name: str | None, name: str | None = None) -> Operation:
    with control_dependencies(ops):
        if not device_name:
            return no_op_decl(name=name)
        with device(device_name):
            return no_op_decl(name=name)


@export("group")
def group(*inputs: Any, **kwargs: Any) -> Any:
    """An operation that runs after all of `inputs` (tensors, operations, nested structures of them)."""
    if context.executing_eagerly():
        return None
    name = kwargs.pop("name", None)
    if kwargs:
        raise ValueError(f"Unknown keyword arguments: {', '.join(kwargs)}")
    with name_scope(name, "group_deps", inputs) as scope:
        if not inputs:
            return no_op_decl(name=scope)
        by_device: dict[str, list[Any]] = {}
        for item in nest.flatten(inputs, expand_composites=True):
            if not hasattr(item, "device"):
                raise TypeError(
                    f"Expected tf.group() expected Tensor arguments not '{item}' with type '{type(item)}'"
                )
            by_device.setdefault(item.device or "", []).append(item)
        if len(by_device) == 1:
            ((where, ops),) = by_device.items()
            return _after(ops, where, scope)
        # One node on each device, so that one edge crosses for each rather than one for each input.
        return _after([_after(by_device[where], where) for where in sorted(by_device)], None, scope)


@export("tuple")
def tuple_(tensors: Any, name: str | None = None, control_inputs: Any = None) -> list[Any]:
    """The same tensors, none of which can be had before all are computed, and `control_inputs` have run."""
    if context.executing_eagerly():
        return tensors
    with name_scope(name, "tuple", tensors) as scope:
        items = [
            t
            if t is None or isinstance(t, (Operation, Tensor, IndexedSlices))
            else conversion.convert_to_tensor(t)
            for t in tensors
        ]
        gates = [t if isinstance(t, Operation) else t.op for t in items if t is not None]
        for c in control_inputs or ():
            if isinstance(c, Tensor):
                c = c.op
            elif not isinstance(c, Operation):
                raise TypeError(f"Control input must be Operation or Tensor: {c}")
            gates.append(c)
        # In the order of creation, so that equal programs give equal graphs.
        gates = sorted(dict.fromkeys(gates), key=lambda g: g._id)
        if not gates:
            raise ValueError("Must have at least one Tensor: " + str(tensors))
        gate = group(*gates)
        return [_gated(t, gate, scope) for t in items]


def _gated(item: Any, gate: Operation, scope: str) -> Any:
    if item is None:
        return None
    if isinstance(item, Operation):
        with control_dependencies([gate]):
            return no_op()
    if isinstance(item, IndexedSlices):
        indices = item.indices
        return IndexedSlices(_gated(item.values, gate, scope), indices, item.dense_shape)
    with control_dependencies([gate]), colocate_with(item.op):
        return raw.Identity(item, name="control_dependency")
