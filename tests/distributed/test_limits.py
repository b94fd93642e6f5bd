"""What a server takes from its clients, and no more."""

import pytest

import weft as tf
from weft import proto
from weft.distributed import Limits, rpc


@pytest.fixture
def serve():
    made = []

    def start(**limits):
        server = tf.train.Server({"a": ["localhost:0"]}, limits=Limits(**limits))
        stubs = [rpc.Stub(server.address, f"tensorflow.{s}Service") for s in ("Master", "Worker")]
        made.extend([server._stop, *(s.close for s in stubs)])
        return stubs

    yield start
    for end in made:
        end()


def _graph():
    with tf.Graph().as_default() as graph:
        tf.constant(1.0, name="one")
    return graph.as_graph_def()


def test_messages(serve):
    master, worker = serve(message_bytes=50_000)
    with tf.Graph().as_default() as graph:
        tf.constant([1.0] * 20_000 + [2.0], name="large")
    request = proto.CreateSessionRequest(graph_def=graph.as_graph_def())
    with pytest.raises(tf.errors.ResourceExhaustedError, match="larger than max"):
        master.call("CreateSession", request)
    assert worker.call("GetStatus", proto.GetStatusRequest()).device_attributes


def test_sessions(serve):
    master, worker = serve(sessions=2)
    request = proto.CreateSessionRequest(graph_def=_graph())
    handles = [master.call("CreateSession", request).session_handle for _ in range(2)]
    with pytest.raises(tf.errors.ResourceExhaustedError, match="2 sessions.*WEFT_MAX_SESSIONS"):
        master.call("CreateSession", request)
    master.call("CloseSession", proto.CloseSessionRequest(session_handle=handles[0]))
    master.call("CreateSession", request)
    for i in range(2):
        worker.call("CreateWorkerSession", proto.CreateWorkerSessionRequest(session_handle=f"{i}"))
    with pytest.raises(tf.errors.ResourceExhaustedError, match="sessions"):
        worker.call("CreateWorkerSession", proto.CreateWorkerSessionRequest(session_handle="x"))


def test_graphs(serve):
    master, worker = serve(graphs=1)
    request = proto.RegisterGraphRequest(graph_def=_graph())
    handle = worker.call("RegisterGraph", request).graph_handle
    with pytest.raises(tf.errors.ResourceExhaustedError, match="1 graphs"):
        worker.call("RegisterGraph", request)
    worker.call("DeregisterGraph", proto.DeregisterGraphRequest(graph_handle=handle))
    worker.call("RegisterGraph", request)
    session = master.call("CreateSession", proto.CreateSessionRequest(graph_def=_graph()))
    make = proto.MakeCallableRequest(session_handle=session.session_handle)
    make.options.fetch.append("one:0")
    master.call("MakeCallable", make)
    with pytest.raises(tf.errors.ResourceExhaustedError):
        master.call("MakeCallable", make)


def test_limits_come_from_the_environment(monkeypatch):
    monkeypatch.setenv("WEFT_MAX_SESSIONS", "7")
    assert Limits().sessions == 7 and Limits(sessions=3).sessions == 3
    monkeypatch.setenv("WEFT_MAX_SESSIONS", "many")
    with pytest.raises(ValueError, match="WEFT_MAX_SESSIONS is a number, not 'many'"):
        Limits()
    with pytest.raises(ValueError, match="graphs"):
        Limits(sessions=1, graphs=-1)
