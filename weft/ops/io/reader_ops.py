"""The ops of readers, each for handles of both kinds: resources (V2), and references to strings in older graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weft.framework import errors
from weft.framework.registry import op
from weft.framework.shape_rules import scalar
from weft.ops.io import reader_formats
from weft.ops.io.reader import Reader
from weft.ops.queues.handles import held
from weft.ops.queues.queue import Queue, invalid
from weft.ops.strings.elements import of

_NAMES = 'container: string = ""; shared_name: string = ""'


def _declare(
    name: str, args: str, attrs: str, kernel: Callable, rule: Callable, new: bool, **flags: Any
) -> None:
    """Declares an op for handles of one kind, `@reader` and `@queue` in its arguments."""
    for what in ("reader", "queue"):
        handle = f"{what}_handle: resource" if new else f"ref {what}_handle: string"
        args = args.replace("@" + what, handle)
    stateful = new or "handle" in flags
    decl = op(name, args, attrs, host=True, stateful=stateful, **flags)(kernel)
    decl.shape(rule)
    decl.not_differentiable()


# -- readers -----------------------------------------------------------------------------------------------


def _makes(name: str, attrs: str = "", versions: tuple[bool, ...] = (False, True)) -> Callable:
    """Declares the op that makes a reader, in its versions."""

    def declare(kernel: Callable) -> Callable:
        every = "; ".join(filter(None, (attrs, _NAMES)))
        for new in versions:
            full, dims = name + "V2" * new, () if new else (2,)
            _declare(full, "-> @reader", every, kernel, lambda d=dims: d, new, handle=True)
        return kernel

    return declare


def _reader(
    ctx: Any, container: str, shared_name: str, start: Callable, one_record: bool = False
) -> Reader:
    """The reader that an op declares; made at its first use."""
    kind = ctx.op.type.removesuffix("V2")
    name = shared_name or ctx.op.name
    found = ctx.resources.get_or_create(
        "reader", container, name, lambda: Reader(f"{kind} '{ctx.op.name}'", start, one_record)
    )
    if not found.name.startswith(kind + " "):
        raise invalid(f"Shared reader '{name}' is {found.name}, not a {kind}")
    return found


@_makes("IdentityReader")
def _identity_reader(ctx, *, container, shared_name):
    """A reader that gives its work items themselves."""
    return _reader(ctx, container, shared_name, reader_formats.identity, True)


@_makes("WholeFileReader")
def _whole_file_reader(ctx, *, container, shared_name):
    """A reader that gives the contents of files."""
    return _reader(ctx, container, shared_name, reader_formats.whole_file, True)


@_makes("TextLineReader", "skip_header_lines: int = 0")
def _text_line_reader(ctx, *, skip_header_lines, container, shared_name):
    """A reader that gives the lines of files."""
    lines = reader_formats.Lines(skip_header_lines)
    return _reader(ctx, container, shared_name, lines.start)


_SIZES = "header_bytes: int = 0; record_bytes: int; footer_bytes: int = 0; hop_bytes: int = 0"


@_makes("FixedLengthRecordReader", _SIZES, (False,))
def _fixed_length_record_reader(
    ctx, *, header_bytes, record_bytes, footer_bytes, hop_bytes, container, shared_name
):
    """A reader that gives records of one length."""
    sizes = reader_formats.FixedLength(header_bytes, record_bytes, footer_bytes, hop_bytes)
    return _reader(ctx, container, shared_name, sizes.start)


@_makes("FixedLengthRecordReader", f'{_SIZES}; encoding: string = ""', (True,))
def _fixed_length_record_reader_v2(
    ctx, *, header_bytes, record_bytes, footer_bytes, hop_bytes, container, shared_name, encoding
):
    """A reader that gives records of one length, of files that may be compressed."""
    sizes = reader_formats.FixedLength(
        header_bytes, record_bytes, footer_bytes, hop_bytes, encoding
    )
    return _reader(ctx, container, shared_name, sizes.start)


@_makes("TFRecordReader", 'compression_type: string = ""')
def _tf_record_reader(ctx, *, compression_type, container, shared_name):
    """A reader that gives the records of TFRecord files."""
    records = reader_formats.TFRecords(compression_type)
    return _reader(ctx, container, shared_name, records.start)


@_makes("LMDBReader", versions=(False,))
def _lmdb_reader(ctx, *, container, shared_name):
    """Refuses: weft has no reader of LMDB databases."""
    raise errors.UnimplementedError(
        None,
        None,
        "weft does not read LMDB databases; tf.data.Dataset.from_generator over a cursor of the package lmdb does.",
    )


# -- what one does with them --------------------------------------------------------------------------------


def _on_readers(name: str, args: str, rule: Callable, **flags: Any) -> Callable:
    """Declares an op for readers of both kinds."""

    def declare(kernel: Callable) -> Callable:
        for new in (False, True):
            _declare(name + "V2" * new, args, "", kernel, rule, new, **flags)
        return kernel

    return declare


def _one(keys: tuple[bytes, ...], values: tuple[bytes, ...]) -> tuple[bytes, bytes]:
    return keys[0], values[0]


def _several(keys: tuple[bytes, ...], values: tuple[bytes, ...]) -> tuple[np.ndarray, np.ndarray]:
    return of(keys, len(keys)), of(values, len(values))


@_on_readers(
    "ReaderRead",
    "@reader, @queue -> key: string, value: string",
    lambda reader_handle, queue_handle: ((), ()),
    blocking=True,
)
def _read(ctx, reader_handle, queue_handle):
    """The next record; takes the next work item from the queue where one is done, and waits for it."""
    return held(reader_handle, Reader).read_up_to(ctx, held(queue_handle, Queue), 1, _one)


@_on_readers(
    "ReaderReadUpTo",
    "@reader, @queue, num_records: int64 -> keys: string, values: string",
    lambda reader_handle, queue_handle, num_records: (scalar(num_records), ((None,), (None,)))[1],
    blocking=True,
)
def _read_up_to(ctx, reader_handle, queue_handle, num_records):
    """The next records, at least one and not more than are wanted."""
    count = int(num_records)
    if count < 1:
        raise invalid(f"num_records must be positive, got {count}")
    queue = held(queue_handle, Queue)
    return held(reader_handle, Reader).read_up_to(ctx, queue, count, _several)


def _scalar_output(reader_handle: Any) -> Any:
    return ()


@_on_readers("ReaderNumRecordsProduced", "@reader -> records_produced: int64", _scalar_output)
def _records_produced(xp, reader_handle):
    """How many records a reader has given."""
    return np.array(held(reader_handle, Reader).records_produced, np.int64)


@_on_readers("ReaderNumWorkUnitsCompleted", "@reader -> units_completed: int64", _scalar_output)
def _units_completed(xp, reader_handle):
    """How many work items a reader is done with."""
    return np.array(held(reader_handle, Reader).work_finished, np.int64)


@_on_readers("ReaderSerializeState", "@reader -> state: string", _scalar_output)
def _serialize_state(xp, reader_handle):
    """The state of a reader as a string."""
    return held(reader_handle, Reader).serialize()


@_on_readers(
    "ReaderRestoreState", "@reader, state: string", lambda reader_handle, state: scalar(state)
)
def _restore_state(xp, reader_handle, state):
    """Gives a reader a state that it, or one like it, had before."""
    held(reader_handle, Reader).restore(state[()])


@_on_readers("ReaderReset", "@reader", lambda reader_handle: None)
def _reset(xp, reader_handle):
    """Lets a reader begin anew."""
    held(reader_handle, Reader).reset()
