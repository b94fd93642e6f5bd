"""Functions of ragged tensors against what lists of lists give, and against values of TensorFlow 1.15.5."""

from __future__ import annotations

import itertools
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft as tf
from weft.framework import dispatch, export

LISTS = [[1.0, 2.0, 3.0], [], [4.0, 5.0]]
NESTED = [[[1, 2], []], [], [[3], [4, 5], [6]]]

rows = st.lists(st.lists(st.integers(-9, 9), max_size=4), min_size=1, max_size=5)


@pytest.fixture
def session():
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def lists(value):
    return value.to_list() if hasattr(value, "to_list") else value.tolist()


def ragged(values):
    return tf.ragged.constant(values, dtype=tf.int32, ragged_rank=1)


@pytest.mark.parametrize(
    ("call", "wanted"),
    [
        (lambda x, n: tf.square(x), [[1, 4, 9], [], [16, 25]]),
        (lambda x, n: tf.cast(x, tf.int32), [[1, 2, 3], [], [4, 5]]),
        (lambda x, n: tf.clip_by_value(x, 2, 4), [[2, 2, 3], [], [4, 4]]),
        (lambda x, n: tf.add_n([x, x, x]), [[3, 6, 9], [], [12, 15]]),
        (lambda x, n: 1 - x, [[0, -1, -2], [], [-3, -4]]),
        (lambda x, n: tf.constant(2.0) * x, [[2, 4, 6], [], [8, 10]]),
        (lambda x, n: x + [[10.0], [20.0], [30.0]], [[11, 12, 13], [], [34, 35]]),
        (lambda x, n: x > 2, [[False, False, True], [], [True, True]]),
        (
            lambda x, n: tf.constant([[2.0], [0.0], [4.5]]) < x,
            [[False, False, True], [], [False, True]],
        ),
        (lambda x, n: abs(-x), LISTS),
        (lambda x, n: tf.concat([x, x], 0), LISTS + LISTS),
        (lambda x, n: tf.concat([x, x[:, :1]], 1), [[1, 2, 3, 1], [], [4, 5, 4]]),
        (lambda x, n: tf.ragged.stack([x, x[1:]]), [LISTS, LISTS[1:]]),
        (lambda x, n: tf.stack([x, x], 1), [[r, r] for r in LISTS]),
        (lambda x, n: tf.gather(x, [2, 0, 2]), [LISTS[2], LISTS[0], LISTS[2]]),
        (lambda x, n: tf.gather([7, 8, 9], tf.ragged.constant([[2], [0, 1]])), [[9], [7, 8]]),
        (lambda x, n: tf.gather_nd(x, [[0, 2], [2, 1]]), [3, 5]),
        (lambda x, n: tf.batch_gather(x, tf.ragged.constant([[2, 0], [], [1]])), [[3, 1], [], [5]]),
        (lambda x, n: tf.expand_dims(x, 0), [LISTS]),
        (lambda x, n: tf.expand_dims(x, 2), [[[1], [2], [3]], [], [[4], [5]]]),
        (lambda x, n: tf.squeeze(tf.expand_dims(x, 1), 1), LISTS),
        (lambda x, n: tf.squeeze(tf.expand_dims(x, 0), [0]), LISTS),
        (lambda x, n: tf.size(x), 5),
        (lambda x, n: tf.rank(n), 3),
        (lambda x, n: tf.where(x > 2), [[0, 2], [2, 0], [2, 1]]),
        (lambda x, n: tf.where(x > 2, x, -x), [[-1, -2, 3], [], [4, 5]]),
        (lambda x, n: tf.where([True, False, False], x, x * 10.0), [[1, 2, 3], [], [40, 50]]),
        (
            lambda x, n: tf.one_hot(tf.ragged.constant([[1], [0, 1]]), 2),
            [[[0, 1]], [[1, 0], [0, 1]]],
        ),
        (lambda x, n: tf.reduce_sum(x), 15),
        (lambda x, n: tf.reduce_sum(x, 0), [5, 7, 3]),
        (lambda x, n: tf.reduce_sum(x, axis=-1), [6, 0, 9]),
        (lambda x, n: tf.reduce_max(n, 2), [[2, -(2**31)], [], [3, 5, 6]]),
        (lambda x, n: tf.reduce_sum(n, [0, 1]), [14, 7]),
        (lambda x, n: tf.reduce_mean(x, 0), [2.5, 3.5, 3]),
        (lambda x, n: tf.reduce_all(x > 1, 1), [False, True, True]),
        (lambda x, n: tf.reduce_any(x > 4, 0), [False, True, False]),
        (lambda x, n: tf.reduce_prod(x, 1), [6, 1, 20]),
        (lambda x, n: tf.unsorted_segment_sum(x, [1, 0, 1], 2), [[], [5, 7, 3]]),
        (lambda x, n: tf.math.unsorted_segment_mean(x, [0, 0, 0], 1), [[2.5, 3.5, 3]]),
        (lambda x, n: tf.map_fn(tf.reduce_sum, x), [6, 0, 9]),
        (lambda x, n: tf.ragged.boolean_mask(x, x > 2), [[3], [], [4, 5]]),
        (lambda x, n: tf.ragged.boolean_mask(x, [True, False, True]), [LISTS[0], LISTS[2]]),
        (lambda x, n: tf.ragged.map_flat_values(tf.square, x), [[1, 4, 9], [], [16, 25]]),
        (lambda x, n: tf.ragged.range([3, 0], [5, 2]), [[3, 4], [0, 1]]),
        (
            lambda x, n: tf.ragged.stack_dynamic_partitions(x, [1, 0, 1], 2),
            [[[]], [LISTS[0], LISTS[2]]],
        ),
        (lambda x, n: x.to_tensor(-1), [[1, 2, 3], [-1, -1, -1], [4, 5, -1]]),
        (lambda x, n: n.to_tensor()[2], [[3, 0], [4, 5], [6, 0]]),
        (
            lambda x, n: tf.RaggedTensor.from_tensor([[5, 7, 0], [0, 3, 0]], padding=0),
            [[5, 7], [0, 3]],
        ),
        (
            lambda x, n: tf.RaggedTensor.from_tensor([[5, 7, 0], [0, 3, 0]], [1, 9]),
            [[5], [0, 3, 0]],
        ),
        (lambda x, n: tf.RaggedTensor.from_sparse(x.to_sparse()), LISTS),
        (lambda x, n: x[:, -1:], [[3], [], [5]]),
        (lambda x, n: x[::2], [LISTS[0], LISTS[2]]),
        (lambda x, n: n[2, 1], [4, 5]),
        (lambda x, n: n[..., 1:], [[[2], []], [], [[], [5], []]]),
        (lambda x, n: x[:, tf.newaxis], [[r] for r in LISTS]),
    ],
)
def test_values(session, call, wanted):
    found = session.run(call(tf.ragged.constant(LISTS), tf.ragged.constant(NESTED)))
    assert lists(found) == wanted


@pytest.fixture(scope="module")
def program():
    """A function of the rows that are fed, and of what else the tests choose."""
    with tf.Graph().as_default() as graph:
        x, y = (tf.ragged.placeholder(tf.int32, 1, []) for _ in range(2))
        times, indices = (tf.placeholder(tf.int32, [None]) for _ in range(2))
        column = tf.placeholder(tf.int32, [None, 1])
        results = {
            "tile": tf.tile(x, times),
            "gather": tf.gather(x, indices),
            "columns": tf.reduce_sum(x, 0),
            "places": tf.where(x > 0),
            "dense": x.to_tensor(),
            "sums": [x + y, y + x, x + column, column + x],
        }
    session = tf.Session(graph=graph)

    def run(what, values, times_=(1, 1), indices_=(), y_=None, column_=((0,),)):
        feeds = {
            x: ragged_value(values),
            y: ragged_value(values if y_ is None else y_),
            times: times_,
            indices: np.array(indices_, np.int32),
            column: column_,
        }
        return session.run([results[w] for w in what], feeds)

    yield run
    session.close()


def ragged_value(values):
    return tf.ragged.constant_value(values, dtype=np.int32, ragged_rank=1)


@settings(max_examples=25, deadline=None)
@given(rows, st.lists(st.integers(1, 3), min_size=2, max_size=2))
def test_tile(program, values, times):
    (found,) = program(["tile"], values, times)
    assert found.to_list() == [row * times[1] for row in values] * times[0]


@settings(max_examples=25, deadline=None)
@given(rows, st.data())
def test_gathering_and_reducing(program, values, data):
    indices = data.draw(st.lists(st.integers(0, len(values) - 1), max_size=5))
    gathered, columns, places, dense = program(
        ["gather", "columns", "places", "dense"], values, indices_=indices
    )
    assert gathered.to_list() == [values[i] for i in indices]
    filled = [list(column) for column in itertools.zip_longest(*values, fillvalue=0)]
    assert columns.tolist() == [sum(column) for column in filled]
    assert dense.shape == (len(values), len(filled))
    assert dense.T.tolist() == filled
    assert places.tolist() == [
        [i, j] for i, row in enumerate(values) for j, v in enumerate(row) if v > 0
    ]


@settings(max_examples=25, deadline=None)
@given(rows, st.booleans())
def test_broadcasting(program, values, one):
    column = [[7]] if one else [[10 * i] for i in range(len(values))]
    other = [[3 * v for v in row] for row in values]
    ((a, b, c, d),) = program(["sums"], values, y_=other, column_=column)
    assert a.to_list() == b.to_list() == [[4 * v for v in row] for row in values]
    added = [7 if one else 10 * i for i in range(len(values))]
    assert c.to_list() == d.to_list() == [[v + n for v in row] for row, n in zip(values, added)]


def test_rows_that_do_not_fit(session):
    x, y = ragged([[1], [2, 3]]), ragged([[1, 2], [3]])
    with pytest.raises(tf.errors.InvalidArgumentError, match="broadcast"):
        session.run(x + y)
    with pytest.raises(tf.errors.InvalidArgumentError, match="broadcast"):
        session.run(x + tf.constant([[1, 2]]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="identical"):
        session.run(tf.ragged.map_flat_values(tf.add, x, y))
    with pytest.raises(ValueError, match="mismatched row_splits"):
        tf.add(x, x.with_row_splits_dtype(tf.int32))
    with pytest.raises(tf.errors.InvalidArgumentError, match="not squeezable"):
        session.run(tf.squeeze(x, [1]))
    with pytest.raises(ValueError, match="keepdims"):
        tf.reduce_sum(x, 1, keepdims=True)
    with pytest.raises(ValueError, match="axis != 0"):
        tf.gather(x, [0], axis=1)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"is not in \[0, 2\)"):
        session.run(tf.gather(x, [2]))


@pytest.mark.parametrize(
    ("splits", "kinds"),
    [
        ([[0, 1]], [b"ROW_SPLITS"]),
        ([[0, 3, 1]], [b"ROW_SPLITS"]),
        ([2, [0, 0, 5]], [b"FIRST_DIM_SIZE", b"VALUE_ROWIDS"]),
        ([2, [0, -1, 1]], [b"FIRST_DIM_SIZE", b"VALUE_ROWIDS"]),
    ],
)
def test_partitions_from_outside_that_do_not_fit(session, splits, kinds):
    """TensorFlow 1.15 reads and writes outside of its arrays for some of these."""
    parts = [tf.placeholder_with_default(tf.constant(s, tf.int64), None) for s in splits]
    result = tf.raw_ops.RaggedTensorToTensor(
        shape=tf.constant(-1),
        values=[1.0, 2.0, 3.0],
        default_value=0.0,
        row_partition_tensors=parts,
        row_partition_types=kinds,
    )
    with pytest.raises(tf.errors.InvalidArgumentError):
        session.run(result)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.to_tensor().__mul__([[1.0, 2.0, 3.0]]),
        lambda x: tf.gather(x, [2, 0, 0]).values * [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0],
        lambda x: x.to_sparse().values * [1.0, 2.0, 3.0, 4.0, 5.0],
        lambda x: tf.square(x).values,
        lambda x: (x * [[1.0], [2.0], [3.0]]).values,
        lambda x: tf.reduce_sum(tf.square(x), 0),
        lambda x: tf.tile(x, [2, 1]).values * tf.range(10.0),
        lambda x: tf.concat([x, x], 1).values * tf.range(10.0),
        lambda x: tf.map_fn(lambda row: tf.reduce_sum(row * row), x),
    ],
)
def test_gradients(session, call):
    """The result is a polynomial of the values: central differences are as good as exact."""
    values = tf.placeholder(tf.float32, [5])
    y = tf.reduce_sum(call(tf.RaggedTensor.from_row_splits(values, [0, 3, 3, 5])))
    at = np.array([1.0, 2.0, 3.0, 4.0, 5.0], np.float32)
    found = session.run(tf.convert_to_tensor(tf.gradients(y, values)[0]), {values: at})
    steps = np.eye(5, dtype=np.float32) * 0.5
    wanted = [session.run(y, {values: at + s}) - session.run(y, {values: at - s}) for s in steps]
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_gradient_of_the_default(session):
    default = tf.constant([1.0, 2.0])
    rt = tf.RaggedTensor.from_row_splits(tf.ones([3, 2]), [0, 2, 3])
    y = tf.reduce_sum(rt.to_tensor(default) * 3.0)
    assert session.run(tf.gradients(y, default)[0]).tolist() == [3, 3]


def test_ragged_results_of_map_fn(session):
    from weft.ops.ragged.spec import RaggedTensorType

    found = tf.map_fn(tf.range, tf.constant([3, 0, 2]), dtype=RaggedTensorType(tf.int32, 1))
    assert session.run(found).to_list() == [[0, 1, 2], [], [0, 1]]
    with pytest.raises(ValueError, match="ragged rank"):
        tf.map_fn(tf.range, tf.constant([3]), dtype=RaggedTensorType(tf.int32, 2))


def test_variants_of_rows(session):
    rt = tf.ragged.constant(NESTED)
    each = rt._to_variant(batched_input=True)
    assert each.shape.as_list() == [3]
    back = tf.RaggedTensor._from_variant(each, tf.int32, 2)
    assert session.run(back).to_list() == NESTED


def test_values_of_unknown_rank(session):
    x = tf.ragged.placeholder(tf.int32, 1)
    rows = {x: ragged_value([[1], [2, 3]])}
    assert session.run(tf.tile(x, [1, 2]), rows).to_list() == [[1, 1], [2, 3, 2, 3]]
    assert session.run(tf.reduce_sum(x, 1), rows).tolist() == [1, 5]
    with pytest.raises(ValueError, match="unknown rank"):
        tf.add(x, [[1]])


def test_printed(session, capfd):
    session.run(tf.print("x =", tf.ragged.constant([[1], [2, 3]])))
    assert "x = tf.RaggedTensor(values=" in capfd.readouterr().err


def test_segment_ids(session):
    splits = tf.ragged.segment_ids_to_row_splits([0, 0, 2], num_segments=4)
    assert splits.shape.as_list() == [5]
    assert session.run(splits).tolist() == [0, 2, 2, 3, 3]
    assert session.run(tf.ragged.row_splits_to_segment_ids([0, 2, 2, 3])).tolist() == [0, 0, 2]


def test_every_taker_is_a_public_function():
    missing = []
    for name in dispatch._takers:
        space, _, leaf = name.rpartition(".")
        try:
            export.find(space, leaf, "tf")
        except AttributeError:
            missing.append(name)
    assert missing == []
    takers = {module for found in dispatch._takers.values() for module, _ in found}
    of_ragged = {module for module in takers if ".ragged." in module}
    assert of_ragged <= set(sys.modules)  # with the first ragged tensor all are there
