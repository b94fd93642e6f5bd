"""Tasks of weft and of real TensorFlow in one cluster, each in a process of its own."""

import json
import socket
import subprocess

import pytest

from tests.interop.test_sessions import environment, program


def ports(n):
    sockets = [socket.socket() for _ in range(n)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    found = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return found


def task(implementation, job, index, cluster):
    return subprocess.Popen(
        program("cluster_task.py", implementation, job, str(index), json.dumps(cluster)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE if job == "worker" else subprocess.DEVNULL,
        text=True,
        env=environment(implementation),
    )


@pytest.mark.parametrize(
    "server, worker",
    [("weft", "weft"), ("tf1", "weft"), ("weft", "tf1"), ("tf2", "weft"), ("weft", "tf2")],
)
def test_training_with_variables_on_the_server(server, worker):
    ps, w = (f"localhost:{p}" for p in ports(2))
    cluster = {"ps": [ps], "worker": [w]}
    with task(server, "ps", 0, cluster) as serving, task(worker, "worker", 0, cluster) as training:
        try:
            out, errors = training.communicate(timeout=120)
        finally:
            training.kill()
            serving.kill()
    assert training.returncode == 0, errors[-4000:]
    assert json.loads(out.strip().splitlines()[-1]) == {
        "trained": True,
        "steps": 200,
        "touched": [3, 5],
        "error": ["bad", True],
    }
