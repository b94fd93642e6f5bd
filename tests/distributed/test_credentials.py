"""Servers that are closed to strangers: certificates, tokens, and where a server listens."""

import logging
import os
import socket
import stat

import pytest

import weft as tf
from tests.distributed.test_cluster import _ports
from weft import proto
from weft.distributed import Credentials, rpc, server

WORKER, MASTER = "tensorflow.WorkerService", "tensorflow.MasterService"


@pytest.fixture(scope="module")
def made():
    return Credentials.make()


@pytest.fixture
def apart(monkeypatch):
    """Servers of this process reach each other through gRPC, and end with the test."""
    monkeypatch.setattr(server, "directly", False)
    started = []

    def start(credentials, n=2, **kwargs):
        spec = {"task": [f"localhost:{p}" for p in _ports(n)]}
        for i in range(n):
            started.append(tf.train.Server(spec, "task", i, credentials=credentials, **kwargs))
        return started[-n:]

    yield start
    for s in started:
        s._stop()


def _run_across(target, config=None):
    with tf.Graph().as_default():
        with tf.device("/job:task/task:1"):
            v = tf.get_variable("v", initializer=[1.0, 2.0])
        with tf.device("/job:task/task:0"):
            y = v * 2.0
        with tf.Session(target, config=config) as sess:
            sess.run(v.initializer)
            return sess.run(y).tolist()


def _by_rpc():
    config = tf.ConfigProto()
    config.rpc_options.use_rpc_for_inprocess_master = True
    return config


def _status(address, credentials):
    stub = rpc.Stub(address, WORKER, credentials)
    try:
        return stub.call("GetStatus", proto.GetStatusRequest(), 5000, wait=False)
    finally:
        stub.close()


@pytest.mark.parametrize("kind", ["both", "certificates", "token"])
def test_a_cluster_with_credentials_works_and_strangers_are_refused(apart, made, kind):
    mine = {
        "both": made,
        "certificates": Credentials(made.authority, made.certificate, made.key, made.name),
        "token": Credentials(token=made.token),
    }[kind]
    first, second = apart(mine)
    assert _run_across(first.target) == [2.0, 4.0]
    assert _run_across(first.target, _by_rpc()) == [2.0, 4.0]
    other = Credentials.make() if mine.tls else Credentials(token="guessed")
    for stranger in (None, other):
        with pytest.raises((tf.errors.UnavailableError, tf.errors.UnauthenticatedError)):
            _status(second.address, stranger)
    assert _status(second.address, mine).device_attributes


def test_certificates_without_the_token_do_not_do(apart, made):
    (first,) = apart(made, 1)
    tls = Credentials(made.authority, made.certificate, made.key, made.name)
    with pytest.raises(tf.errors.UnauthenticatedError, match="token"):
        _status(first.address, tls)
    wrong = Credentials(made.authority, made.certificate, made.key, made.name, made.token + "x")
    stub = rpc.Stub(first.address, MASTER, wrong)
    with pytest.raises(tf.errors.UnauthenticatedError):
        stub.call("Reset", proto.ResetRequest(), 5000)
    stub.close()


def test_a_session_without_credentials_is_told_soon(apart, made):
    (first,) = apart(made, 1)
    stub = rpc.Stub(first.address, MASTER)
    with pytest.raises(tf.errors.UnavailableError, match="credentials.*none"):
        stub.call("ListDevices", proto.ListDevicesRequest(), wait=True)
    stub.close()


def test_credentials_come_from_a_folder_that_the_environment_names(
    apart, made, tmp_path, monkeypatch
):
    folder = tmp_path / "secret"
    made.write(folder)
    assert stat.S_IMODE(os.stat(folder / "key.pem").st_mode) == 0o600
    assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
    assert Credentials.read(folder) == made
    assert apart(str(folder), 1)[0].credentials == made
    monkeypatch.setenv("WEFT_CREDENTIALS", str(folder))
    second, _ = apart(None)
    assert second.credentials == made
    assert _run_across(second.target, _by_rpc()) == [2.0, 4.0]
    with pytest.raises(tf.errors.UnavailableError):
        _status(second.address, None)


def test_credentials_that_cannot_be(made, tmp_path):
    assert "PRIVATE" not in repr(made) and made.token not in repr(made)
    with pytest.raises(ValueError, match="one of them is missing"):
        Credentials(made.authority, made.certificate)
    with pytest.raises(ValueError, match="certificates or a token"):
        Credentials()
    with pytest.raises(ValueError, match="ASCII"):
        Credentials(token="a\nb")
    (tmp_path / "key.pem").write_bytes(made.key)
    with pytest.raises(ValueError, match=f"{tmp_path.name}.*missing"):
        tf.train.Server({"a": ["localhost:0"]}, credentials=tmp_path)
    with pytest.raises(ValueError, match="no folder"):
        tf.train.Server({"a": ["localhost:0"]}, credentials=str(tmp_path / "none"))
    with pytest.raises(TypeError, match="not int"):
        tf.train.Server({"a": ["localhost:0"]}, credentials=3)


def test_a_loopback_name_is_bound_to_loopback_only(caplog):
    s = tf.train.Server({"a": ["localhost:0"]})
    port = int(s.address.rpartition(":")[2])
    socket.create_connection(("127.0.0.1", port)).close()
    with pytest.raises(OSError):  # another address of this machine
        socket.create_connection(("127.0.0.2", port), timeout=1)
    s._stop()
    assert not caplog.records


def test_an_open_server_says_so_in_one_line(caplog, made):
    with caplog.at_level(logging.WARNING):
        tf.train.Server({"a": ["0.0.0.0:0"]})._stop()
    (record,) = caplog.records
    assert "anyone who reaches it can run code in it" in record.getMessage()
    assert "\n" not in record.getMessage()
    caplog.clear()
    tf.train.Server({"a": ["0.0.0.0:0"]}, credentials=made)._stop()
    assert not caplog.records


def test_a_server_may_listen_elsewhere_than_where_it_is_found(monkeypatch):
    (port,) = _ports(1)
    s = tf.train.Server({"a": [f"no.such.host.invalid:{port}"]}, listen="127.0.0.2")
    assert s.target == f"grpc://no.such.host.invalid:{port}"
    socket.create_connection(("127.0.0.2", port)).close()
    s._stop()
    monkeypatch.setenv("WEFT_LISTEN", "127.0.0.3")
    s = tf.train.Server({"a": ["192.0.2.1:0"]})
    socket.create_connection(("127.0.0.3", int(s.address.rpartition(":")[2]))).close()
    s._stop()
