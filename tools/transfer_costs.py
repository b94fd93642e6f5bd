"""What a message and a byte cost between two tasks of weft on this machine, over links and over gRPC."""

import socket
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np

import weft as tf
from weft.distributed import links

_SIZES = (0, 1 << 16, 1 << 20, 1 << 22)  # numbers of four bytes
_SERVER = """
import sys, weft as tf
server = tf.train.Server({"ps": [sys.argv[1]], "worker": [sys.argv[2]]}, "ps", 0)
print("ready", flush=True)
sys.stdin.read()
"""


def measure() -> dict[str, tuple[float, float]]:
    """Seconds for a message and for a byte, at each end, by the way that they take."""
    found = {}
    before = links.enabled
    try:
        for name, enabled in (("link", True), ("grpc", False)):
            if enabled and not before:
                continue
            links.enabled = enabled
            found[name] = _costs(messages=2 if enabled else 4)
    finally:
        links.enabled = before
    return found


def _costs(messages: int) -> tuple[float, float]:
    """The costs by one way. A step that pulls a tensor sends so many messages: RunGraph and its answer, and where
    the tensor is asked for, the question; the tensor's own is counted with the bytes."""
    addresses = [f"127.0.0.1:{port}" for port in _ports(2)]
    command = [sys.executable, "-c", _SERVER, *addresses]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        try:
            assert other.stdout is not None
            other.stdout.readline()
            cluster = {"ps": addresses[:1], "worker": addresses[1:]}
            server = tf.train.Server(cluster, "worker", 0)
            with tf.Graph().as_default(), tf.Session(server.target) as session:
                calls = [_pull(session, size) for size in _SIZES]
            server._stop()
        finally:
            other.kill()
    byte, call = np.polyfit([4 * size for size in _SIZES], calls, 1)
    # Both ends of each message, and both ends of each byte.
    return float(min(call, calls[0]) / (2 * messages)), float(byte / 2)


def _pull(session: tf.Session, size: int) -> float:
    """Seconds that a step takes in which a tensor comes from the other task."""
    with tf.device("/job:ps/task:0"):
        there = tf.Variable(np.zeros(max(size, 1), np.float32), use_resource=True)
        value = there.read_value()
    with tf.device("/job:worker/task:0"):
        here = tf.group(tf.identity(value))
    session.run(there.initializer)
    return _best(lambda: session.run(here))


def _best(call: Callable[[], object], seconds: float = 0.6) -> float:
    found, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(found) < 20:
        start = time.perf_counter()
        call()
        found.append(time.perf_counter() - start)
    return float(np.percentile(found, 10))


def _ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports
