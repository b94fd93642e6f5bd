"""Messages as nobody should send them: recorded ones with a few bytes or fields changed."""

from __future__ import annotations

import random
from typing import Any

from google.protobuf.descriptor import FieldDescriptor

EXTREMES = [0, 1, -1, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63), 2**32 - 1, 2**64 - 1, 10**9, 10**12]
TEXTS = ["", "x", "^v", "v:0", "x:99", "a" * 1000, "/job:w/task:9", "\0", "_Send", "Const", "While"]
TEXTS += ["Switch", "NextIteration", "Placeholder", "/cpu:0"]


def broken(data: bytes, rng: random.Random) -> bytes:
    """The bytes of a message with some of them lost, changed or come from elsewhere."""
    out = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 5])):
        at = rng.randrange(len(out)) if out else 0
        kind = rng.randrange(7) if out else 2
        if kind == 0:
            out[at] = rng.randrange(256)
        elif kind == 1:
            del out[at:]
        elif kind == 2:
            out[at:at] = rng.randbytes(rng.randrange(1, 9))
        elif kind == 3:
            out[at:at] = b"\xff" * 8 + b"\x7f"  # a length that nothing has
        elif kind == 4:
            del out[at : at + rng.randrange(1, 9)]
        elif kind == 5:
            start = rng.randrange(len(out))
            out[at:at] = out[start : start + rng.randrange(1, 200)]
        else:
            out[at] ^= 1 << rng.randrange(8)
    return bytes(out)


def twist(message: Any, rng: random.Random) -> None:
    """Changes a field somewhere in a message."""
    fields = list(message.DESCRIPTOR.fields)
    if not fields:
        return
    present = [field for field, _ in message.ListFields()]
    field = rng.choice(present) if present and rng.random() < 0.8 else rng.choice(fields)
    if field.message_type and field.message_type.GetOptions().map_entry:
        _twist_map(getattr(message, field.name), field, rng)
    elif field.message_type and field.is_repeated:
        _twist_list(getattr(message, field.name), rng)
    elif field.message_type:
        if rng.random() < 0.85:
            twist(getattr(message, field.name), rng)
        else:
            message.ClearField(field.name)
    else:
        _twist_scalar(message, field, rng)


def _twist_map(items: Any, field: Any, rng: random.Random) -> None:
    keys = list(items)
    if not keys:
        return
    key = rng.choice(keys)
    if field.message_type.fields_by_name["value"].message_type and rng.random() < 0.8:
        twist(items[key], rng)
    else:
        del items[key]


def _twist_list(items: Any, rng: random.Random) -> None:
    chance = rng.random()
    if not items or chance > 0.9:
        items.add()
    elif chance < 0.6:
        twist(items[rng.randrange(len(items))], rng)
    elif chance < 0.75:
        del items[rng.randrange(len(items))]
    else:
        items.add().CopyFrom(items[rng.randrange(len(items))])


def _twist_scalar(message: Any, field: Any, rng: random.Random) -> None:
    value = _value(field.type, rng)
    try:
        if not field.is_repeated:
            setattr(message, field.name, value)
            return
        items = getattr(message, field.name)
        if items and rng.random() < 0.6:
            items[rng.randrange(len(items))] = value
        elif items and rng.random() < 0.5:
            del items[rng.randrange(len(items))]
        else:
            items.append(value)
    except (ValueError, TypeError, OverflowError):
        pass  # the library itself would not write it


def _value(kind: int, rng: random.Random) -> Any:
    if kind == FieldDescriptor.TYPE_STRING:
        return rng.choice(TEXTS)
    if kind == FieldDescriptor.TYPE_BYTES:
        return rng.choice([b"", b"\xff\xfe", b"a" * 5000, rng.randbytes(16)])
    if kind == FieldDescriptor.TYPE_BOOL:
        return rng.random() < 0.5
    if kind in (FieldDescriptor.TYPE_FLOAT, FieldDescriptor.TYPE_DOUBLE):
        return rng.choice([0.0, -1.0, float("nan"), float("inf"), 1e30])
    if kind == FieldDescriptor.TYPE_ENUM:
        return rng.choice([0, 1, 3, 7, 14, 20, 21, 23, 99, 101, 107])
    return rng.choice(EXTREMES)
