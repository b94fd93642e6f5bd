"""Input functions over arrays."""

import numpy as np
import pytest

import weft as tf


def taken(input_fn):
    """All batches of an input function."""
    out = []
    with tf.Graph().as_default():
        batch = input_fn()
        with tf.train.MonitoredSession() as session:
            while not session.should_stop():
                out.append(session.run(batch))
    return out


def test_batches_cross_epochs_and_the_last_is_smaller():
    x = np.arange(5)
    inputs = tf.estimator.inputs.numpy_input_fn(
        {"x": x, "w": x * 2.0}, x * 10, batch_size=4, num_epochs=2, shuffle=False
    )
    got = taken(inputs)
    assert [f["x"].tolist() for f, _ in got] == [[0, 1, 2, 3], [4, 0, 1, 2], [3, 4]]
    for features, labels in got:
        np.testing.assert_array_equal(features["w"], features["x"] * 2.0)
        np.testing.assert_array_equal(labels, features["x"] * 10)


def test_shuffled_batches_have_each_row_once():
    x = np.arange(300, dtype=np.float32)
    inputs = tf.estimator.inputs.numpy_input_fn(x, batch_size=64, num_epochs=1, shuffle=True)
    got = np.concatenate(taken(inputs))
    np.testing.assert_array_equal(np.sort(got), x)
    assert not np.array_equal(got, x)


def test_labels_by_name_and_no_epochs():
    x = np.arange(4)
    inputs = tf.estimator.inputs.numpy_input_fn(
        x, {"b": x + 1, "a": x + 2}, batch_size=4, num_epochs=1, shuffle=False
    )
    ((features, labels),) = taken(inputs)
    assert features.tolist() == [0, 1, 2, 3]
    assert {k: v.tolist() for k, v in labels.items()} == {"a": [2, 3, 4, 5], "b": [1, 2, 3, 4]}
    assert taken(tf.estimator.inputs.numpy_input_fn(x, num_epochs=0, shuffle=False)) == []


def test_what_is_refused():
    make = tf.estimator.inputs.numpy_input_fn
    with pytest.raises(ValueError, match="shuffle must be provided"):
        make(np.arange(3))
    with pytest.raises(TypeError, match="must be a dict or array"):
        make([1, 2], shuffle=False)()
    with pytest.raises(ValueError, match="mismatched"):
        make(np.arange(3), np.arange(4), shuffle=False)()
    with pytest.raises(ValueError, match="duplicate keys"):
        make({"a": np.arange(3)}, {"a": np.arange(3)}, shuffle=False)()
    with pytest.raises(ValueError, match="empty"):
        make({}, shuffle=False)()


def test_data_frames():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1, 2, 3], "b": [1.0, 2.0, 3.0]}, index=[7, 8, 9])
    target = pandas.Series([10, 20, 30], index=[7, 8, 9])
    inputs = tf.estimator.inputs.pandas_input_fn(frame, target, batch_size=2, shuffle=False)
    got = taken(inputs)
    assert [f["a"].tolist() for f, _ in got] == [[1, 2], [3]]
    assert [y.tolist() for _, y in got] == [[10, 20], [30]]
    with pytest.raises(ValueError, match="Index for x and y are mismatched"):
        tf.estimator.inputs.pandas_input_fn(frame, target.reset_index(drop=True), shuffle=False)
