"""RaggedTensor: how it is made, what it is like, how sessions take and give it."""

from __future__ import annotations

import numpy as np
import pytest

import weft as tf
from weft.testing import eager_mode

ROWS = [[3, 1, 4, 1], [], [5, 9, 2], [6], []]
FLAT = [3, 1, 4, 1, 5, 9, 2, 6]
R = tf.RaggedTensor

PARTITIONS = {
    "row_splits": [0, 4, 4, 7, 8, 8],
    "row_lengths": [4, 0, 3, 1, 0],
    "row_starts": [0, 4, 4, 7, 8],
    "row_limits": [4, 4, 7, 8, 8],
}


@pytest.fixture
def session():
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


@pytest.mark.parametrize("kind", PARTITIONS)
@pytest.mark.parametrize("fed", [False, True])
def test_partitions(session, kind, fed):
    partition, feeds = PARTITIONS[kind], {}
    if fed:
        partition = tf.placeholder(tf.int32, [None])
        feeds[partition] = PARTITIONS[kind]
    rt = getattr(R, f"from_{kind}")(FLAT, partition)
    assert rt.row_splits.dtype == (tf.int32 if fed else tf.int64)
    assert rt.shape.as_list() == [None if fed else 5, None]
    assert session.run(rt, feeds).to_list() == ROWS
    for method, wanted in PARTITIONS.items():
        found = rt.row_splits if method == "row_splits" else getattr(rt, method)()
        assert session.run(found, feeds).tolist() == wanted
    assert session.run(rt.value_rowids(), feeds).tolist() == [0, 0, 0, 0, 2, 2, 2, 3]
    assert session.run(rt.nrows(), feeds) == 5
    assert session.run(rt.bounding_shape(), feeds).tolist() == [5, 4]


def test_row_ids(session):
    ids = tf.placeholder(tf.int64, [None])
    rt = R.from_value_rowids(FLAT, ids, nrows=5)
    assert rt.shape.as_list() == [5, None]
    feeds = {ids: [0, 0, 0, 0, 2, 2, 2, 3]}
    assert session.run(rt, feeds).to_list() == ROWS
    rt = R.from_value_rowids(FLAT, ids)
    assert session.run(rt, feeds).to_list() == ROWS[:4]
    assert session.run(rt.row_lengths(), feeds).tolist() == [4, 0, 3, 1]
    with pytest.raises(ValueError, match="nrows=3"):
        R.from_value_rowids([1, 2], [0, 3], nrows=3)


def test_nested(session):
    rt = R.from_nested_row_splits(FLAT, [[0, 3, 3, 5], [0, 4, 4, 7, 8, 8]])
    assert rt.ragged_rank == 2
    assert rt.shape.as_list() == [3, None, None]
    assert session.run(rt).to_list() == [ROWS[:3], [], ROWS[3:]]
    same = R.from_nested_row_lengths(FLAT, [[3, 0, 2], [4, 0, 3, 1, 0]])
    assert session.run(same).to_list() == [ROWS[:3], [], ROWS[3:]]
    ids = R.from_nested_value_rowids(FLAT, [[0, 0, 0, 2, 2], [0, 0, 0, 0, 2, 2, 2, 3]], [3, 5])
    assert session.run(ids).to_list() == [ROWS[:3], [], ROWS[3:]]
    assert session.run(rt.row_lengths(axis=2)).to_list() == [[4, 0, 3], [], [1, 0]]
    assert [x.tolist() for x in session.run(rt.nested_row_lengths())] == [
        [3, 0, 2],
        [4, 0, 3, 1, 0],
    ]
    doubled = rt.with_flat_values(rt.flat_values * 2)
    assert session.run(doubled).to_list()[2] == [[12], []]
    narrow = rt.with_row_splits_dtype(tf.int32)
    assert {s.dtype for s in narrow.nested_row_splits} == {tf.int32}


@pytest.mark.parametrize(
    "make",
    [
        lambda p: R.from_row_splits([1, 2, 3], p([0, 2, 1, 3])),
        lambda p: R.from_row_splits([1, 2, 3], p([1, 3])),
        lambda p: R.from_row_splits([1, 2, 3], p([0, 2])),
        lambda p: R.from_row_lengths([1, 2, 3], p([4, -1])),
        lambda p: R.from_row_lengths([1, 2, 3], p([1, 1])),
        lambda p: R.from_row_starts([1, 2, 3], p([1, 2])),
        lambda p: R.from_row_limits([1, 2, 3], p([1, 2])),
        lambda p: R.from_value_rowids([1, 2, 3], p([0, 2, 1])),
        lambda p: R.from_value_rowids([1, 2, 3], p([0, 1])),
        lambda p: R.from_row_splits([1, 2, 3], p([[0, 3]])),
    ],
)
def test_what_is_no_partition(session, make):
    with pytest.raises((tf.errors.InvalidArgumentError, ValueError)):
        session.run(make(tf.constant))

    def fed(value):
        return tf.placeholder_with_default(tf.constant(value, tf.int64), None)

    with pytest.raises(tf.errors.InvalidArgumentError):
        session.run(make(fed))
    assert session.run(tf.ragged.constant([[1]])).to_list() == [[1]]  # the session goes on


def test_arguments_of_the_wrong_kind():
    with pytest.raises(ValueError, match="private"):
        R([1], [0, 1])
    with pytest.raises(ValueError, match="may not be empty"):
        R.from_row_splits([1], [])
    with pytest.raises(ValueError, match="int32 or int64"):
        R.from_row_splits([1], tf.constant([0.0, 1.0]))
    with pytest.raises(TypeError, match="validate"):
        R.from_row_splits([1], [0, 1], validate=1)
    with pytest.raises(TypeError, match="list of Tensors"):
        R.from_nested_row_splits([1], tf.constant([0, 1]))
    rt = tf.ragged.constant([[1]])
    with pytest.raises(TypeError, match="RaggedTensor"):
        tf.convert_to_tensor(rt)
    with pytest.raises(TypeError, match="RaggedTensor"):
        tf.matmul(rt, rt)
    with pytest.raises(TypeError, match="boolean"):
        bool(rt)
    with pytest.raises(TypeError, match="iterable"):
        list(rt)
    with pytest.raises(ValueError, match="eager"):
        rt.to_list()


def test_fed_and_fetched(session):
    rt = tf.ragged.placeholder(tf.string, 2)
    value = tf.ragged.constant_value([[[b"a"], []], [], [[b"b", b"c"]]], dtype=object)
    assert session.run(rt, {rt: value}).to_list() == value.to_list()
    both = session.run({"x": [rt, rt.values]}, {rt: value})
    assert both["x"][1].to_list() == [[b"a"], [], [b"b", b"c"]]
    handle = session.partial_run_setup([rt], [rt])
    assert session.partial_run(handle, rt, {rt: value}).to_list() == value.to_list()


def test_value():
    value = tf.ragged.RaggedTensorValue(np.array([1, 2, 3]), np.array([0, 2, 2, 3]))
    assert value.to_list() == [[1, 2], [], [3]]
    assert (value.shape, value.ragged_rank) == ((3, None), 1)
    assert str(value) == "<tf.RaggedTensorValue [[1, 2], [], [3]]>"
    with pytest.raises(TypeError, match="row_splits"):
        tf.ragged.RaggedTensorValue(np.array([1]), [0, 1])
    with pytest.raises(ValueError, match="same dtype"):
        tf.ragged.RaggedTensorValue(value, np.array([0, 3], np.int32))


def test_eager():
    with eager_mode():
        rt = tf.ragged.constant(ROWS)
        assert str(rt) == f"<tf.RaggedTensor {ROWS}>"
        assert [row.numpy().tolist() for row in rt] == ROWS
        assert (rt + 1)[0].numpy().tolist() == [4, 2, 5, 2]
        with pytest.raises(IndexError):
            rt[5]
        with pytest.raises(tf.errors.InvalidArgumentError):
            R.from_row_splits([1, 2], [0, 1])


def test_variables_and_loops(session):
    rt = tf.ragged.constant([[1.0, 2.0], [3.0]])
    _, out = tf.while_loop(
        lambda i, _: i < 3, lambda i, x: (i + 1, x.with_values(x.values * 2)), (0, rt)
    )
    assert session.run(out).to_list() == [[8, 16], [24]]
    chosen = tf.cond(tf.constant(True), lambda: rt, lambda: rt + 1.0)
    assert session.run(chosen).to_list() == [[1, 2], [3]]


def test_spec():
    spec = tf.RaggedTensorSpec([None, None, 3], tf.int32, ragged_rank=1)
    rt = R.from_row_splits(tf.zeros([5, 3], tf.int32), [0, 2, 5])
    assert spec.is_compatible_with(rt)
    assert not spec.is_compatible_with(rt.with_row_splits_dtype(tf.int32))
    assert tf.RaggedTensorSpec.from_value(rt) == tf.RaggedTensorSpec([2, None, 3], tf.int32, 1)
    with pytest.raises(ValueError, match="ragged_rank"):
        tf.RaggedTensorSpec(None)
    with pytest.raises(ValueError, match="less than rank"):
        tf.RaggedTensorSpec([2, None], ragged_rank=2)


@pytest.mark.parametrize(
    ("pylist", "options", "wanted"),
    [
        ([[1, 2], [3]], {}, [[1, 2], [3]]),
        ([[[1, 2]], [], [[3, 4], [5, 6]]], {"ragged_rank": 1}, [[[1, 2]], [], [[3, 4], [5, 6]]]),
        ([[[1, 2]], []], {"inner_shape": (2,)}, [[[1, 2]], []]),
        ([[], []], {"dtype": tf.int32}, [[], []]),
        ([[b"a\x00"], ["ü"]], {}, [[b"a\x00"], ["ü".encode()]]),
        ([], {"ragged_rank": 2}, []),
        ([np.array([1, 2]), np.array([3])], {}, [[1, 2], [3]]),
    ],
)
def test_constants(session, pylist, options, wanted):
    assert session.run(tf.ragged.constant(pylist, **options)).to_list() == wanted


@pytest.mark.parametrize(
    ("pylist", "options", "message"),
    [
        ([[1], 2], {}, "same nesting depth"),
        ([[1], [[]]], {}, "empty list nesting"),
        ([1, 2], {"ragged_rank": 1}, "scalar values depth 1"),
        ([[[1, 2], [3]]], {"ragged_rank": 1}, "inconsistent shape"),
        ([[1]], {"ragged_rank": -1}, "nonnegative"),
        (12, {"ragged_rank": 1}, "incompatible with ragged_rank=1"),
        (12, {"inner_shape": (1,)}, "inner_shape"),
    ],
)
def test_constants_that_cannot_be(pylist, options, message):
    for make in (tf.ragged.constant, tf.ragged.constant_value):
        with pytest.raises(ValueError, match=message):
            make(pylist, **options)
