"""Lookup tables: filled once or changing, with scalar and vector keys and values, from tensors and text files."""

from __future__ import annotations

import os
import tempfile

from ..case import Family, script

scripts = []


def declare(*ops, **options):
    def keep(function):
        scripts.append(script(*ops, **options)(function))
        return function

    return keep


def text_file(name, contents):
    path = os.path.join(tempfile.gettempdir(), "weft conformance lookup " + name)
    with open(path, "wb") as file:
        file.write(contents)
    return path


def hash_table(g, key="string", value="int64"):
    tf = g.tf
    return g.raw.HashTableV2(
        key_dtype=tf.as_dtype(key), value_dtype=tf.as_dtype(value), shared_name=g.fresh_name()
    )


def find(g, table, keys, default, key="string", value="int64"):
    return g.raw.LookupTableFindV2(
        table_handle=table, keys=g.feed(keys, key), default_value=g.feed(default, value)
    )


@declare("HashTableV2", "LookupTableFindV2", "InitializeTableV2", "LookupTableSizeV2")
def hash_table_of_tensors(g):
    table = hash_table(g)
    size = g.raw.LookupTableSizeV2(table_handle=table)
    found = find(g, table, [[b"b", b"\0"], [b"a", b"z"]], -1)
    yield g.run(size)
    yield g.run(found, error="FailedPreconditionError")
    keys, values = g.feed([b"a", b"b", b"\0"], "string"), g.feed([10, 20, 30], "int64")
    fill = g.raw.InitializeTableV2(table_handle=table, keys=keys, values=values)
    yield g.run(fill)
    yield g.run(found, size)
    yield g.run(fill)
    other = g.raw.InitializeTableV2(
        table_handle=table, keys=g.feed([b"a"], "string"), values=g.feed([1], "int64")
    )
    yield g.run(other, error="FailedPreconditionError")
    yield g.run(found)
    yield g.run(find(g, table, b"a", -1))
    yield g.run(find(g, table, [b"a"], [1, 2]), error="InvalidArgumentError")
    yield g.run(find(g, table, [1], -1, "int64"), error="InvalidArgumentError")


@declare("LookupTableImportV2", "LookupTableExportV2", "LookupTableInsertV2", "LookupTableRemoveV2")
def what_a_filled_table_refuses(g):
    tf = g.tf
    table = hash_table(g, "int64", "string")
    keys, values = g.feed([3], "int64"), g.feed([b"c"], "string")
    types = dict(Tkeys=tf.int64, Tvalues=tf.string)
    export = g.raw.LookupTableExportV2(table_handle=table, **types)
    yield g.run(*export, error="AbortedError")
    yield g.run(g.raw.LookupTableImportV2(table_handle=table, keys=keys, values=values))
    yield g.run(*export)
    insert = g.raw.LookupTableInsertV2(table_handle=table, keys=keys, values=values)
    yield g.run(insert, error="UnimplementedError")
    remove = g.raw.LookupTableRemoveV2(table_handle=table, keys=keys)
    yield g.run(remove, error="UnimplementedError")
    yield g.run(find(g, table, [3, 4], b"?", "int64", "string"))


@declare("InitializeTableV2")
def keys_that_come_twice(g):
    for values, error in (([1, 2, 1], None), ([1, 2, 3], "FailedPreconditionError")):
        table = hash_table(g)
        fill = g.raw.InitializeTableV2(
            table_handle=table,
            keys=g.feed([b"a", b"b", b"a"], "string"),
            values=g.feed(values, "int64"),
        )
        yield g.run(fill, error=error) if error else g.run(fill)
        yield g.run(g.raw.LookupTableSizeV2(table_handle=table))


@declare("InitializeTableV2")
def wrong_keys_and_values(g):
    table = hash_table(g)

    def fill(keys, values, key="string", value="int64"):
        return g.raw.InitializeTableV2(
            table_handle=table,
            keys=g.feed(keys, key, shape=None),
            values=g.feed(values, value, shape=None),
        )

    yield g.run(fill([b"a", b"b"], [1]), error="InvalidArgumentError")
    yield g.run(fill([[b"a"]], [[1]]), error="InvalidArgumentError")
    yield g.run(fill([], []), error="InvalidArgumentError")
    yield g.run(fill([1], [1], "int64"), error="InvalidArgumentError")


LINES = b"alpha\t10\t0.5\nbeta\t-20\t1e3\r\n\xff gamma\t30\tinf"


@declare("InitializeTableFromTextFileV2", "InitializeTableFromTextFile", round_trip=False)
def tables_of_text_files(g):
    path = text_file("lines", LINES)
    for key, key_index, value, value_index, keys, default in (
        ("string", -2, "int64", -1, [b"beta\t-20\t1e3", b"beta"], -1),
        ("int64", -1, "string", -2, [0, 1, 2, 3], b"?"),
        ("string", 0, "int64", 1, [b"beta", b"\xff gamma", b"x"], -1),
        ("string", 0, "float32", 2, [b"alpha", b"beta", b"\xff gamma"], -1.0),
        ("int32", 1, "float64", 2, [10, -20], 0.0),
        ("int64", 1, "string", 0, [30, 31], b""),
    ):
        table = hash_table(g, key, value)
        fill = g.raw.InitializeTableFromTextFileV2(
            table_handle=table,
            filename=g.feed(path.encode(), "string"),
            key_index=key_index,
            value_index=value_index,
        )
        yield g.run(fill)
        yield g.run(find(g, table, keys, default, key, value))
        yield g.run(fill)


@declare("InitializeTableFromTextFileV2", round_trip=False)
def files_cut_short(g):
    path = text_file("words", b"a\nb\nc\n")
    for size, error in ((2, None), (3, None), (4, "InvalidArgumentError")):
        table = hash_table(g)
        fill = g.raw.InitializeTableFromTextFileV2(
            table_handle=table,
            filename=g.feed(path.encode(), "string"),
            key_index=-2,
            value_index=-1,
            vocab_size=size,
        )
        yield g.run(fill, error=error) if error else g.run(fill)
        yield g.run(g.raw.LookupTableSizeV2(table_handle=table))


@declare("InitializeTableFromTextFileV2", round_trip=False)
def files_that_are_wrong(g):
    for k, (contents, key, key_index, value, value_index, delimiter, error) in enumerate(
        (
            (b"a\n\nc\n", "string", -2, "int64", -1, "\t", "InvalidArgumentError"),
            (b"a\tx\n", "string", 0, "int64", 1, "\t", "InvalidArgumentError"),
            (b"a\t1\nb\n", "string", 0, "int64", 1, "\t", "InvalidArgumentError"),
            (b"a\t1\n", "string", 0, "int64", 1, " ", "InvalidArgumentError"),
            (b"a\t1\n", "string", 0, "int64", 1, ", ", "InvalidArgumentError"),
            (b"1\n", "int32", -1, "int32", 0, "\t", "InvalidArgumentError"),
            (b"a\n", "string", -2, "int32", -1, "\t", "InvalidArgumentError"),
            (b"a\n", "string", -2, "int64", -2, "\t", "InvalidArgumentError"),
            (b"", "string", -2, "int64", -1, "\t", "OutOfRangeError"),
            (b"a\na\n", "string", -2, "int64", -1, "\t", "FailedPreconditionError"),
        )
    ):
        fill = g.raw.InitializeTableFromTextFileV2(
            table_handle=hash_table(g, key, value),
            filename=g.feed(text_file("wrong %d" % k, contents).encode(), "string"),
            key_index=key_index,
            value_index=value_index,
            delimiter=delimiter,
        )
        yield g.run(fill, error=error)
    for name, error in (("", "InvalidArgumentError"), ("/no/such/file", "NotFoundError")):
        fill = g.raw.InitializeTableFromTextFileV2(
            table_handle=hash_table(g),
            filename=g.feed(name.encode(), "string"),
            key_index=-2,
            value_index=-1,
        )
        yield g.run(fill, error=error)


@declare(
    "MutableHashTableV2",
    "LookupTableFindV2",
    "LookupTableInsertV2",
    "LookupTableRemoveV2",
    "LookupTableSizeV2",
    "LookupTableImportV2",
    "LookupTableExportV2",
)
def mutable_table(g):
    tf = g.tf
    table = g.raw.MutableHashTableV2(
        key_dtype=tf.int64, value_dtype=tf.float32, shared_name=g.fresh_name()
    )

    def on(op, keys, values=None):
        how = dict(table_handle=table, keys=g.feed(keys, "int64"))
        if values is not None:
            how["values"] = g.feed(values)
        return getattr(g.raw, op)(**how)

    size = g.raw.LookupTableSizeV2(table_handle=table)
    found = find(g, table, [[1, 2], [3, 4]], 0.5, "int64", "float32")
    yield g.run(size, found)
    yield g.run(on("LookupTableInsertV2", [1, 2, 1], [10.0, 20.0, 30.0]))
    yield g.run(size, found)
    yield g.run(on("LookupTableInsertV2", [[3]], [[40.0]]))
    yield g.run(on("LookupTableRemoveV2", [1, 5, 1]))
    yield g.run(size, found)
    yield g.run(on("LookupTableImportV2", [4], [7.0]))
    yield g.run(size, found)
    yield g.run(*g.raw.LookupTableExportV2(table_handle=table, Tkeys=tf.int64, Tvalues=tf.float32))
    short = g.raw.LookupTableInsertV2(
        table_handle=table, keys=g.feed([1, 2], "int64"), values=g.feed([1.0])
    )
    yield g.run(short, error="InvalidArgumentError")
    yield g.run(find(g, table, [1], [0.5], "int64", "float32"), error="InvalidArgumentError")
    yield g.run(size)


@declare("MutableHashTableOfTensorsV2")
def table_of_vectors(g):
    tf = g.tf
    table = g.raw.MutableHashTableOfTensorsV2(
        key_dtype=tf.string, value_dtype=tf.int32, value_shape=[2], shared_name=g.fresh_name()
    )
    found = find(g, table, [[b"a", b"b"], [b"c", b"a"]], [-1, -2], "string", "int32")
    insert = g.raw.LookupTableInsertV2(
        table_handle=table,
        keys=g.feed([b"a", b"c"], "string"),
        values=g.feed([[1, 2], [3, 4]], "int32"),
    )
    yield g.run(found)
    yield g.run(insert)
    yield g.run(found)
    wrong = g.raw.LookupTableInsertV2(
        table_handle=table, keys=g.feed([b"a"], "string"), values=g.feed([[1, 2, 3]], "int32")
    )
    yield g.run(wrong, error="InvalidArgumentError")
    yield g.run(find(g, table, [b"a"], -1, "string", "int32"), error="InvalidArgumentError")
    scalars = g.raw.MutableHashTableOfTensorsV2(
        key_dtype=tf.string, value_dtype=tf.int32, value_shape=[], shared_name=g.fresh_name()
    )
    yield g.run(g.raw.LookupTableSizeV2(table_handle=scalars), error="InvalidArgumentError")


def dense_table(g, empty, deleted, key="int64", value="int64", value_shape=(), buckets=8):
    return g.raw.MutableDenseHashTableV2(
        empty_key=g.constant(empty, key),
        deleted_key=g.constant(deleted, key),
        value_dtype=g.tf.as_dtype(value),
        value_shape=list(value_shape),
        initial_num_buckets=buckets,
        shared_name=g.fresh_name(),
    )


@declare("MutableDenseHashTableV2")
def dense_tables(g):
    tf = g.tf
    table = dense_table(g, 0, -1)
    size = g.raw.LookupTableSizeV2(table_handle=table)
    found = find(g, table, [11, 12, 13, 14, 15, 99], -5, "int64")
    export = g.raw.LookupTableExportV2(table_handle=table, Tkeys=tf.int64, Tvalues=tf.int64)

    def insert(keys, values):
        return g.raw.LookupTableInsertV2(
            table_handle=table, keys=g.feed(keys, "int64"), values=g.feed(values, "int64")
        )

    yield g.run(size, found)
    yield g.run(insert([11, 12, 13, 12], [1, 2, 3, 4]))
    yield g.run(size, found, *export)
    yield g.run(g.raw.LookupTableRemoveV2(table_handle=table, keys=g.feed([12, 77], "int64")))
    yield g.run(size, found, *export)
    yield g.run(insert([14, 15, 16, 17, 18, 19], [4, 5, 6, 7, 8, 9]))
    yield g.run(size, found)
    yield g.run(insert([1, 0], [1, 1]), error="InvalidArgumentError")
    yield g.run(find(g, table, [-1], -5, "int64"), error="InvalidArgumentError")
    yield g.run(find(g, table, [[11, 12], [13, 14]], -5, "int64"), error="InvalidArgumentError")
    yield g.run(find(g, table, 11, -5, "int64"))


@declare("MutableDenseHashTableV2")
def dense_tables_of_vectors_and_strings(g):
    tf = g.tf
    table = dense_table(g, [0, 0], [-1, -1], value="float32", value_shape=[3])
    found = find(g, table, [[1, 2], [2, 1], [7, 7]], [0.5, 0.25, 0.0], "int64", "float32")
    insert = g.raw.LookupTableInsertV2(
        table_handle=table,
        keys=g.feed([[1, 2], [2, 1]], "int64"),
        values=g.feed([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),
    )
    yield g.run(found)
    yield g.run(insert)
    yield g.run(found)
    yield g.run(*g.raw.LookupTableExportV2(table_handle=table, Tkeys=tf.int64, Tvalues=tf.float32))
    words = dense_table(g, b"", b"-", "string", "bool")
    insert = g.raw.LookupTableInsertV2(
        table_handle=words,
        keys=g.feed([b"a", b"b\0"], "string"),
        values=g.feed([True, False], "bool"),
    )
    yield g.run(insert)
    yield g.run(find(g, words, [b"a", b"b", b"b\0"], True, "string", "bool"))
    yield g.run(*g.raw.LookupTableExportV2(table_handle=words, Tkeys=tf.string, Tvalues=tf.bool))


@declare("MutableDenseHashTableV2", "LookupTableImportV2")
def buckets_as_they_were_exported(g):
    tf = g.tf
    table = dense_table(g, 0, -1, value="int32", buckets=4)
    bring = g.raw.LookupTableImportV2(
        table_handle=table,
        keys=g.feed([[8], [9], [0], [-1]], "int64", shape=None),
        values=g.feed([[80], [90], [0], [0]], "int32", shape=None),
    )
    yield g.run(bring)
    yield g.run(
        find(g, table, [8, 9, 10], -5, "int64", "int32"),
        g.raw.LookupTableSizeV2(table_handle=table),
        *g.raw.LookupTableExportV2(table_handle=table, Tkeys=tf.int64, Tvalues=tf.int32),
    )


@declare("MutableDenseHashTableV2")
def dense_tables_that_cannot_be(g):
    for empty, deleted, how in (
        (0, 0, {}),
        (0, [1, 2], {}),
        (0, 1, dict(buckets=12)),
        (0, 1, dict(buckets=2)),
        (0, 1, dict(value_shape=[2, 2])),
    ):
        table = dense_table(g, empty, deleted, **how)
        yield g.run(g.raw.LookupTableSizeV2(table_handle=table), error="InvalidArgumentError")


@declare(
    "HashTable",
    "MutableHashTable",
    "MutableHashTableOfTensors",
    "LookupTableFind",
    "LookupTableInsert",
    "LookupTableImport",
    "LookupTableExport",
    "LookupTableSize",
    "InitializeTable",
    "InitializeTableFromTextFile",
    round_trip=False,
)
def tables_by_references(g):
    tf = g.tf
    types = dict(key_dtype=tf.string, value_dtype=tf.int64)
    keys, values = g.feed([b"a", b"b"], "string"), g.feed([1, 2], "int64")
    more = dict(keys=g.feed([b"b", b"c"], "string"), default_value=g.feed(-1, "int64"))
    table = g.raw.HashTable(shared_name=g.fresh_name(), **types)
    yield g.run(g.raw.InitializeTable(table_handle=table, keys=keys, values=values))
    yield g.run(
        g.raw.LookupTableFind(table_handle=table, **more), g.raw.LookupTableSize(table_handle=table)
    )
    changing = g.raw.MutableHashTable(shared_name=g.fresh_name(), **types)
    yield g.run(g.raw.LookupTableInsert(table_handle=changing, keys=keys, values=values))
    yield g.run(g.raw.LookupTableFind(table_handle=changing, **more))
    bring = g.raw.LookupTableImport(
        table_handle=changing, keys=g.feed([b"c"], "string"), values=g.feed([3], "int64")
    )
    yield g.run(bring)
    yield g.run(*g.raw.LookupTableExport(table_handle=changing, Tkeys=tf.string, Tvalues=tf.int64))
    vectors = g.raw.MutableHashTableOfTensors(value_shape=[1], shared_name=g.fresh_name(), **types)
    rows = g.feed([[1], [2]], "int64")
    yield g.run(g.raw.LookupTableInsert(table_handle=vectors, keys=keys, values=rows))
    yield g.run(g.raw.LookupTableSize(table_handle=vectors))
    lines = g.raw.HashTable(shared_name=g.fresh_name(), **types)
    name = g.feed(text_file("few", b"b\na\n").encode(), "string")
    fill = g.raw.InitializeTableFromTextFile(
        table_handle=lines, filename=name, key_index=-2, value_index=-1
    )
    yield g.run(fill)
    yield g.run(g.raw.LookupTableFind(table_handle=lines, **more))


@declare("HashTableV2", "MutableHashTableV2")
def one_table_by_two_handles(g):
    tf = g.tf
    name = g.fresh_name()
    types = dict(key_dtype=tf.string, value_dtype=tf.int64)
    first = g.raw.MutableHashTableV2(shared_name=name, **types)
    second = g.raw.MutableHashTableV2(shared_name=name, **types)
    insert = g.raw.LookupTableInsertV2(
        table_handle=first, keys=g.feed([b"a"], "string"), values=g.feed([1], "int64")
    )
    yield g.run(insert)
    yield g.run(find(g, second, [b"a", b"b"], -1))
    other = g.raw.HashTableV2(key_dtype=tf.string, value_dtype=tf.float32, shared_name=name)
    yield g.run(g.raw.LookupTableSizeV2(table_handle=other), error="InvalidArgumentError")


# The older form of a dense table has no key for what was removed, which TensorFlow 1.15 asks for all the same.
@declare("MutableDenseHashTable", round_trip=False)
def dense_table_by_reference(g):
    tf = g.tf
    table = g.raw.MutableDenseHashTable(
        empty_key=g.constant(0, "int64"), value_dtype=tf.int64, shared_name=g.fresh_name()
    )
    yield g.run(g.raw.LookupTableSize(table_handle=table), error="InvalidArgumentError")


@declare("GenerateVocabRemapping", round_trip=False)
def vocabularies_that_changed(g):
    files = {
        "new": text_file("new", b"knitting\neminem\nMC Hammer\nknitting\n"),
        "old": text_file("old", b"knitting\nflannel\neminem\n"),
        "twice": text_file("twice", b"a\nb\na\n"),
    }

    def remapping(new, old, start, count, size=-1):
        how = dict(new_vocab_offset=start, num_new_vocab=count, old_vocab_size=size)
        return g.raw.GenerateVocabRemapping(
            new_vocab_file=g.feed(files.get(new, new).encode(), "string"),
            old_vocab_file=g.feed(files.get(old, old).encode(), "string"),
            **how,
        )

    yield g.run(*remapping("new", "old", 0, 4))
    yield g.run(*remapping("new", "old", 1, 2))
    yield g.run(*remapping("new", "old", 0, 3, 2))
    yield g.run(*remapping("new", "old", 4, 0))
    yield g.run(*remapping("new", "old", 2, 3), error="InvalidArgumentError")
    yield g.run(*remapping("new", "old", 0, 3, 4), error="InvalidArgumentError")
    yield g.run(*remapping("new", "twice", 0, 1), error="FailedPreconditionError")
    yield g.run(*remapping("", "old", 0, 1), error="InvalidArgumentError")
    yield g.run(*remapping("new", "/no/such/file", 0, 1), error="NotFoundError")


@declare("LoadAndRemapMatrix", round_trip=False)
def matrices_elsewhere(g):
    tf = g.tf
    path = os.path.join(tempfile.gettempdir(), "weft conformance lookup checkpoint")
    matrix = g.constant([[10.0 * r + c for c in range(4)] for r in range(5)])
    save = g.raw.SaveV2(
        prefix=path,
        tensor_names=["matrix", "whole numbers", "vector"],
        shape_and_slices=[""] * 3,
        tensors=[matrix, tf.cast(matrix, tf.int32), matrix[0]],
    )
    yield g.run(save)

    def taken(rows, cols, values, name="matrix", height=None, width=4, most=-1, prefix=path):
        return g.raw.LoadAndRemapMatrix(
            ckpt_path=g.feed([prefix.encode()], "string"),
            old_tensor_name=g.feed(name.encode(), "string"),
            row_remapping=g.feed(rows, "int64"),
            col_remapping=g.feed(cols, "int64"),
            initializing_values=g.feed(values),
            num_rows=len(rows) if height is None else height,
            num_cols=width,
            max_rows_in_memory=most,
        )

    for most in (-1, 1, 2):
        yield g.run(taken([2, 0, 4], [], [], most=most))
        yield g.run(taken([4, -1, 1], [3, -1, 0], [1.0, 2.0, 3.0, 4.0, 5.0], width=3, most=most))
    yield g.run(taken([-1, -1], [], [0.5] * 8))
    yield g.run(taken([], [], []))
    wrong = "InvalidArgumentError"
    yield g.run(taken([0, -1], [], [1.0]), error=wrong)
    yield g.run(taken([0, 1], [], [1.0]), error=wrong)
    yield g.run(taken([0, 1], [], [], height=3), error=wrong)
    yield g.run(taken([0, 1], [0], [], width=2), error=wrong)
    yield g.run(taken([0, 1], [], [], width=3), error=wrong)
    yield g.run(taken([0, 0], [], []), error="UnimplementedError")
    yield g.run(taken([0], [1, 1], [], width=2), error="UnimplementedError")
    yield g.run(taken([0], [], [], name="whole numbers"), error=wrong)
    yield g.run(taken([0], [], [], name="vector"), error=wrong)
    yield g.run(taken([0], [], [], name="nothing"), error="NotFoundError")
    yield g.run(taken([0], [], [], prefix="/no/such/file"), error="NotFoundError")


FAMILY = Family("lookup", [], scripts)
