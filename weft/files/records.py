"""Record files: `tf.python_io.TFRecordWriter` and its companions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from weft.framework import compression, errors, file_system, record_format
from weft.framework.export import export
from weft.framework.record_file import RecordFile


@export("io.TFRecordCompressionType", "python_io.TFRecordCompressionType")
class TFRecordCompressionType:
    """How the bytes of a record file are compressed."""

    NONE = 0
    ZLIB = 1
    GZIP = 2


_DETAILS = (
    "flush_mode input_buffer_size output_buffer_size window_bits compression_level compression_method mem_level "
    "compression_strategy"
).split()


@export("io.TFRecordOptions", "python_io.TFRecordOptions")
class TFRecordOptions:
    """How a record file is written; all but `compression_type` are zlib's, None being its default."""

    compression_type_map = {
        TFRecordCompressionType.ZLIB: "ZLIB",
        TFRecordCompressionType.GZIP: "GZIP",
        TFRecordCompressionType.NONE: "",
    }

    def __init__(
        self,
        compression_type: Any = None,
        flush_mode: int | None = None,
        input_buffer_size: int | None = None,
        output_buffer_size: int | None = None,
        window_bits: int | None = None,
        compression_level: int | None = None,
        compression_method: int | None = None,
        mem_level: int | None = None,
        compression_strategy: int | None = None,
    ):
        self.get_compression_type_string(compression_type)  # raises where it is none
        self.compression_type = compression_type
        self.flush_mode = flush_mode
        self.input_buffer_size = input_buffer_size
        self.output_buffer_size = output_buffer_size
        self.window_bits = window_bits
        self.compression_level = compression_level
        self.compression_method = compression_method
        self.mem_level = mem_level
        self.compression_strategy = compression_strategy

    @classmethod
    def get_compression_type_string(cls, options: Any) -> str:
        """Returns `"ZLIB"`, `"GZIP"` or `""` for options, a `TFRecordCompressionType` or such a string."""
        if not options:
            return ""
        if isinstance(options, TFRecordOptions):
            return cls.get_compression_type_string(options.compression_type)
        if options in cls.compression_type_map:
            return cls.compression_type_map[options]
        if options in cls.compression_type_map.values():
            return options
        raise ValueError(f'Not a valid compression_type: "{options}"')

    def _zlib(self) -> dict[str, int]:
        given = {name: getattr(self, name) for name in _DETAILS}
        return {name: value for name, value in given.items() if value is not None}


@export("io.TFRecordWriter", "python_io.TFRecordWriter")
class TFRecordWriter:
    """Writes records into a new file; a context manager, which closes it."""

    def __init__(self, path: Any, options: Any = None):
        if not isinstance(options, TFRecordOptions):
            options = TFRecordOptions(compression_type=options)
        self._path = file_system.path_text(path)
        kind = options.get_compression_type_string(options)
        self._file: RecordFile | None = RecordFile(self._path, kind, **options._zlib())

    def __enter__(self) -> TFRecordWriter:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    def _open(self) -> RecordFile:
        if self._file is None:
            raise errors.FailedPreconditionError(
                None, None, "Writer not initialized or previously closed"
            )
        return self._file

    def write(self, record: Any) -> None:
        """Writes one record, bytes."""
        if type(record) is not bytes:
            if not isinstance(record, (bytes, bytearray, memoryview)):
                raise TypeError(f"expected bytes, {type(record).__name__} found")
            record = bytes(record)
        (self._file or self._open()).write(record)

    def flush(self) -> None:
        """Hands what has been written to the operating system."""
        self._open().flush()

    def close(self) -> None:
        """Ends the file; closing it again does nothing."""
        file, self._file = self._file, None
        if file is not None:
            file.close()


@export("io.tf_record_iterator", "python_io.tf_record_iterator")
def tf_record_iterator(path: Any, options: Any = None) -> Iterator[bytes]:
    """Yields the records of a file; `DataLossError` where it is damaged."""
    kind = TFRecordOptions.get_compression_type_string(options)
    name = file_system.path_text(path)
    with compression.opened_for_reading(file_system.open_file(name, "rb"), kind) as stream:
        with file_system.translated(name):
            yield from record_format.Records(stream, path=name)
