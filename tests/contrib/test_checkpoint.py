"""tf.contrib.checkpoint: structures, arrays and split dependencies in checkpoints, and looking into these."""

import numpy as np
import pytest

import weft as tf
from weft.testing import eager_mode

cp = tf.contrib.checkpoint


@pytest.fixture(params=["graph", "eager"])
def mode(request):
    if request.param == "eager":
        with eager_mode():
            yield lambda x: x.numpy()
    else:
        with tf.Graph().as_default(), tf.Session() as session:
            yield session.run


def variable(value, **how):
    v = tf.Variable(value, use_resource=True, **how)
    if not tf.executing_eagerly():
        tf.get_default_session().run(v.initializer)
    return v


def keys_of(path):
    names = (name for name, _ in tf.train.list_variables(path))
    return {n.removesuffix("/.ATTRIBUTES/VARIABLE_VALUE") for n in names}


def test_lists_only_grow(mode, tmp_path):
    items = cp.List([variable(1.0)])
    items.append(variable(2.0))
    items += [variable(3.0)]
    assert len(items) == 3 and mode(items[-1]) == 3.0 and len(items + items) == 6
    assert not hasattr(items, "pop")
    path = tf.train.Checkpoint(items=items).save(str(tmp_path / "c"))
    assert {"items/0", "items/1", "items/2"} <= keys_of(path)
    with pytest.raises(ValueError, match="Only trackable objects"):
        items.append(3)


def test_mappings_only_grow(mode, tmp_path):
    named = cp.Mapping(a=variable(1.0))
    named["b"] = [variable(2.0)]
    path = tf.train.Checkpoint(named=named).save(str(tmp_path / "c"))
    assert {"named/a", "named/b/0"} <= keys_of(path)
    with pytest.raises(ValueError, match="append-only"):
        named["a"] = variable(3.0)
    with pytest.raises(TypeError, match="only string keys"):
        named[1] = variable(3.0)


def test_unique_names(mode, tmp_path):
    tracker = cp.UniqueNameTracker()
    for name in ("x", "y", "x", "x"):
        tracker.track(variable(1.0), name)
    path = tf.train.Checkpoint(t=tracker).save(str(tmp_path / "c"))
    assert {"t/x", "t/y", "t/x_1", "t/x_2"} <= keys_of(path)
    with pytest.raises(ValueError, match="Expected a trackable value"):
        tracker.track(3, "x")


def test_arrays(mode, tmp_path):
    arrays = cp.NumpyState()
    arrays.x = np.zeros([2, 2])
    checkpoint = tf.train.Checkpoint(arrays=arrays)
    path = checkpoint.save(str(tmp_path / "c"))
    arrays.x[0, 0] = 5.0
    arrays.x = arrays.x + 1
    checkpoint.restore(path)
    assert (arrays.x == 0).all()
    other = cp.NumpyState()
    tf.train.Checkpoint(arrays=other).restore(path).assert_consumed()
    assert other.x.shape == (2, 2)
    with pytest.raises(NotImplementedError, match="not a NumPy array"):
        arrays.y = 3
    with pytest.raises(AttributeError, match="no attribute 'z'"):
        _ = arrays.z


def test_parts_that_are_saved_together(mode, tmp_path):
    both = variable([1.0, 2.0, 3.0])

    def fill(parts):
        parts["a"], parts["b"] = tf.split(both.read_value(), [1, 2])

    def consume(parts):
        return both.assign(tf.concat([parts["a"], parts["b"]], 0))

    parts = cp.split_dependency(["a", "b"], [tf.float32] * 2, fill, consume, device="/cpu:0")
    checkpoint = tf.train.Checkpoint(**parts)
    path = checkpoint.save(str(tmp_path / "c"))
    assert dict(tf.train.list_variables(path))["b/.ATTRIBUTES/VARIABLE_VALUE"] == [2]
    op = both.assign([0.0, 0.0, 0.0])
    if not tf.executing_eagerly():
        tf.get_default_session().run(op)
    checkpoint.restore(path).assert_consumed().run_restore_ops()
    assert mode(both).tolist() == [1.0, 2.0, 3.0]


def test_templates(mode, tmp_path):
    def model():
        inner = tf.make_template("inner", lambda: tf.get_variable("w", initializer=2.0))
        return tf.get_variable("v", initializer=1.0) + inner()

    template = tf.make_template("outer", model)
    template()
    if not tf.executing_eagerly():
        tf.get_default_session().run(tf.global_variables_initializer())
    path = tf.train.Checkpoint(t=template).save(str(tmp_path / "c"))
    assert {"t/v", "t/inner/w"} <= keys_of(path)


def test_looking_into_checkpoints(mode, tmp_path):
    v = variable([1.0, 2.0], name="v")
    optimizer = tf.train.AdagradOptimizer(0.1)
    optimizer._create_slots([v])
    if not tf.executing_eagerly():
        tf.get_default_session().run(tf.variables_initializer(optimizer.variables()))
    checkpoint = tf.train.Checkpoint(v=v, optimizer=optimizer)
    path = checkpoint.save(str(tmp_path / "c"))
    message = cp.object_metadata(path)
    assert isinstance(message, cp.CheckpointableObjectGraph)
    assert "v" in {a.full_name for node in message.nodes for a in node.attributes}
    dot = cp.dot_graph_from_checkpoint(path)
    assert 'tooltip="Variable v shape=[2] float32"' in dot and 'label="accumulator"' in dot
    assert len(cp.list_objects(checkpoint)) == 5  # with the slot and the counter
    saver = tf.train.Saver([v])
    session = None if tf.executing_eagerly() else tf.get_default_session()
    with pytest.raises(ValueError, match="does not appear to be object-based"):
        cp.object_metadata(saver.save(session, str(tmp_path / "names")))
