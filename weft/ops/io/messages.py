"""Messages of any type as tensors and back: DecodeProtoV2, EncodeProto."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from weft.framework import dtypes, errors, file_system
from weft.framework.export import export
from weft.framework.registry import op
from weft.framework.shape_rules import concatenate, merge, rank_at_least
from weft.ops.strings.elements import as_bytes, invalid, of

# What a field may be read as, by the number of its type in descriptors.
_INT32, _INT64 = (dtypes.int32, dtypes.int64), (dtypes.int64,)
_UINT32, _UINT64 = (dtypes.uint32, dtypes.uint64), (dtypes.uint64,)
_STRING = (dtypes.string,)
_READ_AS = {
    1: (dtypes.float64,),
    2: (dtypes.float32, dtypes.float64),
    **dict.fromkeys((3, 16, 18), _INT64),  # int64, sfixed64, sint64
    **dict.fromkeys((4, 6), _UINT64),
    **dict.fromkeys((5, 15, 17), _INT32),
    **dict.fromkeys((7, 13), _UINT32),
    8: (dtypes.bool,),
    **dict.fromkeys((9, 10, 11, 12), _STRING),  # string, group, message, bytes
    14: (dtypes.int32,),  # an enum
}


def _pool(source: bytes) -> Any:
    """The types that a source describes: those of this process, a file, or a set of descriptors after `bytes://`."""
    from google.protobuf import descriptor_pb2, descriptor_pool
    from google.protobuf.message import DecodeError

    if source in (b"", b"local://"):
        from weft import proto

        proto.Example  # noqa: B018  registers TensorFlow's own types
        return descriptor_pool.Default()
    if source.startswith(b"bytes://"):
        data = source.removeprefix(b"bytes://")
    else:
        data = file_system.read_file(os.fsdecode(source))
    pool = descriptor_pool.DescriptorPool()
    try:
        for file in descriptor_pb2.FileDescriptorSet.FromString(data).file:
            pool.Add(file)
    except (DecodeError, TypeError, KeyError) as e:
        raise invalid(
            f"Source does not represent serialized file descriptor set proto: {e}"
        ) from None
    return pool


def _message_type(source: str | bytes, name: str) -> tuple[Any, Any]:
    """The class of messages of a type, and the pool that it is in."""
    from google.protobuf import message_factory

    pool = _pool(as_bytes(source))
    try:
        return message_factory.GetMessageClass(pool.FindMessageTypeByName(name)), pool
    except KeyError:
        raise invalid(f"No descriptor found for message type {name}") from None


def _field(kind: Any, pool: Any, name: str, dtype: dtypes.DType) -> Any:
    """The descriptor of a field, or of an extension, that can be read as a dtype."""
    found = kind.DESCRIPTOR.fields_by_name.get(name)
    if found is None:
        try:
            found = pool.FindExtensionByName(name)
        except KeyError:
            found = None
        if found is None or found.containing_type is not kind.DESCRIPTOR:
            raise invalid(f"Unknown field: {name} in message type {kind.DESCRIPTOR.full_name}")
    if dtype not in _READ_AS[found.type]:
        allowed = " or ".join(t.name for t in _READ_AS[found.type])
        raise invalid(f"Unexpected output type for {found.full_name}: {dtype.name}, not {allowed}")
    return found


def _as_element(value: Any) -> Any:
    """The value of a field as the element of a tensor."""
    if isinstance(value, str):
        return value.encode()
    return value.SerializeToString() if hasattr(value, "SerializeToString") else value


@op(
    "DecodeProtoV2",
    "bytes: string -> sizes: int32, values: output_types",
    "message_type: string; field_names: list(string); output_types: list(type) >= 0; "
    "descriptor_source: string = 'local://'; message_format: string = 'binary'; sanitize: bool = false",
    host=True,
)
def decode_proto_op(
    xp,
    bytes,
    *,
    message_type,
    field_names,
    output_types,
    descriptor_source,
    message_format,
    sanitize,
):
    """Fields of messages: how many values each has, and the values, filled up with the field's default.

    All messages are read by protobuf's own parser, which `sanitize` asks for.
    """
    from google.protobuf import text_format
    from google.protobuf.message import DecodeError

    if message_format not in ("binary", "text"):
        raise invalid("format must be one of binary or text")
    if len(field_names) != len(output_types):
        raise invalid("field_names and output_types attributes must have the same length")
    kind, pool = _message_type(descriptor_source, message_type)
    fields = [_field(kind, pool, *given) for given in zip(field_names, output_types)]
    if not bytes.size:
        raise invalid("Bufs argument must contain at least one value")
    found: list[dict[int, Any]] = []
    for i, data in enumerate(bytes.reshape(-1).tolist()):
        try:
            if message_format == "binary":
                message = kind.FromString(data)
            else:
                message = text_format.Parse(data, kind(), descriptor_pool=pool)
        except (DecodeError, text_format.ParseError, UnicodeDecodeError) as e:
            raise errors.DataLossError(
                None, None, f"Unable to parse {message_format} protobuf {i}: {e}"
            ) from None
        found.append({field.number: value for field, value in message.ListFields()})
    sizes, values = [], []
    for field, dtype in zip(fields, output_types):
        rows: list[list[Any]] = [_elements(field, one.get(field.number)) for one in found]
        counts = np.fromiter(map(len, rows), np.int32, len(rows))
        most = max(int(counts.max()), 1)
        default = b"" if field.type in (10, 11) else _as_element(field.default_value)
        if field.is_repeated:
            default = b"" if dtype is dtypes.string else 0
        out = np.empty((len(rows), most), dtype.np)
        out[...] = default
        out[np.arange(most) < counts[:, None]] = of([v for row in rows for v in row], -1)
        sizes.append(counts)
        values.append(out.reshape(*bytes.shape, most))
    made = np.stack(sizes, axis=-1) if sizes else np.zeros((len(found), 0), np.int32)
    return made.reshape(*bytes.shape, len(fields)), values


def _elements(field: Any, value: Any) -> list[Any]:
    if value is None:
        return []
    if not field.is_repeated:
        return [_as_element(value)]
    if hasattr(value, "items"):  # a map: its entries are messages
        entry = _class_of(field)
        return [_entry(entry, k, v).SerializeToString() for k, v in value.items()]
    return [_as_element(v) for v in value]


def _class_of(field: Any) -> Any:
    from google.protobuf import message_factory

    return message_factory.GetMessageClass(field.message_type)


def _entry(kind: Any, key: Any, value: Any) -> Any:
    made = kind(key=key)
    if hasattr(value, "CopyFrom"):
        made.value.CopyFrom(value)
    else:
        made.value = value
    return made


@decode_proto_op.shape
def _(bytes, *, output_types):
    values = [concatenate(bytes, (None,))] * len(output_types)
    return concatenate(bytes, (len(output_types),)), values


decode_proto_op.not_differentiable()


@op(
    "EncodeProto",
    "sizes: int32, values: Tinput_types -> bytes: string",
    "field_names: list(string); message_type: string; descriptor_source: string = 'local://'; "
    "Tinput_types: list(type) >= 1",
    host=True,
)
def encode_proto_op(
    xp, sizes, values, *, field_names, message_type, descriptor_source, Tinput_types
):
    """Serialized messages, of which each has the first values of some fields, as many as `sizes` tells."""
    if len(values) != len(field_names):
        raise invalid("Length of inputs list must match field_names")
    kind, pool = _message_type(descriptor_source, message_type)
    fields = [_field(kind, pool, *given) for given in zip(field_names, Tinput_types)]
    batch = values[0].shape[:-1]
    if any(v.shape[:-1] != batch for v in values):
        raise invalid("Values must match up to the last dimension")
    if sizes.shape != (*batch, len(fields)):
        raise invalid(
            f"sizes should be batch_size + [len(field_names)].  Saw: {list(sizes.shape)} but expected: "
            f"{[*batch, len(fields)]}"
        )
    counts = sizes.reshape(-1, len(fields))
    for i, value in enumerate(values):
        bad = np.flatnonzero((counts[:, i] > value.shape[-1]) | (counts[:, i] < 0))
        if len(bad):
            raise invalid(
                f"Size to write must not be larger than value tensor; but saw: {counts[bad[0], i]} > "
                f"{value.shape[-1]} at message {bad[0]} field {i}"
            )
    rows = [value.reshape(len(counts), -1).tolist() for value in values]
    out = []
    for m, row in enumerate(counts.tolist()):
        message = kind()
        for field, value, size in zip(fields, rows, row):
            for element in value[m][:size]:
                _write(message, field, element)
        out.append(message.SerializeToString())
    return of(out, batch)


def _write(message: Any, field: Any, element: Any) -> None:
    """Gives a field a value; a repeated one another value."""
    from google.protobuf.message import DecodeError

    target: Any
    try:
        if field.is_extension:
            target = message.Extensions[field] if field.is_repeated or field.message_type else None
        else:
            target = getattr(message, field.name)
        if field.type in (10, 11):
            if field.message_type.GetOptions().map_entry:
                entry = _class_of(field).FromString(element)
                kept = target[entry.key] if hasattr(entry.value, "CopyFrom") else None
                if kept is None:
                    target[entry.key] = entry.value
                else:
                    kept.CopyFrom(entry.value)
                return
            part = target.add() if field.is_repeated else target
            part.MergeFromString(element)
            part.SetInParent()
            return
        if field.type == 9:
            element = element.decode()
        if field.is_repeated:
            target.append(element)
        elif field.is_extension:
            message.Extensions[field] = element
        else:
            setattr(message, field.name, element)
    except (DecodeError, UnicodeDecodeError, ValueError) as e:
        raise invalid(f"Field {field.full_name} cannot have the value {element!r}: {e}") from None


@encode_proto_op.shape
def _(sizes, values):
    batch = None
    for value in values:
        value = rank_at_least(value, 2)
        batch = merge(batch, None if value is None else value[:-1])
    return batch


encode_proto_op.not_differentiable()


@export("io.decode_proto")
def decode_proto(
    bytes: Any,
    message_type: str,
    field_names: Any,
    output_types: Any,
    descriptor_source: str = "local://",
    message_format: str = "binary",
    sanitize: bool = False,
    name: str | None = None,
) -> Any:
    """Returns how many values fields of serialized messages have, and the values, filled up with the default.

    Args:
      bytes: the messages.
      message_type: the full name of their type.
      field_names: the names of the fields wanted.
      output_types: the dtypes of their values.
      descriptor_source: where the type is described: `local://`, a file with a FileDescriptorSet, or such a set
        after `bytes://`.
      message_format: `binary` or `text`.
      sanitize: read by protobuf's own parser, which weft always does.
      name: a name for the operation.
    """
    return decode_proto_op(
        bytes,
        message_type=message_type,
        field_names=field_names,
        output_types=output_types,
        descriptor_source=descriptor_source,
        message_format=message_format,
        sanitize=sanitize,
        name=name,
    )


@export("io.encode_proto")
def encode_proto(
    sizes: Any,
    values: Any,
    field_names: Any,
    message_type: str,
    descriptor_source: str = "local://",
    name: str | None = None,
) -> Any:
    """Returns serialized messages, of which each has the first values of some fields, as many as `sizes` tells."""
    return encode_proto_op(
        sizes,
        values,
        field_names=field_names,
        message_type=message_type,
        descriptor_source=descriptor_source,
        name=name,
    )
