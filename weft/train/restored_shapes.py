"""Whether the variables of a graph have the shapes that a checkpoint has, looked at before anything is restored."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from weft.framework.checkpoint_files import open_checkpoint
from weft.framework.checkpoint_files.tensor_slice import parse_shape_and_part
from weft.framework.constant_value import constant_value
from weft.framework.tensor_shape import TensorShape

_PASSING = ("Identity",)
_ASSIGNING = ("Assign", "AssignVariableOp")


class RestoredShapes:
    """What the operations that restore expect: of which tensor of a checkpoint, for which variable, which shape."""

    def __init__(self, restore_op: Any):
        self._expected = list(_expectations(restore_op))

    def differences(self, prefix: str) -> list[str]:
        """What does not fit, with both shapes; tensors that are missing are found where they are read."""
        reader = open_checkpoint(prefix)
        try:
            found = []
            for name, variable, shape in self._expected:
                if name not in reader:
                    continue
                stored = reader.entry(name)[1]
                if not shape.is_compatible_with(stored):
                    found.append(
                        f"variable {variable} has the shape {_text(shape)} and {name} in {prefix} has {_text(stored)}"
                    )
            return sorted(found)
        finally:
            reader.close()


def _text(shape: Any) -> str:
    return f"[{','.join('?' if n is None else str(n) for n in TensorShape(shape).as_list())}]"


def _expectations(restore_op: Any) -> Iterator[tuple[str, str, TensorShape]]:
    """Follows the group of assignments to what each of them reads."""
    ways, seen = [restore_op], {restore_op}
    while ways:
        op = ways.pop()
        if op.type in _ASSIGNING and (source := _source(op.inputs[1])) is not None:
            name, part = source
            variable = op.inputs[0].op
            shape = _shape(variable)
            if part:
                shape = TensorShape(parse_shape_and_part(part)[0])
            if shape is not None and shape.is_fully_defined():
                yield name, variable.name, shape
        for before in op.control_inputs:
            if before not in seen:
                seen.add(before)
                ways.append(before)


def _source(value: Any) -> tuple[str, str] | None:
    """The name, and the part of the whole, that an assigned value is read by; None where it is changed on the way."""
    while value.op.type in _PASSING:
        value = value.op.inputs[0]
    if value.op.type != "RestoreV2":
        return None
    names, parts = (constant_value(x) for x in value.op.inputs[1:])
    if names is None or parts is None:
        return None
    return names[value.value_index].decode(), parts[value.value_index].decode()


def _shape(variable: Any) -> TensorShape | None:
    if variable.type == "VarHandleOp":
        return TensorShape(variable.get_attr("shape"))
    if variable.type in ("Variable", "VariableV2"):
        return variable.outputs[0].shape
    return None
