"""The values of one feature of many Examples, read from the bytes of their messages.

A batch of Examples is parsed in two strokes. protobuf's own parser takes the messages apart, by a type of ours
that leaves each feature as the bytes it is written in (`examples`). Then all values of a feature are read at
once with NumPy: a feature that is written plainly, packed and in one piece, has a header that follows from its
length, so that a comparison tells whether the rest is the values. What is written in other ways protobuf reads.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from itertools import chain
from operator import attrgetter
from typing import Any

import numpy as np

from weft.framework import dtypes
from weft.framework.varints import varint
from weft.ops.strings.elements import of

# The tag of each kind of list within a Feature, and what the kind is called.
TAG = {dtypes.string: 0x0A, dtypes.float32: 0x12, dtypes.int64: 0x1A}
_KIND = {"bytes_list": dtypes.string, "float_list": dtypes.float32, "int64_list": dtypes.int64}
NAMES = {dtypes.string: "string", dtypes.float32: "float", dtypes.int64: "int64"}
_PACKED = 0x0A


class Column:
    """The values of one feature, those of all Examples in a row.

    `counts` tells how many each Example has; where all have as many, `each` does. `present` tells which Examples have
    the feature; None stands for all of them.
    """

    __slots__ = ("values", "present", "each", "_counts")

    def __init__(self, values: np.ndarray, counts: np.ndarray, present: Any = None):
        self.values, self._counts, self.present = values, counts, present
        self.each: int | None = None

    @classmethod
    def even(cls, values: np.ndarray, n: int, each: int) -> Column:
        """The column of n Examples of which each has as many values."""
        column = cls(values, n)  # type: ignore[arg-type]
        column.each = each
        return column

    @property
    def counts(self) -> np.ndarray:
        return self._counts if self.each is None else np.full(self._counts, self.each)


class Unreadable(Exception):
    """A feature that has no values of the kind that is asked for: `row` is the Example's number, `feature` the
    position of the feature."""

    def __init__(self, row: int, why: str, feature: int = 0):
        super().__init__(why)
        self.row, self.why, self.feature = row, why, feature


class Mismatch(Unreadable):
    """A feature whose values are of another kind, `found`, than the `wanted` one."""

    def __init__(self, row: int, wanted: dtypes.DType, found: str | None, feature: int = 0):
        kind = NAMES[_KIND[found]] if found else "none"
        super().__init__(
            row,
            f"Data types don't match. Data type: {kind} but expected type: {NAMES[wanted]}",
            feature,
        )
        self.wanted, self.found = wanted, found

    def of_list(self) -> str:
        """What is wrong, as it is said of features in lists."""
        return (
            f"Data types don't match. Expected type: {NAMES[self.wanted]}  Feature is: {self.found}"
        )


# -- taking the messages apart ---------------------------------------------------------------------------------


@functools.cache
def _message_types() -> tuple[Any, ...]:
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    kind = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(
        name="weft/taken_apart.proto", package="weft", syntax="proto2"
    )

    def message(name: str, **fields: str) -> None:
        made = file.message_type.add(name=name)
        for number, (field, inner) in enumerate(fields.items(), start=1):
            if inner.startswith("map "):
                entry = made.nested_type.add(name=f"{field.title().replace('_', '')}Entry")
                entry.options.map_entry = True
                entry.field.add(name="key", number=1, type=kind.TYPE_STRING, label=1)
                _field(entry, "value", 2, inner[4:], 1)
                _field(made, field, number, f"{name}.{entry.name}", 3)
            else:
                _field(
                    made, field, number, inner.removeprefix("repeated "), 3 if " " in inner else 1
                )

    def _field(made: Any, name: str, number: int, inner: str, label: int) -> None:
        if inner == "bytes":
            made.field.add(name=name, number=number, type=kind.TYPE_BYTES, label=label)
        else:
            made.field.add(
                name=name,
                number=number,
                type=kind.TYPE_MESSAGE,
                label=label,
                type_name=f".weft.{inner}",
            )

    message("Features", feature="map bytes")
    message("Rows", feature="repeated bytes")
    message("FeatureLists", feature_list="map Rows")
    message("Example", features="Features")
    message("Batch", example="repeated Example")
    message("SequenceExample", context="Features", feature_lists="FeatureLists")
    message("Strings", value="repeated bytes")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return tuple(
        message_factory.GetMessageClass(pool.FindMessageTypeByName(f"weft.{name}"))
        for name in ("Example", "Batch", "SequenceExample", "Strings")
    )


def examples(serialized: list[bytes]) -> list[Any]:
    """For each Example a mapping from the names of its features to their bytes, empty for one that it lacks."""
    one, many = _message_types()[:2]
    try:
        if len(serialized) == 1:
            return [one.FromString(serialized[0]).features.feature]
        heads = map(_ELEMENT.__getitem__, map(len, serialized))
        batch = many.FromString(b"".join(chain.from_iterable(zip(heads, serialized))))
    except _decode_error() as e:
        raise _first_broken(one, serialized) or e from None
    return list(map(attrgetter("features.feature"), batch.example))


def sequence_examples(serialized: list[bytes]) -> list[Any]:
    """The SequenceExamples, with features as bytes."""
    one = _message_types()[2]
    try:
        return list(map(one.FromString, serialized))
    except _decode_error() as e:
        raise _first_broken(one, serialized) or e from None


def _decode_error() -> type[Exception]:
    from google.protobuf.message import DecodeError

    return DecodeError


def _first_broken(kind: Any, serialized: list[bytes]) -> Unreadable | None:
    for row, one in enumerate(serialized):
        try:
            kind.FromString(one)
        except _decode_error():
            return Unreadable(row, _shown(one))
    return None


def _shown(data: bytes, limit: int = 200) -> str:
    return data[:limit].decode("latin-1") + "..." * (len(data) > limit)


# -- reading the values ----------------------------------------------------------------------------------------


class _Headers(dict):
    """What a Feature of a length begins with: tag and length of its list, then (`packed`) tag and length of what is
    the only piece in the list, all numbers or one string. Written so, the header follows from the length."""

    def __init__(self, tag: int, packed: bool):
        super().__init__()
        self.tag, self.packed = tag, packed

    def __missing__(self, length: int) -> bytes:
        if len(self) > 4096:
            self.clear()
        found = self._header(self.tag, length)
        if found and self.packed:
            inner = self._header(_PACKED, length - len(found))
            found = inner and found + inner
        self[length] = header = found or b"\xff" * (length + 1)  # nothing as short begins so
        return header

    @staticmethod
    def _header(tag: int, length: int) -> bytes:
        """A tag and the length of what follows, given the length with both; empty where none fits."""
        for size in range(1, 6):
            rest = varint(max(length - 1 - size, 0))
            if len(rest) == size and length > size:
                return bytes((tag,)) + rest
        return b""


class _ElementHeaders(dict):
    """Tag and length before one of the messages in a batch."""

    def __missing__(self, length: int) -> bytes:
        if len(self) > 4096:
            self.clear()
        self[length] = found = bytes((_PACKED,)) + varint(length)
        return found


_ELEMENT = _ElementHeaders()
_ONE_PIECE = {kind: _Headers(tag, packed=True) for kind, tag in TAG.items()}
_LIST = {kind: _Headers(tag, packed=False) for kind, tag in TAG.items()}


def columns(features: Sequence[Sequence[bytes]], kind: dtypes.DType) -> list[Column]:
    """The values of features of one kind, given the bytes of each in all Examples."""
    found: dict[int, Column] = {}
    for i, raws in enumerate(features):
        one = _single_strings(raws) if kind is dtypes.string else _same_shape(raws, kind)
        if one is not None:
            found[i] = one
    rest = [i for i in range(len(features)) if i not in found]
    if rest:
        n = len(features[0])
        raws = (
            list(chain.from_iterable([features[i] for i in rest]))
            if len(rest) > 1
            else features[rest[0]]
        )
        read = _string_lists if kind is dtypes.string else _number_lists
        try:
            together = read(raws, kind)
        except Unreadable as e:
            e.row, e.feature = e.row % n, rest[e.row // n]
            raise
        start = 0
        for k, i in enumerate(rest):
            rows = slice(k * n, (k + 1) * n)
            counts = together.counts[rows]
            stop = start + int(counts.sum())
            present = None if together.present is None else together.present[rows]
            found[i] = Column(together.values[start:stop], counts, present)
            start = stop
    return [found[i] for i in range(len(features))]


def _same_shape(raws: Sequence[bytes], kind: dtypes.DType) -> Column | None:
    """The numbers of a feature whose lists are all of one length in bytes; None if they are not, or not packed."""
    n = len(raws)
    if not n:
        return Column.even(np.zeros(0, kind.np), 0, 0)
    length = len(raws[0])
    if n > 1 and (len(raws[-1]) != length or list(map(len, raws)).count(length) != n):
        return None
    head = _ONE_PIECE[kind][length]
    data = raws[0] if n == 1 else b"".join(raws)
    if not data.startswith(head):
        return None
    block = np.frombuffer(data, np.uint8).reshape(n, length)
    size = len(head)
    if n > 1 and not (block[:, :size] == block[0, :size]).all():
        return None
    piece = block[:, size:].copy()
    if kind is dtypes.float32 and piece.shape[1] % 4 == 0:
        return Column.even(piece.reshape(-1).view("<f4"), n, piece.shape[1] // 4)
    try:
        return _numbers(piece.reshape(-1), kind, np.full(n, piece.shape[1]), None)
    except Unreadable:
        return None  # said with the feature's number by who reads it in the other way


def _single_strings(raws: Sequence[bytes]) -> Column | None:
    """The strings of a feature that has one in each Example, else None."""
    headers = _ONE_PIECE[dtypes.string]
    if not all(raw.startswith(headers[len(raw)]) for raw in (*raws[:2], *raws[-2:])):
        return None  # told without a look at all of them
    pieces, plain = _without(raws, headers)
    if not plain:
        return None
    return Column.even(of(pieces, len(pieces)), len(raws), 1)


def _without(raws: Sequence[bytes], headers: _Headers) -> tuple[list[Any], bool]:
    """What follows the headers, None for what begins otherwise; and whether nothing does."""
    lengths = list(map(len, raws))
    heads = list(map(headers.__getitem__, lengths))
    pieces: list[Any] = list(map(bytes.removeprefix, raws, heads))
    if sum(map(len, pieces)) + sum(map(len, heads)) == sum(lengths):
        return pieces, True
    return [None if len(p) == n else p for p, n in zip(pieces, lengths)], False


def _number_lists(raws: Sequence[bytes], kind: dtypes.DType) -> Column:
    pieces, plain = _without(raws, _ONE_PIECE[kind])
    present = None if plain else _complete(pieces, raws, kind)
    sizes = np.fromiter(map(len, pieces), np.int64, len(pieces))
    return _numbers(np.array(np.frombuffer(b"".join(pieces), np.uint8)), kind, sizes, present)


def _complete(pieces: list[Any], raws: Sequence[bytes], kind: dtypes.DType) -> np.ndarray | None:
    """Fills in the pieces that are None, with what is written otherwise; tells which Examples have the feature."""
    missing = []
    for row, piece in enumerate(pieces):
        if piece is None:
            found = pieces[row] = _anew(raws[row], kind, row)
            if found is None:
                missing.append(row)
                pieces[row] = b""
    if not missing:
        return None
    present = np.ones(len(raws), bool)
    present[missing] = False
    return present


def _anew(raw: bytes, kind: dtypes.DType, row: int) -> bytes | None:
    """The values of a Feature, however they are written, in one packed piece; None if it has no list."""
    if not raw:
        return None
    if raw[0] not in TAG.values():
        raise Unreadable(row, "Unsupported datatype.")
    if raw[0] == TAG[kind] and raw[1:] == b"\0":
        return b""
    from google.protobuf.message import DecodeError

    from weft import proto

    try:
        feature = proto.Feature.FromString(raw)
    except DecodeError:
        raise Unreadable(row, "Can't parse serialized Example.") from None
    name = feature.WhichOneof("kind")
    if name is None or _KIND[name] is not kind:
        raise Mismatch(row, kind, name)
    values = getattr(feature, name).value
    if kind is dtypes.float32:
        return np.array(values, "<f4").tobytes()
    if kind is dtypes.int64:
        return b"".join([varint(v & _ALL_BITS) for v in values])
    return b"".join([bytes((_PACKED,)) + varint(len(v)) + v for v in values])


_ALL_BITS = (1 << 64) - 1


def _numbers(
    data: np.ndarray, kind: dtypes.DType, sizes: np.ndarray, present: np.ndarray | None
) -> Column:
    """The numbers that packed bytes hold, `sizes` of them for each Example."""
    if kind is dtypes.float32:
        odd = np.flatnonzero(sizes % 4)
        if len(odd):
            raise Unreadable(int(odd[0]), "Can't parse serialized Example.")
        return Column(data.view("<f4").astype(np.float32, copy=False), sizes // 4, present)
    last = data < 0x80
    if last.all():
        return Column(data.astype(np.int64), sizes, present)
    stops = np.cumsum(sizes)
    upto = np.zeros(len(data) + 1, np.int64)  # how many numbers have ended before each byte
    np.cumsum(last, out=upto[1:])
    ends = np.flatnonzero(last)
    begins = np.empty(len(ends), np.int64)
    begins[:1] = 0
    begins[1:] = ends[:-1] + 1
    widths = ends - begins + 1
    whole = last[stops[sizes > 0] - 1].all()
    if not whole or widths.max() > 10:
        for row, stop in enumerate(stops.tolist()):
            first, after = upto[stop - sizes[row]], upto[stop]
            if sizes[row] and (not last[stop - 1] or (widths[first:after] > 10).any()):
                raise Unreadable(row, "Can't parse serialized Example.")
    place = np.arange(len(data), dtype=np.int64) - np.repeat(begins, widths)
    shifted = (data & 0x7F).astype(np.int64) << (7 * place)
    counts = upto[stops]
    counts[1:] -= counts[:-1].copy()
    return Column(np.add.reduceat(shifted, begins), counts, present)


def _string_lists(raws: Sequence[bytes], kind: dtypes.DType) -> Column:
    """The strings of all Examples: put together their lists are one, which protobuf reads."""
    pieces, plain = _without(raws, _LIST[kind])
    present = None if plain else _complete(pieces, raws, kind)
    found = _split(pieces)
    if (
        found is None
    ):  # something in a list that is no string, or lengths in more bytes than they need
        pieces = [
            piece if _split([piece]) else _anew(raws[row], kind, row) or b""
            for row, piece in enumerate(pieces)
        ]
        found = _split(pieces)
        assert found is not None
    return Column(*found, present)


def _split(pieces: list[bytes]) -> tuple[np.ndarray, np.ndarray] | None:
    """The strings of lists, and how many each has; None unless they are plainly written."""
    from google.protobuf.message import DecodeError

    stops = np.cumsum(np.fromiter(map(len, pieces), np.int64, len(pieces)))
    try:
        values = list(_message_types()[3].FromString(b"".join(pieces)).value)
    except DecodeError:
        return None
    sizes = np.fromiter(map(len, values), np.int64, len(values))
    longest = sizes.max() if len(sizes) else 0
    written = sizes + 2
    for bits in (7, 14, 21, 28):
        if longest >> bits:
            written += sizes >> bits > 0  # the length takes another byte
    ends = np.cumsum(written)
    upto = np.searchsorted(ends, stops, "right")
    if (np.concatenate([[0], ends])[upto] != stops).any():
        return None
    return of(values, len(values)), np.diff(upto, prepend=0)
