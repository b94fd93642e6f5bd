"""The runtime's own operations, at both ends of an edge that crosses from one task to another."""

from __future__ import annotations

from weft.engine.dataflow import DEAD
from weft.engine.interpreter import PutOff
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
    transfers, receiver = _transfers(ctx), _text(recv_device)
    where = transfers.where(ctx.position, receiver)
    key = key_of(_text(send_device), send_device_incarnation, receiver, _text(tensor_name), where)
    transfers.send(key, tuple(value) if isinstance(value, list) else value)


def _receive(ctx, *, tensor_name, send_device, send_device_incarnation, recv_device):
    """Gives what another task sends."""
    transfers, sender = _transfers(ctx), _text(send_device)
    where = transfers.where(ctx.position, sender)
    key = key_of(sender, send_device_incarnation, _text(recv_device), _text(tensor_name), where)
    arrival = transfers.receive(sender, key)
    if arrival.done and arrival.value is DEAD and ctx.node is ctx.may_put_off:
        raise PutOff(arrival)  # who waits for tensors knows what to do with one that is dead
    return ctx.wait(arrival)


def _text(value):
    return value.decode() if isinstance(value, bytes) else value


# TensorFlow's, in two forms for two kinds of memory; and those for tensors that travel together between two
# tasks of weft.
for _name in ("_Send", "_HostSend"):
    op(_name, "tensor: T", f"T: type; {_ENDS}", stateful=True, host=True)(_send)
for _name in ("_Recv", "_HostRecv"):
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
