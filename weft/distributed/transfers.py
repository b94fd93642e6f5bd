"""The runtime's own operations, at both ends of an edge that crosses from one task to another."""

from __future__ import annotations

from weft.framework import errors
from weft.framework.registry import op
from weft.runtime.rendezvous import key_of

_ENDS = (
    "tensor_name: string; send_device: string; send_device_incarnation: int; recv_device: string; "
    "client_terminated: bool = false"
)


def _transfers(ctx):
    found = ctx.step.extra.get("transfers")
    if found is None:
        raise errors.InternalError(None, None, "Op kernel context needs to provide a rendezvous.")
    return found


def _send(ctx, value, *, tensor_name, send_device, send_device_incarnation, recv_device):
    """Leaves a tensor, or several that travel together, for the task that asks for it."""
    key = key_of(
        _text(send_device), send_device_incarnation, _text(recv_device), _text(tensor_name)
    )
    _transfers(ctx).send(key, tuple(value) if isinstance(value, list) else value)


def _receive(ctx, *, tensor_name, send_device, send_device_incarnation, recv_device):
    """Gives what another task sends."""
    sender = _text(send_device)
    key = key_of(sender, send_device_incarnation, _text(recv_device), _text(tensor_name))
    return ctx.wait(_transfers(ctx).receive(sender, key))


def _text(value):
    return value.decode() if isinstance(value, bytes) else value


# TensorFlow's, in two forms for two kinds of memory; and those for tensors that travel together between two
# tasks of weft.
SENDS, RECEIVES = ("_Send", "_HostSend"), ("_Recv", "_HostRecv")

for _name in SENDS:
    op(_name, "tensor: T", f"T: type; {_ENDS}", stateful=True, host=True)(_send)
for _name in RECEIVES:
    op(
        _name,
        "-> tensor: tensor_type",
        f"tensor_type: type; {_ENDS}",
        stateful=True,
        host=True,
        blocking=True,
    )(_receive).shape(lambda: None)

op("WeftSend", "tensors: T", f"T: list(type) >= 1; {_ENDS}", stateful=True, host=True)(_send)
op(
    "WeftRecv",
    "-> tensors: T",
    f"T: list(type) >= 1; {_ENDS}",
    stateful=True,
    host=True,
    blocking=True,
)(_receive).shape(lambda *, T: [None] * len(T))
