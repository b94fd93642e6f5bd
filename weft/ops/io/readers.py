"""Readers as objects: `tf.TFRecordReader` and its kin, which take names of files from a queue."""

from __future__ import annotations

from typing import Any

from weft.framework import context, dtypes
from weft.framework.export import export, find
from weft.framework.tensor import Tensor
from weft.ops.by_name import raw


@export("ReaderBase")
class ReaderBase:
    """Turns work items from a queue, mostly names of files, into records: pairs of a key and a value."""

    def __init__(self, reader_ref: Any, supports_serialize: bool = False):
        if context.executing_eagerly():
            raise RuntimeError(
                "Readers are not supported when eager execution is enabled. Instead, please use tf.data to get data "
                "into your model."
            )
        self._reader_ref, self._supports_serialize = reader_ref, supports_serialize

    @property
    def reader_ref(self) -> Any:
        """The handle of the reader."""
        return self._reader_ref

    @property
    def supports_serialize(self) -> bool:
        """Whether the reader's state can be written as a string."""
        return self._supports_serialize

    def _call(self, name: str, *args: Any, op_name: str | None) -> Any:
        suffix = "V2" if self._reader_ref.dtype == dtypes.resource else ""
        return getattr(raw, name + suffix)(self._reader_ref, *args, name=op_name)

    def _queue(self, queue: Any) -> Any:
        ref = queue if isinstance(queue, Tensor) else queue.queue_ref
        return ref if self._reader_ref.dtype == dtypes.resource else raw.FakeQueue(ref)

    def read(self, queue: Any, name: str | None = None) -> Any:
        """Returns key and value of the next record; takes a work item from the queue where it needs one."""
        return self._call("ReaderRead", self._queue(queue), op_name=name)

    def read_up_to(self, queue: Any, num_records: Any, name: str | None = None) -> Any:
        """Returns keys and values of the next records, of one at least and at most `num_records`."""
        return self._call("ReaderReadUpTo", self._queue(queue), num_records, op_name=name)

    def num_records_produced(self, name: str | None = None) -> Any:
        """Returns how many records the reader has given."""
        return self._call("ReaderNumRecordsProduced", op_name=name)

    def num_work_units_completed(self, name: str | None = None) -> Any:
        """Returns how many work items the reader is done with."""
        return self._call("ReaderNumWorkUnitsCompleted", op_name=name)

    def serialize_state(self, name: str | None = None) -> Any:
        """Returns the state of the reader as a string; not all readers can."""
        return self._call("ReaderSerializeState", op_name=name)

    def restore_state(self, state: Any, name: str | None = None) -> Any:
        """Returns the operation that gives the reader a state that it had before; not all readers can."""
        return self._call("ReaderRestoreState", state, op_name=name)

    def reset(self, name: str | None = None) -> Any:
        """Returns the operation that lets the reader begin anew."""
        return self._call("ReaderReset", op_name=name)


@export("WholeFileReader")
class WholeFileReader(ReaderBase):
    """A reader of whole files: the key is the name, the value the contents."""

    def __init__(self, name: str | None = None):
        super().__init__(raw.WholeFileReaderV2(name=name), supports_serialize=True)


@export("TextLineReader")
class TextLineReader(ReaderBase):
    """A reader of lines, without their ends."""

    def __init__(self, skip_header_lines: int | None = None, name: str | None = None):
        super().__init__(raw.TextLineReaderV2(skip_header_lines=skip_header_lines, name=name))


@export("FixedLengthRecordReader")
class FixedLengthRecordReader(ReaderBase):
    """A reader of records of one length: after a header one every `hop_bytes`, as long as a footer follows."""

    def __init__(
        self,
        record_bytes: int,
        header_bytes: int | None = None,
        footer_bytes: int | None = None,
        hop_bytes: int | None = None,
        name: str | None = None,
        encoding: str | None = None,
    ):
        ref = raw.FixedLengthRecordReaderV2(
            record_bytes=record_bytes,
            header_bytes=header_bytes,
            footer_bytes=footer_bytes,
            hop_bytes=hop_bytes,
            encoding=encoding,
            name=name,
        )
        super().__init__(ref)


@export("TFRecordReader")
class TFRecordReader(ReaderBase):
    """A reader of TFRecord files."""

    def __init__(self, name: str | None = None, options: Any = None):
        kind = record_compression(options)
        super().__init__(raw.TFRecordReaderV2(name=name, compression_type=kind))


def record_compression(options: Any) -> str:
    """The compression that a `TFRecordOptions`, or what stands for one, tells."""
    return find("python_io", "TFRecordOptions", "weft").get_compression_type_string(options)


@export("LMDBReader")
class LMDBReader(ReaderBase):
    """A reader of LMDB databases, which weft refuses when a step needs it."""

    def __init__(self, name: str | None = None, options: Any = None):
        super().__init__(raw.LMDBReader(name=name))


@export("IdentityReader")
class IdentityReader(ReaderBase):
    """A reader whose keys and values are the work items themselves."""

    def __init__(self, name: str | None = None):
        super().__init__(raw.IdentityReaderV2(name=name), supports_serialize=True)
