"""Bundles of named tensors, the V2 format of checkpoints: a table of what there is, and files of the bytes."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import uuid
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import google_crc32c
import numpy as np

from weft import proto
from weft.framework import dtypes, errors, file_system
from weft.framework.checkpoint_files import sorted_table
from weft.framework.checkpoint_files.tensor_slice import Part, assembled
from weft.framework.record_format import masked
from weft.framework.tensor_shape import TensorShape
from weft.framework.varints import read_varint, varint

_HEADER_KEY = b""
_VERSION = 1
_LARGEST_UINT32 = 0xFFFFFFFF


def index_file(prefix: str) -> str:
    return f"{prefix}.index"


def data_file(prefix: str, shard: int, shards: int) -> str:
    return f"{prefix}.data-{shard:05d}-of-{shards:05d}"


def _invalid(why: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, why)


# -- the bytes of a tensor ------------------------------------------------------------------------------


def _length_bytes(n: int) -> bytes:
    """A length as checksums of strings take it in."""
    return n.to_bytes(4 if n <= _LARGEST_UINT32 else 8, "little")


def _string_chunks(array: np.ndarray) -> tuple[list[bytes], int]:
    """The bytes of an array of strings and their checksum: all lengths, their checksum, then the strings."""
    flat = array.reshape(-1).tolist()
    strings = [s if isinstance(s, bytes) else s.encode() for s in flat]
    crc = google_crc32c.value(b"".join(_length_bytes(len(s)) for s in strings))
    check = masked(crc).to_bytes(4, "little")
    contents = b"".join(strings)
    crc = google_crc32c.extend(google_crc32c.extend(crc, check), contents)
    return [b"".join(varint(len(s)) for s in strings), check, contents], crc


def _strings(data: bytes, count: int) -> tuple[list[bytes], int]:
    """The strings of an array of `count`, and the checksum of what was read."""
    lengths, at = [], 0
    for _ in range(count):
        length, at = read_varint(data, at)
        lengths.append(length)
    crc = google_crc32c.value(b"".join(map(_length_bytes, lengths)))
    check = data[at : at + 4]
    if check != masked(crc).to_bytes(4, "little"):
        raise sorted_table.corrupt("The length checksum does not match")
    at += 4
    if at + sum(lengths) != len(data):
        raise sorted_table.corrupt("String lengths do not add up to the size of the entry")
    crc = google_crc32c.extend(google_crc32c.extend(crc, check), data[at:])
    strings = []
    for length in lengths:
        strings.append(data[at : at + length])
        at += length
    return strings, crc


def _variant_chunks(array: np.ndarray) -> tuple[list[bytes], int]:
    """The bytes of an array of variants and their checksum: of each its length, its message, the checksum so far."""
    chunks, crc = [], 0
    for message in array.reshape(-1).tolist():
        contents = message.SerializeToString(deterministic=True)
        crc = google_crc32c.extend(crc, len(contents).to_bytes(8, "little"))
        crc = google_crc32c.extend(crc, contents)
        check = masked(crc).to_bytes(4, "little")
        crc = google_crc32c.extend(crc, check)
        chunks += [varint(len(contents)), contents, check]
    return chunks, crc


def _variants(data: bytes, count: int) -> tuple[list[Any], int]:
    """The messages of an array of `count` variants, and the checksum of what was read."""
    messages, at, crc = [], 0, 0
    for i in range(count):
        length, at = read_varint(data, at)
        contents, check = data[at : at + length], data[at + length : at + length + 4]
        at += length + 4
        crc = google_crc32c.extend(crc, length.to_bytes(8, "little"))
        crc = google_crc32c.extend(crc, contents)
        if check != masked(crc).to_bytes(4, "little"):
            raise sorted_table.corrupt(f"The checksum after Variant {i} does not match")
        crc = google_crc32c.extend(crc, check)
        messages.append(_parsed(proto.VariantTensorDataProto, f"variant {i}", contents))
    if at != len(data):
        raise sorted_table.corrupt("Variants do not add up to the size of the entry")
    return messages, crc


# -- writing --------------------------------------------------------------------------------------------


class BundleWriter:
    """Writes a bundle: nothing is seen under the prefix before `finish`, and until then what was there stays."""

    def __init__(self, prefix: str):
        self._prefix = prefix
        self._entries: dict[bytes, Any] = {}
        self._size = 0
        file_system.make_directories(os.path.dirname(prefix))
        self._data_path = _unnamed(data_file(prefix, 0, 1))
        self._out = file_system.open_file(self._data_path, "wb")

    def __enter__(self) -> BundleWriter:
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is None:
            self.finish()
        else:
            self.abandon()

    def add(self, name: str, value: np.ndarray, dtype: dtypes.DType) -> None:
        """Adds a whole tensor."""
        self._add(name.encode(), name, value, dtype)

    def _add(self, key: bytes, name: str, value: np.ndarray, dtype: dtypes.DType) -> None:
        if key in self._entries:
            raise _invalid(f"Adding duplicate key: {name}")
        if key == _HEADER_KEY:
            raise _invalid("A tensor needs a name in a checkpoint.")
        if dtype is dtypes.string:
            chunks, crc = _string_chunks(value)
        elif dtype is dtypes.variant and all(
            isinstance(v, proto.VariantTensorDataProto) for v in value.reshape(-1).tolist()
        ):
            chunks, crc = _variant_chunks(value)
        elif value.dtype == object:
            raise errors.UnimplementedError(
                None, None, f"Saving data type {dtype.name} not yet supported: tensor {name}"
            )
        else:
            raw: Any = np.ascontiguousarray(value).reshape(-1).view(np.uint8)
            chunks, crc = [raw], google_crc32c.value(raw)
        size = sum(len(c) for c in chunks)
        entry = proto.BundleEntryProto(
            dtype=dtype.as_datatype_enum,
            shape=TensorShape(value.shape).as_proto(),
            offset=self._size,
            size=size,
            crc32c=masked(crc),
        )
        with file_system.translated(self._data_path):
            for chunk in chunks:
                self._out.write(chunk)
        self._entries[key] = entry
        self._size += size

    def add_part(
        self, name: str, full: Sequence[int], part: Part, value: np.ndarray, dtype: dtypes.DType
    ) -> None:
        """Adds a part of a tensor whose whole has the shape `full`."""
        if part.covers(full):
            self.add(name, value, dtype)
            return
        whole = self._entries.setdefault(name.encode(), proto.BundleEntryProto())
        shape = TensorShape(full).as_proto()
        if whole.dtype and (whole.dtype != dtype.as_datatype_enum or whole.shape != shape):
            raise _invalid(f"The parts of {name} do not agree on the type and shape of the whole.")
        whole.dtype = dtype.as_datatype_enum
        whole.shape.CopyFrom(shape)
        part.to_proto(whole.slices.add())
        self._add(part.key(name), f"{name} [{part}]", value, dtype)

    def finish(self) -> None:
        """Closes the file of the bytes, and only then gives the bundle its name."""
        header = proto.BundleHeaderProto(num_shards=1)
        header.version.producer = _VERSION
        try:
            with file_system.translated(self._data_path):
                self._out.close()
            _publish(self._prefix, [self._data_path], header, self._entries)
        except BaseException:
            self.abandon()
            raise

    def abandon(self) -> None:
        """Leaves nothing behind."""
        with contextlib.suppress(OSError):  # a full disk takes no rest either
            self._out.close()
        _remove_all([self._data_path])


def _unnamed(path: str) -> str:
    """A name for what is not finished, which nothing takes for a checkpoint."""
    return f"{path}.tempstate{uuid.uuid4().int & 0xFFFFFFFFFFFFFFFF}"


def _write_index(prefix: str, header: Any, entries: dict[bytes, Any]) -> None:
    rows = [(_HEADER_KEY, header.SerializeToString(deterministic=True))]
    rows += [(key, entries[key].SerializeToString(deterministic=True)) for key in sorted(entries)]
    file_system.replace_file(index_file(prefix), sorted_table.table(rows))


def _data_files(prefix: str) -> list[str]:
    """The files of bytes that are there under a prefix, of whatever number of shards."""
    folder, name = os.path.split(prefix)
    pattern = re.compile(re.escape(name) + r"\.data-\d{5,}-of-\d{5,}")
    found = filter(pattern.fullmatch, file_system.list_directory(folder or "."))
    return [os.path.join(folder, f) for f in found]


def _publish(prefix: str, files: Sequence[str], header: Any, entries: dict[bytes, Any]) -> None:
    """Gives files of bytes and their table their names: the table last, as it says what the bytes mean.

    Where a bundle of that name is there already, neither its table may meet the new bytes nor the new table the old
    bytes, whenever this process should end: the new files get names first that no table knows, are made known, and
    only then take the place of the old ones.
    """
    old = _data_files(prefix) if file_system.exists(index_file(prefix)) else []
    shards = header.num_shards
    names = [data_file(prefix, i, shards) for i in range(len(files))]
    spare: list[str] = []
    unknown = list(files)  # of the table that is there
    try:
        if not set(old).isdisjoint(names):
            while not spare or not set(old).isdisjoint(spare):
                header.num_shards += 1
                spare = [data_file(prefix, i, header.num_shards) for i in range(len(files))]
            unknown += spare
            _rename_all(files, spare)
            _write_index(prefix, header, entries)
            unknown = files = [_unnamed(name) for name in names]
            for name, file in zip(spare, files):
                file_system.duplicate(name, file)
            header.num_shards = shards
        else:
            unknown += names
        _rename_all(files, names)
        _write_index(prefix, header, entries)
    except BaseException:
        _remove_all(unknown)
        raise
    _remove_all({*old, *spare}.difference(names))


def _rename_all(files: Iterable[str], names: Iterable[str]) -> None:
    for file, name in zip(files, names):
        file_system.rename(file, name)


def _remove_all(files: Iterable[str]) -> None:
    for file in files:
        with contextlib.suppress(errors.OpError):
            file_system.remove(file)


def merge(prefixes: Sequence[str], merged: str) -> None:
    """Makes one bundle of several; their data files are renamed, their tables go."""
    header: Any = None
    shards = 0
    entries: dict[bytes, Any] = {}
    shard_ids: dict[str, int] = {}
    file_system.make_directories(os.path.dirname(merged))
    for prefix in prefixes:
        reader = BundleReader(prefix)
        shards += reader.header.num_shards
        header = header or reader.header
        if reader.header.endianness != header.endianness:
            raise _invalid("Merging bundles with conflicting endianness; inputs corrupted?")
        if reader.header.version != header.version:
            raise _invalid(
                f"Merging bundles with different format versions: merged {header.version} vs. curr "
                f"{reader.header.version}"
            )
        for key, entry in reader.raw_entries():
            known = entries.get(key)
            if known is not None:
                if not known.slices or not entry.slices:
                    name = key.decode(errors="replace")
                    raise _invalid(
                        f"Duplicate tensor keyed by {name} encountered, when merging prefix: {prefix}"
                    )
                known.slices.extend(entry.slices)
                continue
            path = data_file(prefix, entry.shard_id, reader.header.num_shards)
            entry.shard_id = shard_ids.setdefault(path, len(shard_ids))
            entries[key] = entry
    whole = proto.BundleHeaderProto()
    if header is not None:
        whole.CopyFrom(header)
    whole.num_shards = len(shard_ids) or shards
    _publish(merged, list(shard_ids), whole, entries)
    for prefix in prefixes:
        if file_system.exists(index_file(prefix)) and prefix != merged:
            file_system.remove(index_file(prefix))


# -- reading --------------------------------------------------------------------------------------------


class BundleReader:
    """Reads a bundle: the table at once, tensors as they are asked for. Every byte is checked."""

    def __init__(self, prefix: str):
        self._prefix = prefix
        path = index_file(prefix)
        contents = file_system.read_file(path)
        with _naming(path):
            rows = [(key, bytes(value)) for key, value in sorted_table.entries(contents)]
            if not rows or rows[0][0] != _HEADER_KEY:
                raise sorted_table.corrupt("failed to seek to header entry")
            self.header = _parsed(proto.BundleHeaderProto, "the header", rows[0][1])
        if self.header.version.min_consumer > _VERSION:
            raise _invalid(
                f"Checkpoint min consumer version {self.header.version.min_consumer} above current version "
                f"{_VERSION} for weft: {path}"
            )
        self._rows = dict(rows[1:])
        self._swapped = self.header.endianness == self.header.BIG
        self._files: dict[int, Any] = {}

    def close(self) -> None:
        for file in self._files.values():
            file.close()
        self._files.clear()

    def __enter__(self) -> BundleReader:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def raw_entries(self) -> Iterator[tuple[bytes, Any]]:
        """Everything of the table but the header."""
        for key, row in self._rows.items():
            yield key, _parsed(proto.BundleEntryProto, f"key {key!r}", row)

    def names(self) -> list[str]:
        """The names of the tensors, those of parts left out."""
        return [key.decode(errors="replace") for key in self._rows if not key.startswith(b"\0")]

    def __contains__(self, name: str) -> bool:
        return name.encode() in self._rows

    def _entry(self, key: bytes, name: str) -> Any:
        row = self._rows.get(key)
        if row is None:
            raise errors.NotFoundError(
                None, None, f"Key {name} not found in checkpoint {self._prefix}"
            )
        return _parsed(proto.BundleEntryProto, f"key {name}", row)

    def entry(self, name: str) -> tuple[dtypes.DType, tuple[int, ...]]:
        """The type and the shape of a tensor."""
        return self._type_and_shape(self._entry(name.encode(), name), name)

    def _type_and_shape(self, entry: Any, name: str) -> tuple[dtypes.DType, tuple[int, ...]]:
        sizes = tuple(d.size for d in entry.shape.dim)
        if entry.shape.unknown_rank or any(n < 0 for n in sizes):
            raise sorted_table.corrupt(f"Invalid tensor shape: {name} {sizes} in {self._prefix}")
        try:
            return dtypes.as_dtype(entry.dtype), sizes
        except TypeError:
            raise sorted_table.corrupt(f"Invalid data type of {name} in {self._prefix}") from None

    def read(self, name: str) -> np.ndarray:
        """A whole tensor."""
        entry = self._entry(name.encode(), name)
        if entry.slices:
            return self.read_part(name, Part.whole(len(entry.shape.dim)))
        return self._value(entry, name)

    def read_part(self, name: str, part: Part) -> np.ndarray:
        """A part of a tensor, whichever parts it was saved in."""
        entry = self._entry(name.encode(), name)
        dtype, full = self._type_and_shape(entry, name)
        if not entry.slices:
            return self._value(entry, name)[tuple(slice(*bounds) for bounds in part.bounds(full))]
        stored = [
            (p, functools.partial(self._value_of_part, name, p))
            for p in map(Part.of_proto, entry.slices)
        ]
        return assembled(name, dtype, full, part, stored)

    def _value_of_part(self, name: str, part: Part) -> np.ndarray:
        label = f"{name} [{part}]"
        return self._value(self._entry(part.key(name), label), label)

    def _value(self, entry: Any, name: str) -> np.ndarray:
        dtype, shape = self._type_and_shape(entry, name)
        path = data_file(self._prefix, entry.shard_id, self.header.num_shards)
        count = int(np.prod(shape, dtype=object)) if shape else 1
        with _naming(path, name):
            if dtype is dtypes.string:
                strings, crc = _strings(self._bytes(entry, path).tobytes(), count)
                flat = np.empty(count, object)
                flat[:] = strings
            elif dtype is dtypes.variant:
                messages, crc = _variants(self._bytes(entry, path).tobytes(), count)
                flat = np.empty(count, object)
                flat[:] = messages
            elif dtype is dtypes.resource:
                raise errors.UnimplementedError(
                    None, None, f"Restoring data type {dtype.name} not yet supported"
                )
            else:
                np_dtype = np.dtype(dtype.as_numpy_dtype)
                if entry.size != count * np_dtype.itemsize:
                    raise sorted_table.corrupt(
                        f"Invalid size in bundle entry: stored size {entry.size}; expected size "
                        f"{count * np_dtype.itemsize}"
                    )
                raw = self._bytes(entry, path)
                crc = google_crc32c.value(raw)
                flat = raw.view(np_dtype)
                if self._swapped:
                    flat = flat.byteswap()
            if entry.crc32c != masked(crc):
                raise sorted_table.corrupt("Checksum does not match: the bytes were altered")
        return flat.reshape(shape)

    def _bytes(self, entry: Any, path: str) -> np.ndarray:
        file = self._files.get(entry.shard_id)
        if file is None:
            file = self._files[entry.shard_id] = file_system.open_file(path, "rb")
        with file_system.translated(path):
            file.seek(0, os.SEEK_END)
            if not 0 <= entry.offset <= entry.offset + entry.size <= file.tell():
                raise sorted_table.corrupt("the file is cut short")
            raw: Any = np.empty(entry.size, np.uint8)
            file.seek(entry.offset)
            if file.readinto(memoryview(raw)) != entry.size:
                raise sorted_table.corrupt("the file is cut short")
        return raw


def _parsed(kind: Any, what: str, row: bytes) -> Any:
    try:
        return kind.FromString(row)
    except Exception:
        raise sorted_table.corrupt(f"Entry for {what} not parseable.") from None


@contextlib.contextmanager
def _naming(path: str, name: str | None = None) -> Iterator[None]:
    """Errors of altered data say in which file, and for which tensor."""
    try:
        yield
    except errors.DataLossError as e:
        where = path if name is None else f"tensor {name} in {path}"
        raise errors.DataLossError(None, None, f"{where}: {e.message}") from None
