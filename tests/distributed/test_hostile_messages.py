"""Malformed and hostile messages are answered with an error, and the server goes on serving.

WEFT_FUZZ=100000 tries so many mutated messages; a few thousand are tried otherwise.
"""

import collections
import itertools
import os
import random

import grpc
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import weft as tf
from tests.distributed import hostile
from tests.distributed.test_cluster import _ports
from weft import proto
from weft.distributed import large_messages, links, rpc, server, wire
from weft.framework.varints import varint

TRIED = int(os.environ.get("WEFT_FUZZ", "2000"))
SERVICES = ("tensorflow.MasterService", "tensorflow.WorkerService")
METHODS = {m.path: m for service in SERVICES for m in rpc.methods_of(service)}
SECONDS = 0.5  # that a call may take; some wait for what never comes, as they are asked to
MOST_GROWTH = 200 << 20


class Serving:
    """Two servers that reach each other by gRPC, and what well-meaning clients have said to them."""

    def __init__(self, patch):
        patch.setattr(server, "directly", False)
        patch.setattr(links, "enabled", False)
        self._parsed, self._patch = rpc._parsed, patch
        spec = {"w": [f"localhost:{p}" for p in _ports(2)]}
        self.servers = [tf.train.Server(spec, "w", i) for i in range(2)]
        self.channel = grpc.insecure_channel(self.servers[0].address)
        self.sessions = []
        self.recorded = {}

    def call(self, path, data, seconds=SECONDS):
        """Sends bytes; gives the response, or the code of the error."""
        try:
            return self.channel.unary_unary(path)(data, timeout=seconds)
        except grpc.RpcError as e:
            return e.code()

    def ask(self, method, request, service="Master"):
        """Sends a message; gives the response, or the error."""
        stub = rpc.Stub(self.servers[0].address, f"tensorflow.{service}Service")
        try:
            return stub.call(method, request, 20000)
        except tf.errors.OpError as e:
            return e
        finally:
            stub.close()

    def record(self):
        """What a client of all that there is says, while it is connected."""
        self.close_sessions()
        recorded = collections.defaultdict(set)

        def parsed(read, data, method):
            recorded[method.path].add(bytes(data))
            return self._parsed(read, data, method)

        self._patch.setattr(rpc, "_parsed", parsed)
        self.sessions.append(work(self.servers[0].target))
        self._patch.setattr(rpc, "_parsed", self._parsed)
        self.recorded = {path: sorted(found)[:12] for path, found in recorded.items()}
        for path, method in METHODS.items():
            self.recorded.setdefault(path, []).append(method.request().SerializeToString())

    def close_sessions(self):
        while self.sessions:
            self.sessions.pop().close()

    def close(self):
        self.close_sessions()
        self.channel.close()
        for s in self.servers:
            s._stop()


_rounds = itertools.count()


def work(target):
    """Uses a cluster; gives the session."""
    config = tf.ConfigProto()
    config.rpc_options.use_rpc_for_inprocess_master = True
    with tf.Graph().as_default():
        with tf.device("/job:w/task:1"):
            v = tf.get_variable("v", initializer=[1.0, 2.0])
            # One that mutated steps of earlier rounds do not take from while they are being cancelled.
            queue = tf.FIFOQueue(5, [tf.float32], shapes=[[]], shared_name=f"q{next(_rounds)}")
        with tf.device("/job:w/task:0"):
            x = tf.placeholder(tf.float32, [None], name="x")
            y = tf.identity(v * x, name="y")
            train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(y))
            branch = tf.cond(tf.reduce_sum(x) > 0, lambda: v + 1, lambda: v - 1)
            loop = tf.while_loop(lambda i: i < 3, lambda i: i + 1, [tf.constant(0)])
        session = tf.Session(target, config=config)
        session.run(v.initializer)
        assert session.run(y, {x: [3.0, 4.0]}).tolist() == [3.0, 8.0]
        session.run([train, branch, loop, tf.constant(["a", "b"])], {x: [1.0, 1.0]})
        session.run(queue.enqueue(1.0))
        session.run(queue.dequeue())
        session.partial_run_setup([y], [x])
        session.run(x * 2, {x: np.ones(9000, np.float32)})
        session.list_devices()
    return session


@pytest.fixture(scope="module")
def serving():
    with pytest.MonkeyPatch.context() as patch:
        found = Serving(patch)
        found.record()
        yield found
        found.close()


def _memory():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_mutated_messages(serving):
    rng = random.Random(TRIED)
    paths = [p for p in METHODS if p.split("/")[-1] not in ("Reset", "CloseSession")]
    paths += [
        p for p in paths if p.endswith(("RunStep", "RunGraph", "Session", "RegisterGraph"))
    ] * 4
    before, answers = _memory(), collections.Counter()
    for i in range(TRIED):
        if i % 300 == 299:
            serving.record()
        path = rng.choice(paths)
        data = rng.choice(serving.recorded[path])
        if rng.random() < 0.5:
            data = hostile.broken(data, rng)
        else:
            message = METHODS[path].request.FromString(data)
            for _ in range(rng.choice([1, 1, 2, 4])):
                hostile.twist(message, rng)
            data = message.SerializeToString()
        answer = serving.call(path, data)
        answers[answer if isinstance(answer, grpc.StatusCode) else "answered"] += 1
    # Nobody crashed, and hardly anything was left unanswered.
    assert not answers[grpc.StatusCode.UNAVAILABLE] and not answers[grpc.StatusCode.UNKNOWN]
    assert answers[grpc.StatusCode.DEADLINE_EXCEEDED] <= max(5, TRIED // 50), answers
    assert answers["answered"] and answers[grpc.StatusCode.INVALID_ARGUMENT]
    assert _memory() - before < MOST_GROWTH
    serving.record()


@settings(
    max_examples=max(100, TRIED // 10),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.sampled_from(sorted(METHODS)), st.binary(max_size=200))
def test_arbitrary_bytes(serving, path, data):
    assert serving.call(path, data) != grpc.StatusCode.UNAVAILABLE


@pytest.mark.parametrize("method", sorted(METHODS))
def test_handles_that_nobody_has_given_out(serving, method):
    request = METHODS[method].request()
    names = [f.name for f in request.DESCRIPTOR.fields]
    for name in {"session_handle", "graph_handle", "partial_run_handle"} & {*names}:
        setattr(request, name, "no such handle")
    for name in {"handle", "step_id"} & {*names}:
        setattr(request, name, 1 << 40)
    answer = serving.call(method, request.SerializeToString())
    assert answer not in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)


# -- what a graph may say ----------------------------------------------------------------------------------


def _tensor(shape, dtype=1, **values):
    message = proto.TensorProto(dtype=dtype)
    message.tensor_shape.SetInParent()
    for n in shape:
        message.tensor_shape.dim.add(size=n)
    for name, value in values.items():
        getattr(message, name).extend(value)
    return message


def _graph(*nodes):
    graph = proto.GraphDef()
    for name, op, inputs, attrs in nodes:
        node = graph.node.add(name=name, op=op, input=inputs)
        for key, value in attrs.items():
            if isinstance(value, proto.TensorProto):
                node.attr[key].tensor.CopyFrom(value)
            else:
                node.attr[key].type = value
    return graph


def _const(tensor):
    return _graph(("a", "Const", (), {"dtype": tensor.dtype, "value": tensor}))


BAD_GRAPHS = {
    "a cycle": _graph(("a", "Identity", ["b"], {"T": 1}), ("b", "Identity", ["a"], {"T": 1})),
    "a cycle of one": _graph(("a", "Identity", ["a"], {"T": 1})),
    "a cycle of control": _graph(("a", "NoOp", ["^b"], {}), ("b", "NoOp", ["^a"], {})),
    "an input that is not there": _graph(("a", "Identity", ["nobody"], {"T": 1})),
    "an output that is not there": _graph(
        ("a", "Identity", ["b:99999999999"], {"T": 1}), ("b", "NoOp", [], {})
    ),
    "a name twice": _graph(("a", "NoOp", [], {}), ("a", "NoOp", [], {})),
    "an unknown op": _graph(("a", "NoSuchOp", [], {})),
    "a type that is none": _graph(("a", "Placeholder", [], {"dtype": 99})),
    "a billion of one value": _const(_tensor([10**9], float_val=[1.0])),
    "more than can be counted": _const(_tensor([2**31] * 3, float_val=[1.0])),
    "less than nothing": _const(_tensor([-5], float_val=[1.0])),
    "a hundred million texts": _const(_tensor([10**10], 7, string_val=[b"x" * 1000])),
    "too many values": _const(_tensor([2], float_val=[1.0] * 3)),
}


@pytest.mark.parametrize("name", BAD_GRAPHS)
def test_bad_graphs(serving, name):
    before = _memory()
    graph = BAD_GRAPHS[name]
    for method, service in (("CreateSession", "Master"), ("RegisterGraph", "Worker")):
        request = METHODS[f"/tensorflow.{service}Service/{method}"].request(graph_def=graph)
        answer = serving.ask(method, request, service)
        assert isinstance(answer, tf.errors.InvalidArgumentError), answer
    assert _memory() - before < MOST_GROWTH


def _run(serving, graph, fetch, **feeds):
    session = serving.ask("CreateSession", proto.CreateSessionRequest(graph_def=graph))
    request = proto.RunStepRequest(session_handle=session.session_handle, fetch=fetch)
    for name, tensor in feeds.items():
        request.feed.add(name=f"{name}:0").tensor.CopyFrom(tensor)
    answer = serving.ask("RunStep", request)
    serving.ask("CloseSession", proto.CloseSessionRequest(session_handle=session.session_handle))
    return answer


def test_feeds_that_are_none(serving):
    graph = _graph(("p", "Placeholder", [], {"dtype": 1}))
    bad = [
        _tensor([10**9], float_val=[1.0]),
        _tensor([2**62, 4], float_val=[1.0]),
        _tensor([-1], float_val=[1.0]),
        _tensor([1], 99),
        _tensor([2], 21),
        proto.TensorProto(dtype=1, tensor_content=b"abc"),
    ]
    nested = _tensor([], 21)
    inner = nested
    for _ in range(40):
        inner = inner.variant_val.add(type_name="weft::Bundle").tensors.add(dtype=21)
    before = _memory()
    for tensor in [*bad, nested]:
        answer = _run(serving, graph, ["p:0"], p=tensor)
        assert isinstance(answer, tf.errors.InvalidArgumentError), answer
    assert _memory() - before < MOST_GROWTH
    answer = _run(serving, graph, ["p:0"], p=_tensor([2], float_val=[1.0]))
    assert wire.from_message(answer.tensor[0].tensor).tolist() == [1.0, 1.0]  # repeated


def test_nesting(serving):
    data = b""
    for _ in range(3000):
        data = varint(2 << 3 | 2) + varint(len(data)) + data
    data = varint(1 << 3 | 2) + varint(len(data)) + data
    assert (
        serving.call("/tensorflow.MasterService/CreateSession", data, 20)
        == grpc.StatusCode.INVALID_ARGUMENT
    )
    graph = _graph(("v", "Placeholder", [], {"dtype": 1}), ("call", "F", ["v"], {}))
    function = graph.library.function.add()
    function.signature.name = "F"
    function.signature.input_arg.add(name="x", type=1)
    function.signature.output_arg.add(name="y", type=1)
    function.node_def.add(name="again", op="F", input=["x"])
    function.ret["y"] = "again:y:0"
    answer = _run(serving, graph, ["call:0"], v=_tensor([], float_val=[1.0]))
    assert isinstance(answer, tf.errors.OpError)  # a function that calls itself for ever


def test_a_long_chain_is_no_harm(serving):
    nodes = [("n0", "Placeholder", [], {"dtype": 1})]
    nodes += [(f"n{i}", "Identity", [f"n{i - 1}"], {"T": 1}) for i in range(1, 3000)]
    answer = _run(serving, _graph(*nodes), ["n2999:0"], n0=_tensor([], float_val=[7.0]))
    assert wire.from_message(answer.tensor[0].tensor) == 7.0


def test_steps_that_want_nothing_end(serving):
    with tf.Graph().as_default() as graph:
        tf.constant(1.0, name="one")
    assert not _run(serving, graph.as_graph_def(), []).tensor


def test_limits_of_time_that_are_none(serving):
    graph = _graph(("p", "Placeholder", [], {"dtype": 1}))
    session = serving.ask("CreateSession", proto.CreateSessionRequest(graph_def=graph))
    for ms in (2**63 - 1, -(2**63), -1):
        request = proto.RunStepRequest(session_handle=session.session_handle, fetch=["p:0"])
        request.feed.add(name="p:0").tensor.CopyFrom(_tensor([], float_val=[7.0]))
        request.options.timeout_in_ms = ms
        assert serving.ask("RunStep", request).tensor


def test_clusters_that_are_none(serving):
    for tasks, address in ((0, ""), (1, "nowhere"), (2, "localhost:5")):
        request = proto.CreateSessionRequest()
        job = request.config.cluster_def.job.add(name="w")
        for i in range(tasks):
            job.tasks[i] = address
        answer = serving.ask("CreateSession", request)
        assert isinstance(answer, tf.errors.InvalidArgumentError), answer


@settings(max_examples=max(200, TRIED // 3), deadline=None)
@given(st.integers(0, 2**32))
def test_large_messages_are_read_or_refused(seed):
    rng = random.Random(seed)
    request = proto.RunStepRequest(session_handle="s")
    array = np.zeros(large_messages.LARGE, np.uint8)
    whole = large_messages.write(request, [("x:0", array, tf.uint8)])
    data = hostile.broken(whole[:200], rng) + whole[200:]
    read = wire.reader(proto.RunStepRequest)
    try:
        wire.tensors_of(read(data), "feed")
    except tf.errors.InvalidArgumentError:
        pass
    except Exception as e:
        # The transport makes one error of whatever a reader says.
        assert not isinstance(e, (MemoryError, RecursionError)), e
