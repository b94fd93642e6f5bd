"""The master and worker services, called message by message: servers of weft answer as real TensorFlow's do."""

import contextlib
import subprocess
import threading

import numpy as np
import pytest

import weft as tf
from tests.interop.test_sessions import environment, program
from weft import proto
from weft.distributed import rpc, wire
from weft.framework import dtypes, errors

GRAPH = tf.Graph()
with GRAPH.as_default():
    X = tf.placeholder(tf.float32, [None], name="x")
    tf.multiply(X, 2.0, name="y")
    tf.reduce_sum(X, name="z")
    tf.check_numerics(X, "bad", name="checked")


@pytest.fixture(scope="module", params=["weft", "tf1", "tf2"])
def server(request):
    """The address of a server in another process."""
    with subprocess.Popen(
        program("server.py", request.param),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment(request.param),
    ) as process:
        try:
            yield process.stdout.readline().strip()[len("grpc://") :]
        finally:
            process.kill()


@pytest.fixture(scope="module")
def master(server):
    stub = rpc.Stub(server, "tensorflow.MasterService")
    yield stub
    stub.close()


@pytest.fixture(scope="module")
def worker(server):
    stub = rpc.Stub(server, "tensorflow.WorkerService")
    yield stub
    stub.close()


@contextlib.contextmanager
def refused(code):
    with pytest.raises(errors.OpError) as e:
        yield e
    assert e.value.error_code == code, e.value


def _tensor(values):
    out = proto.TensorProto()
    wire.to_message(np.array(values, np.float32), dtypes.float32, out)
    return out


def _session(master, graph=None, **options):
    request = proto.CreateSessionRequest(graph_def=graph or GRAPH.as_graph_def(), **options)
    return master.call("CreateSession", request, 20_000)


def _run(master, handle, **fields):
    feed = fields.pop("x", None)
    request = proto.RunStepRequest(session_handle=handle, **fields)
    if feed is not None:
        request.feed.add(name="x:0").tensor.CopyFrom(_tensor(feed))
    return master.call("RunStep", request, 20_000)


def _given(response):
    return {t.name: wire.from_message(t.tensor).tolist() for t in response.tensor}


def test_steps_and_the_end_of_a_session(master):
    handle = _session(master).session_handle
    response = _run(master, handle, x=[1.0, 2.0], fetch=["y:0", "z:0"])
    assert _given(response) == {"y:0": [2.0, 4.0], "z:0": 3.0}
    for fields in ({"fetch": ["nothing:0"]}, {"target": ["nothing"]}):
        with refused(errors.NOT_FOUND):
            _run(master, handle, **fields)
    with refused(errors.INVALID_ARGUMENT):
        _run(master, handle, fetch=["checked:0"], x=[np.nan])
    response = _run(
        master, handle, fetch=["checked:0"], x=[np.nan], store_errors_in_response_body=True
    )
    assert response.status_code == errors.INVALID_ARGUMENT
    assert "bad" in response.status_error_message and "checked" in response.status_error_message
    close = proto.CloseSessionRequest(session_handle=handle)
    master.call("CloseSession", close)
    for _ in range(2):
        with refused(errors.ABORTED):
            master.call("CloseSession", close)
        with refused(errors.ABORTED):
            _run(master, handle, fetch=["y:0"], x=[1.0])


def test_a_graph_is_extended_from_the_version_it_has(master):
    first = _session(master)
    more = tf.Graph()
    with more.as_default():
        tf.constant(3.0, name="three")
    request = proto.ExtendSessionRequest(
        session_handle=first.session_handle,
        graph_def=more.as_graph_def(),
        current_graph_version=first.graph_version,
    )
    second = master.call("ExtendSession", request)
    assert second.new_graph_version > first.graph_version
    assert _given(_run(master, first.session_handle, fetch=["three:0"])) == {"three:0": 3.0}
    with refused(errors.ABORTED):
        master.call("ExtendSession", request)
    request.current_graph_version = second.new_graph_version
    with refused(errors.INVALID_ARGUMENT):  # the node is there already
        master.call("ExtendSession", request)
    with refused(errors.ABORTED):
        request.session_handle = "no such session"
        master.call("ExtendSession", request)


def test_callables(master):
    handle = _session(master).session_handle
    make = proto.MakeCallableRequest(session_handle=handle)
    make.options.feed.append("x:0")
    make.options.fetch.extend(["z:0", "y:0"])
    made = master.call("MakeCallable", make).handle
    run = proto.RunCallableRequest(session_handle=handle, handle=made)
    run.feed.append(_tensor([1.0, 5.0]))
    for _ in range(3):
        response = master.call("RunCallable", run)
        assert [wire.from_message(t).tolist() for t in response.fetch] == [6.0, [2.0, 10.0]]
    release = proto.ReleaseCallableRequest(session_handle=handle, handle=made)
    master.call("ReleaseCallable", release)
    with refused(errors.INVALID_ARGUMENT):
        master.call("RunCallable", run)
    make.options.fetch.append("nothing:0")
    with refused(errors.NOT_FOUND):
        master.call("MakeCallable", make)


def test_parts_of_a_step(master):
    handle = _session(master).session_handle
    setup = proto.PartialRunSetupRequest(session_handle=handle, feed=["x:0"], fetch=["y:0", "z:0"])
    run = master.call("PartialRunSetup", setup).partial_run_handle
    with refused(errors.INVALID_ARGUMENT):
        _run(master, handle, fetch=["y:0"], partial_run_handle=run)
    given = _run(master, handle, fetch=["y:0"], x=[1.0], partial_run_handle=run)
    assert _given(given) == {"y:0": [2.0]}
    with refused(errors.INVALID_ARGUMENT):
        _run(master, handle, fetch=["y:0"], partial_run_handle=run)
    assert _given(_run(master, handle, fetch=["z:0"], partial_run_handle=run)) == {"z:0": 1.0}
    with refused(errors.INVALID_ARGUMENT):
        _run(master, handle, fetch=["z:0"], partial_run_handle=run)
    with refused(errors.INVALID_ARGUMENT):
        _run(master, handle, fetch=["z:0"], partial_run_handle="no such run")


def test_devices(master):
    handle = _session(master).session_handle
    for request in (proto.ListDevicesRequest(), proto.ListDevicesRequest(session_handle=handle)):
        response = master.call("ListDevices", request)
        names = [d.name for d in (*response.local_device, *response.remote_device)]
        assert any(n.endswith("/task:0/device:CPU:0") for n in names), response
        assert all(d.incarnation for d in response.local_device)


def test_what_a_client_may_send_besides(master):
    """Fields that are not known, options of other versions, graphs of other versions."""
    config = proto.ConfigProto()
    config.graph_options.rewrite_options.SetInParent()
    config.experimental.SetInParent()
    data = proto.CreateSessionRequest(graph_def=GRAPH.as_graph_def(), config=config)
    unknown = b"\xca\x3e\x03abc"  # field 1001, three bytes
    request = proto.CreateSessionRequest.FromString(data.SerializeToString() + unknown)
    handle = master.call("CreateSession", request, 20_000).session_handle
    assert _given(_run(master, handle, x=[1.0], fetch=["z:0"])) == {"z:0": 1.0}
    graph = GRAPH.as_graph_def()
    graph.versions.producer, graph.versions.min_consumer = 5_000, 0
    assert _session(master, graph).session_handle
    graph.versions.min_consumer = 4_000
    with refused(errors.INVALID_ARGUMENT) as e:
        _session(master, graph)
    assert "4000" in e.value.message
    graph = GRAPH.as_graph_def()
    graph.node.add(name="strange", op="NoSuchOperation")
    with pytest.raises(errors.OpError, match="NoSuchOperation") as e:
        handle = _session(master, graph).session_handle
        _run(master, handle, target=["strange"])
    assert e.value.error_code in (errors.NOT_FOUND, errors.INVALID_ARGUMENT)


def test_a_reset_ends_sessions(master):
    handle = _session(master).session_handle
    master.call("Reset", proto.ResetRequest())
    with refused(errors.ABORTED):
        _run(master, handle, x=[1.0], fetch=["z:0"])


# -- the worker service -------------------------------------------------------------------------------------


def _part(worker, fetch="y"):
    """A part of a graph with a fed and a fetched tensor, and one that is sent to another task."""
    devices = worker.call("GetStatus", proto.GetStatusRequest(), 20_000).device_attributes
    device = next(d for d in devices if d.name.endswith("CPU:0"))
    there = "/job:elsewhere/replica:0/task:0/device:CPU:0"
    incarnation = device.incarnation - (1 << 64) * (device.incarnation >= 1 << 63)
    graph = proto.GraphDef()
    graph.versions.producer = 134
    keys = {}

    def end(node, name, receiver, client):
        node.device = device.name
        node.attr["tensor_name"].s = name.encode()
        node.attr["send_device"].s = device.name.encode()
        node.attr["send_device_incarnation"].i = incarnation
        node.attr["recv_device"].s = receiver.encode()
        node.attr["client_terminated"].b = client
        keys[node.name] = f"{device.name};{device.incarnation:016x};{receiver};{name};0:0"

    fed = graph.node.add(name="fed", op="_Recv")
    fed.attr["tensor_type"].type = proto.DT_FLOAT
    end(fed, "x:0", device.name, True)
    y = graph.node.add(name="y", op="Square", device=device.name, input=["fed"])
    y.attr["T"].type = proto.DT_FLOAT
    bad = graph.node.add(name="bad", op="CheckNumerics", device=device.name, input=["y"])
    bad.attr["T"].type = proto.DT_FLOAT
    bad.attr["message"].s = b"bad"
    for name, source, receiver, client in (
        ("fetched", "bad", device.name, True),
        ("sent", "y", there, False),
    ):
        send = graph.node.add(name=name, op="_Send", input=[source])
        send.attr["T"].type = proto.DT_FLOAT
        end(send, name + ":0", receiver, client)
    request = proto.RegisterGraphRequest(session_handle="s", graph_def=graph)
    return worker.call("RegisterGraph", request).graph_handle, keys


def _run_graph(worker, handle, keys, step, x, **fields):
    request = proto.RunGraphRequest(graph_handle=handle, step_id=step, request_id=step, **fields)
    if x is not None:
        request.send.add(name=keys["fed"]).tensor.CopyFrom(_tensor(x))
    return worker.call("RunGraph", request, 20_000)


def _receive(worker, key, step, **fields):
    request = proto.RecvTensorRequest(rendezvous_key=key, step_id=step, **fields)
    return wire.unpack(worker.call("RecvTensor", request, 20_000))


def test_a_part_of_a_graph_is_run(worker):
    handle, keys = _part(worker)
    response = _run_graph(worker, handle, keys, 11, [2.0], recv_key=[keys["fetched"]])
    assert _given_of(response) == {keys["fetched"]: [4.0]}
    assert _receive(worker, keys["sent"], 11).tolist() == [4.0]
    worker.call("CleanupGraph", proto.CleanupGraphRequest(step_id=11))
    # Who receives may come first.
    got = []
    early = threading.Thread(target=lambda: got.append(_receive(worker, keys["sent"], 12)))
    early.start()
    early.join(0.3)
    assert not got
    _run_graph(worker, handle, keys, 12, [3.0], recv_key=[keys["fetched"]])
    early.join(20)
    assert got[0].tolist() == [9.0]
    worker.call("CleanupGraph", proto.CleanupGraphRequest(step_id=12))
    worker.call("DeregisterGraph", proto.DeregisterGraphRequest(graph_handle=handle))
    for method, request in (
        ("DeregisterGraph", proto.DeregisterGraphRequest(graph_handle=handle)),
        ("RunGraph", proto.RunGraphRequest(graph_handle=handle, step_id=13)),
    ):
        with refused(errors.ABORTED):
            worker.call(method, request)


def _given_of(response):
    return {t.name: wire.from_message(t.tensor).tolist() for t in response.recv}


def test_a_part_that_fails(worker):
    handle, keys = _part(worker)
    with refused(errors.INVALID_ARGUMENT):
        _run_graph(worker, handle, keys, 21, [np.nan], recv_key=[keys["fetched"]])
    response = _run_graph(
        worker,
        handle,
        keys,
        22,
        [np.inf],
        recv_key=[keys["fetched"]],
        store_errors_in_response_body=True,
    )
    assert response.status_code == errors.INVALID_ARGUMENT
    for step in (21, 22):
        worker.call("CleanupGraph", proto.CleanupGraphRequest(step_id=step))
    stale = keys["sent"].split(";")
    stale[1] = "%016x" % 12345
    with refused(errors.ABORTED):
        _receive(worker, ";".join(stale), 23)
    with refused(errors.INVALID_ARGUMENT):
        _receive(worker, "no;key", 23)


def test_a_part_is_run_in_parts(worker):
    handle, keys = _part(worker)
    fields = {"is_partial": True}
    begun = _run_graph(worker, handle, keys, 31, None, **fields)
    assert not begun.recv
    fields.update(is_last_partial_run=True, recv_key=[keys["fetched"]])
    request = proto.RunGraphRequest(graph_handle=handle, step_id=31, request_id=32, **fields)
    request.send.add(name=keys["fed"]).tensor.CopyFrom(_tensor([5.0]))
    assert _given_of(worker.call("RunGraph", request, 20_000)) == {keys["fetched"]: [25.0]}
    worker.call("CleanupGraph", proto.CleanupGraphRequest(step_id=31))


def test_sessions_of_a_worker(worker):
    create = proto.CreateWorkerSessionRequest(session_handle="own", isolate_session_state=True)
    worker.call("CreateWorkerSession", create)
    worker.call("DeleteWorkerSession", proto.DeleteWorkerSessionRequest(session_handle="own"))
    request = proto.RegisterGraphRequest(
        session_handle="never made", create_worker_session_called=True
    )
    with refused(errors.ABORTED):
        worker.call("RegisterGraph", request)


def test_the_rest_of_a_worker(worker):
    worker.call("CleanupAll", proto.CleanupAllRequest(container=["nothing"]))
    worker.call("CleanupGraph", proto.CleanupGraphRequest(step_id=999))
    worker.call("Logging", proto.LoggingRequest(enable_rpc_logging=True))
    assert not worker.call("Logging", proto.LoggingRequest(disable_rpc_logging=True)).step
    with refused(errors.UNIMPLEMENTED):
        worker.call("Tracing", proto.TracingRequest())
    request = proto.GetStepSequenceRequest(graph_key=[7])
    (sequence,) = worker.call("GetStepSequence", request).step_sequence
    assert sequence.graph_key == 7 and sequence.next_step_id
