"""SavedModels loaded as objects with functions."""

import pytest

import weft as tf
from weft.testing import eager_mode

sm = tf.saved_model


@pytest.fixture
def model(tmp_path):
    """A model with a variable, a table of a file, a variable that its main op sets, and two graphs."""
    (tmp_path / "words").write_text("a\nb\n")
    out = str(tmp_path / "m")
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None], name="x")
        v = tf.get_variable("v", initializer=3.0, use_resource=True)
        path = tf.constant(str(tmp_path / "words"))
        table = tf.lookup.StaticHashTable(
            tf.lookup.TextFileInitializer(
                path,
                tf.string,
                tf.lookup.TextFileIndex.WHOLE_LINE,
                tf.int64,
                tf.lookup.TextFileIndex.LINE_NUMBER,
            ),
            -1,
        )
        words = tf.placeholder(tf.string, [None], name="words")
        unfed = tf.placeholder(tf.float32, [], name="unfed")
        session.run(v.initializer)
        builder = sm.Builder(out)
        signatures = {
            "times": sm.predict_signature_def({"x": x}, {"y": x * v}),
            "ids": sm.predict_signature_def({"words": words}, {"ids": table.lookup(words)}),
        }
        builder.add_meta_graph_and_variables(
            session,
            ["serve"],
            signatures,
            assets_collection=[path],
            main_op=tf.tables_initializer(),
        )
        tf.get_default_graph().clear_collection(sm.MAIN_OP_KEY)
        broken = {"broken": sm.predict_signature_def({"x": x}, {"y": x + unfed})}
        builder.add_meta_graph(["broken"], broken)
        builder.save()
    (tmp_path / "words").unlink()
    return out


def test_signatures_are_functions(model):
    with eager_mode():
        root = sm.load_v2(model, tags=["serve"])
        assert sorted(root.signatures) == ["ids", "times"] and len(root.signatures) == 2
        times = root.signatures["times"]
        assert times(tf.constant([1.0, 2.0]))["y"].numpy().tolist() == [3.0, 6.0]
        ids = root.signatures["ids"](words=tf.constant(["b", "c"]))["ids"]
        assert ids.numpy().tolist() == [1, -1]
        (v,) = root.variables
        v.assign(10.0)
        with tf.GradientTape() as tape:
            y = times(x=tf.constant([4.0]))["y"]
        assert y.numpy().tolist() == [40.0]
        assert tape.gradient(y, v).numpy() == 4.0
        # Loaded again it shares nothing with the first.
        assert sm.load_v2(model, tags="serve").variables[0].numpy() == 3.0
        assert v.numpy() == 10.0


def test_in_a_graph_initializers_restore(model):
    with tf.Graph().as_default(), tf.Session() as session:
        root = sm.load_v2(model, tags=["serve"])
        y = root.signatures["times"](tf.constant([2.0]))["y"]
        ids = root.signatures["ids"](tf.constant(["a"]))["ids"]
        session.run(tf.tables_initializer())
        assert session.run([y, ids])[0].tolist() == [6.0]


def test_other_parts_of_the_graph(model):
    with eager_mode():
        root = sm.load_v2(model, tags=["serve"])
        f = root.prune("x:0", root.graph.get_tensor_by_name("mul:0"))
        assert f(tf.constant([5.0])).numpy().tolist() == [15.0]


def test_tags_are_needed_where_there_are_several_graphs(model):
    with eager_mode():
        with pytest.raises(ValueError, match="requires a 'tags=' argument"):
            sm.load_v2(model)
        with pytest.raises(RuntimeError, match="could not be found"):
            sm.load_v2(model, tags=["other"])


def test_a_signature_that_lacks_an_input(model):
    with (
        eager_mode(),
        pytest.raises(tf.errors.InvalidArgumentError, match="'broken' depends on .*unfed"),
    ):
        sm.load_v2(model, tags=["broken"])
