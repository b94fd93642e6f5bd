"""What a Saver saves: objects that give tensors to write, and take back what was read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import weft as tf
from weft.framework import context
from weft.framework.device_spec import DeviceSpec
from weft.framework.tensor import Tensor
from weft.variables.base import Variable
from weft.variables.partitioned import PartitionedVariable
from weft.variables.resource import BaseResourceVariable

_REFERENCES = ("Variable", "VariableV2")
_VARIABLE_OPS = (*_REFERENCES, "VarHandleOp", "ReadVariableOp")


class SaveSpec:
    """One tensor to be saved: its name in the checkpoint, and which part of the whole it is.

    The tensor may be given as a function that makes it, which is called where it is saved.
    """

    def __init__(
        self, tensor: Any, slice_spec: str, name: str, dtype: Any = None, device: str | None = None
    ):
        self._tensor = tensor
        self.slice_spec = slice_spec
        self.name = name
        if callable(tensor):
            if dtype is None or device is None:
                raise AssertionError(
                    "When passing a callable `tensor` to a SaveSpec, an explicit dtype and device must be provided."
                )
            self.dtype, self.device = dtype, device
        else:
            self.dtype, self.device = tensor.dtype, tensor.device

    @property
    def tensor(self) -> Any:
        return self._tensor() if callable(self._tensor) else self._tensor


class SaveableObject:
    """Something that a Saver can save: `specs` says what, `restore` builds what takes the values back."""

    def __init__(self, op: Any, specs: list[SaveSpec], name: str):
        self.op = op
        self.specs = specs
        self.name = name

    @property
    def optional_restore(self) -> bool:
        """Whether a checkpoint may lack it."""
        return False

    @property
    def device(self) -> str:
        return self.specs[0].device

    def restore(self, restored_tensors: list[Tensor], restored_shapes: list[Any] | None) -> Any:
        """Builds the operation that restores the object from tensors that were read."""
        raise ValueError("Calling an abstract method.")


class ReferenceVariableSaveable(SaveableObject):
    """A variable of the old kind, which is assigned through its reference."""

    def __init__(self, var: Any, slice_spec: str, name: str):
        super().__init__(var, [SaveSpec(var, slice_spec, name, dtype=var.dtype)], name)

    def restore(self, restored_tensors: list[Tensor], restored_shapes: list[Any] | None) -> Any:
        value = restored_tensors[0]
        if restored_shapes is not None:
            value = tf.reshape(value, restored_shapes[0])
        complete = self.op.get_shape().is_fully_defined()
        return tf.assign(self.op, value, validate_shape=restored_shapes is None and complete)


class ResourceVariableSaveable(SaveableObject):
    """A variable behind a handle, given as itself or as the tensor that reads it."""

    def __init__(self, var: Any, slice_spec: str, name: str):
        self._var_device, self._var_shape = var.device, var.shape
        tensor: Any
        if isinstance(var, Tensor):
            self.handle_op, tensor = var.op.inputs[0], var
        elif isinstance(var, BaseResourceVariable):
            self.handle_op = var.handle

            def tensor() -> Tensor:
                with tf.device(var.device):
                    value = var.read_value()
                    with tf.device("/device:CPU:0"):  # of the same task
                        return tf.identity(value)
        else:
            raise ValueError(
                f"Saveable is neither a resource variable nor a read operation. Got: {var!r}"
            )
        spec = SaveSpec(tensor, slice_spec, name, dtype=var.dtype, device=var.device)
        super().__init__(var, [spec], name)

    def restore(self, restored_tensors: list[Tensor], restored_shapes: list[Any] | None) -> Any:
        value = restored_tensors[0]
        if restored_shapes is not None:
            value = tf.reshape(value, restored_shapes[0])
        with tf.device(self._var_device):
            value = tf.identity(value)
            if not self._var_shape.is_compatible_with(value.shape):
                raise ValueError(
                    f"Shapes {self._var_shape} and {value.shape} are incompatible: {self.name} cannot be restored"
                )
            return tf.raw_ops.AssignVariableOp(resource=self.handle_op, value=value)


def on_cpu(device: str | None) -> str:
    """The first CPU of the task that a device belongs to."""
    return (
        DeviceSpec.from_string(device or "").replace(device_type="CPU", device_index=0).to_string()
    )


def _variable_saveable(variable: Any, slice_spec: str, name: str) -> SaveableObject:
    if variable.op.type in _REFERENCES:
        return ReferenceVariableSaveable(variable, slice_spec, name)
    return ResourceVariableSaveable(variable, slice_spec, name)


def _gathered(item: Any) -> dict[str, Any] | None:
    """What an object says is to be saved of it: attribute -> saveable or factory. A variable is saved as it is, unless
    it has several components."""
    gather = getattr(item, "_gather_saveables_for_checkpoint", None)
    is_plain = isinstance(item, Variable) and not hasattr(item, "primary")
    return None if gather is None or is_plain else gather()


def _as_tensor(variable: Any) -> Any:
    if isinstance(variable, BaseResourceVariable):
        return variable._graph_element
    return tf.get_default_graph().as_graph_element(variable)


def _is_of_variable(item: Any) -> bool:
    return isinstance(item, Tensor) and item.op.type in _VARIABLE_OPS


def saveables_of(item: Any, name: str) -> Iterator[SaveableObject]:
    """The objects that together save a variable, parts of one, a table, or what else can say how it is saved."""
    if not isinstance(name, str):
        raise TypeError(
            "names_to_saveables must be a dict mapping string names to trackable operations. Name is not a "
            f"string: {name}"
        )
    if isinstance(item, SaveableObject):
        yield item
    elif isinstance(item, (list, tuple, PartitionedVariable)):
        yield from _saveables_of_parts(list(item), name)
    elif (parts := _gathered(item)) is not None:
        for attribute, factory in parts.items():
            full_name = name if attribute == "VARIABLE_VALUE" else f"{name}_{attribute}"
            found = factory(full_name) if callable(factory) else factory
            yield from saveables_of(found, found.name)
    elif isinstance(item, BaseResourceVariable):
        yield ResourceVariableSaveable(
            item._graph_element if item._in_graph_mode else item, "", name
        )
    elif context.executing_eagerly():
        raise ValueError(
            f"Can only save/restore ResourceVariables when executing eagerly, got type: {type(item)}."
        )
    else:
        tensor = item if isinstance(item, Tensor) else _as_tensor(item)
        if not _is_of_variable(tensor):
            raise TypeError(
                "names_to_saveables must be a dict mapping string names to Tensors/Variables. Not a variable: "
                f"{tensor}"
            )
        yield _variable_saveable(tensor, "", name)


def _saveables_of_parts(parts: list[Any], name: str) -> Iterator[SaveableObject]:
    full_name = None
    for part in parts:
        if not isinstance(part, Variable):
            raise ValueError(f"Slices must all be Variables: {part}")
        info = part._get_save_slice_info()
        if not info:
            raise ValueError(f"Slices must all be slices: {part}")
        if full_name is None:
            full_name = info.full_name
        elif full_name != info.full_name:
            raise ValueError(
                f"Slices must all be from the same tensor: {full_name} != {info.full_name}"
            )
        yield _variable_saveable(part, info.spec, name)


def names_of(items: Any) -> dict[str, Any]:
    """Each of some variables and saveable objects by the name that it has in a checkpoint."""
    if not isinstance(items, (list, tuple, set)):
        raise TypeError(f"Variables to save should be passed in a dict or a list: {items}")
    found: dict[str, Any] = {}

    def add(name: str, item: Any) -> None:
        if name in found:
            raise ValueError(f"At least two variables have the same name: {name}")
        found[name] = item

    for item in sorted(items, key=lambda item: item.name):
        if isinstance(item, SaveableObject):
            found[item.name] = item
        elif isinstance(item, PartitionedVariable):
            add(item.name, item)
        elif isinstance(item, Variable) and (info := item._get_save_slice_info()):
            name = info.full_name or ""
            if not isinstance(found.setdefault(name, []), list):
                raise ValueError(f"Mixing slices and non-slices with the same name: {name}")
            found[name].append(item)
        elif (parts := _gathered(item)) is not None:
            found.update(names_of([f() if callable(f) else f for f in parts.values()]))
        elif not getattr(item, "_in_graph_mode", True):
            if found.setdefault(item._shared_name, item) is not item:
                raise ValueError(
                    f"Two different ResourceVariable objects with the same shared_name '{item._shared_name}' were "
                    "passed to the Saver. This likely means that they were created in different Graphs or "
                    "isolation contexts, and may not be checkpointed together."
                )
        else:
            tensor = item if isinstance(item, Tensor) else _as_tensor(item)
            if not _is_of_variable(tensor):
                raise TypeError(f"Variable to save is not a Variable: {tensor}")
            op = tensor.op.inputs[0].op if tensor.op.type == "ReadVariableOp" else tensor.op
            add(op.name, tensor)
    return found


def saveables(names_to_items: Any) -> list[SaveableObject]:
    """What is to be saved, from a dict of names or a list; each thing may be there once only."""
    if not isinstance(names_to_items, dict):
        names_to_items = names_of(names_to_items)
    found: list[SaveableObject] = []
    seen: set[int] = set()
    for name, item in sorted(names_to_items.items(), key=lambda pair: pair[0]):
        for saveable in saveables_of(item, name):
            if id(saveable.op) in seen:
                raise ValueError(
                    f"The same saveable will be restored with two names: {saveable.name}"
                )
            seen.add(id(saveable.op))
            found.append(saveable)
    return found


def all_saveables(scope: str | None = None) -> list[Any]:
    """Whatever of the default graph is saved where nothing else is said: variables and saveable objects."""
    keys = tf.GraphKeys
    return tf.get_collection(keys.GLOBAL_VARIABLES, scope) + tf.get_collection(
        keys.SAVEABLE_OBJECTS, scope
    )
