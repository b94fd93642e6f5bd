"""Files of records, read by several readers into one queue."""

from __future__ import annotations

from typing import Any

import weft as tf


class ParallelReader:
    """Readers whose records come from one queue."""

    def __init__(
        self,
        reader_class: Any,
        common_queue: Any,
        num_readers: int = 4,
        reader_kwargs: dict[str, Any] | None = None,
    ):
        kinds = common_queue.dtypes
        if len(kinds) != 2 or not all(kind.is_compatible_with(tf.string) for kind in kinds):
            raise TypeError("common_queue.dtypes must be [tf.string, tf.string]")
        self._readers = [reader_class(**(reader_kwargs or {})) for _ in range(num_readers)]
        self._common_queue = common_queue

    @property
    def num_readers(self) -> int:
        return len(self._readers)

    @property
    def common_queue(self) -> Any:
        return self._common_queue

    def read(self, queue: Any, name: str | None = None) -> Any:
        """Key and value of the next record of the files in a queue."""
        self._run_readers(queue)
        return self._common_queue.dequeue(name=name)

    def read_up_to(self, queue: Any, num_records: Any, name: str | None = None) -> Any:
        """Keys and values of the next records."""
        self._run_readers(queue)
        return self._common_queue.dequeue_up_to(num_records, name)

    def _run_readers(self, queue: Any) -> None:
        enqueues = [self._common_queue.enqueue(reader.read(queue)) for reader in self._readers]
        tf.train.add_queue_runner(tf.train.QueueRunner(self._common_queue, enqueues))

    def num_records_produced(self, name: str | None = None) -> Any:
        """How many records all readers have read."""
        return tf.add_n([r.num_records_produced() for r in self._readers], name=name)

    def num_work_units_completed(self, name: str | None = None) -> Any:
        """How many files all readers have finished."""
        return tf.add_n([r.num_work_units_completed() for r in self._readers], name=name)


def parallel_read(
    data_sources: Any,
    reader_class: Any,
    num_epochs: int | None = None,
    num_readers: int = 4,
    reader_kwargs: dict[str, Any] | None = None,
    shuffle: bool = True,
    dtypes: Any = None,
    capacity: int = 256,
    min_after_dequeue: int = 128,
    seed: int | None = None,
    scope: str | None = None,
) -> Any:
    """Key and value of the next record of some files, in random order if they are to be shuffled."""
    files = get_data_files(data_sources)
    with tf.name_scope(scope, "parallel_read"):
        names = tf.train.string_input_producer(
            files, num_epochs=num_epochs, shuffle=shuffle, seed=seed, name="filenames"
        )
        dtypes = dtypes or [tf.string, tf.string]
        if shuffle:
            queue = tf.RandomShuffleQueue(
                capacity=capacity,
                min_after_dequeue=min_after_dequeue,
                dtypes=dtypes,
                seed=seed,
                name="common_queue",
            )
        else:
            queue = tf.FIFOQueue(capacity=capacity, dtypes=dtypes, name="common_queue")
        filled = tf.cast(queue.size(), tf.float32) * (1.0 / capacity)
        tf.summary.scalar(f"fraction_of_{capacity}_full", filled)
        return ParallelReader(reader_class, queue, num_readers, reader_kwargs).read(names)


def single_pass_read(
    data_sources: Any,
    reader_class: Any,
    reader_kwargs: dict[str, Any] | None = None,
    scope: str | None = None,
) -> Any:
    """Key and value of the next record of some files, once through, in order."""
    files = get_data_files(data_sources)
    with tf.name_scope(scope, "single_pass_read"):
        names = tf.train.string_input_producer(
            files, num_epochs=1, shuffle=False, capacity=1, name="filenames"
        )
        return reader_class(**(reader_kwargs or {})).read(names)


def get_data_files(data_sources: Any) -> list[str]:
    """The files that names and patterns stand for."""
    if isinstance(data_sources, (list, tuple)):
        files = [path for source in data_sources for path in get_data_files(source)]
    elif any(sign in data_sources for sign in "*?["):
        files = tf.gfile.Glob(data_sources)
    else:
        files = [data_sources]
    if not files:
        raise ValueError(f"No data files found in {data_sources}")
    return files
