"""Placement: which device each operation of a step runs on.

What the program asked for comes first, then the device of what an operation is colocated with (its resource,
its reference, a `colocate_with`), then the first device that can run it. Where no device fits, soft placement
takes the host; without it the step is refused.
"""

from __future__ import annotations

from typing import Any

from weft.framework import dtypes, errors
from weft.framework.operation import Operation
from weft.runtime.devices import Device


def place(
    ops: list[Operation], devices: list[Device], soft: bool, compilable: Any
) -> dict[Operation, Device]:
    """The device of each operation."""
    by_name = {d.name: d for d in devices}
    host = devices[0]
    first_gpu = next((d for d in devices if d.kind == "GPU"), None)
    if len(devices) == 1 and not any(op._device for op in ops):
        return dict.fromkeys(ops, host)
    leader = _colocate(ops)
    out: dict[Operation, Device] = {}
    chosen: dict[Operation, Device] = {}
    for op in ops:
        if op._device:
            device = by_name.get(op._device) or device_for(op, op._device, devices, soft)
            chosen.setdefault(leader(op), device)
    for op in ops:
        group = chosen.get(leader(op))
        if group is None:
            group = first_gpu if first_gpu is not None and compilable(op) else host
            if leader(op) is not op or _holds_state(op):
                chosen[leader(op)] = group
        if group.kind == "GPU" and not compilable(op):
            if op._device and not soft:
                raise errors.InvalidArgumentError(
                    op.node_def,
                    op,
                    f"Cannot assign a device for operation {op.name}: Could not satisfy explicit device "
                    f"specification '{op.device}' because no supported kernel for GPU devices is available.",
                )
            group = host
        out[op] = group
    return out


def _holds_state(op: Operation) -> bool:
    return op.type in ("VariableV2", "VarHandleOp", "Variable")


def _colocate(ops: list[Operation]) -> Any:
    """A function from an operation to the one that stands for its colocation group."""
    parent: dict[Operation, Operation] = {}

    def find(op: Operation) -> Operation:
        while parent.get(op, op) is not op:
            op = parent[op]
        return op

    by_name = {op._name: op for op in ops}
    for op in ops:
        for group in op._attrs.get("_class") or ():
            other = by_name.get(group[5:].decode()) if group.startswith(b"loc:@") else None
            if other is not None and find(other) is not find(op):
                parent[find(op)] = find(other)
        for t in op._inputs:
            tied = t._dtype._is_ref_dtype or t._dtype is dtypes.resource
            if tied and by_name.get(t._op._name) is t._op and find(t._op) is not find(op):
                parent[find(op)] = find(t._op)
    return find


def device_for(op: Operation, name: str, devices: list[Device], soft: bool) -> Device:
    """The device that an operation asks for by a name, which may leave parts open."""
    wanted = _parts(name)
    for device in devices:
        have = _parts(device.name)
        if all(have.get(k) == v or v == "*" for k, v in wanted.items()):
            return device
    if soft:
        return devices[0]
    names = ", ".join(d.name for d in devices)
    raise errors.InvalidArgumentError(
        op.node_def,
        op,
        f"Cannot assign a device for operation {op.name}: node {op.name} (defined at {op.user_line}) was "
        f"explicitly assigned to {name} but available devices are [ {names} ]. Make sure the device "
        "specification refers to a valid device.",
    )


def _parts(name: str) -> dict[str, str]:
    """The parts of a canonical device name."""
    out: dict[str, str] = {}
    for part in name.split("/"):
        key, _, value = part.partition(":")
        if key == "device":
            kind, _, index = value.partition(":")
            out["kind"] = kind.upper()
            if index:
                out["index"] = index
        elif key:
            out[key] = value
    return out
