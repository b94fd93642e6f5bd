"""RemoteCall: a function called on the device that a string tells when the step runs."""

from __future__ import annotations

from typing import Any

from weft.framework import errors
from weft.framework.device_spec import DeviceSpec
from weft.framework.registry import op
from weft.framework.shape_rules import scalar

_ALONE = "/job:localhost/replica:0/task:0/device:CPU:0"


def _parsed(name: str) -> DeviceSpec:
    try:
        return DeviceSpec.from_string(name)
    except ValueError:
        raise errors.InvalidArgumentError(
            None, None, f"Could not parse {name} into a device specification."
        ) from None


def _place(spec: DeviceSpec) -> tuple[Any, ...]:
    return spec.job, spec.replica, spec.task, spec.device_type, spec.device_index


def _check_device(ctx: Any, name: str) -> None:
    """Refuses a device that the step does not have, or that another task would have to run the function on."""
    wanted = _place(_parsed(name))
    session = getattr(ctx.step, "session", None)
    devices = [d.name for d in getattr(session, "devices", ())] or [_ALONE]
    mine = [_place(_parsed(d)) for d in devices]
    for found in mine:
        fits = all(w is None or w == f for w, f in zip(wanted, found))
        if fits and found[:3] == mine[0][:3]:
            return
    raise errors.InternalError(
        None, None, f"Currently don't support instantiating functions on device: {name}"
    )


@op(
    "RemoteCall",
    "target: string, args: Tin -> output: Tout",
    "Tin: list(type) >= 1; Tout: list(type) >= 1; f: func",
    stateful=True,
    host=True,
)
def remote_call(ctx, target, args, *, f):
    """Calls a function on the device that `target` names."""
    _check_device(ctx, target.item().decode())
    return ctx.call(f.name, args)


@remote_call.shape
def _(target, args, *, Tout):
    scalar(target, "target")
    return [None] * len(Tout)


remote_call.not_differentiable()
