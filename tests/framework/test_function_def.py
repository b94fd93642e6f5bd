"""The function library in GraphDefs."""

import numpy as np
import pytest

import weft as tf
from weft import proto
from weft.framework import function_def


def library():
    """A graph with a function that calls another one, and its GraphDef."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None], name="x")

        @tf.function
        def inner(v):
            return v * 2.0, tf.reduce_sum(v)

        @tf.function
        def outer(v):
            a, b = inner(v)
            return a + b

        tf.identity(outer(x), name="y")
    return graph.as_graph_def()


def run(graph_def, fetch="y:0", feed="x:0"):
    with tf.Graph().as_default():
        tf.import_graph_def(graph_def, name="")
        with tf.Session() as session:
            return session.run(fetch, {feed: np.array([1.0, 2.0], np.float32)})


def test_functions_go_with_the_graph():
    graph_def = library()
    assert len(graph_def.library.function) == 2
    np.testing.assert_array_equal(run(graph_def), [5.0, 7.0])


def test_a_function_calls_itself():
    graph_def = library()
    function = proto.FunctionDef()
    function.signature.name = "halve"
    function.signature.input_arg.add(name="v", type=1)
    function.signature.output_arg.add(name="out", type=1)
    with tf.Graph().as_default() as graph:
        v = tf.placeholder(tf.float32, [], name="v")
        tf.less(v, 1.0, name="done")
        tf.multiply(v, 0.5, name="half")
        nodes = graph.as_graph_def().node
    for node in nodes:
        if node.name != "v":
            node.input[:] = [f"{i}:output:0" if "/y" in i else i for i in node.input]
            function.node_def.add().CopyFrom(node)
    function.node_def.add(name="again", op="halve", input=["half:z:0"])
    choose = function.node_def.add(name="choose", op="If", input=["done:z:0", "v"])
    for attr, value in (("then_branch", "same"), ("else_branch", "halve_once")):
        choose.attr[attr].func.name = value
    choose.attr["Tcond"].type = 10
    choose.attr["Tin"].list.type.append(1)
    choose.attr["Tout"].list.type.append(1)
    del function.node_def[-2]
    function.ret["out"] = "choose:output:0"
    same = proto.FunctionDef()
    same.signature.name = "same"
    same.signature.input_arg.add(name="v", type=1)
    same.signature.output_arg.add(name="out", type=1)
    same.ret["out"] = "v"
    again = proto.FunctionDef()
    again.CopyFrom(same)
    again.signature.name = "halve_once"
    half = again.node_def.add(name="half", op="Mul", input=["v", "c:output:0"])
    half.attr["T"].type = 1
    again.node_def.add().CopyFrom(next(n for n in function.node_def if n.name == "half/y"))
    again.node_def[-1].name = "c"
    again.node_def.add(name="again", op="halve", input=["half:z:0"])
    again.ret["out"] = "again:out:0"
    for f in (function, same, again):
        graph_def.library.function.add().CopyFrom(f)
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [], name="w")
        graph_def.node.extend(graph.as_graph_def().node)
    graph_def.node.add(name="result", op="halve", input=["w"])
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(graph_def, name="")
        assert graph.get_operation_by_name("result").type == "PartitionedCall"
        with tf.Session() as session:
            assert session.run("result:0", {"w:0": 5.0}) == 0.625
    assert x is not None


def test_importing_twice_is_harmless():
    graph_def = library()
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(graph_def, name="a")
        tf.import_graph_def(graph_def, name="b")
        assert len(graph.as_graph_def().library.function) == 2


def test_another_function_of_the_same_name_is_refused():
    graph_def = library()
    with tf.Graph().as_default():
        tf.import_graph_def(graph_def)
        graph_def.library.function[0].signature.input_arg[0].type = tf.int32.as_datatype_enum
        with pytest.raises(ValueError, match="a different function with the same name"):
            tf.import_graph_def(graph_def)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda f: f.ret.clear(), "does not say what"),
        (lambda f: f.node_def[0].input.append("nowhere:z:0"), "is no node or argument"),
        (lambda f: f.signature.attr.add(name="T", type="type"), "attributes of its own"),
        (lambda f: setattr(f.node_def[0], "op", "Nonsense"), "Op type not registered 'Nonsense'"),
    ],
)
def test_a_malformed_function_is_refused_and_leaves_nothing(spoil, message):
    graph_def = library()
    spoil(graph_def.library.function[1])
    with tf.Graph().as_default() as graph:
        with pytest.raises(ValueError, match=message):
            tf.import_graph_def(graph_def)
        assert not graph.as_graph_def().library.function


def test_a_variable_that_a_branch_changes_goes_by_its_name():
    """TensorFlow's functions take no references, so the branch has a node for the variable."""
    with tf.Graph().as_default() as graph:
        v = tf.get_variable("v", initializer=1.0, use_resource=False)
        p = tf.placeholder(tf.bool, [], name="p")
        tf.cond(p, lambda: tf.assign_add(v, 10.0), lambda: tf.identity(v), name="c")
        tf.global_variables_initializer()
        graph_def = graph.as_graph_def()
    for function in graph_def.library.function:
        assert not any(a.is_ref for a in function.signature.input_arg)
    names = [
        n.attr["shared_name"].s
        for f in graph_def.library.function
        for n in f.node_def
        if n.op == "VariableV2"
    ]
    assert names and set(names) == {b"v"}
    with tf.Graph().as_default():
        tf.import_graph_def(graph_def, name="")
        with tf.Session() as session:
            session.run("init")
            assert session.run("c/Merge:0", {"p:0": True}) == 11.0
            assert session.run("c/Merge:0", {"p:0": False}) == 11.0
            assert session.run("v:0") == 11.0


def test_names_of_arguments_are_those_that_an_op_def_may_have():
    names = function_def._Names({"taken"})
    assert [names.of(t) for t in ("Const", "const", "a/B-c", "_x", "taken")] == [
        "const",
        "const_1",
        "a_b_c",
        "unknown_x",
        "taken_1",
    ]
