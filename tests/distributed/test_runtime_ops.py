"""Operations that TensorFlow's optimizers make of others do at a worker what these do."""

import numpy as np
import pytest

import weft as tf
from weft import proto
from weft.distributed.runtime_ops import as_tensorflow_runs, as_written
from weft.framework.importer import extend_graph


def _run(build, fetches, feed=None, change=as_written):
    """Builds a graph, adds nodes to its GraphDef with `build`, and runs it as a worker takes it."""
    with tf.Graph().as_default() as graph:
        nodes = list(build(graph))
        message = graph.as_graph_def()
        for node in nodes:
            message.node.append(node)
    graph = tf.Graph()
    extend_graph(graph, change(message))
    with tf.Session(graph=graph) as sess:
        return sess.run(fetches, feed)


def _node(name, kind, inputs, **attrs):
    node = proto.NodeDef(name=name, op=kind, input=inputs)
    for key, value in attrs.items():
        field = node.attr[key]
        if isinstance(value, tf.DType):
            field.type = value.as_datatype_enum
        elif isinstance(value, bool):
            field.b = value
        elif isinstance(value, int):
            field.i = value
        elif isinstance(value, float):
            field.f = value
        elif isinstance(value, bytes):
            field.s = value
        elif value and isinstance(value[0], bytes):
            field.list.s.extend(value)
        else:
            field.list.i.extend(value)
    return node


RNG = np.random.RandomState(0)


@pytest.mark.parametrize(
    "steps, wanted",
    [
        ([b"BiasAdd"], lambda x: x),
        ([b"BiasAdd", b"Relu"], lambda x: np.maximum(x, 0)),
        ([b"BiasAdd", b"Tanh"], np.tanh),
        ([b"BiasAdd", b"LeakyRelu"], lambda x: np.where(x > 0, x, 0.1 * x)),
    ],
)
def test_a_fused_product(steps, wanted):
    a, b, bias = (RNG.randn(*s).astype("f") for s in ((3, 4), (5, 4), (5,)))

    def build(graph):
        tf.constant(a, name="a"), tf.constant(b, name="b"), tf.constant(bias, name="bias")
        attrs = {"transpose_b": True, "transpose_a": False, "num_args": 1, "leakyrelu_alpha": 0.1}
        inputs = ["a", "b", "bias"]
        yield _node("y", "_FusedMatMul", inputs, T=tf.float32, fused_ops=steps, **attrs)
        yield _node("z", "Neg", ["y"], T=tf.float32)

    y, z = _run(build, ["y:0", "z:0"])
    np.testing.assert_allclose(y, wanted(a @ b.T + bias), rtol=1e-5)
    np.testing.assert_array_equal(z, -y)


@pytest.mark.parametrize("kind", ["_FusedConv2D", "_FusedDepthwiseConv2dNative"])
def test_a_fused_convolution(kind):
    x, w = RNG.randn(2, 5, 5, 3).astype("f"), RNG.randn(2, 2, 3, 1).astype("f")
    n = 1 if kind == "_FusedConv2D" else 3
    scale, offset, mean = (RNG.randn(n).astype("f") for _ in range(3))
    variance = np.abs(RNG.randn(n)).astype("f")

    def build(graph):
        for name, value in zip("xwsomv", (x, w, scale, offset, mean, variance)):
            tf.constant(value, name=name)
        attrs = {"strides": [1, 1, 1, 1], "padding": b"SAME", "epsilon": 0.01, "num_args": 4}
        fused = [b"FusedBatchNorm", b"Relu6"]
        yield _node("y", kind, list("xwsomv"), T=tf.float32, fused_ops=fused, **attrs)

    with tf.Graph().as_default(), tf.Session() as sess:
        convolve = tf.nn.conv2d if n == 1 else tf.nn.depthwise_conv2d
        h = convolve(x, w, [1, 1, 1, 1], "SAME")
        h = (h - mean) * (scale / np.sqrt(variance + 0.01)) + offset
        wanted = sess.run(tf.nn.relu6(h))
    np.testing.assert_allclose(_run(build, "y:0"), wanted, atol=1e-5)


def test_a_batch_norm_with_more():
    x = RNG.randn(2, 3, 3, 2).astype("f")

    def build(graph):
        tf.constant(x, name="x"), tf.ones([2], name="one"), tf.zeros([2], name="zero")
        attrs = {"epsilon": 1e-3, "num_side_inputs": 1, "activation_mode": b"Relu"}
        attrs.update(data_format=b"NHWC", is_training=True)
        inputs = ["x", "one", "zero", "empty", "empty", "x"]
        tf.zeros([0], name="empty")
        yield _node("y", "_FusedBatchNormEx", inputs, T=tf.float32, U=tf.float32, **attrs)
        yield _node("mean", "Identity", ["y:1"], T=tf.float32)

    y, mean = _run(build, ["y:0", "mean:0"])
    flat = x.reshape(-1, 2)
    normal = (x - flat.mean(0)) / np.sqrt(flat.var(0) + 1e-3)
    np.testing.assert_allclose(y, np.maximum(normal + x, 0), atol=1e-5)
    np.testing.assert_allclose(mean, flat.mean(0), atol=1e-6)


@pytest.mark.parametrize("n", [1, 3])
def test_a_switch_of_many_ways(n):
    def build(graph):
        tf.constant(5.0, name="x"), tf.placeholder(tf.int32, [], name="i")
        yield _node("s", "_SwitchN", ["x", "i"], T=tf.float32, num_outs=n)
        for k in range(n):
            yield _node(f"p{k}", "Identity", [f"s:{k}" if k else "s"], T=tf.float32)
            yield _node(f"y{k}", "AddV2", [f"p{k}", f"n{k}"], T=tf.float32)
            tf.constant(float(k), name=f"m{k}")
            yield _node(f"n{k}", "Identity", [f"m{k}", f"^p{k}"], T=tf.float32)
        yield _node("y", "Merge", [f"y{k}" for k in range(n)], T=tf.float32, N=n)

    given = [_run(build, "y:0", {"i:0": i}) for i in (0, 1, n, -1)]
    assert given == [5, 5 + min(1, n - 1), 5 + n - 1, 5 + n - 1]


def test_others_by_other_names():
    def build(graph):
        tf.constant([1, 22], name="x")
        types = proto.AttrValue()
        types.list.type.append(proto.DT_INT32)
        for kind, attr in (("_ArrayToList", "out_types"), ("_ListToArray", "Tin")):
            node = _node(kind[1:], kind, ["x"], T=tf.int32)
            node.attr[attr].CopyFrom(types)
            yield node
        yield _node("cast", "_HostCast", ["x"], SrcT=tf.int32, DstT=tf.float32)
        yield _node("hash", "_TensorToHashBucketFast", ["x"], T=tf.int32, num_buckets=100)

    found = _run(build, ["ArrayToList:0", "ListToArray:0", "cast:0", "hash:0"])
    assert [f.tolist() for f in found[:3]] == [[1, 22], [1, 22], [1.0, 22.0]]
    with tf.Graph().as_default(), tf.Session() as sess:
        wanted = sess.run(tf.strings.to_hash_bucket_fast(["1", "22"], 100))
    assert found[3].tolist() == wanted.tolist()


def test_rows_that_are_written_in_place():
    def build(graph):
        x = tf.constant([[1.0, 2.0]], name="x")
        tf.add(x, 10.0, name="z")
        start = _node("start", "_ParallelConcatStart", [], dtype=tf.float32)
        for size in (2, 2):
            start.attr["shape"].shape.dim.add(size=size)
        yield start
        for i, name in enumerate("xz"):
            yield _node(f"row{i}", "_ParallelConcatUpdate", ["start", name], T=tf.float32, loc=i)
        yield _node("y", "Identity", ["start", "^row0", "^row1"], T=tf.float32)

    for _ in range(2):
        assert _run(build, "y:0").tolist() == [[1, 2], [11, 12]]


def test_what_workers_of_tensorflow_cannot_run_is_written_otherwise():
    def build(graph):
        x = tf.constant([1.0, 2.0])
        tf.identity(tf.parallel_stack([x, x * 2]), name="rows")
        tf.identity(tf.accumulate_n([x, x]), name="sum")
        return []

    kinds = []

    def change(message):
        message = as_tensorflow_runs(message)
        kinds.extend(n.op for n in message.node)
        return message

    rows, total = _run(build, ["rows:0", "sum:0"], change=change)
    assert rows.tolist() == [[1, 2], [2, 4]] and total.tolist() == [2, 4]
    assert not {"ParallelConcat", "AccumulateNV2"} & set(kinds)
