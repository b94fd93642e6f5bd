"""Datasets of what files hold: lines, records, records of one length."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import weft as tf
from weft.data import structure
from weft.data.dataset import Dataset, DatasetV2, _int64
from weft.framework.export import export
from weft.framework.tensor import Tensor
from weft.framework.type_spec import TensorSpec


def _files(op: str, filenames: Any, **arguments: Any) -> Callable[[Any], Dataset]:
    def of(name: Any) -> Dataset:
        variant = getattr(tf.raw_ops, op)(filenames=name, **arguments)
        return Dataset(variant, TensorSpec([], tf.string))

    return of


class _FilesDataset(Dataset):
    """Records of files, of several at a time if that is wanted."""

    def _read(self, op: str, filenames: Any, num_parallel_reads: Any, **arguments: Any) -> None:
        one = _files(op, filenames, **arguments)
        if isinstance(filenames, DatasetV2):
            names: DatasetV2 = filenames
            if structure.legacy_types(names.element_spec) != tf.string:
                raise TypeError("`filenames` must be a `tf.data.Dataset` of `tf.string` elements.")
        else:
            tensor = tf.convert_to_tensor(filenames, dtype=tf.string, name="filenames")
            if num_parallel_reads is None:
                whole = one(tensor)
                super().__init__(whole._variant_tensor, whole._element_spec)
                return
            names = Dataset.from_tensor_slices(tf.reshape(tensor, [-1]))
        if num_parallel_reads is None:
            made = names.flat_map(one)
        else:
            made = names.interleave(
                one, cycle_length=num_parallel_reads, num_parallel_calls=num_parallel_reads
            )
        super().__init__(made._variant_tensor, made._element_spec, (names,))


def _text(value: Any, name: str) -> Tensor:
    return tf.convert_to_tensor("" if value is None else value, dtype=tf.string, name=name)


def _size(value: Any, default: int) -> Tensor:
    return _int64(default if value is None else value, "buffer_size")


@export("data.TextLineDataset", "compat.v1.data.TextLineDataset", "compat.v2.data.TextLineDataset")
class TextLineDataset(_FilesDataset):
    """The lines of files."""

    def __init__(
        self,
        filenames: Any,
        compression_type: Any = None,
        buffer_size: Any = None,
        num_parallel_reads: Any = None,
    ):
        self._read(
            "TextLineDataset",
            filenames,
            num_parallel_reads,
            compression_type=_text(compression_type, "compression_type"),
            buffer_size=_size(buffer_size, 256 * 1024),
        )


@export("data.TFRecordDataset", "compat.v1.data.TFRecordDataset", "compat.v2.data.TFRecordDataset")
class TFRecordDataset(_FilesDataset):
    """The records of files."""

    def __init__(
        self,
        filenames: Any,
        compression_type: Any = None,
        buffer_size: Any = None,
        num_parallel_reads: Any = None,
    ):
        self._read(
            "TFRecordDataset",
            filenames,
            num_parallel_reads,
            compression_type=_text(compression_type, "compression_type"),
            buffer_size=_size(buffer_size, 256 * 1024),
        )


@export("data.experimental.SqlDataset")
class SqlDataset(Dataset):
    """The rows that a query of a database gives."""

    def __init__(self, driver_name: Any, data_source_name: Any, query: Any, output_types: Any):
        spec = structure.map_leaves(lambda dtype: TensorSpec([], dtype), output_types)
        variant = tf.raw_ops.SqlDataset(
            driver_name=_text(driver_name, "driver_name"),
            data_source_name=_text(data_source_name, "data_source_name"),
            query=_text(query, "query"),
            **structure.attributes(spec),
        )
        super().__init__(variant, spec)


@export(
    "data.FixedLengthRecordDataset",
    "compat.v1.data.FixedLengthRecordDataset",
    "compat.v2.data.FixedLengthRecordDataset",
)
class FixedLengthRecordDataset(_FilesDataset):
    """The records of one length in files."""

    def __init__(
        self,
        filenames: Any,
        record_bytes: Any,
        header_bytes: Any = None,
        footer_bytes: Any = None,
        buffer_size: Any = None,
        compression_type: Any = None,
        num_parallel_reads: Any = None,
    ):
        self._read(
            "FixedLengthRecordDatasetV2",
            filenames,
            num_parallel_reads,
            header_bytes=_int64(header_bytes or 0, "header_bytes"),
            record_bytes=_int64(record_bytes, "record_bytes"),
            footer_bytes=_int64(footer_bytes or 0, "footer_bytes"),
            buffer_size=_size(buffer_size, 256 * 1024),
            compression_type=_text(compression_type, "compression_type"),
        )
