"""Datasets and iterators: pipelines of raw ops, walked from the beginning to the end."""

from __future__ import annotations

import functools
import os
import sqlite3
import tempfile
import zlib

import numpy as np

from ..case import Family, script

scripts = []
# Two records, b"one" and b"", in TensorFlow's framing.
RECORDS = (
    b"\x03\x00\x00\x00\x00\x00\x00\x00\xb0\x99I\x0eone\x01@U\x08"
    b"\x00\x00\x00\x00\x00\x00\x00\x00)\x03\x98\x07\xd8\xea\x82\xa2"
)
BOTH_FORMS = ("", "Experimental")
WALKING = ("IteratorV2", "MakeIterator", "IteratorGetNext")


def declare(*ops, **options):
    def keep(function):
        scripts.append(script(*(ops + WALKING), **options)(function))
        return function

    return keep


def call_raw(g, prefix, op, **named):
    return getattr(g.raw, prefix + op)(**named)


def for_both_forms(*ops, **options):
    """Declares a program on ops that are called `Experimental...` too."""

    def keep(function):
        for prefix in BOTH_FORMS:

            def program(g, prefix=prefix):
                return function(g, functools.partial(call_raw, g, prefix))

            program.__name__ = prefix.lower() + "_" * bool(prefix) + function.__name__
            declare(*[prefix + op for op in ops], **options)(program)
        return function

    return keep


class Elements:
    """What elements are like, as attributes: `Elements(g, ("int64", []), ("string", [None]))`."""

    def __init__(self, g, *components):
        self.g = g
        self.attrs = dict(
            output_types=[g.tf.as_dtype(dtype) for dtype, _ in components],
            output_shapes=[g.tf.TensorShape(shape) for _, shape in components],
        )

    def walk(self, dataset, count, end="OutOfRangeError"):
        """Steps: from the beginning over `count` elements, then to the error."""
        raw = self.g.raw
        it = raw.IteratorV2(shared_name=self.g.fresh_name(), container="", **self.attrs)
        yield self.g.run(raw.MakeIterator(dataset=dataset, iterator=it))
        following = raw.IteratorGetNext(iterator=it, **self.attrs)
        for _ in range(count):
            yield self.g.run(*following)
        if end:
            yield self.g.run(*following, error=end)


def scalars(g, dtype="int64"):
    return Elements(g, (dtype, []))


def numbers(g, n, start=0, step=1):
    return g.raw.RangeDataset(
        start=g.feed(start, "int64"),
        stop=g.feed(n, "int64"),
        step=g.feed(step, "int64"),
        **scalars(g).attrs,
    )


def slices(g, *values):
    """A dataset of the slices of arrays, given as (values, dtype)."""
    fed = [g.feed(array, dtype) for array, dtype in values]
    return g.raw.TensorSliceDataset(components=fed, output_shapes=[x.shape[1:] for x in fed])


def int64(g, value):
    return g.feed(value, "int64")


def text(g, value):
    return g.feed(value, "string")


def cardinalities(g, *datasets):
    return g.run(*[g.raw.DatasetCardinality(input_dataset=d) for d in datasets])


# -- sources ----------------------------------------------------------------------------------------------


@declare("TensorDataset", "TensorSliceDataset", "DatasetCardinality")
def tensors_and_slices(g):
    parts = [g.feed([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), text(g, [b"a", b"b\0", b""])]
    whole = Elements(g, ("float32", [3, 2]), ("string", [3]))
    one = g.raw.TensorDataset(components=parts, output_shapes=whole.attrs["output_shapes"])
    for step in whole.walk(one, 1):
        yield step
    rows = Elements(g, ("float32", [2]), ("string", []))
    three = g.raw.TensorSliceDataset(components=parts, output_shapes=rows.attrs["output_shapes"])
    for step in rows.walk(three, 3):
        yield step
    yield cardinalities(g, one, three)


@declare("SparseTensorSliceDataset")
def slices_of_a_sparse_tensor(g):
    dataset = g.raw.SparseTensorSliceDataset(
        indices=int64(g, [[0, 1], [0, 3], [2, 0]]),
        values=text(g, [b"a", b"b", b"c"]),
        dense_shape=int64(g, [4, 5]),
    )
    elements = Elements(g, ("int64", [None, 1]), ("string", [None]), ("int64", [1]))
    for step in elements.walk(dataset, 4):
        yield step


@declare("RangeDataset", "DatasetCardinality")
def ranges(g):
    for start, stop, by, count in ((0, 3, 1, 3), (7, 0, -3, 3), (3, 3, 1, 0), (0, 5, 2, 3)):
        dataset = numbers(g, stop, start, by)
        for step in scalars(g).walk(dataset, count):
            yield step
        yield cardinalities(g, dataset)
    for step in scalars(g).walk(numbers(g, 4, 0, 0), 0, None):
        step.error = "InvalidArgumentError"
        yield step


@for_both_forms("RandomDataset")
def random_words(g, call):
    dataset = call("RandomDataset", seed=int64(g, 5), seed2=int64(g, 9), **scalars(g).attrs)
    for step in scalars(g).walk(dataset, 6, None):
        yield step


@declare("GeneratorDataset")
def generator(g):
    tf = g.tf

    def following(limit, times):
        return tf.random.uniform([], seed=1) * 0.0 + tf.cast(limit * times, tf.float32)

    elements = scalars(g, "float32")
    dataset = g.raw.GeneratorDataset(
        init_func_other_args=[int64(g, 3)],
        next_func_other_args=[int64(g, 5)],
        finalize_func_other_args=[],
        init_func=g.function(lambda n: n + 1, ("int64", [])),
        next_func=g.function(following, ("int64", []), ("int64", [])),
        finalize_func=g.function(lambda n: n, ("int64", [])),
        **elements.attrs,
    )
    for step in elements.walk(dataset, 3, None):
        yield step


# -- files ------------------------------------------------------------------------------------------------


def write(content, suffix=""):
    handle, path = tempfile.mkstemp(suffix=suffix)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
    return path


def of_files(g, op, contents, count, compression=b"", end="OutOfRangeError", **more):
    """Steps over a dataset of the records of files with these contents."""
    names = [write(content) for content in contents]
    dataset = getattr(g.raw, op)(
        filenames=text(g, [name.encode() for name in names]),
        buffer_size=int64(g, 16),
        **dict(
            more, **({} if compression is None else dict(compression_type=text(g, compression)))
        ),
    )
    return scalars(g, "string").walk(dataset, count, end)


@declare("TextLineDataset")
def lines(g):
    contents = [b"one\r\ntwo\n\nthree", b"", b"x" * 40 + b"\nlast\n"]
    for step in of_files(g, "TextLineDataset", contents, 6):
        yield step
    packed = [zlib.compress(b"a\nlonger line\n")]
    for step in of_files(g, "TextLineDataset", packed, 2, b"ZLIB"):
        yield step
    gone = g.raw.TextLineDataset(
        filenames=text(g, [b"/nowhere/at/all"]),
        compression_type=text(g, b""),
        buffer_size=int64(g, 0),
    )
    for step in scalars(g, "string").walk(gone, 0, "NotFoundError"):
        yield step


@declare("TFRecordDataset")
def records(g):
    for step in of_files(g, "TFRecordDataset", [RECORDS, b"", RECORDS], 4):
        yield step
    for step in of_files(g, "TFRecordDataset", [zlib.compress(RECORDS)], 2, b"ZLIB"):
        yield step
    damaged = RECORDS[:-1] + b"?"
    for step in of_files(g, "TFRecordDataset", [damaged], 1, end="DataLossError"):
        yield step


@declare("FixedLengthRecordDataset")
def records_of_a_length(g):
    sizes = dict(header_bytes=int64(g, 2), record_bytes=int64(g, 3), footer_bytes=int64(g, 1))
    files = [b"hhabcdeff", b"hhf", b"hhxyzf"]
    for step in of_files(g, "FixedLengthRecordDataset", files, 3, None, **sizes):
        yield step
    for step in of_files(
        g, "FixedLengthRecordDataset", [b"hhabcdf"], 0, None, "InvalidArgumentError", **sizes
    ):
        yield step


@declare("FixedLengthRecordDatasetV2")
def records_of_a_length_v2(g):
    sizes = dict(header_bytes=int64(g, 2), record_bytes=int64(g, 3), footer_bytes=int64(g, 1))
    for step in of_files(g, "FixedLengthRecordDatasetV2", [b"hhabcdeff"], 2, **sizes):
        yield step
    packed = [zlib.compress(b"hhabcdeff")]
    for step in of_files(g, "FixedLengthRecordDatasetV2", packed, 2, b"ZLIB", **sizes):
        yield step


@for_both_forms("CSVDataset")
def comma_separated(g, call):
    kind = Elements(g, ("int32", []), ("string", []), ("float32", []))

    def reading(content, columns=(), missing=b"", header=False):
        return call(
            "CSVDataset",
            filenames=text(g, [write(content).encode()]),
            compression_type=text(g, b""),
            buffer_size=int64(g, 7),
            header=g.feed(header, "bool"),
            field_delim=text(g, b";"),
            use_quote_delim=g.feed(True, "bool"),
            na_value=text(g, missing),
            select_cols=int64(g, np.array(columns, np.int64)),
            record_defaults=[g.feed([7], "int32"), text(g, [b"none"]), g.feed([])],
            output_shapes=kind.attrs["output_shapes"],
        )

    content = b'1;two;3.5\r\n;"a ""b"";\r\nc";-1e2\n4;NA; 5'
    for step in kind.walk(reading(content), 3):
        yield step
    for step in kind.walk(reading(content, missing=b"NA", header=True), 2):
        yield step
    for step in kind.walk(reading(b"x;1;y;z;2\n", [1, 2, 4]), 1):
        yield step
    broken = b'1;a;1\n2;b"c;1\n3;d\n4;e;\nx;h;1\n6;i;2;3\n8;k;9'
    endings = [None, "I", "I", "I", "I", "I", None]
    made = reading(broken)
    it = g.raw.IteratorV2(shared_name=g.fresh_name(), container="", **kind.attrs)
    following = g.raw.IteratorGetNext(iterator=it, **kind.attrs)
    yield g.run(g.raw.MakeIterator(dataset=made, iterator=it))
    for ending in endings:
        yield g.run(*following, error="InvalidArgumentError" if ending else None)
    yield g.run(*following, error="OutOfRangeError")


@declare("DatasetToTFRecord", "ExperimentalDatasetToTFRecord", "TFRecordDataset")
def written_records(g):
    for op in ("DatasetToTFRecord", "ExperimentalDatasetToTFRecord"):
        for compression in (b"", b"GZIP"):
            path = write(b"")
            written = getattr(g.raw, op)(
                input_dataset=slices(g, ([b"one", b"", b"\0three"], "string")),
                filename=text(g, path.encode()),
                compression_type=text(g, compression),
            )
            yield g.run(written)
            read = g.raw.TFRecordDataset(
                filenames=text(g, [path.encode()]),
                compression_type=text(g, compression),
                buffer_size=int64(g, 0),
            )
            for step in scalars(g, "string").walk(read, 3):
                yield step


@for_both_forms("MatchingFilesDataset")
def matching_files(g, call):
    folder = tempfile.mkdtemp()
    for name in ("b.txt", "a.txt", "c.csv"):
        with open(os.path.join(folder, name), "wb"):
            pass
    pattern = os.path.join(folder, "*.txt").encode()
    dataset = call("MatchingFilesDataset", patterns=text(g, [pattern]))
    sizes = Elements(g, ("int32", []))
    length = g.function(
        lambda name: g.tf.size(g.tf.strings.split([name], "/").values) * 0 + 5, ("string", [])
    )
    mapped = g.raw.MapDataset(input_dataset=dataset, other_arguments=[], f=length, **sizes.attrs)
    for step in sizes.walk(mapped, 2):
        yield step


# -- selections -------------------------------------------------------------------------------------------


def counted(op, counts):
    """Declares a program on an op with a count, of which it says how many elements of 5 each leaves."""

    def program(g):
        for count, left in counts:
            made = getattr(g.raw, op)(
                input_dataset=numbers(g, 5), count=int64(g, count), **scalars(g).attrs
            )
            end = None if left > 10 else "OutOfRangeError"
            for step in scalars(g).walk(made, min(left, 7) if end is None else left, end):
                yield step
            if op != "TakeDataset" or count >= 0:  # that of all of them TensorFlow calls infinite
                yield cardinalities(g, made)

    program.__name__ = "of_" + op.lower()
    declare(op, "DatasetCardinality")(program)


counted("TakeDataset", ((0, 0), (3, 3), (9, 5), (-1, 5)))
counted("SkipDataset", ((0, 5), (3, 2), (9, 0), (-1, 0)))
counted("RepeatDataset", ((0, 0), (1, 5), (2, 10), (-1, 99)))


@declare("ShardDataset")
def shards(g):
    for index, left in ((0, 3), (2, 2)):
        made = g.raw.ShardDataset(
            input_dataset=numbers(g, 8),
            num_shards=int64(g, 3),
            index=int64(g, index),
            **scalars(g).attrs,
        )
        for step in scalars(g).walk(made, left):
            yield step
        yield cardinalities(g, made)
    for n, index in ((0, 0), (3, 3), (3, -1)):
        wrong = g.raw.ShardDataset(
            input_dataset=numbers(g, 8),
            num_shards=int64(g, n),
            index=int64(g, index),
            **scalars(g).attrs,
        )
        for step in scalars(g).walk(wrong, 0, None):
            step.error = "InvalidArgumentError"
            yield step
    too_few = g.raw.ShardDataset(
        input_dataset=numbers(g, 2),
        num_shards=int64(g, 3),
        index=int64(g, 0),
        require_non_empty=True,
        **scalars(g).attrs,
    )
    for step in scalars(g).walk(too_few, 0, "InvalidArgumentError"):
        yield step


@declare("ConcatenateDataset", "ZipDataset", "DatasetCardinality")
def side_by_side(g):
    after = g.raw.ConcatenateDataset(
        input_dataset=numbers(g, 2), another_dataset=numbers(g, 12, 10), **scalars(g).attrs
    )
    for step in scalars(g).walk(after, 4):
        yield step
    pairs = Elements(g, ("int64", []), ("float32", [1]))
    beside = g.raw.ZipDataset(
        input_datasets=[numbers(g, 9), slices(g, ([[1.0], [2.0]], "float32"))], **pairs.attrs
    )
    for step in pairs.walk(beside, 2):
        yield step
    yield cardinalities(g, after, beside)


@declare("AnonymousRandomSeedGenerator", "DeleteRandomSeedGenerator", "ShuffleDatasetV2")
def shuffled_by_a_generator_of_seeds(g):
    generator, deleter = g.raw.AnonymousRandomSeedGenerator(seed=int64(g, 7), seed2=int64(g, 11))
    made = g.raw.ShuffleDatasetV2(
        input_dataset=numbers(g, 9),
        buffer_size=int64(g, 4),
        seed_generator=generator,
        **scalars(g).attrs,
    )
    twice = g.raw.RepeatDataset(input_dataset=made, count=int64(g, 2), **scalars(g).attrs)
    it = g.raw.IteratorV2(shared_name=g.fresh_name(), container="", **scalars(g).attrs)
    with g.tf.control_dependencies([g.raw.MakeIterator(dataset=twice, iterator=it)]):
        gone = g.raw.DeleteRandomSeedGenerator(handle=generator, deleter=deleter)
    yield g.run(gone)
    following = g.raw.IteratorGetNext(iterator=it, **scalars(g).attrs)
    for _ in range(18):
        yield g.run(*following)
    yield g.run(*following, error="OutOfRangeError")


@declare("ShuffleDataset")
def shuffled(g):
    for buffer, reshuffle in ((1, True), (3, True), (20, True), (4, False)):
        made = g.raw.ShuffleDataset(
            input_dataset=numbers(g, 9),
            buffer_size=int64(g, buffer),
            seed=int64(g, 7),
            seed2=int64(g, 11),
            reshuffle_each_iteration=reshuffle,
            **scalars(g).attrs,
        )
        twice = g.raw.RepeatDataset(input_dataset=made, count=int64(g, 2), **scalars(g).attrs)
        for step in scalars(g).walk(twice, 18):
            yield step
    rows = Elements(g, ("int64", [None]), ("string", [None]))
    table = ([7, 5, 3, 2, 1, 8, 9], "int64"), ([b"a", b"b", b"c", b"d", b"e", b"f", b"g"], "string")
    for buffer, times, left in ((3, 1, 3), (7, 1, 3), (50, 2, 5), (4, 2, 5), (1, 1, 3)):
        whole = Elements(g, ("int64", []), ("string", []))
        made = g.raw.ShuffleDataset(
            input_dataset=slices(g, *table),
            buffer_size=int64(g, buffer),
            seed=int64(g, 5),
            seed2=int64(g, 2),
            **whole.attrs,
        )
        made = g.raw.RepeatDataset(input_dataset=made, count=int64(g, times), **whole.attrs)
        for step in whole.walk(made, 7 * times):
            yield step
        made = g.raw.BatchDataset(input_dataset=made, batch_size=int64(g, 3), **rows.attrs)
        for step in rows.walk(made, left):
            yield step
    none = g.raw.ShuffleDataset(
        input_dataset=numbers(g, 9),
        buffer_size=int64(g, 0),
        seed=int64(g, 7),
        seed2=int64(g, 11),
        **scalars(g).attrs,
    )
    for step in scalars(g).walk(none, 0, None):
        step.error = "InvalidArgumentError"
        yield step


@declare("ShuffleAndRepeatDataset")
def shuffled_and_repeated(g):
    for buffer, epochs in ((3, 2), (20, 3)):
        made = g.raw.ShuffleAndRepeatDataset(
            input_dataset=numbers(g, 5),
            buffer_size=int64(g, buffer),
            seed=int64(g, 7),
            seed2=int64(g, 11),
            count=int64(g, epochs),
            **scalars(g).attrs,
        )
        for step in scalars(g).walk(made, 5 * epochs):
            yield step


@declare("SamplingDataset")
def sampled(g):
    made = g.raw.SamplingDataset(
        input_dataset=numbers(g, 30),
        rate=g.feed(0.3),
        seed=int64(g, 3),
        seed2=int64(g, 4),
        **scalars(g).attrs,
    )
    for step in scalars(g).walk(made, 5, None):
        yield step


@for_both_forms("UniqueDataset")
def unique(g, call):
    for values, dtype, count in (([3, 1, 3, 2, 1], "int64", 3), ([b"a", b"b", b"a"], "string", 2)):
        kind = scalars(g, dtype)
        made = call("UniqueDataset", input_dataset=slices(g, (values, dtype)), **kind.attrs)
        for step in kind.walk(made, count):
            yield step


@for_both_forms("DirectedInterleaveDataset")
def directed(g, call):
    for choices, count, end in (
        ([0, 1, 1, 0, 1, 1, 0], 6, "OutOfRangeError"),
        ([1, 2], 1, "InvalidArgumentError"),
    ):
        made = call(
            "DirectedInterleaveDataset",
            selector_input_dataset=slices(g, (choices, "int64")),
            data_input_datasets=[numbers(g, 5), numbers(g, 13, 10)],
            **scalars(g).attrs,
        )
        for step in scalars(g).walk(made, count, end):
            yield step


# -- batches and windows ----------------------------------------------------------------------------------


@declare("BatchDataset", "BatchDatasetV2", "DatasetCardinality")
def batches(g):
    rows = Elements(g, ("int64", [None]))
    first = g.raw.BatchDataset(input_dataset=numbers(g, 5), batch_size=int64(g, 2), **rows.attrs)
    for step in rows.walk(first, 3):
        yield step
    found = [first]
    for drop, count in ((True, 2), (False, 3)):
        second = g.raw.BatchDatasetV2(
            input_dataset=numbers(g, 5),
            batch_size=int64(g, 2),
            drop_remainder=g.feed(drop, "bool"),
            **rows.attrs,
        )
        found.append(second)
        for step in rows.walk(second, count):
            yield step
    yield cardinalities(g, *found)
    words = Elements(g, ("string", [None, 2]), ("float32", [None]))
    of_words = g.raw.BatchDataset(
        input_dataset=slices(
            g, ([[b"a", b"b"], [b"", b"\0"], [b"c", b"d"]], "string"), ([1.0, 2.0, 3.0], "float32")
        ),
        batch_size=int64(g, 2),
        **words.attrs,
    )
    for step in words.walk(of_words, 2):
        yield step
    none = g.raw.BatchDataset(input_dataset=numbers(g, 5), batch_size=int64(g, 0), **rows.attrs)
    for step in rows.walk(none, 0, None):
        step.error = "InvalidArgumentError"
        yield step


def lists(g, n):
    """Elements that are lists of 0, 1, ... n - 1 numbers."""
    kind = Elements(g, ("int64", [None]))
    f = g.function(lambda k: g.tf.range(k) + 1, ("int64", []))
    return g.raw.MapDataset(input_dataset=numbers(g, n), other_arguments=[], f=f, **kind.attrs)


@declare("BatchDataset", "MapDataset")
def batch_that_does_not_fit(g):
    rows = Elements(g, ("int64", [None, None]))
    made = g.raw.BatchDataset(input_dataset=lists(g, 3), batch_size=int64(g, 2), **rows.attrs)
    for step in rows.walk(made, 0, "InvalidArgumentError"):
        yield step


@declare("PaddedBatchDataset", "PaddedBatchDatasetV2")
def padded_batches(g):
    rows = Elements(g, ("int64", [None, None]))
    for width, filler in ((-1, 0), (5, -1)):
        made = g.raw.PaddedBatchDataset(
            input_dataset=lists(g, 5),
            batch_size=int64(g, 2),
            padded_shapes=[int64(g, [width])],
            padding_values=[int64(g, filler)],
            output_shapes=rows.attrs["output_shapes"],
        )
        for step in rows.walk(made, 3):
            yield step
    for drop, count in ((True, 2), (False, 3)):
        made = g.raw.PaddedBatchDatasetV2(
            input_dataset=lists(g, 5),
            batch_size=int64(g, 2),
            padded_shapes=[int64(g, [-1])],
            padding_values=[int64(g, 9)],
            drop_remainder=g.feed(drop, "bool"),
            output_shapes=rows.attrs["output_shapes"],
        )
        for step in rows.walk(made, count):
            yield step
    for shape in ([1], [2, 2]):  # too small, of another rank
        wrong = g.raw.PaddedBatchDataset(
            input_dataset=lists(g, 5),
            batch_size=int64(g, 4),
            padded_shapes=[int64(g, shape)],
            padding_values=[int64(g, 0)],
            output_shapes=[g.tf.TensorShape(None)],
        )
        anything = Elements(g, ("int64", None))
        steps = list(anything.walk(wrong, 0, None if len(shape) > 1 else "DataLossError"))
        if len(shape) > 1:
            steps = list(anything.walk(wrong, 0, "InvalidArgumentError"))
        for step in steps:
            yield step


@for_both_forms("DenseToSparseBatchDataset")
def sparse_batches(g, call):
    kind = Elements(g, ("variant", None))
    made = call(
        "DenseToSparseBatchDataset",
        input_dataset=lists(g, 4),
        batch_size=int64(g, 2),
        row_shape=int64(g, [4]),
        **kind.attrs,
    )
    it = g.raw.IteratorV2(shared_name=g.fresh_name(), container="", **kind.attrs)
    (variants,) = g.raw.IteratorGetNext(iterator=it, **kind.attrs)
    yield g.run(g.raw.MakeIterator(dataset=made, iterator=it))
    found = g.raw.DeserializeSparse(serialized_sparse=variants, dtype=g.tf.int64)
    yield g.run(*found)
    yield g.run(*found)
    yield g.run(*found, error="OutOfRangeError")


@for_both_forms("UnbatchDataset")
def unbatched(g, call):
    kind = Elements(g, ("int64", []), ("string", [2]))
    source = slices(
        g,
        ([[1, 2], [3, 4]], "int64"),
        ([[[b"a", b"b"], [b"c", b"d"]], [[b"e", b"f"], [b"g", b"h"]]], "string"),
    )
    made = call("UnbatchDataset", input_dataset=source, **kind.attrs)
    for step in kind.walk(made, 4):
        yield step


@declare("WindowDataset", "FlatMapDataset", "DatasetCardinality")
def windows(g):
    tf = g.tf
    outer = Elements(g, ("variant", []))
    rows = Elements(g, ("int64", [None]))

    def batch(window):
        return g.raw.BatchDataset(
            input_dataset=window, batch_size=tf.constant(9, tf.int64), **rows.attrs
        )

    flat = g.function(batch, ("variant", []))
    for size, shift, stride, drop, count in (
        (3, 3, 1, False, 3),
        (3, 1, 2, True, 3),
        (2, 3, 1, False, 3),
        (2, 5, 1, True, 2),
    ):
        made = g.raw.WindowDataset(
            input_dataset=numbers(g, 7),
            size=int64(g, size),
            shift=int64(g, shift),
            stride=int64(g, stride),
            drop_remainder=g.feed(drop, "bool"),
            **outer.attrs,
        )
        joined = g.raw.FlatMapDataset(input_dataset=made, other_arguments=[], f=flat, **rows.attrs)
        for step in rows.walk(joined, count):
            yield step
        yield cardinalities(g, made)


@for_both_forms("SlidingWindowDataset")
def sliding_windows(g, call):
    rows = Elements(g, ("int64", [None]))
    for size, shift, stride, count in ((3, 1, 1, 5), (2, 3, 2, 2), (2, 4, 1, 2)):
        made = call(
            "SlidingWindowDataset",
            input_dataset=numbers(g, 7),
            window_size=int64(g, size),
            window_shift=int64(g, shift),
            window_stride=int64(g, stride),
            **rows.attrs,
        )
        for step in rows.walk(made, count):
            yield step


# -- functions --------------------------------------------------------------------------------------------


@declare("MapDataset", "ParallelMapDataset")
def mapped(g):
    tf = g.tf
    kind = Elements(g, ("int64", []), ("float32", [2]))
    f = g.function(
        lambda x, scale: (x * x, scale * tf.cast(x, tf.float32)), ("int64", []), ("float32", [2])
    )
    captured = [g.feed([0.5, 2.0])]
    plain = g.raw.MapDataset(
        input_dataset=numbers(g, 4), other_arguments=captured, f=f, **kind.attrs
    )
    at_once = g.raw.ParallelMapDataset(
        input_dataset=numbers(g, 4),
        other_arguments=captured,
        num_parallel_calls=g.feed(3, "int32"),
        f=f,
        **kind.attrs,
    )
    for made in (plain, at_once):
        for step in kind.walk(made, 4):
            yield step
    yield cardinalities(g, plain, at_once)


@for_both_forms("IgnoreErrorsDataset")
def errors_of_elements(g, call):
    tf = g.tf
    checked = g.function(
        lambda x: tf.debugging.check_numerics(1.0 / x, "no number"), ("float32", [])
    )
    kind = scalars(g, "float32")
    made = g.raw.MapDataset(
        input_dataset=slices(g, ([2.0, 0.0, 4.0], "float32")),
        other_arguments=[],
        f=checked,
        **kind.attrs,
    )
    for step in kind.walk(made, 1, "InvalidArgumentError"):
        yield step
    passed_over = call("IgnoreErrorsDataset", input_dataset=made, **kind.attrs)
    for step in kind.walk(passed_over, 2):
        yield step


@for_both_forms("MapAndBatchDataset")
def mapped_batches(g, call):
    rows = Elements(g, ("int64", [None]))
    f = g.function(lambda x, by: x * by, ("int64", []), ("int64", []))
    for drop, count in ((True, 2), (False, 3)):
        made = call(
            "MapAndBatchDataset",
            input_dataset=numbers(g, 5),
            other_arguments=[int64(g, 10)],
            batch_size=int64(g, 2),
            num_parallel_calls=int64(g, 2),
            drop_remainder=g.feed(drop, "bool"),
            f=f,
            **rows.attrs,
        )
        for step in rows.walk(made, count):
            yield step


@declare("FilterDataset")
def filtered(g):
    odd = g.function(lambda x, n: g.tf.equal(x % n, 1), ("int64", []), ("int64", []))
    made = g.raw.FilterDataset(
        input_dataset=numbers(g, 7),
        other_arguments=[int64(g, 3)],
        predicate=odd,
        **scalars(g).attrs,
    )
    for step in scalars(g).walk(made, 2):
        yield step


@declare("FilterByLastComponentDataset")
def filtered_by_last_component(g):
    chosen = g.raw.FilterByLastComponentDataset(
        input_dataset=slices(g, ([5, 6, 7], "int64"), ([True, False, True], "bool")),
        **scalars(g).attrs,
    )
    for step in scalars(g).walk(chosen, 2):
        yield step


@for_both_forms("TakeWhileDataset")
def taken_while(g, call):
    small = g.function(lambda x: x < 3, ("int64", []))
    made = call(
        "TakeWhileDataset",
        input_dataset=numbers(g, 9),
        other_arguments=[],
        predicate=small,
        **scalars(g).attrs,
    )
    for step in scalars(g).walk(made, 3):
        yield step


@for_both_forms("ScanDataset")
def scanned(g, call):
    sums = g.function(lambda state, x: (state + x, state * x), ("int64", []), ("int64", []))
    made = call(
        "ScanDataset",
        input_dataset=numbers(g, 5),
        initial_state=[int64(g, 10)],
        other_arguments=[],
        f=sums,
        **scalars(g).attrs,
    )
    for step in scalars(g).walk(made, 5):
        yield step


def tens(g):
    """A function of a number: the dataset 10x, 10x + 1, ... of x + 1 elements."""
    tf = g.tf
    return g.function(
        lambda x: g.raw.RangeDataset(
            start=x * 10, stop=x * 11 + 1, step=tf.constant(1, tf.int64), **scalars(g).attrs
        ),
        ("int64", []),
    )


@declare("FlatMapDataset", "InterleaveDataset", "ParallelInterleaveDatasetV2")
def interleaved(g):
    f = tens(g)
    flat = g.raw.FlatMapDataset(
        input_dataset=numbers(g, 4), other_arguments=[], f=f, **scalars(g).attrs
    )
    for step in scalars(g).walk(flat, 10):
        yield step
    for cycle, block in ((1, 1), (2, 1), (3, 2), (9, 3)):
        named = dict(
            input_dataset=numbers(g, 4),
            other_arguments=[],
            cycle_length=int64(g, cycle),
            block_length=int64(g, block),
            f=f,
            **scalars(g).attrs,
        )
        ahead = g.raw.ParallelInterleaveDatasetV2(num_parallel_calls=int64(g, 1), **named)
        for made in (g.raw.InterleaveDataset(**named), ahead):
            for step in scalars(g).walk(made, 10):
                yield step


@for_both_forms("ParallelInterleaveDataset")
def interleaved_by_threads(g, call):
    for cycle, block in ((1, 1), (2, 1), (2, 2)):
        made = call(
            "ParallelInterleaveDataset",
            input_dataset=numbers(g, 4),
            other_arguments=[],
            cycle_length=int64(g, cycle),
            block_length=int64(g, block),
            sloppy=g.feed(False, "bool"),
            buffer_output_elements=int64(g, 2),
            prefetch_input_elements=int64(g, 0),
            f=tens(g),
            **scalars(g).attrs,
        )
        for step in scalars(g).walk(made, 10):
            yield step


@for_both_forms("GroupByWindowDataset")
def groups(g, call):
    tf = g.tf
    rows = Elements(g, ("int64", [None]))
    key = g.function(lambda x: x % 2, ("int64", []))
    size = g.function(lambda key: key + 2, ("int64", []))

    def reduce(key, window):
        return g.raw.BatchDataset(
            input_dataset=window, batch_size=tf.constant(9, tf.int64), **rows.attrs
        )

    made = call(
        "GroupByWindowDataset",
        input_dataset=numbers(g, 9),
        key_func_other_arguments=[],
        reduce_func_other_arguments=[],
        window_size_func_other_arguments=[],
        key_func=key,
        reduce_func=g.function(reduce, ("int64", []), ("variant", [])),
        window_size_func=size,
        **rows.attrs,
    )
    for step in rows.walk(made, 5):
        yield step


@for_both_forms("GroupByReducerDataset")
def reduced_groups(g, call):
    made = call(
        "GroupByReducerDataset",
        input_dataset=numbers(g, 9),
        key_func_other_arguments=[],
        init_func_other_arguments=[],
        reduce_func_other_arguments=[],
        finalize_func_other_arguments=[],
        key_func=g.function(lambda x: -(x % 3), ("int64", [])),
        init_func=g.function(lambda key: key * 100, ("int64", [])),
        reduce_func=g.function(lambda state, x: state + x, ("int64", []), ("int64", [])),
        finalize_func=g.function(lambda state: state + 1, ("int64", [])),
        **scalars(g).attrs,
    )
    for step in scalars(g).walk(made, 3):
        yield step


# -- kept, ahead, as they are -----------------------------------------------------------------------------


@declare("PrefetchDataset", "CacheDataset")
def buffered(g):
    folder = tempfile.mkdtemp()
    source = g.raw.ShuffleDataset(
        input_dataset=numbers(g, 4),
        buffer_size=int64(g, 4),
        seed=int64(g, 3),
        seed2=int64(g, 5),
        **scalars(g).attrs,
    )
    for n in (0, 1, 9, -1):
        made = g.raw.PrefetchDataset(
            input_dataset=numbers(g, 3), buffer_size=int64(g, n), **scalars(g).attrs
        )
        for step in scalars(g).walk(made, 3):
            yield step
    for place in (b"", os.path.join(folder, "cache").encode()):
        kept = g.raw.CacheDataset(input_dataset=source, filename=text(g, place), **scalars(g).attrs)
        again = g.raw.RepeatDataset(input_dataset=kept, count=int64(g, 2), **scalars(g).attrs)
        for step in scalars(g).walk(again, 8):
            yield step


@declare("AnonymousMemoryCache", "CacheDatasetV2", "DeleteMemoryCache", round_trip=False)
def shared_cache(g):
    handle, deleter = g.raw.AnonymousMemoryCache()
    kept = g.raw.CacheDatasetV2(
        input_dataset=numbers(g, 2), filename=text(g, b""), cache=handle, **scalars(g).attrs
    )
    (total,) = g.raw.ReduceDataset(
        input_dataset=kept,
        initial_state=[int64(g, 0)],
        other_arguments=[],
        f=g.function(lambda state, x: state + x, ("int64", []), ("int64", [])),
        **scalars(g).attrs,
    )
    with g.tf.control_dependencies([total]):
        gone = g.raw.DeleteMemoryCache(handle=handle, deleter=deleter)
    yield g.run(total, gone)


@for_both_forms(
    "MaxIntraOpParallelismDataset",
    "PrivateThreadPoolDataset",
    "NonSerializableDataset",
    "BytesProducedStatsDataset",
    "LatencyStatsDataset",
    "SleepDataset",
    "AssertNextDataset",
)
def unchanged(g, call):
    for op, named in (
        ("MaxIntraOpParallelismDataset", dict(max_intra_op_parallelism=int64(g, 1))),
        ("PrivateThreadPoolDataset", dict(num_threads=int64(g, 1))),
        ("NonSerializableDataset", {}),
        ("BytesProducedStatsDataset", dict(tag=text(g, b"bytes"))),
        ("LatencyStatsDataset", dict(tag=text(g, b"time"))),
        ("SleepDataset", dict(sleep_microseconds=int64(g, 10))),
    ):
        made = call(op, input_dataset=numbers(g, 2), **dict(scalars(g).attrs, **named))
        for step in scalars(g).walk(made, 2):
            yield step
    asserted = call(
        "AssertNextDataset",
        input_dataset=numbers(g, 2),
        transformations=text(g, [b"FiniteTake"]),
        **scalars(g).attrs,
    )
    made = g.raw.TakeDataset(input_dataset=asserted, count=int64(g, 1), **scalars(g).attrs)
    for step in scalars(g).walk(made, 1):
        yield step


@for_both_forms("SqlDataset")
def rows_of_a_query(g, call):
    handle, path = tempfile.mkstemp(suffix=".sqlite3")
    os.close(handle)
    base = sqlite3.connect(path)
    base.execute("CREATE TABLE t (a, b, c)")
    base.executemany("INSERT INTO t VALUES (?, ?, ?)", SQL_ROWS)
    base.commit()
    base.close()

    def of(query, *types, **named):
        elements = Elements(g, *[(t, named.get("shape", [])) for t in types])
        made = call(
            "SqlDataset",
            driver_name=text(g, named.get("driver", b"sqlite")),
            data_source_name=text(g, named.get("path", path.encode())),
            query=text(g, query),
            **elements.attrs,
        )
        return elements, made

    for types in (("string", "int64", "float64"), ("string", "int32", "string"), ("bool",) * 3):
        elements, made = of(b"SELECT a, b, c FROM t ORDER BY b", *types)
        for step in elements.walk(made, len(SQL_ROWS)):
            yield step
    elements, made = of(b"SELECT c, a, c FROM t ORDER BY b", "uint8", "int8", "int16")
    for step in elements.walk(made, len(SQL_ROWS)):
        yield step
    for query, error in (
        (b"SELECT nothing FROM t", "UnknownError"),
        (b"SELEKT", "UnknownError"),
        (b"SELECT a, b FROM t", "InvalidArgumentError"),
    ):
        elements, made = of(query, "string")
        for step in elements.walk(made, 0, end=error):
            yield step
    for named in (dict(driver=b"mysql"), dict(shape=[1])):
        elements, made = of(b"SELECT a FROM t", "string", **named)
        it = g.raw.IteratorV2(shared_name=g.fresh_name(), container="", **elements.attrs)
        yield g.run(g.raw.MakeIterator(dataset=made, iterator=it), error="InvalidArgumentError")


SQL_ROWS = [
    ("name", 1, 2.5),
    (None, 2, None),
    ("12 and more", 3, "7.75x"),
    (b"a\0b", 4, 200),
    ("", 5, "-3"),
]


@for_both_forms("StatsAggregatorHandle", "StatsAggregatorSummary", "SetStatsAggregatorDataset")
def statistics(g, call):
    gathers = call("StatsAggregatorHandle", shared_name=g.fresh_name())
    dataset = call(
        "BytesProducedStatsDataset",
        input_dataset=slices(g, ([[1, 2], [3, 4], [5, 6]], "int32")),
        tag=text(g, b"bytes"),
        **Elements(g, ("int32", [2])).attrs,
    )
    dataset = call(
        "SetStatsAggregatorDataset",
        input_dataset=dataset,
        stats_aggregator=gathers,
        tag=text(g, b"mine"),
        counter_prefix=text(g, b""),
        **Elements(g, ("int32", [2])).attrs,
    )
    summary = call("StatsAggregatorSummary", iterator=gathers)
    yield g.run(summary)
    for step in Elements(g, ("int32", [2])).walk(dataset, 3):
        yield step
    yield g.run(summary)


@for_both_forms("ThreadPoolHandle", "ThreadPoolDataset")
def thread_pools(g, call):
    for threads, error in ((2, None), (0, "InvalidArgumentError")):
        pool = call(
            "ThreadPoolHandle",
            num_threads=threads,
            display_name="mine",
            shared_name=g.fresh_name(),
        )
        made = call(
            "ThreadPoolDataset",
            input_dataset=numbers(g, 2),
            thread_pool=pool,
            **scalars(g).attrs,
        )
        if error is None:
            for step in scalars(g).walk(made, 2):
                yield step
            continue
        it = g.raw.IteratorV2(shared_name=g.fresh_name(), container="", **scalars(g).attrs)
        yield g.run(g.raw.MakeIterator(dataset=made, iterator=it), error=error)


@declare("ModelDataset", "OptimizeDataset")
def advice(g):
    made = g.raw.ModelDataset(
        input_dataset=g.raw.OptimizeDataset(
            input_dataset=numbers(g, 2), optimizations=text(g, []), **scalars(g).attrs
        ),
        **scalars(g).attrs,
    )
    for step in scalars(g).walk(made, 2):
        yield step


@for_both_forms("DatasetCardinality")
def cardinality(g, call):
    endless = g.raw.RepeatDataset(
        input_dataset=numbers(g, 2), count=int64(g, -1), **scalars(g).attrs
    )
    odd = g.function(lambda x: g.tf.equal(x % 2, 1), ("int64", []))
    unknown = g.raw.FilterDataset(
        input_dataset=numbers(g, 7), other_arguments=[], predicate=odd, **scalars(g).attrs
    )
    yield g.run(
        *[call("DatasetCardinality", input_dataset=d) for d in (numbers(g, 2), endless, unknown)]
    )


@declare("WrapDatasetVariant", "UnwrapDatasetVariant")
def wrapped(g):
    variant = g.raw.WrapDatasetVariant(input_handle=numbers(g, 2))
    for step in scalars(g).walk(g.raw.UnwrapDatasetVariant(input_handle=variant), 2):
        yield step


# -- iterators --------------------------------------------------------------------------------------------


@declare("Iterator", "IteratorGetNextSync", "IteratorGetNextAsOptional")
def iterators(g):
    it = g.raw.Iterator(shared_name=g.fresh_name(), container="", **scalars(g).attrs)
    following = g.raw.IteratorGetNextSync(iterator=it, **scalars(g).attrs)
    maybe = g.raw.IteratorGetNextAsOptional(iterator=it, **scalars(g).attrs)
    there = g.raw.OptionalHasValue(optional=maybe)
    yield g.run(*following, error="FailedPreconditionError")
    begin = g.raw.MakeIterator(dataset=numbers(g, 2), iterator=it)
    for _ in range(2):
        yield g.run(begin)
        yield g.run(*following)
        yield g.run(there)
        yield g.run(there)
        yield g.run(*following, error="OutOfRangeError")


@declare("OneShotIterator")
def one_shot(g):
    tf = g.tf

    def make():
        return g.raw.RangeDataset(
            start=tf.constant(3, tf.int64),
            stop=tf.constant(5, tf.int64),
            step=tf.constant(1, tf.int64),
            **scalars(g).attrs,
        )

    it = g.raw.OneShotIterator(dataset_factory=g.function(make), **scalars(g).attrs)
    following = g.raw.IteratorGetNext(iterator=it, **scalars(g).attrs)
    yield g.run(*following)
    yield g.run(*following)
    yield g.run(*following, error="OutOfRangeError")


@declare("AnonymousIterator")
def anonymous(g):
    it = g.raw.AnonymousIterator(**scalars(g).attrs)
    with g.tf.control_dependencies([g.raw.MakeIterator(dataset=numbers(g, 2), iterator=it)]):
        following = g.raw.IteratorGetNext(iterator=it, **scalars(g).attrs)
    yield g.run(*following)
    yield g.run(*following)


@declare("AnonymousIteratorV2", "DeleteIterator")
def anonymous_v2(g):
    it, deleter = g.raw.AnonymousIteratorV2(**scalars(g).attrs)
    with g.tf.control_dependencies([g.raw.MakeIterator(dataset=numbers(g, 2), iterator=it)]):
        following = g.raw.IteratorGetNext(iterator=it, **scalars(g).attrs)
    with g.tf.control_dependencies(following):
        gone = g.raw.DeleteIterator(handle=it, deleter=deleter)
    yield g.run(*(list(following) + [gone]))


@declare("SerializeIterator", "DeserializeIterator")
def saved_iterators(g):
    raw, attrs = g.raw, scalars(g).attrs
    its = [raw.IteratorV2(shared_name=g.fresh_name(), container="", **attrs) for _ in range(2)]
    state = raw.SerializeIterator(resource_handle=its[0])
    yield g.run(raw.SerializeTensor(tensor=state), error="FailedPreconditionError")
    dataset = raw.SkipDataset(input_dataset=numbers(g, 7), count=g.feed(2, "int64"), **attrs)
    for it in its:
        yield g.run(raw.MakeIterator(dataset=dataset, iterator=it))
    first, second = [raw.IteratorGetNext(iterator=it, **attrs) for it in its]
    yield g.run(*first)
    yield g.run(*first)
    yield g.run(raw.DeserializeIterator(resource_handle=its[1], serialized=state))
    for _ in range(3):
        yield g.run(*second)
    yield g.run(*second, error="OutOfRangeError")
    yield g.run(*first)


@declare(
    "MultiDeviceIterator",
    "MultiDeviceIteratorInit",
    "MultiDeviceIteratorGetNextFromShard",
    "MultiDeviceIteratorToStringHandle",
    "MultiDeviceIteratorFromStringHandle",
)
def elements_for_several_devices(g):
    raw, attrs = g.raw, scalars(g).attrs
    it = raw.MultiDeviceIterator(
        devices=["/cpu:0", "/cpu:0"], shared_name=g.fresh_name(), container="", **attrs
    )
    begin = raw.MultiDeviceIteratorInit(
        dataset=numbers(g, 5), multi_device_iterator=it, max_buffer_size=int64(g, 1)
    )
    handle = raw.MultiDeviceIteratorToStringHandle(multi_device_iterator=it)
    again = raw.MultiDeviceIteratorFromStringHandle(string_handle=handle, **attrs)

    def following(it, shard, incarnation):
        return raw.MultiDeviceIteratorGetNextFromShard(
            multi_device_iterator=it,
            shard_num=g.feed(shard, "int32"),
            incarnation_id=int64(g, incarnation),
            **attrs,
        )

    yield g.run(begin)
    yield g.run(*following(it, 0, 1))
    yield g.run(*following(again, 1, 1))
    yield g.run(*following(it, 1, 1))
    yield g.run(*following(it, 0, 1))
    yield g.run(*following(it, 0, 1))
    for shard in (0, 1):
        yield g.run(*following(it, shard, 1), error="OutOfRangeError")
    yield g.run(begin)
    yield g.run(*following(it, 0, 1), error="InvalidArgumentError")
    yield g.run(*following(it, 0, 2))


@declare("AnonymousMultiDeviceIterator", "DeleteMultiDeviceIterator")
def anonymous_elements_for_several_devices(g):
    raw, attrs = g.raw, scalars(g).attrs
    it, deleter = raw.AnonymousMultiDeviceIterator(devices=["/cpu:0"], **attrs)
    begin = raw.MultiDeviceIteratorInit(
        dataset=numbers(g, 5), multi_device_iterator=it, max_buffer_size=int64(g, 1)
    )
    following = raw.MultiDeviceIteratorGetNextFromShard(
        multi_device_iterator=it, shard_num=g.feed(0, "int32"), incarnation_id=begin, **attrs
    )
    with g.tf.control_dependencies(following):
        gone = raw.DeleteMultiDeviceIterator(
            multi_device_iterator=it, iterators=[], deleter=deleter
        )
    yield g.run(*(list(following) + [gone]))


@for_both_forms("ChooseFastestDataset")
def any_of_several(g, call):
    made = call(
        "ChooseFastestDataset",
        input_datasets=[numbers(g, 3), numbers(g, 3)],
        num_experiments=1,
        **scalars(g).attrs,
    )
    for step in scalars(g).walk(made, 3):
        yield step


@declare("IteratorToStringHandle", "IteratorFromStringHandle", "IteratorFromStringHandleV2")
def string_handles(g):
    its = []
    for n in (2, 12):
        it = g.raw.IteratorV2(shared_name=g.fresh_name(), container="", **scalars(g).attrs)
        yield g.run(g.raw.MakeIterator(dataset=numbers(g, n, n - 2), iterator=it))
        its.append(it)
    for op in ("IteratorFromStringHandle", "IteratorFromStringHandleV2"):
        for it in its:
            handle = g.raw.IteratorToStringHandle(resource_handle=it)
            found = getattr(g.raw, op)(string_handle=handle, **scalars(g).attrs)
            yield g.run(*g.raw.IteratorGetNext(iterator=found, **scalars(g).attrs))
    other = g.raw.IteratorFromStringHandleV2(
        string_handle=g.raw.IteratorToStringHandle(resource_handle=its[0]),
        **Elements(g, ("float32", [])).attrs,
    )
    yield g.run(
        *g.raw.IteratorGetNext(iterator=other, **Elements(g, ("float32", [])).attrs),
        error="InvalidArgumentError",
    )
    nobody = g.raw.IteratorFromStringHandle(string_handle=text(g, b"nobody"), **scalars(g).attrs)
    yield g.run(
        *g.raw.IteratorGetNext(iterator=nobody, **scalars(g).attrs), error="InvalidArgumentError"
    )


@declare("IteratorGetDevice", "ExperimentalIteratorGetDevice", exact=False)
def device_of_an_iterator(g):
    it = g.raw.IteratorV2(shared_name=g.fresh_name(), container="", **scalars(g).attrs)
    yield g.run(g.raw.IteratorGetDevice(resource=it))
    yield g.run(g.raw.ExperimentalIteratorGetDevice(resource=it))


@declare("DatasetToSingleElement", "ReduceDataset")
def in_one_step(g):
    kind = scalars(g)
    yield g.run(*g.raw.DatasetToSingleElement(dataset=numbers(g, 4, 3), **kind.attrs))
    for n in (0, 2):
        yield g.run(
            *g.raw.DatasetToSingleElement(dataset=numbers(g, n), **kind.attrs),
            error="InvalidArgumentError",
        )
    both = Elements(g, ("int64", []), ("float32", []))
    f = g.function(
        lambda total, largest, x, by: (
            total + x * by,
            g.tf.maximum(largest, g.tf.cast(x, "float32")),
        ),
        ("int64", []),
        ("float32", []),
        ("int64", []),
        ("int64", []),
    )
    for n in (0, 5):
        yield g.run(
            *g.raw.ReduceDataset(
                input_dataset=numbers(g, n),
                initial_state=[int64(g, 100), g.feed(0.5)],
                other_arguments=[int64(g, 2)],
                f=f,
                **both.attrs,
            )
        )


FAMILY = Family("datasets", [], scripts)
