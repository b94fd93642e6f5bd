"""Sessions at a server over real gRPC: client and server are of this process, but speak through a port."""

import threading
import time

import grpc
import numpy as np
import pytest

import weft as tf
from weft import proto


@pytest.fixture(scope="module")
def server():
    return tf.train.Server.create_local_server()


@pytest.fixture
def config():
    out = tf.ConfigProto()
    out.rpc_options.use_rpc_for_inprocess_master = True
    return out


@pytest.fixture
def connect(server, config):
    """Opens a session over gRPC on a graph of its own."""
    sessions = []

    def session():
        sessions.append(tf.Session(server.target, config=config))
        return sessions[-1]

    with tf.Graph().as_default():
        yield session
        for s in sessions:
            s.close()
    tf.Session.reset(server.target)


@pytest.fixture
def call(server):
    """Calls a method of the server's master service with a message."""
    methods = {m.name: m for m in proto.service_methods("tensorflow.MasterService")}
    with grpc.insecure_channel(server.target[len("grpc://") :]) as channel:

        def call(name, **fields):
            m = methods[name]
            stub = channel.unary_unary(m.path, m.request.SerializeToString, m.response.FromString)
            return stub(m.request(**fields), timeout=20)

        yield call


def test_a_graph_that_grows_is_trained(connect):
    rng = np.random.RandomState(0)
    data = rng.randn(32, 4).astype(np.float32)
    x = tf.placeholder(tf.float32, [None, 4])
    w = tf.get_variable("w", [4, 1], initializer=tf.zeros_initializer())
    loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - 1.0))
    sess = connect()
    sess.run(w.initializer)
    before = sess.run(loss, {x: data})
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    for _ in range(20):
        sess.run(train, {x: data})
    after = sess.run([loss, w], {x: data})
    assert before == 1.0 and after[0] < 0.9
    again = connect()
    np.testing.assert_array_equal(again.run(w), after[1])


def test_control_flow_strings_and_empty_arrays_pass(connect):
    x = tf.placeholder(tf.float32, [None])
    total = tf.reduce_sum(x)
    sign = tf.cond(total > 0, lambda: tf.constant("pos\0"), lambda: tf.constant("neg"))
    power = tf.while_loop(lambda i, a: i < 5, lambda i, a: (i + 1, a * 2), [0, total])[1]
    words = tf.placeholder(tf.string, [None])
    sess = connect()
    assert sess.run([sign, power], {x: [1.0, 2.0]}) == [b"pos\0", 96.0]
    assert sess.run(x, {x: np.zeros(0)}).shape == (0,)
    assert list(sess.run(words, {words: [b"a\0b", b""]})) == [b"a\0b", b""]
    fetched = sess.run(x + 1, {x: [1.0]})
    fetched[0] = 5.0  # the caller's own


def test_errors_name_the_operation(connect):
    v = tf.get_variable("v", [2])
    x = tf.placeholder(tf.int32, [])
    picked = tf.gather([1, 2, 3], x, name="picked")
    sess = connect()
    with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value v") as e:
        sess.run(v)
    assert e.value.op is v.op
    with pytest.raises(tf.errors.InvalidArgumentError, match="not in") as e:
        sess.run(picked, {x: 7})
    assert e.value.op is picked.op
    assert sess.run(picked, {x: 2}) == 3


def test_a_step_over_its_time_is_stopped(connect):
    queue = tf.FIFOQueue(3, tf.int32)
    item, put = queue.dequeue(), queue.enqueue(7)
    sess = connect()
    began = time.monotonic()
    with pytest.raises(tf.errors.DeadlineExceededError):
        sess.run(item, options=tf.RunOptions(timeout_in_ms=200))
    assert time.monotonic() - began < 2
    sess.run(put)
    assert sess.run(item) == 7


def test_closing_a_session_cancels_its_steps(connect):
    item = tf.FIFOQueue(3, tf.int32).dequeue()
    sess = connect()
    sess.list_devices()
    caught = []

    def wait():
        try:
            sess.run(item)
        except tf.errors.OpError as e:
            caught.append(e)

    thread = threading.Thread(target=wait)
    thread.start()
    time.sleep(0.2)
    sess.close()
    thread.join(10)
    assert not thread.is_alive() and type(caught[0]) is tf.errors.CancelledError
    assert "Session::Close" in caught[0].message


def test_a_step_in_parts(connect):
    a, b = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    first = a * 2
    second = first + b
    sess = connect()
    handle = sess.partial_run_setup([first, second], [a, b])
    assert sess.partial_run(handle, first, {a: 3.0}) == 6.0
    with pytest.raises(tf.errors.InvalidArgumentError, match="already been fed"):
        sess.partial_run(handle, second, {a: 1.0})
    assert sess.partial_run(handle, second, {b: 1.0}) == 7.0


def test_traces_come_back(connect):
    x = tf.constant([1.0, 2.0]) + 1.0
    sess = connect()
    metadata = tf.RunMetadata()
    sess.run(x, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=metadata)
    assert metadata.step_stats.dev_stats[0].node_stats


def test_devices_are_those_of_the_server(connect, server):
    device = connect().list_devices()[0]
    assert device.name == "/job:local/replica:0/task:0/device:CPU:0"
    assert device.incarnation == server.incarnation


def test_a_changed_graph_is_sent_anew(connect):
    v = tf.get_variable("v", initializer=2.0)
    y = v * 3.0
    sess = connect()
    sess.run(v.initializer)
    assert sess.run(y) == 6.0
    y.op._update_input(1, tf.constant(5.0))
    assert sess.run(y) == 10.0


def test_callables(call):
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [], name="x")
        tf.add(x, 1.0, name="y")
        handle = call("CreateSession", graph_def=graph.as_graph_def()).session_handle
    options = proto.CallableOptions(feed=["x:0"], fetch=["y:0", "y:0"])
    made = call("MakeCallable", session_handle=handle, options=options).handle
    value = tf.make_tensor_proto(4.0)
    done = call("RunCallable", session_handle=handle, handle=made, feed=[value])
    assert [float(tf.make_ndarray(t)) for t in done.fetch] == [5.0, 5.0]
    call("ReleaseCallable", session_handle=handle, handle=made)
    with pytest.raises(grpc.RpcError, match="No such callable handle") as e:
        call("RunCallable", session_handle=handle, handle=made, feed=[value])
    assert e.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    call("CloseSession", session_handle=handle)


def _refused(call, code, match, method, **fields):
    with pytest.raises(grpc.RpcError, match=match) as e:
        call(method, **fields)
    assert e.value.code() is code


def test_what_makes_no_sense_is_refused_and_the_session_lives(call):
    code = grpc.StatusCode
    _refused(call, code.ABORTED, "is not found", "RunStep", session_handle="none")
    _refused(call, code.ABORTED, "is not found", "CloseSession", session_handle="none")
    with tf.Graph().as_default() as graph:
        tf.placeholder(tf.float32, [2], name="x")
        message = graph.as_graph_def()
    handle = call("CreateSession", graph_def=message).session_handle
    run = {"session_handle": handle}
    _refused(call, code.NOT_FOUND, "none:0", "RunStep", fetch=["none:0"], **run)
    _refused(call, code.NOT_FOUND, "none", "RunStep", target=["none"], **run)
    _refused(call, code.INVALID_ARGUMENT, "output 5", "RunStep", fetch=["x:5"], **run)

    def fed(tensor):
        return [proto.NamedTensorProto(name="x:0", tensor=tensor)]

    def shape(*sizes):
        return proto.TensorShapeProto(dim=[{"size": s} for s in sizes])

    for tensor in (
        proto.TensorProto(dtype=1, tensor_shape=shape(2), tensor_content=b"123"),
        proto.TensorProto(dtype=1, tensor_shape=shape(-2)),
        proto.TensorProto(dtype=1, tensor_shape=shape(1 << 40), float_val=[1.0]),
        proto.TensorProto(dtype=99),
        proto.TensorProto(dtype=3, tensor_shape=shape(2), int_val=[1, 2]),
    ):
        _refused(
            call, code.INVALID_ARGUMENT, None, "RunStep", fetch=["x:0"], feed=fed(tensor), **run
        )
    good = fed(tf.make_tensor_proto([1.0, 2.0]))
    _refused(call, code.INVALID_ARGUMENT, "Duplicated", "RunStep", feed=good * 2, **run)
    _refused(
        call,
        code.ABORTED,
        "Current version is 1 but caller expected 7",
        "ExtendSession",
        current_graph_version=7,
        **run,
    )
    for node in (
        proto.NodeDef(name="x", op="Placeholder"),
        proto.NodeDef(name="y", op="NoSuchOp"),
        proto.NodeDef(name="y", op="Neg", input=["z"]),
        proto.NodeDef(name="y", op="Neg", input=["y"]),
        proto.NodeDef(name="y", op="Neg", input=["x:3"]),
        proto.NodeDef(name="a b", op="NoOp"),
    ):
        graph_def = proto.GraphDef(node=[node])
        _refused(
            call,
            code.INVALID_ARGUMENT,
            None,
            "ExtendSession",
            graph_def=graph_def,
            current_graph_version=1,
            **run,
        )
    done = call("RunStep", fetch=["x:0"], feed=good, **run)
    np.testing.assert_array_equal(tf.make_ndarray(done.tensor[0].tensor), [1.0, 2.0])
    call("CloseSession", session_handle=handle)
    _refused(call, code.ABORTED, "is not found", "RunStep", session_handle=handle)


def test_a_port_in_use_is_refused(server):
    address = server.target[len("grpc://") :]
    with pytest.raises(tf.errors.UnknownError, match=address.replace(".", r"\.")):
        tf.train.Server({"local": [address]})


def test_an_address_without_a_port_is_refused():
    with pytest.raises(tf.errors.InvalidArgumentError, match="port"):
        tf.train.Server({"local": ["localhost"]})


def test_a_reset_of_nobody_ends_in_time():
    config = tf.ConfigProto(operation_timeout_in_ms=50)
    with pytest.raises(tf.errors.DeadlineExceededError):
        tf.Session.reset("grpc://localhost:1", ["c"], config=config)


def test_a_master_that_does_not_answer():
    config = tf.ConfigProto(operation_timeout_in_ms=200)
    with tf.Graph().as_default():
        x = tf.constant(1.0)
        with tf.Session("grpc://localhost:1", config=config) as sess:
            with pytest.raises(tf.errors.DeadlineExceededError):
                sess.run(x)
