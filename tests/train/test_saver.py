"""Saver: what it writes, keeps and restores, also across TensorFlow, and what it says when it cannot."""

import os

import numpy as np
import pytest

import weft as tf

DATA = os.path.join(os.path.dirname(__file__), "data", "tf1")


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as g:
        yield g


def model(rate=0.1):
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    w = tf.get_variable("w", [3, 2], initializer=tf.ones_initializer())
    r = tf.get_variable("r", [2], use_resource=True, initializer=tf.zeros_initializer())
    with tf.variable_scope("parts"):
        p = tf.get_variable(
            "p",
            [6, 2],
            partitioner=tf.fixed_size_partitioner(3),
            initializer=tf.ones_initializer(),
        )
    step = tf.train.get_or_create_global_step()
    loss = tf.reduce_sum(tf.square(tf.matmul(x, w) + r)) + tf.reduce_sum(
        tf.square(tf.concat(list(p), 0))
    )
    train = tf.train.AdamOptimizer(rate).minimize(loss, global_step=step, name="train")
    tf.add_to_collection("train_op", train)
    return {x: np.ones((2, 3))}, train


def test_training_goes_on_from_a_checkpoint(tmp_path):
    feeds, train = model()
    saver = tf.train.Saver(max_to_keep=2)
    prefix = str(tmp_path / "m")
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for step in range(1, 5):
            sess.run(train, feeds)
            assert (
                saver.save(sess, prefix, global_step=tf.train.get_global_step())
                == f"{prefix}-{step}"
            )
        values = sess.run(tf.global_variables())
        sess.run(train, feeds)
        after = sess.run(tf.global_variables())
    assert saver.last_checkpoints == [f"{prefix}-3", f"{prefix}-4"]
    assert tf.train.latest_checkpoint(str(tmp_path)) == f"{prefix}-4"
    assert not tf.train.checkpoint_exists(f"{prefix}-2")
    with tf.Session() as sess:
        saver.restore(sess, f"{prefix}-4")
        for restored, value in zip(sess.run(tf.global_variables()), values):
            np.testing.assert_array_equal(restored, value)
        sess.run(train, feeds)
        for restored, value in zip(sess.run(tf.global_variables()), after):
            np.testing.assert_array_equal(restored, value)


def test_what_tensorflow_saved_is_taken_up():
    # Written by TensorFlow 1.15.5: the model above after four steps, with its meta graph.
    saver = tf.train.import_meta_graph(DATA + "/m-4.meta")
    expected = np.load(DATA + "/values.npz")
    with tf.Session() as sess:
        saver.restore(sess, DATA + "/m-4")
        for v in tf.global_variables():
            np.testing.assert_array_equal(sess.run(v), expected[v.op.name.replace("/", "|")])
        sess.run(tf.get_collection("train_op")[0], {"x:0": np.ones((2, 3))})
        assert sess.run("global_step:0") == 5
    reader = tf.train.load_checkpoint(DATA + "/m-4")
    shapes = reader.get_variable_to_shape_map()
    assert shapes["parts/p"] == [6, 2] and shapes["parts/p/Adam_1"] == [6, 2]
    assert reader.get_variable_to_dtype_map()["global_step"] is tf.int64
    np.testing.assert_array_equal(
        np.concatenate([expected[f"parts|p|part_{i}"] for i in range(3)]),
        reader.get_tensor("parts/p"),
    )


def test_our_training_from_the_same_beginning_gives_what_tensorflow_saved():
    feeds, train = model()
    expected = np.load(DATA + "/values.npz")
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in range(4):
            sess.run(train, feeds)
        for v in tf.global_variables():
            np.testing.assert_allclose(
                sess.run(v), expected[v.op.name.replace("/", "|")], rtol=1e-5, atol=1e-6
            )


def test_a_variable_may_be_partitioned_otherwise_when_it_is_restored(tmp_path):
    model()
    saver = tf.train.Saver()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        path = saver.save(sess, str(tmp_path / "m"))
    with tf.Graph().as_default(), tf.Session() as sess:
        with tf.variable_scope("parts"):
            tf.get_variable("p", [6, 2], partitioner=tf.fixed_size_partitioner(2))
        tf.train.Saver().restore(sess, path)
        for part in sess.run(tf.global_variables()):
            np.testing.assert_array_equal(part, np.ones((3, 2)))


def test_a_variable_that_the_checkpoint_lacks_is_named(tmp_path):
    v = tf.get_variable("v", [2])
    with tf.Session() as sess:
        sess.run(v.initializer)
        path = tf.train.Saver().save(sess, str(tmp_path / "m"))
        tf.get_variable("fresh", [2])
        with pytest.raises(
            tf.errors.NotFoundError, match=f"Key fresh not found in checkpoint {path}"
        ):
            tf.train.Saver().restore(sess, path)


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("use_resource", [False, True])
def test_variables_of_other_shapes_are_refused(tmp_path, version, use_resource):
    for name, shape in (("a", [3]), ("v", [2]), ("w", [4, 1])):
        tf.get_variable(name, shape, initializer=tf.ones_initializer())
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        path = tf.train.Saver(write_version=version).save(sess, str(tmp_path / "m"))
    with tf.Graph().as_default(), tf.Session() as sess:
        a = tf.get_variable("a", [3], use_resource=use_resource)
        tf.get_variable("v", [1, 2], use_resource=use_resource)
        tf.get_variable("w", [4], use_resource=use_resource)
        sess.run(a.assign([7.0, 8.0, 9.0]))
        saver = tf.train.Saver()
        described = tf.train.export_meta_graph()
        expected = (
            r"Assign requires shapes of both tensors to match: "
            rf"variable v has the shape \[1,2\] and v in {path} has \[2\]; "
            rf"variable w has the shape \[4\] and w in {path} has \[4,1\]"
        )
        with pytest.raises(tf.errors.InvalidArgumentError, match=expected):
            saver.restore(sess, path)
        assert sess.run(a).tolist() == [7, 8, 9]  # nothing was assigned
        tf.train.Saver(reshape=True, name="other").restore(sess, path)
        assert sess.run(a).tolist() == [1, 1, 1]
    with tf.Graph().as_default(), tf.Session() as sess:
        with pytest.raises(tf.errors.InvalidArgumentError, match=expected):
            tf.train.import_meta_graph(described).restore(sess, path)


def test_errors_of_use(tmp_path):
    with pytest.raises(ValueError, match="No variables to save"):
        tf.train.Saver()
    v = tf.get_variable("v", [2])
    with pytest.raises(ValueError, match="same name: v"):
        tf.train.Saver([v, v])
    saver = tf.train.Saver()
    with tf.Session() as sess:
        with pytest.raises(tf.errors.FailedPreconditionError, match="v"):
            saver.save(sess, str(tmp_path / "m"))
        with pytest.raises(ValueError, match="not a valid checkpoint"):
            saver.restore(sess, str(tmp_path / "none"))
        with pytest.raises(ValueError, match="latest_filename"):
            saver.save(sess, str(tmp_path / "m"), latest_filename="a/b")
        with pytest.raises(TypeError, match="must be a Session"):
            saver.save("no session", str(tmp_path / "m"))
    assert not list(tmp_path.iterdir())


def test_the_older_format(tmp_path):
    v = tf.get_variable("v", [2], initializer=tf.ones_initializer())
    with tf.Session() as sess:
        sess.run(v.initializer)
        saver = tf.train.Saver(write_version=tf.train.SaverDef.V1)
        path = saver.save(sess, str(tmp_path / "m"), global_step=3)
        sess.run(v.assign([5.0, 5.0]))
        saver.restore(sess, path)
        np.testing.assert_array_equal(sess.run(v), [1.0, 1.0])
    assert tf.train.list_variables(path) == [("v", [2])]


def test_variables_begin_with_values_of_a_checkpoint():
    with tf.variable_scope("mine"):
        w = tf.get_variable("w", [3, 2])
        p = tf.get_variable("p", [6, 2], partitioner=tf.fixed_size_partitioner(3))
    r = tf.get_variable("r", [2], use_resource=True)
    tf.train.init_from_checkpoint(DATA + "/m-4", {"w": "mine/w", "parts/p": list(p), "r": r})
    expected = np.load(DATA + "/values.npz")
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        np.testing.assert_array_equal(sess.run(w), expected["w"])
        np.testing.assert_array_equal(sess.run(r), expected["r"])
        np.testing.assert_array_equal(sess.run(list(p)[1]), expected["parts|p|part_1"])
    with pytest.raises(ValueError, match="Tensor nothing is not found"):
        tf.train.init_from_checkpoint(DATA + "/m-4", {"nothing": w})


def test_the_state_file_that_cannot_be_read_is_no_checkpoint(tmp_path):
    (tmp_path / "checkpoint").write_bytes(b"\xff not text {")
    assert tf.train.get_checkpoint_state(str(tmp_path)) is None
    assert tf.train.latest_checkpoint(str(tmp_path)) is None


def test_new_checkpoints_as_they_come(tmp_path):
    v = tf.get_variable("v", [2])
    saver = tf.train.Saver()
    with tf.Session() as sess:
        sess.run(v.initializer)
        found = []
        saver.save(sess, str(tmp_path / "m"), global_step=1)
        for path in tf.train.checkpoints_iterator(str(tmp_path), timeout=0):
            found.append(os.path.basename(path))
            if len(found) < 3:
                saver.save(sess, str(tmp_path / "m"), global_step=len(found) + 1)
    assert found == ["m-1", "m-2", "m-3"]
