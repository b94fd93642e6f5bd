"""Collectives between the tasks of a cluster. Two servers of one process are two members: what lies between them
is the same as between two processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import weft as tf
from weft import proto
from weft.distributed import rpc
from weft.ops.by_name import raw

REDUCE = {"merge_op": "Add", "final_op": "Id", "subdiv_offsets": [0]}


def cluster_of(count):
    """Servers that are the tasks of a cluster."""
    spec = {"worker": [f"localhost:{free_port()}" for _ in range(count)]}
    return [tf.train.Server(spec, job_name="worker", task_index=i) for i in range(count)]


def free_port():
    import socket

    with socket.socket() as s:
        s.bind(("localhost", 0))
        return s.getsockname()[1]


class Task:
    """A worker of a cluster: its graph, and a session at its server that sees no other task."""

    def __init__(self, server, index, build, config=None):
        self.index = index
        self.device = f"/job:worker/replica:0/task:{index}/device:CPU:0"
        with tf.Graph().as_default() as graph, tf.device(self.device):
            self.fetches = build(index)
        config = tf.ConfigProto(
            device_filters=[f"/job:worker/task:{index}"], isolate_session_state=True
        )
        self.session = tf.Session(server.target, graph=graph, config=config)

    def run(self, fetches=None, timeout=20000, feed=None):
        """What a step gives, or its error."""
        try:
            return self.session.run(
                self.fetches if fetches is None else fetches,
                feed,
                options=tf.RunOptions(timeout_in_ms=timeout),
            )
        except tf.errors.OpError as e:
            return e


def together(*calls):
    """What some functions give that run at the same time."""
    out = [None] * len(calls)

    def run(i):
        out[i] = calls[i]()

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(calls))]
    for t in threads:
        t.start()
    for t in threads:
        t.join(30)
    return out


@pytest.fixture(scope="module")
def servers():
    servers = cluster_of(2)
    yield servers
    for server in servers:
        server._stop()


_keys = iter(range(1, 1000))


@pytest.fixture
def group(servers):
    """Attributes of a group of its own, and the tasks that `make` gives a graph to."""
    key, tasks = next(_keys), []

    class Group:
        attrs = {"group_key": key, "group_size": 2}

        @staticmethod
        def make(build):
            tasks.extend(Task(s, i, build) for i, s in enumerate(servers))
            return tasks

    yield Group
    for task in tasks:
        task.session.close()


def test_what_each_gives_comes_to_all(group):
    def build(i):
        value = tf.constant([1.0, -2.0, 3.5]) * (i + 1)
        whole = tf.constant([7, -9], tf.int64) - i
        large = tf.fill([300, 100], tf.cast(i + 1, tf.float64))
        return [
            raw.CollectiveReduce(value, instance_key=1, **REDUCE, **group.attrs),
            raw.CollectiveReduce(
                value, instance_key=2, **{**REDUCE, "final_op": "Div"}, **group.attrs
            ),
            raw.CollectiveReduce(
                value, instance_key=3, **{**REDUCE, "merge_op": "Mul"}, **group.attrs
            ),
            raw.CollectiveReduce(
                value, instance_key=4, **{**REDUCE, "merge_op": "Min"}, **group.attrs
            ),
            raw.CollectiveReduce(
                whole, instance_key=5, **{**REDUCE, "final_op": "Div"}, **group.attrs
            ),
            raw.CollectiveReduce(large, instance_key=6, **REDUCE, **group.attrs),
            raw.CollectiveGather(whole, instance_key=7, shape=[4], **group.attrs),
        ]

    a, b = group.make(build)
    for found in together(a.run, b.run):
        np.testing.assert_array_equal(found[0], np.float32([3, -6, 10.5]))
        np.testing.assert_array_equal(found[1], np.float32([1.5, -3, 5.25]))
        np.testing.assert_array_equal(found[2], np.float32([2, 8, 24.5]))
        np.testing.assert_array_equal(found[3], np.float32([1, -4, 3.5]))
        np.testing.assert_array_equal(found[4], [6, -9])  # of 13 and -19: towards zero
        np.testing.assert_array_equal(found[5], np.full([300, 100], 3.0))
        np.testing.assert_array_equal(found[6], [7, -9, 6, -10])


@pytest.mark.parametrize("dtype", [tf.float32, tf.float16, tf.float64, tf.int32, tf.int64])
def test_a_broadcast_changes_no_bit(group, dtype):
    value = np.array([[0.0, -0.0, 1e-3], [3, -7, 100]]).astype(dtype.as_numpy_dtype)
    if dtype.is_floating:
        value[1, 2] = np.nan

    def build(i):
        attrs = dict(instance_key=1, shape=[2, 3], **group.attrs)
        if i == 1:
            return raw.CollectiveBcastSend(value, **attrs)
        return raw.CollectiveBcastRecv(T=dtype, **attrs)

    a, b = group.make(build)
    for found in together(a.run, b.run):
        assert found.tobytes() == value.tobytes()


def test_members_may_come_in_different_orders(group):
    def build(i):
        ops = {
            key: raw.CollectiveReduce([1.0 * key], instance_key=key, **REDUCE, **group.attrs)
            for key in (1, 2, 3)
        }
        return [ops[k] for k in ((1, 2, 3), (3, 1, 2))[i]]

    a, b = group.make(build)

    def one_by_one(task, order):
        """Each in a step of its own, begun in this order."""
        return together(*[lambda f=task.fetches[n]: task.run(f) for n in order])

    for _ in range(3):
        first, second = together(lambda: one_by_one(a, (0, 1, 2)), lambda: one_by_one(b, (2, 0, 1)))
        assert [float(v[0]) for v in first] == [2, 4, 6]
        assert [float(v[0]) for v in second] == [4, 6, 2]


def test_what_must_wait_for_another_instance_does(group):
    order = []

    def build(i):
        second = raw.CollectiveReduce([1.0], instance_key=1, wait_for=[2], **REDUCE, **group.attrs)
        first = raw.CollectiveReduce([2.0], instance_key=2, **REDUCE, **group.attrs)
        noted = [
            tf.py_func(lambda v, n=n: order.append(n) or v, [t], tf.float32)
            for n, t in (("second", second), ("first", first))
        ]
        return noted if i == 0 else [second, first]

    a, b = group.make(build)
    early = threading.Thread(
        target=lambda: together(lambda: a.run(a.fetches[0]), lambda: b.run(b.fetches[0]))
    )
    early.start()
    time.sleep(0.3)
    assert not order
    together(lambda: a.run(a.fetches[1]), lambda: b.run(b.fetches[1]))
    early.join(20)
    assert sorted(order) == ["first", "second"]


def test_different_shapes_are_named_to_both_and_the_group_goes_on(group):
    def build(i):
        x = tf.placeholder(tf.float32, [None], name="x")
        return raw.CollectiveReduce(x, instance_key=1, **REDUCE, **group.attrs)

    a, b = group.make(build)
    found = together(lambda: a.run(feed={"x:0": [1.0]}), lambda: b.run(feed={"x:0": [1.0, 2.0]}))
    for error in found:
        assert isinstance(error, tf.errors.InvalidArgumentError)
        assert "expected shape [1]" in error.message and "expected shape [2]" in error.message
        assert a.device in error.message and b.device in error.message
    for found in together(lambda: a.run(feed={"x:0": [1.0]}), lambda: b.run(feed={"x:0": [2.0]})):
        assert found == 3


def test_different_sizes_of_a_group_are_named(group, servers):
    def build(i):
        attrs = {**group.attrs, "group_size": 2 + i}
        return raw.CollectiveReduce([1.0], instance_key=1, **REDUCE, **attrs)

    a, b = group.make(build)
    found = together(lambda: a.run(timeout=1500), lambda: b.run(timeout=1500))
    wrong = [e for e in found if isinstance(e, tf.errors.InternalError)]
    assert len(wrong) == 1
    assert "size 2" in wrong[0].message.replace("_", " ") and "size 3" in wrong[0].message.replace(
        "_", " "
    )


def test_other_asks_are_named(group):
    def build(i):
        attrs = {**REDUCE, "merge_op": ("Add", "Mul")[i]}
        return raw.CollectiveReduce([1.0], instance_key=1, **attrs, **group.attrs)

    a, b = group.make(build)
    for error in together(a.run, b.run):
        assert isinstance(error, tf.errors.InternalError)
        assert "merge_op Add" in error.message and "merge_op Mul" in error.message


@pytest.mark.parametrize("sends", [0, 2])
def test_a_broadcast_has_one_source(group, sends):
    def build(i):
        attrs = dict(instance_key=1, shape=[1], **group.attrs)
        if i < sends:
            return raw.CollectiveBcastSend([1.0], **attrs)
        return raw.CollectiveBcastRecv(T=tf.float32, **attrs)

    a, b = group.make(build)
    for error in together(a.run, b.run):
        assert isinstance(error, tf.errors.InternalError)
        assert ("already has source" if sends else "found no source") in error.message


def test_a_step_that_timed_out_leaves_nothing_for_the_next(group):
    def build(i):
        x = tf.placeholder(tf.float32, [1], name="x")
        return raw.CollectiveReduce(x, instance_key=1, **REDUCE, **group.attrs)

    a, b = group.make(build)
    for value in (1.0, 2.0):  # before the tasks have met, and afterwards
        start = time.monotonic()
        error = a.run(feed={"x:0": [100.0]}, timeout=300)
        assert isinstance(error, tf.errors.DeadlineExceededError)
        assert time.monotonic() - start < 5
        for found in together(
            lambda v=value: a.run(feed={"x:0": [v]}), lambda: b.run(feed={"x:0": [1.0]})
        ):
            assert found == value + 1


def test_several_devices_of_several_tasks():
    config = tf.ConfigProto(device_count={"CPU": 2})
    spec = {"worker": [f"localhost:{free_port()}" for _ in range(2)]}
    servers = [tf.train.Server(spec, "worker", i, config=config) for i in range(2)]

    def run(task):
        with tf.Graph().as_default() as graph:
            out = []
            for cpu in range(2):
                with tf.device(f"/job:worker/task:{task}/cpu:{cpu}"):
                    value = [10 * task + cpu]
                    attrs = {"group_size": 4, "group_key": 1}
                    out.append(
                        (
                            raw.CollectiveReduce(value, instance_key=1, **REDUCE, **attrs),
                            raw.CollectiveGather(value, instance_key=2, shape=[4], **attrs),
                        )
                    )
        config = tf.ConfigProto(device_filters=[f"/job:worker/task:{task}"])
        with tf.Session(servers[task].target, graph=graph, config=config) as session:
            return session.run(out, options=tf.RunOptions(timeout_in_ms=20000))

    for found in together(lambda: run(0), lambda: run(1)):
        for total, each in found:
            assert total == 22
            assert list(each) == [0, 1, 10, 11]
    for server in servers:
        server._stop()


MEMBER = """
import os, signal, sys, time
import weft as tf
from weft.ops.by_name import raw
task, ports, fate = int(sys.argv[1]), sys.argv[2].split(","), sys.argv[3]
server = tf.train.Server({"worker": ["localhost:" + p for p in ports]}, "worker", task)
with tf.device(f"/job:worker/task:{task}/cpu:0"):
    x = raw.CollectiveReduce(tf.ones([1000]), group_size=2, group_key=1, instance_key=1, merge_op="Add",
                             final_op="Id", subdiv_offsets=[0])
config = tf.ConfigProto(device_filters=[f"/job:worker/task:{task}"])
with tf.Session(server.target, config=config) as session:
    for step in range(3):
        session.run(x)
        print("step", flush=True)
    if fate == "dies":
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(60)
"""


def test_a_lost_member_ends_the_others_and_may_come_back():
    ports = [str(free_port()), str(free_port())]
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}

    def member(fate):
        command = [sys.executable, "-c", MEMBER, "1", ",".join(ports), fate]
        return subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True)

    spec = {"worker": [f"localhost:{p}" for p in ports]}
    server = tf.train.Server(spec, job_name="worker", task_index=0)
    attrs = {"group_size": 2, "group_key": 1, "instance_key": 1}
    other = member("dies")
    task = Task(server, 0, lambda i: raw.CollectiveReduce(tf.ones([1000]), **REDUCE, **attrs))
    try:
        for _ in range(3):
            assert task.run()[0] == 2
        assert other.wait(20) == -signal.SIGKILL
        start = time.monotonic()
        error = task.run()
        assert isinstance(error, tf.errors.UnavailableError), error
        assert "/job:worker/replica:0/task:1" in error.message
        assert time.monotonic() - start < 15
        other.stdout.close()
        other = member("stays")
        for _ in range(3):
            assert task.run()[0] == 2
    finally:
        other.kill()
        other.wait()
        other.stdout.close()
        task.session.close()
        server._stop()


# -- TensorFlow's own protocol -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def stub(servers):
    stub = rpc.Stub(servers[0].address, "tensorflow.WorkerService")
    yield stub
    stub.close()


def devices(*tasks):
    return [f"/job:worker/replica:0/task:{t}/device:CPU:0" for t in tasks]


def test_the_leader_completes_groups_and_instances(stub):
    def complete(device):
        request = proto.CompleteGroupRequest(
            group_key=7000, group_size=2, device_type="CPU", device_name=[device]
        )
        return stub.call("CompleteGroup", request, 10000)

    second, first = devices(1, 0)
    for response in together(lambda: complete(second), lambda: complete(first)):
        assert list(response.device_name) == devices(0, 1)
        assert list(response.task_name) == [d.rpartition("/device")[0] for d in devices(0, 1)]
        assert response.num_tasks == 2 and response.group_size == 2

    def instance(device, key=1, **fields):
        request = proto.CompleteInstanceRequest(
            name="b", type=1, data_type=proto.DT_FLOAT, group_key=7000, group_size=2,
            instance_key=key, device_type="CPU", device=device, **fields,
        )  # fmt: skip
        request.shape.dim.add(size=3)
        return stub.call("CompleteInstance", request, 10000)

    for response in together(lambda: instance(first), lambda: instance(second, is_source=True)):
        assert response.instance_key == 1 and response.source_rank == 1

    def error_of(call):
        try:
            return call()
        except tf.errors.OpError as e:
            return e

    both = together(
        lambda: error_of(lambda: instance(first, 2)), lambda: error_of(lambda: instance(second, 2))
    )
    for error in both:
        assert isinstance(error, tf.errors.InternalError) and "no source" in error.message


def test_step_sequences(stub):
    def ask(*keys):
        response = stub.call("GetStepSequence", proto.GetStepSequenceRequest(graph_key=keys), 10000)
        return {s.graph_key: s.next_step_id for s in response.step_sequence}

    first = ask(1, 2)
    assert set(first) == {1, 2}
    assert ask(2, 1, 3).items() >= first.items()


@pytest.mark.parametrize(
    "fields",
    [
        {"group_size": 2},
        {"group_size": 0, "device_name": devices(0)},
        {"group_size": -(2**31), "device_name": devices(0)},
        {"group_size": 2, "device_name": [""]},
        {"group_size": 2, "device_name": ["\0/job:worker"]},
    ],
)
def test_what_names_no_group_is_refused(stub, fields):
    request = proto.CompleteGroupRequest(group_key=7001, device_type="CPU", **fields)
    with pytest.raises(tf.errors.InvalidArgumentError):
        stub.call("CompleteGroup", request, 10000)
    instance = proto.CompleteInstanceRequest(
        group_key=7001,
        group_size=fields["group_size"],
        device=fields.get("device_name", [""])[0],
        data_type=proto.DT_FLOAT,
    )
    with pytest.raises(tf.errors.InvalidArgumentError):
        stub.call("CompleteInstance", instance, 10000)


def test_members_meet_in_the_body_of_a_loop():
    """Both are operations of one function, and each waits for the other."""
    with tf.Graph().as_default() as graph:

        def body(i, *values):
            new = []
            for n, value in enumerate(values):
                with tf.device(f"/cpu:{n}"):
                    new.append(
                        raw.CollectiveReduce(
                            value * 2.0, instance_key=1, group_key=1, group_size=2, **REDUCE
                        )
                    )
            return (i + 1, *new)

        out = tf.while_loop(lambda i, *_: i < 3, body, [0, tf.constant([1.0]), tf.constant([2.0])])
        config = tf.ConfigProto(device_count={"CPU": 2})
        with tf.Session(graph=graph, config=config) as session:
            options = tf.RunOptions(timeout_in_ms=10000)
            found = session.run(out[1:], options=options)
            assert [v.tolist() for v in found] == [[96.0], [96.0]]
