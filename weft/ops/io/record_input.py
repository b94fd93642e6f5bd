"""RecordInput: batches of records of many files, epoch after epoch, in random order."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np

from weft.framework import compression, errors, file_system, record_format
from weft.framework.registry import op
from weft.ops.strings.elements import as_bytes, of

_AT_ONCE = 16  # records of one file before the next one's turn


class Records:
    """Records in random order: a buffer is filled from the files of an epoch, and any of its records is next."""

    def __init__(
        self, pattern: str, seed: int, shift: float, buffer: int, parallel: int, kind: str
    ):
        self.pattern, self.shift, self.buffer_size, self.parallel = pattern, shift, buffer, parallel
        self.kind = kind
        self._random = np.random.Generator(np.random.Philox(seed & 0xFFFFFFFF))
        self._lock = threading.Lock()
        self._buffer: list[bytes] = []
        self._epoch: Iterator[bytes] = iter(())

    def next(self, count: int) -> list[bytes]:
        with self._lock:
            return [self._next() for _ in range(count)]

    def _next(self) -> bytes:
        buffer = self._buffer
        if not self._fill():
            self._epoch = self._records()
            if not self._fill():
                raise errors.NotFoundError(None, None, f"Found no records at {self.pattern}")
        at = int(self._random.integers(len(buffer)))
        buffer[at], buffer[-1] = buffer[-1], buffer[at]
        return buffer.pop()

    def _fill(self) -> bool:
        """Fills the buffer as long as the epoch has records; an epoch's are all given before the next one's."""
        while len(self._buffer) < self.buffer_size:
            record = next(self._epoch, None)
            if record is None:
                break
            self._buffer.append(record)
        return bool(self._buffer)

    def _records(self) -> Iterator[bytes]:
        """The records of one epoch: of several files at a time, some of each in turn."""
        names = [n for pattern in self.pattern.split(",") for n in file_system.glob(pattern)]
        if not names:
            raise errors.NotFoundError(None, None, f"Found no files at {self.pattern}")
        self._random.shuffle(names)
        if 0 <= self.shift < 1:
            shift = int(self.shift * len(names))
            names = names[shift:] + names[:shift]
        shards = [self._read(names[i :: self.parallel]) for i in range(self.parallel)]
        while shards:
            for shard in list(shards):
                for _ in range(_AT_ONCE):
                    record = next(shard, None)
                    if record is None:
                        shards.remove(shard)
                        break
                    yield record

    def _read(self, names: list[str]) -> Iterator[bytes]:
        for name in names:
            stream = file_system.open_file(name, "rb")
            with compression.opened_for_reading(stream, self.kind) as opened:
                yield from record_format.Records(opened, path=name)


@op(
    "RecordInput",
    "-> records: string",
    "file_pattern: string; file_random_seed: int = 301; file_shuffle_shift_ratio: float = 0.0; "
    "file_buffer_size: int = 10000; file_parallelism: int = 16; batch_size: int = 32; "
    'compression_type: string = ""',
    stateful=True,
    host=True,
)
def record_input(
    ctx,
    *,
    file_pattern,
    file_random_seed,
    file_shuffle_shift_ratio,
    file_buffer_size,
    file_parallelism,
    batch_size,
    compression_type,
):
    """The next records."""
    for name, value in (
        ("file_buffer_size", file_buffer_size),
        ("file_parallelism", file_parallelism),
        ("batch_size", batch_size),
    ):
        if value < 1:
            raise errors.InvalidArgumentError(None, None, f"{name} must be positive, got {value}")
    compression.check_type(compression_type)
    records = ctx.resources.get_or_create(
        "RecordInput",
        "",
        ctx.op.name,
        lambda: Records(
            as_bytes(file_pattern).decode(),
            file_random_seed,
            file_shuffle_shift_ratio,
            file_buffer_size,
            file_parallelism,
            compression_type,
        ),
    )
    return of(records.next(batch_size), batch_size)


record_input.shape(lambda *, batch_size: (None,))
record_input.not_differentiable()
