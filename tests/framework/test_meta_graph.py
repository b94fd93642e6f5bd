"""MetaGraphDef: graphs with their collections, out and in."""

import numpy as np

import weft as tf
from weft.framework.meta_graph import export_scoped_meta_graph, import_scoped_meta_graph


def build():
    with tf.name_scope("net"):
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        v = tf.Variable([[1.0], [2.0]], name="v")
        y = tf.matmul(x, v, name="y")
    tf.add_to_collection("outputs", y)
    tf.add_to_collection("numbers", 3)
    return x, v, y


def test_collections_and_variables_come_back():
    with tf.Graph().as_default():
        build()
        meta = tf.train.export_meta_graph()
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        variables = import_scoped_meta_graph(meta, import_scope="again")
        assert graph.get_collection("numbers") == [3]
        (y,) = graph.get_collection("outputs")
        assert y.name == "again/net/y:0"
        assert [v.name for v in tf.trainable_variables()] == ["again/net/v:0"]
        sess.run([v.initializer for v in variables.values()])
        np.testing.assert_array_equal(sess.run(y, {"again/net/x:0": [[1, 1]]}), [[3.0]])


def test_a_scope_is_exported_alone(tmp_path):
    with tf.Graph().as_default():
        build()
        tf.constant(1.0, name="outside")
        path = str(tmp_path / "part.meta")
        meta, variables = export_scoped_meta_graph(filename=path, export_scope="net", as_text=True)
    assert "outside" not in [n.name for n in meta.graph_def.node]
    assert list(variables) == ["v:0"]
    with tf.Graph().as_default() as graph:
        import_scoped_meta_graph(path)
        assert graph.get_tensor_by_name("y:0").shape.as_list() == [None, 1]


def test_defaults_can_be_stripped():
    with tf.Graph().as_default():
        build()
        meta = tf.train.export_meta_graph(strip_default_attrs=True)
    matmul = next(n for n in meta.graph_def.node if n.op == "MatMul")
    assert sorted(matmul.attr) == ["T", "_output_shapes"] or sorted(matmul.attr) == ["T"]
    assert meta.meta_info_def.stripped_default_attrs
