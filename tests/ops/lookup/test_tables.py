"""The tables themselves: against Python's dictionaries, for any keys; many keys at once; threads."""

import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.framework import dtypes, errors
from weft.ops.lookup import text_file
from weft.ops.lookup.dense_table import MutableDenseHashTable
from weft.ops.lookup.tables import HashTable, MutableHashTable
from weft.ops.strings.elements import of

numbers = st.lists(st.integers(-8, 8), max_size=8)
steps = st.lists(st.tuples(st.sampled_from(["insert", "remove", "replace"]), numbers), max_size=12)


def pairs(keys):
    return np.array(keys, np.int64), np.array([7 * k + i for i, k in enumerate(keys)], np.int64)


@given(steps)
def test_a_mutable_table_is_a_dictionary(changes):
    table, known = MutableHashTable(dtypes.int64, dtypes.int64), {}
    everything = np.arange(-9, 10)
    for what, listed in changes:
        keys, values = pairs(listed)
        if what == "remove":
            table.remove(keys)
            for k in listed:
                known.pop(k, None)
        else:
            getattr(table, what)(keys, values)
            if what == "replace":
                known.clear()
            known.update(zip(listed, values.tolist()))
        found = table.find(everything, np.array(-1, np.int64)).tolist()
        assert found == [known.get(k, -1) for k in everything.tolist()]
        assert table.size() == len(known)
        exported = table.export()
        assert dict(zip(*(x.tolist() for x in exported))) == known


def dense(key_dtype=dtypes.int64, empty=100, deleted=-100, value_shape=(), buckets=4):
    keys = (np.array(k, key_dtype.np) for k in (empty, deleted))
    return MutableDenseHashTable(key_dtype, dtypes.int64, value_shape, *keys, buckets, 0.8)


@given(steps)
def test_a_dense_table_is_a_dictionary_that_tensorflow_finds_keys_in(changes):
    table, known = dense(), {}
    everything = np.arange(-9, 10)
    for what, listed in changes:
        keys, values = pairs(listed)
        if what == "remove":
            table.remove(keys)
            for k in listed:
                known.pop(k, None)
        elif what == "insert":
            table.insert(keys, values)
            known.update(zip(listed, values.tolist()))
        found = table.find(everything, np.array(-1, np.int64)).tolist()
        assert found == [known.get(k, -1) for k in everything.tolist()]
        buckets, values = (x.ravel().tolist() for x in table.export())
        for key, value in known.items():
            assert values[probed(buckets, key)] == value


def probed(buckets, key):
    """The bucket of a key as TensorFlow searches for it: until it is found, or an empty one is."""
    at, probes = key & (len(buckets) - 1), 0
    while buckets[at] != key:
        assert buckets[at] != 100 and probes < len(buckets)
        probes += 1
        at = (at + probes) & (len(buckets) - 1)
    return at


@given(st.lists(st.binary(max_size=4), max_size=30))
def test_strings_in_a_dense_table(words):
    table = MutableDenseHashTable(
        dtypes.string, dtypes.int64, (), of([b"none"], ()), of([b"gone"], ()), 4, 0.5
    )
    keys = of([w for w in words if w not in (b"none", b"gone")], (-1,))
    table.insert(keys, np.arange(len(keys)))
    last = {k: i for i, k in enumerate(keys.tolist())}
    assert table.find(keys, np.array(-1)).tolist() == [last[k] for k in keys.tolist()]
    assert table.size() == len(last)


def test_buckets_that_cannot_be_searched_are_refused():
    table = dense()
    for keys, values in (
        (np.zeros((3, 1), np.int64), np.zeros((3, 1), np.int64)),
        (np.zeros((4, 2), np.int64), np.zeros((4, 1), np.int64)),
        (np.zeros((4, 1), np.int64), np.zeros((8, 1), np.int64)),
        (np.zeros(4, np.int64), np.zeros(4, np.int64)),
    ):
        with pytest.raises(errors.InvalidArgumentError):
            table.replace(keys, values)
    table.insert(np.array([1]), np.array([2]))
    assert table.size() == 1


def test_a_full_import_grows_when_more_comes():
    table = dense()
    table.replace(np.array([[0], [1], [2], [3]]), np.array([[5], [6], [7], [8]]))
    table.insert(np.array([4]), np.array([9]))
    assert table.find(np.arange(5), np.array(-1)).tolist() == [5, 6, 7, 8, 9]
    assert len(table.export()[0]) == 8


def test_a_failed_initialization_leaves_the_table_as_it_was():
    table = HashTable(dtypes.string, dtypes.int64)
    with pytest.raises(
        errors.FailedPreconditionError, match="Key a has 1 and trying to add value 2"
    ):
        table.initialize(of([b"a", b"a"], (2,)), np.array([1, 2]))
    assert not table.is_initialized and table.size() == 0
    table.initialize(of([b"a", b"b"], (2,)), np.array([1, 2]))
    assert table.export()[0].tolist() == [b"a", b"b"]


def test_removed_rows_are_given_back():
    table = MutableHashTable(dtypes.int64, dtypes.int64)
    for start in range(0, 100_000, 1000):
        keys = np.arange(start, start + 1000)
        table.insert(keys, keys)
        table.remove(keys[:-1])
    assert table.size() == 100 and len(table._rows._values) < 5000


@pytest.mark.parametrize("kind", [dtypes.int64, dtypes.string])
def test_many_keys_at_once(kind):
    keys = np.arange(100_000)
    if kind is dtypes.string:
        keys = of([b"key %d" % k for k in keys.tolist()], keys.shape)
    table = MutableHashTable(kind, dtypes.int64)
    start = time.process_time()
    table.insert(keys, np.arange(100_000))
    found = table.find(keys[::-1], np.array(-1))
    assert time.process_time() - start < 1
    assert found[0] == 99_999 and found[-1] == 0


def test_threads_insert_and_find():
    table = MutableHashTable(dtypes.int64, dtypes.int64)
    wrong = []

    def work(offset):
        for i in range(50):
            keys = np.arange(offset + 100 * i, offset + 100 * i + 100)
            table.insert(keys, keys)
            if (table.find(keys, np.array(-1)) != keys).any():
                wrong.append(i)
            table.remove(keys[::2])

    threads = [threading.Thread(target=work, args=(10**6 * k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong and table.size() == 4 * 50 * 50


@settings(max_examples=60)
@given(st.binary(max_size=40), st.integers(-2, 1), st.integers(-2, 1), st.integers(-1, 3))
def test_any_bytes_as_a_file(tmp_path_factory, data, key_index, value_index, size):
    path = tmp_path_factory.getbasetemp() / "any bytes"
    path.write_bytes(data)
    size = size or -1
    try:
        keys, values = text_file.keys_and_values(
            str(path), size, b"\t", key_index, dtypes.string, value_index, dtypes.string
        )
    except (errors.InvalidArgumentError, errors.OutOfRangeError):
        return
    assert len(keys) == len(values) and all(type(k) is bytes for k in keys)
    assert size < 0 or len(keys) == size


def test_the_line_that_is_wrong_is_named(tmp_path):
    path = tmp_path / "words"

    def read(contents, index=0, dtype=dtypes.string):
        path.write_bytes(contents)
        return text_file.keys_and_values(str(path), -1, b"\t", index, dtypes.string, 1, dtype)

    with pytest.raises(
        errors.InvalidArgumentError, match=r"empty line found at position 5 \(line 1\)"
    ):
        read(b"a\t1\n\nb\t2\n")
    with pytest.raises(errors.InvalidArgumentError, match=r"line 1 \(b\) : expected 1 got 1"):
        read(b"a\t1\nb\n")
    with pytest.raises(errors.InvalidArgumentError, match="Field x in line 2 is not a valid int64"):
        read(b"a\t1\nb\t2\nc\tx\n", dtype=dtypes.int64)
