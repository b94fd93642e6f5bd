"""Clusters that cannot be, and errors that say which task is meant."""

import socket

import pytest

import weft as tf
from tests.distributed.test_cluster import _ports
from weft.distributed import addresses, server
from weft.distributed.patience import Patience, never_sent


def _refused(cluster, job="w", task=0):
    with pytest.raises(tf.errors.OpError) as e:
        tf.train.Server(cluster, job, task)
    return type(e.value), e.value.message


@pytest.mark.parametrize(
    "cluster, wanted",
    [
        ({"ps": ["localhost:0"]}, (tf.errors.InternalError, 'Job "w" was not defined in cluster')),
        (
            {"w": {1: "localhost:0"}},
            (tf.errors.InvalidArgumentError, 'Task 0 was not defined in job "w"'),
        ),
        (
            {"w": ["localhost"]},
            (
                tf.errors.InvalidArgumentError,
                'Could not parse port for local server from "localhost".',
            ),
        ),
        (
            {"w": ["localhost:0", "b"]},
            (tf.errors.InvalidArgumentError, 'Could not interpret "b" as a host-port pair.'),
        ),
        (
            {"w": ["localhost:70000"]},
            (
                tf.errors.InvalidArgumentError,
                'Could not interpret "localhost:70000" as a host-port pair.',
            ),
        ),
        (
            {"w": {0: "localhost:0", -2: "b:1"}},
            (tf.errors.InvalidArgumentError, "The index of /job:w/task:-2 is negative."),
        ),
        (
            {"w": ["localhost:4", "c:5"], "ps": ["c:5"]},
            (
                tf.errors.InvalidArgumentError,
                "Two tasks of the cluster claim c:5: /job:ps/task:0 and /job:w/task:1.",
            ),
        ),
    ],
)
def test_bad_clusters(cluster, wanted):
    assert _refused(cluster) == wanted


def test_an_address_that_is_taken():
    one = tf.train.Server({"w": ["localhost:0"]})
    kind, text = _refused({"ps": [one.address]}, "ps")
    assert kind is tf.errors.UnknownError
    assert text == (
        f"Could not start gRPC server for /job:ps/task:0 at {one.address}: the server of "
        "/job:w/replica:0/task:0 has the address"
    )
    one._stop()
    with socket.socket() as s:  # somebody else
        s.bind(("127.0.0.1", 0))
        s.listen()
        assert "in use" in _refused({"w": [f"localhost:{s.getsockname()[1]}"]})[1]


def test_hosts_that_are_not_ours():
    assert (
        "'no.such.host.invalid' cannot be resolved"
        in _refused({"w": ["no.such.host.invalid:1"]})[1]
    )
    assert "has no address 192.0.2.1" in _refused({"w": ["192.0.2.1:1"]})[1]


@pytest.fixture
def stopped(monkeypatch):
    monkeypatch.setattr(server, "directly", False)
    started = []
    yield started
    for s in started:
        s._stop()


def _devices(server):
    config = tf.ConfigProto(device_filters=["/job:w"])
    with tf.Graph().as_default(), tf.Session(server.target, config=config) as session:
        return [d.name for d in session.list_devices()]


def test_members_that_disagree(stopped, caplog):
    a, b, c, d = (f"localhost:{p}" for p in _ports(4))
    stopped.append(tf.train.Server({"w": [a, b]}, "w", 0))
    stopped.append(tf.train.Server({"w": [b, a]}, "w", 0))
    with pytest.raises(
        tf.errors.InvalidArgumentError,
        match=f"disagree: .* has /job:w/replica:0/task:1 at {b}, but the task that answers there is /job:w/rep.*:0\\.",
    ):
        _devices(stopped[0])
    stopped.append(tf.train.Server({"w": [c, d], "ps": ["p:1"]}, "w", 0))
    stopped.append(tf.train.Server({"w": [c, d], "ps": ["p:2"]}, "w", 1))
    assert len(_devices(stopped[2])) == 2
    (said,) = [r.getMessage() for r in caplog.records]
    assert said == (
        "The members of the cluster may disagree: /job:ps/task:0 is at p:1 here, and at p:2 there, for "
        f"/job:w/replica:0/task:1 at {d}."
    )


def test_members_need_not_know_all_nor_call_themselves_the_same(stopped):
    a, b = (f"localhost:{p}" for p in _ports(2))
    stopped.append(tf.train.Server({"w": [a, b], "ps": ["p:1"]}, "w", 0))
    own = b.replace("localhost", "127.0.0.1")
    stopped.append(tf.train.Server({"w": {1: own}}, "w", 1))
    names = [f"/job:w/replica:0/task:{i}/device:CPU:0" for i in range(2)]
    assert _devices(stopped[0]) == names and _devices(stopped[1]) == names[1:]
    assert stopped[1].peers.addresses == {"/job:w/replica:0/task:1": own}


def test_what_an_address_is():
    assert addresses.split("grpc://[::1]:80") == ("::1", 80)
    assert addresses.split(":80") == ("", 80)
    assert addresses.numbers_of("localhost") == ["127.0.0.1"]
    assert addresses.is_loopback("127.3.2.1") and addresses.is_loopback("::1")
    assert not addresses.is_loopback("0.0.0.0")
    assert addresses.bound("::1", 5) == "[::1]:5"


class _Clock:
    now = 0.0

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


def _patience(seconds=None):
    clock = _Clock()
    return Patience("/job:ps at a:1", "which are none", seconds, clock, clock.sleep), clock


UNRESOLVED = "DNS resolution failed for a:1: Domain name not found"
REFUSED = "failed to connect to all addresses; last error: ipv4:1.1.1.1:1: Socket closed"
ABSENT = "failed to connect to all addresses; last error: ipv4:1.1.1.1:1: Connection refused"


def test_patience_ends_when_waiting_is_in_vain(caplog):
    for details, text, least, most in (
        (UNRESOLVED, "name cannot be resolved", 29, 31),
        (REFUSED, "other credentials than those shown, which are none", 1.9, 2.2),
    ):
        assert never_sent(details)
        patience, clock = _patience()
        with pytest.raises(tf.errors.UnavailableError, match=text):
            while True:
                patience.wait(details)
        assert least <= clock.now <= most
    assert not never_sent("Socket closed")


def test_patience_with_a_server_that_is_not_there_yet(caplog):
    patience, clock = _patience()
    while clock.now < 35:
        patience.wait(ABSENT)
    said = [r.getMessage() for r in caplog.records]
    assert said == ["Still waiting for /job:ps at a:1: nothing listens there."] * 3
    patience, clock = _patience(5.0)
    with pytest.raises(tf.errors.DeadlineExceededError, match="/job:ps at a:1 .* 5 seconds"):
        while True:
            patience.wait(ABSENT)
    assert 4.99 <= clock.now <= 5.1


def test_a_target_that_cannot_be():
    config = tf.ConfigProto(operation_timeout_in_ms=300)
    with tf.Graph().as_default():
        x = tf.constant(1.0)
        with tf.Session("grpc://localhost:1", config=config) as session:
            with pytest.raises(tf.errors.DeadlineExceededError, match="localhost:1"):
                session.run(x)
        with pytest.raises(tf.errors.InvalidArgumentError, match='"localhost" as a host-port'):
            tf.Session("grpc://localhost").run(x)
