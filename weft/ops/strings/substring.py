"""Substr and StringLength, in bytes or in characters of UTF-8."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import shape_rules
from weft.framework.export import export
from weft.framework.registry import op
from weft.framework.shape_rules import ShapeError, broadcast, rank, text
from weft.ops.strings.elements import each, invalid, shown
from weft.ops.strings.packed import pack

_UNIT = "unit: string in {BYTE, UTF8_CHAR} = 'BYTE'"
_CONTINUATIONS = bytes(range(0x80, 0xC0))  # of UTF-8: the bytes of a character but its first


@op("StringLength", "input: string -> output: int32", _UNIT, host=True)
def string_length_op(xp, input, *, unit):
    """How many bytes or characters the strings have."""
    if unit == "UTF8_CHAR":
        input = each(lambda element: element.translate(None, _CONTINUATIONS), input)
    return each(len, input).astype(np.int32)


string_length_op.shape(shape_rules.same)
string_length_op.elementwise("input").not_differentiable()


@op(
    "Substr",
    "input: string, pos: T, len: T -> output: string",
    f"T: type in {{int32, int64}}; {_UNIT}",
    host=True,
)
def substr_op(xp, input, pos, len, *, unit):
    """The parts of the strings from positions on; negative ones count from the end."""
    if pos.shape != len.shape:
        raise ShapeError(f"pos and len shapes must match: {text(pos.shape)} vs. {text(len.shape)}")
    shape = np.broadcast_shapes(input.shape, pos.shape)
    strings = np.broadcast_to(input, shape).ravel()
    pos = np.broadcast_to(pos, shape).ravel().astype(np.int64)
    len = np.broadcast_to(len, shape).ravel().astype(np.int64)
    if not strings.size:
        return np.empty(shape, object)
    cut = _in_characters if unit == "UTF8_CHAR" else _in_bytes
    begin, end, outside = cut(strings, pos, len)
    if outside.any():
        i = int(np.argmax(outside))
        at = ", ".join(str(k) for k in np.unravel_index(i, shape))
        raise invalid(
            f"pos {pos[i]} out of range for string b'{shown(strings[i])}' at index "
            + (f"({at})" if "," in at else at or "0")
        )
    return each(lambda element, i, j: element[i:j], strings, begin, end).reshape(shape)


def _in_bytes(strings: Any, pos: Any, len_: Any) -> tuple[Any, Any, Any]:
    """Where parts begin and end, and which positions are not in their string."""
    size = each(len, strings).astype(np.int64)
    begin = np.where(pos < 0, size + pos, pos)
    end = np.where(len_ < 0, size, begin + np.minimum(len_, size))  # a negative length: the rest
    return begin, end, (begin < 0) | (begin > size)


def _in_characters(strings: Any, pos: Any, len_: Any) -> tuple[Any, Any, Any]:
    """The same for positions and lengths in characters of UTF-8.

    A string that does not begin with a character has its first bytes as one more.
    """
    packed = pack(strings)
    is_first = (packed.data & 0xC0) != 0x80
    is_first[packed.starts] = True
    firsts = np.flatnonzero(is_first)
    before = np.searchsorted(firsts, packed.starts)  # how many characters come before each string
    stop = packed.starts + packed.lengths
    count = np.searchsorted(firsts, stop) - before
    backwards = pos < 0
    skipped = np.maximum(-pos - len_, 0)  # at the end, of a part that is counted from there
    begin = np.where(backwards, count + pos, pos)
    end = np.where(backwards, count - skipped, begin + np.clip(len_, 0, count))
    outside = (begin < 0) | (begin > count) | (backwards & ((skipped > count) | (len_ < 0)))
    ends = np.append(firsts, len(packed.data))

    def place(character: Any) -> Any:
        inside = np.clip(character, 0, count)
        return np.minimum(ends[before + inside], stop) - packed.starts

    return place(begin), place(end), outside


@substr_op.shape
def _(input, pos, len):
    if pos is not None and len is not None:
        rank(pos, _rank_of(len))
        if any(None not in (a, b) and a != b for a, b in zip(pos, len)):
            raise ShapeError(f"pos and len shapes must match: {text(pos)} vs. {text(len)}")
    return broadcast(input, pos)


def _rank_of(shape: Any) -> int:
    return len(shape)


@export("strings.length")
def length(input: Any, name: str | None = None, unit: str = "BYTE") -> Any:
    """Returns how many bytes the strings have, or with unit "UTF8_CHAR" how many characters."""
    return string_length_op(input, unit=unit, name=name)


@export("substr", "strings.substr")
def substr(input: Any, pos: Any, len: Any, name: str | None = None, unit: str = "BYTE") -> Any:
    """Returns the parts of strings that begin at `pos` and are `len` bytes or characters long.

    A negative position counts from the end. Parts end where the string does.
    """
    return substr_op(input, pos, len, unit=unit, name=name)
