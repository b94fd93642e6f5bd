"""Whatever arrays the sparse ops are given, they give a result or an error of TensorFlow's, and the session goes on."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft as tf

NUMBERS = st.one_of(st.integers(-2, 4), st.sampled_from([-(2**63), 2**63 - 1, 2**31]))
SIZES = st.one_of(st.integers(-1, 4), st.sampled_from([-(2**63), 2**63 - 1]))


@st.composite
def sparse_arrays(draw):
    """Positions, elements and sizes that may or may not be a sparse tensor."""
    rows, columns = draw(st.integers(0, 4)), draw(st.integers(0, 3))
    indices = draw(st.lists(NUMBERS, min_size=rows * columns, max_size=rows * columns))
    count = draw(st.sampled_from([rows, rows, rows, rows + 1]))
    length = draw(st.sampled_from([columns, columns, columns, columns + 1]))
    sizes = draw(st.lists(SIZES, min_size=length, max_size=length))
    return (
        np.array(indices, np.int64).reshape(rows, columns),
        np.arange(count, dtype=np.float32),
        np.array(sizes, np.int64),
    )


def _dense(raw, i, v, s, d):
    return raw.SparseToDense(sparse_indices=i, output_shape=s, sparse_values=v, default_value=0.0)


def _loose(raw, i, v, s, d):
    return raw.SparseToDense(
        sparse_indices=i, output_shape=s, sparse_values=v, default_value=0.0, validate_indices=False
    )


OPS = {
    "dense": _dense,
    "loose": _loose,
    "sum": lambda raw, i, v, s, d: raw.SparseTensorDenseAdd(
        a_indices=i, a_values=v, a_shape=s, b=d
    ),
    "times": lambda raw, i, v, s, d: raw.SparseDenseCwiseMul(
        sp_indices=i, sp_values=v, sp_shape=s, dense=d
    ),
    "product": lambda raw, i, v, s, d: raw.SparseTensorDenseMatMul(
        a_indices=i, a_values=v, a_shape=s, b=d
    ),
    "reduce": lambda raw, i, v, s, d: raw.SparseReduceSum(
        input_indices=i, input_values=v, input_shape=s, reduction_axes=[0]
    ),
    "reduce sparse": lambda raw, i, v, s, d: raw.SparseReduceMaxSparse(
        input_indices=i, input_values=v, input_shape=s, reduction_axes=[-1]
    ),
    "softmax": lambda raw, i, v, s, d: raw.SparseSoftmax(sp_indices=i, sp_values=v, sp_shape=s),
    "reorder": lambda raw, i, v, s, d: raw.SparseReorder(
        input_indices=i, input_values=v, input_shape=s
    ),
    "reshape": lambda raw, i, v, s, d: raw.SparseReshape(
        input_indices=i, input_shape=s, new_shape=[-1, 2]
    ),
    "concat": lambda raw, i, v, s, d: raw.SparseConcat(
        indices=[i, i], values=[v, v], shapes=[s, s], concat_dim=-1
    ),
    "split": lambda raw, i, v, s, d: raw.SparseSplit(
        split_dim=0, indices=i, values=v, shape=s, num_split=2
    ),
    "slice": lambda raw, i, v, s, d: raw.SparseSlice(indices=i, values=v, shape=s, start=s, size=s),
    "fill": lambda raw, i, v, s, d: raw.SparseFillEmptyRows(
        indices=i, values=v, dense_shape=s, default_value=0.0
    ),
    "add": lambda raw, i, v, s, d: raw.SparseAdd(
        a_indices=i, a_values=v, a_shape=s, b_indices=i, b_values=v, b_shape=s, thresh=0.0
    ),
    "maximum": lambda raw, i, v, s, d: raw.SparseSparseMaximum(
        a_indices=i, a_values=v, a_shape=s, b_indices=i, b_values=v, b_shape=s
    ),
    "serialize": lambda raw, i, v, s, d: raw.SerializeManySparse(
        sparse_indices=i, sparse_values=v, sparse_shape=s
    ),
    "keep": lambda raw, i, v, s, d: raw.AddManySparseToTensorsMap(
        sparse_indices=i, sparse_values=v, sparse_shape=s
    ),
    "cross": lambda raw, i, v, s, d: raw.SparseCross(
        indices=[i],
        values=[tf.cast(v, tf.int64)],
        shapes=[s],
        dense_inputs=[],
        hashed_output=True,
        num_buckets=7,
        hash_key=1,
        out_type=tf.int64,
        internal_type=tf.int64,
    ),
}
ALLOWED = (tf.errors.InvalidArgumentError, tf.errors.ResourceExhaustedError)


@pytest.fixture(scope="module")
def built():
    """All ops over the same placeholders, and a session."""
    with tf.Graph().as_default(), tf.Session() as session:
        fed = [
            tf.placeholder(tf.int64, [None, None]),
            tf.placeholder(tf.float32, [None]),
            tf.placeholder(tf.int64, [None]),
            tf.placeholder(tf.float32),
        ]
        outputs = {name: make(tf.raw_ops, *fed) for name, make in OPS.items()}
        fetches = {name: list(o) if isinstance(o, tuple) else o for name, o in outputs.items()}
        yield session, fed, fetches


@pytest.mark.parametrize("name", OPS)
def test_any_arrays(built, name):
    session, fed, fetches = built

    @settings(max_examples=30, deadline=None)
    @given(sparse_arrays(), st.sampled_from([(), (3,), (2, 3), (1, 3), (0, 2)]))
    def check(arrays, shape):
        feeds = dict(zip(fed, [*arrays, np.ones(shape, np.float32)]))
        try:
            session.run(fetches[name], feeds)
        except ALLOWED as e:
            assert e.op is not None

    check()
    good = ([[0, 1], [1, 0]], [1.0, 2.0], [2, 3], np.ones((3, 3) if name == "product" else (2, 3)))
    session.run(fetches[name], dict(zip(fed, good)))
