"""Files as training sets: comma-separated values, Examples in TFRecord files; and datasets written as files."""

from __future__ import annotations

import collections
import csv
import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import weft as tf
from weft.data import structure
from weft.data.dataset import AUTOTUNE, Dataset, DatasetV2
from weft.data.files import TFRecordDataset, _size, _text
from weft.data.transformations import (
    ignore_errors as without_errors,
)
from weft.data.transformations import (
    parallel_interleave,
    parse_example_dataset,
    sample_from_datasets,
    scan,
    shuffle_and_repeat,
)
from weft.framework.export import export
from weft.framework.type_spec import TensorSpec

_COLUMN_TYPES = (tf.int32, tf.int64, tf.float32, tf.float64, tf.string)  # the narrowest first


@export("data.experimental.CsvDataset", "compat.v2.data.experimental.CsvDataset")
class CsvDataset(Dataset):
    """The records of files of comma-separated values (RFC 4180), each a tuple of scalars."""

    def __init__(
        self,
        filenames: Any,
        record_defaults: Any,
        compression_type: Any = None,
        buffer_size: Any = None,
        header: Any = False,
        field_delim: Any = ",",
        use_quote_delim: Any = True,
        na_value: Any = "",
        select_cols: Any = None,
    ):
        defaults = [
            tf.constant([], dtype=default)
            if isinstance(default, tf.DType)
            else tf.convert_to_tensor(default)
            for default in record_defaults
        ]
        for i, default in enumerate(defaults):
            if default.dtype not in _COLUMN_TYPES:
                raise TypeError(f"Column {i} cannot have the type {default.dtype.name}.")
            if (default.shape.ndims or 0) > 1:
                raise tf.errors.InvalidArgumentError(
                    None,
                    None,
                    f"Each record default should be at most rank 1, that of column {i} is {default.shape}.",
                )
        spec = tuple(TensorSpec([], default.dtype) for default in defaults)
        variant = tf.raw_ops.ExperimentalCSVDataset(
            filenames=tf.convert_to_tensor(filenames, dtype=tf.string, name="filenames"),
            record_defaults=defaults,
            buffer_size=_size(buffer_size, 4 * 1024 * 1024),
            header=tf.convert_to_tensor(header, dtype=tf.bool, name="header"),
            output_shapes=structure.flat_shapes(spec),
            field_delim=tf.convert_to_tensor(field_delim, dtype=tf.string, name="field_delim"),
            use_quote_delim=tf.convert_to_tensor(use_quote_delim, dtype=tf.bool),
            na_value=tf.convert_to_tensor(na_value, dtype=tf.string, name="na_value"),
            select_cols=tf.convert_to_tensor(
                np.array([] if select_cols is None else select_cols, np.int64), dtype=tf.int64
            ),
            compression_type=_text(compression_type, "compression_type"),
        )
        super().__init__(variant, spec)


# -- what is in the files, as the graph is built --------------------------------------------------------


def _matching(file_pattern: Any, shuffle: bool = False) -> list[str]:
    patterns = file_pattern if isinstance(file_pattern, (list, tuple)) else [file_pattern]
    if not patterns:
        raise ValueError("File pattern is empty.")
    names = sorted(name for pattern in patterns for name in tf.gfile.Glob(pattern))
    if not names:
        raise ValueError(f"No files match {file_pattern}.")
    if shuffle:
        np.random.shuffle(names)
    return names


def _opened(path: str, compression_type: str | None) -> io.StringIO:
    with tf.gfile.GFile(path, "rb") as file:
        data = file.read()
    if compression_type == "GZIP":
        data = gzip.decompress(data)
    elif compression_type == "ZLIB":
        data = zlib.decompress(data)
    elif compression_type:
        raise ValueError(f"compression_type must be '', 'GZIP' or 'ZLIB', not {compression_type}.")
    return io.StringIO(data.decode(), newline="")


class _Table:
    """Files of comma-separated values, looked into for the names and types of their columns."""

    def __init__(
        self,
        names: list[str],
        delimiter: str,
        quotes: bool,
        header: bool,
        compression_type: str | None,
    ):
        self._names, self._header, self._compression = names, header, compression_type
        self._how: dict[str, Any] = {
            "delimiter": delimiter,
            "quoting": csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE,
        }

    def _rows(self, name: str) -> Iterator[list[str]]:
        return csv.reader(_opened(name, self._compression), **self._how)

    def column_names(self) -> list[str]:
        """The first line, which must be the same in all files."""
        found: list[str] | None = None
        for name in self._names:
            first = next(self._rows(name), None)
            if first is None:
                raise ValueError(
                    f"Received StopIteration when reading the header line of {name}. Empty file?"
                )
            if found is not None and first != found:
                raise ValueError("Files have different column names in the header row.")
            found = first
        assert found is not None
        return found

    def defaults(self, columns: list[int], count: int, na_value: str, most: int | None) -> list:
        """For each column the zero of the narrowest type that takes what the first rows have."""
        narrowest = [-1] * len(columns)
        seen = 0
        for name in self._names:
            rows = self._rows(name)
            if self._header:
                next(rows, None)
            for row in rows:
                if most is not None and seen >= most:
                    break
                if len(row) != count:
                    raise ValueError(
                        "Problem inferring types: CSV row has different number of fields than expected."
                    )
                seen += 1
                for j, i in enumerate(columns):
                    if row[i] not in ("", na_value):
                        narrowest[j] = next(
                            k
                            for k, dtype in enumerate(_COLUMN_TYPES)
                            if k >= narrowest[j] and _takes(dtype, row[i])
                        )
        types = [tf.string if k < 0 else _COLUMN_TYPES[k] for k in narrowest]
        return [tf.constant(["" if t == tf.string else 0], dtype=t) for t in types]


def _takes(dtype: Any, text: str) -> bool:
    if dtype == tf.string:
        return True
    try:
        if dtype.is_integer:
            return dtype.min <= int(text) <= dtype.max
        with np.errstate(over="ignore"):
            return bool(dtype.as_numpy_dtype(text) < np.inf)
    except ValueError:
        return False


def _column_numbers(selected: list[Any], names: list[str]) -> list[int]:
    numbers = []
    for column in selected:
        if isinstance(column, int):
            if not 0 <= column < len(names):
                raise ValueError(
                    f"Column index {column} specified in select_columns out of valid range."
                )
            numbers.append(column)
        elif column in names:
            numbers.append(names.index(column))
        else:
            raise ValueError(
                f"Value '{column}' specified in select_columns not a valid column index or name."
            )
    if len(set(numbers)) != len(numbers):
        raise ValueError("select_columns contains duplicate columns")
    return sorted(numbers)


def _shuffled_and_repeated(
    dataset: DatasetV2, epochs: Any, shuffle: bool, buffer_size: int, seed: Any
) -> DatasetV2:
    if shuffle and epochs != 1:
        return dataset.apply(shuffle_and_repeat(buffer_size, epochs, seed))
    if shuffle:
        return dataset.shuffle(buffer_size, seed)
    return dataset if epochs == 1 else dataset.repeat(epochs)


@export("data.experimental.make_csv_dataset", "compat.v2.data.experimental.make_csv_dataset")
def make_csv_dataset(
    file_pattern: Any,
    batch_size: int,
    column_names: Any = None,
    column_defaults: Any = None,
    label_name: Any = None,
    select_columns: Any = None,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    header: bool = True,
    num_epochs: Any = None,
    shuffle: bool = True,
    shuffle_buffer_size: int = 10000,
    shuffle_seed: Any = None,
    prefetch_buffer_size: Any = None,
    num_parallel_reads: Any = None,
    sloppy: bool = False,
    num_rows_for_inference: Any = 100,
    compression_type: Any = None,
    ignore_errors: bool = False,
) -> DatasetV2:
    """Batches of the columns of files of comma-separated values, by name; with a label, pairs of columns and label."""
    names = _matching(file_pattern)
    dataset: DatasetV2 = Dataset.from_tensor_slices(names)
    if shuffle:
        dataset = dataset.shuffle(len(names), shuffle_seed)
    if (
        isinstance(compression_type, tf.Tensor)
        and tf.get_static_value(compression_type) is not None
    ):
        compression_type = tf.get_static_value(compression_type).decode()
    if column_names is None or column_defaults is None:
        if isinstance(compression_type, tf.Tensor):
            raise ValueError(
                "compression_type must be known where names or types of columns are to be found out."
            )
    table = _Table(names, field_delim, use_quote_delim, header, compression_type)
    if column_names is None:
        if not header:
            raise ValueError("Cannot infer column names without a header line.")
        column_names = table.column_names()
    column_names = list(column_names)
    if len(column_names) != len(set(column_names)):
        raise ValueError("Cannot have duplicate column names.")
    columns = None if select_columns is None else _column_numbers(select_columns, column_names)
    if column_defaults is None:
        every = list(range(len(column_names))) if columns is None else columns
        column_defaults = table.defaults(every, len(column_names), na_value, num_rows_for_inference)
    elif columns is not None and len(column_defaults) != len(columns):
        raise ValueError("If specified, column_defaults and select_columns must have same length.")
    if columns is not None:
        column_names = [column_names[i] for i in columns]
    if label_name is not None and label_name not in column_names:
        raise ValueError("`label_name` provided must be one of the columns.")

    def records(name: Any) -> DatasetV2:
        made: DatasetV2 = CsvDataset(
            name,
            record_defaults=column_defaults,
            field_delim=field_delim,
            use_quote_delim=use_quote_delim,
            na_value=na_value,
            select_cols=columns,
            header=header,
            compression_type=compression_type,
        )
        return made.apply(without_errors()) if ignore_errors else made

    def named(*values: Any) -> Any:
        features = collections.OrderedDict(zip(column_names, values))
        if label_name is None:
            return features
        label = features.pop(label_name)
        return features, label

    count = 1 if num_parallel_reads is None else num_parallel_reads
    dataset = dataset.apply(parallel_interleave(records, cycle_length=count, sloppy=sloppy))
    dataset = _shuffled_and_repeated(
        dataset, num_epochs, shuffle, shuffle_buffer_size, shuffle_seed
    )
    # Without an end no batch is the last one, so that the size of all is known.
    dataset = dataset.batch(batch_size, drop_remainder=num_epochs is None).map(named)
    return dataset.prefetch(AUTOTUNE if prefetch_buffer_size is None else prefetch_buffer_size)


@export(
    "data.experimental.make_batched_features_dataset",
    "compat.v2.data.experimental.make_batched_features_dataset",
)
def make_batched_features_dataset(
    file_pattern: Any,
    batch_size: int,
    features: dict[str, Any],
    reader: Any = TFRecordDataset,
    label_key: str | None = None,
    reader_args: Any = None,
    num_epochs: Any = None,
    shuffle: bool = True,
    shuffle_buffer_size: int = 10000,
    shuffle_seed: Any = None,
    prefetch_buffer_size: Any = None,
    reader_num_threads: Any = None,
    parser_num_threads: Any = None,
    sloppy_ordering: bool = False,
    drop_final_batch: bool = False,
) -> DatasetV2:
    """Batches of the features of serialized Examples in files; with `label_key`, pairs of features and label."""
    reader_num_threads = 1 if reader_num_threads is None else reader_num_threads
    parser_num_threads = 2 if parser_num_threads is None else parser_num_threads
    arguments = [] if reader_args is None else reader_args
    if isinstance(reader, type) and issubclass(reader, tf.ReaderBase):
        raise TypeError(
            "The `reader` argument must return a `Dataset` object. `tf.ReaderBase` subclasses are not supported."
        )
    dataset: DatasetV2 = Dataset.list_files(file_pattern, shuffle=shuffle, seed=shuffle_seed)
    dataset = dataset.apply(
        parallel_interleave(
            lambda name: reader(name, *arguments),
            cycle_length=reader_num_threads,
            sloppy=sloppy_ordering,
        )
    )
    if type(dataset.element_spec) is tuple and len(dataset.element_spec) == 2:
        dataset = dataset.map(lambda _, record: record)  # of keys and records
    dataset = _shuffled_and_repeated(
        dataset, num_epochs, shuffle, shuffle_buffer_size, shuffle_seed
    )
    dataset = dataset.batch(batch_size, drop_remainder=drop_final_batch or num_epochs is None)
    dataset = dataset.apply(parse_example_dataset(features, num_parallel_calls=parser_num_threads))
    if label_key:
        if label_key not in features:
            raise ValueError(
                f"The `label_key` provided ({label_key!r}) must be one of the `features` keys."
            )
        dataset = dataset.map(lambda found: (found, found.pop(label_key)))
    return dataset.prefetch(AUTOTUNE if prefetch_buffer_size is None else prefetch_buffer_size)


@export("data.experimental.TFRecordWriter", "compat.v2.data.experimental.TFRecordWriter")
class TFRecordWriter:
    """Writes a dataset of strings as a file of records."""

    def __init__(self, filename: Any, compression_type: Any = None):
        self._filename = tf.convert_to_tensor(filename, dtype=tf.string, name="filename")
        self._compression_type = _text(compression_type, "compression_type")

    def write(self, dataset: DatasetV2) -> Any:
        """The operation that writes the elements of a dataset."""
        if not isinstance(dataset, DatasetV2):
            raise TypeError("`dataset` must be a `tf.data.Dataset` object.")
        spec = dataset.element_spec
        if not isinstance(spec, TensorSpec) or spec.dtype != tf.string or spec.shape.ndims != 0:
            raise TypeError(f"`dataset` must produce scalar `DT_STRING` tensors, not {spec}.")
        return tf.raw_ops.DatasetToTFRecord(
            input_dataset=dataset._variant_tensor,
            filename=self._filename,
            compression_type=self._compression_type,
        )


# -- resampling -----------------------------------------------------------------------------------------


@export("data.experimental.rejection_resample", "compat.v2.data.experimental.rejection_resample")
def rejection_resample(
    class_func: Callable, target_dist: Any, initial_dist: Any = None, seed: Any = None
) -> Callable[[DatasetV2], DatasetV2]:
    """Pairs of class and element, of which some are dropped so that the classes come as often as is wanted.

    Elements are taken from the data as they are with a probability, and else from those that are left when each is
    kept by a chance that depends on its class: so as few as possible are dropped.
    """

    def chances(initial: Any, target: Any) -> tuple[Any, Any]:
        ratio = target / (initial + np.finfo(initial.dtype.as_numpy_dtype).tiny)
        least = tf.reduce_min(ratio)
        return (ratio - least) / (tf.reduce_max(ratio) - least), least

    def apply(dataset: DatasetV2) -> DatasetV2:
        target = tf.convert_to_tensor(target_dist, name="target_dist")
        kind = dataset._kind
        classes = dataset.map(class_func)
        known = None
        if initial_dist is not None:
            initial = tf.convert_to_tensor(initial_dist, name="initial_dist")
            both = kind.from_tensors(chances(initial, target)).repeat()
            values = tf.get_static_value(initial), tf.get_static_value(target)
            if values[0] is not None and values[1] is not None:
                known = np.min(values[1] / values[0])
        else:
            both = _seen_so_far(classes, target).map(lambda initial: chances(initial, target))
        labelled = kind.zip((classes, dataset))
        if known == 1:
            return labelled
        kept = kind.zip((classes, both, dataset)).map(
            lambda label, chance, element: (label, tf.gather(chance[0], label), element)
        )
        kept = kept.filter(lambda _, chance, __: tf.random_uniform([], seed=seed) < chance)
        kept = kept.map(lambda label, _, element: (label, element)).prefetch(3)
        if known == 0:
            return kept
        weights = both.map(lambda _, least: tf.stack([least, 1.0 - least]))
        return sample_from_datasets([labelled, kept], weights, seed)

    return apply


def _seen_so_far(classes: DatasetV2, target: Any, at_once: int = 32, begin: int = 10) -> DatasetV2:
    """For each element how often the classes have come until then; at first all alike."""
    count = target.shape.dims[0].value or tf.shape(target)[0]

    def update(seen: Any, labels: Any) -> Any:
        seen = seen + tf.reduce_sum(tf.one_hot(labels, count, dtype=tf.int64), 0)
        often = tf.cast(seen / tf.reduce_sum(seen), tf.float32)
        return seen, tf.tile(often[tf.newaxis], [at_once, 1])

    return classes.batch(at_once).apply(scan(tf.fill([count], np.int64(begin)), update)).unbatch()
