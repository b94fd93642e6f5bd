"""The collective operations: each member of a group, on a device of its own, runs one of them, and all get the result.

Who is in a group, and how its members meet, is the business of the runtime: `ctx.resources.collectives`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.framework import errors
from weft.framework.device_names import merge_device_strings
from weft.framework.registry import op
from weft.framework.shape_rules import rank_at_least
from weft.framework.tensor_shape import TensorShape

_TYPES = "{float, half, double, int32, int64}"
_GROUP = "group_size: int; group_key: int; instance_key: int"
_HINT = 'communication_hint: string = "auto"'


@dataclass(frozen=True)
class Request:
    """What a member asks its group for. All members of an instance must ask for the same."""

    name: str  # of the operation
    device: str
    kind: str  # "Reduce", "Gather" or "Broadcast"
    group_key: int
    group_size: int
    instance_key: int
    dtype: np.dtype
    shape: tuple[int, ...]
    merge: str = "Add"
    final: str = "Id"
    is_source: bool = False
    wait_for: tuple[int, ...] = ()  # instances of the group that must have run before

    @property
    def asked(self) -> tuple[Any, ...]:
        """What must be the same at all members."""
        return self.kind, self.dtype, self.shape, self.merge, self.final


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else value


def _device(ctx: Any) -> str:
    """Where an operation runs: in a function it says so itself, as far as it does, beside who calls it."""
    caller = ctx.device.name if ctx.device is not None else None
    said = ctx.node.op._device if caller and ctx.node is not None else ""
    if said and said != caller:
        wanted = merge_device_strings(caller, said)
        if any(d.name == wanted for d in getattr(ctx.step.session, "devices", ())):
            caller = wanted
    return ctx.resources.collectives.name_of(caller)


def _joined(
    ctx: Any,
    kind: str,
    value: Any,
    dtype: Any,
    shape: Any,
    group: tuple[int, int, int],
    **more: Any,
) -> Any:
    """What a group gives: asks for it, and waits for the others."""
    request = Request(
        ctx.node.op.name if ctx.node is not None else "collective",
        _device(ctx),
        kind,
        *group,
        np.dtype(dtype),
        tuple(shape),
        **more,
    )
    return ctx.wait(ctx.resources.collectives.join(request, value))


@op(
    "CollectiveReduce",
    "input: T -> data: T",
    f"T: type in {_TYPES}; {_GROUP}; merge_op: string in {{Min, Max, Mul, Add}}; "
    "final_op: string in {Id, Div}; subdiv_offsets: list(int); wait_for: list(int) = []; "
    f"{_HINT}",
    host=True,
    stateful=True,
    blocking=True,
    meets=True,
)
def collective_reduce(
    ctx, input, *, group_key, group_size, instance_key, merge_op, final_op, wait_for
):
    """The sum (product, least, greatest) of the members' tensors, with "Div" divided by how many they are.

    `subdiv_offsets` and `communication_hint` say how the tensor should travel, not what comes of it.
    """
    more = {"merge": _text(merge_op), "final": _text(final_op), "wait_for": tuple(wait_for)}
    group = group_key, group_size, instance_key
    return _joined(ctx, "Reduce", input, input.dtype, input.shape, group, **more)


@collective_reduce.shape
def _(input):
    return input


@op(
    "CollectiveGather",
    "input: T -> data: T",
    f"T: type in {_TYPES}; {_GROUP}; shape: shape; {_HINT}",
    host=True,
    stateful=True,
    blocking=True,
    meets=True,
)
def collective_gather(ctx, input, *, group_key, group_size, instance_key, shape):
    """The members' tensors one after the other along the first axis, in the order of their devices."""
    wanted = (input.shape[0] * group_size, *input.shape[1:])
    if shape and 0 not in shape and not TensorShape.from_tuple(shape).is_compatible_with(wanted):
        raise errors.InternalError(
            None,
            None,
            f"Inconsistent output shapes, got {list(wanted)}, but expected is {list(shape)}.",
        )
    group = group_key, group_size, instance_key
    return _joined(ctx, "Gather", input, input.dtype, input.shape, group)


@collective_gather.shape
def _(input, *, group_size):
    input = rank_at_least(input, 1, "input")
    if input is None:
        return None
    return (None if input[0] is None else input[0] * group_size, *input[1:])


collective_gather.not_differentiable()


@op(
    "CollectiveBcastSend",
    "input: T -> data: T",
    f"T: type in {_TYPES}; {_GROUP}; shape: shape; {_HINT}",
    host=True,
    stateful=True,
    blocking=True,
    meets=True,
)
def collective_bcast_send(ctx, input, *, group_key, group_size, instance_key, shape):
    """Gives a tensor to the other members of the group."""
    if not TensorShape.from_tuple(shape).is_compatible_with(input.shape):
        raise errors.InternalError(
            None,
            None,
            f"Declared shape of op {ctx.node.op.name if ctx.node else ''} does not match shape of input: "
            f"{shape} and {list(input.shape)}",
        )
    group = group_key, group_size, instance_key
    return _joined(ctx, "Broadcast", input, input.dtype, input.shape, group, is_source=True)


@op(
    "CollectiveBcastRecv",
    "-> data: T",
    f"T: type in {_TYPES}; {_GROUP}; shape: shape; {_HINT}",
    host=True,
    stateful=True,
    blocking=True,
    meets=True,
)
def collective_bcast_recv(ctx, *, T, group_key, group_size, instance_key, shape):
    """The tensor that the sending member of the group gives."""
    group = group_key, group_size, instance_key
    return _joined(ctx, "Broadcast", None, T.np, shape, group)


@collective_bcast_send.shape
def _(input, *, shape):
    return shape


@collective_bcast_recv.shape
def _(*, shape):
    return shape


collective_bcast_send.not_differentiable()
collective_bcast_recv.not_differentiable()
