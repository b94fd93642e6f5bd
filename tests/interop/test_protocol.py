"""A client, a master and workers, of weft and of real TensorFlow, do the same together: each program of
`topics/` runs in each composition."""

import contextlib
import json
import subprocess
from functools import cache

import pytest

from tests.interop import protocol_client
from tests.interop.test_clusters import ports
from tests.interop.test_sessions import environment, interpreter, program

# (client, worker 0 with the master, parameter server)
COMPOSITIONS = [
    ("tf1", "weft", "weft"),
    ("tf2", "weft", "weft"),
    ("weft", "tf1", "tf1"),
    ("weft", "tf2", "tf2"),
    ("weft", "weft", "tf1"),
    ("weft", "weft", "tf2"),
    ("tf1", "tf1", "weft"),
    ("tf2", "tf2", "weft"),
]
TOPICS = list(protocol_client.topics())


def _task(implementation, job, cluster):
    return subprocess.Popen(
        program("task_server.py", implementation, job, "0", json.dumps(cluster)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment(implementation),
    )


@contextlib.contextmanager
def cluster(worker, ps):
    """A worker and a parameter server in processes of their own; gives the worker's target."""
    w, p = (f"localhost:{port}" for port in ports(2))
    spec = {"worker": [w], "ps": [p]}
    with _task(ps, "ps", spec) as server, _task(worker, "worker", spec) as master:
        try:
            for task in (server, master):
                assert task.stdout.readline().strip() == "serving"
            yield "grpc://" + w
        finally:
            master.kill()
            server.kill()


@pytest.fixture(scope="session")
def outcomes():
    """Gives what became of each topic in a composition, which is run once."""

    @cache
    def outcome(client, worker, ps):
        for implementation in (client, worker, ps):
            interpreter(implementation)
        with cluster(worker, ps) as target:
            done = subprocess.run(
                program("protocol_client.py", client, target),
                capture_output=True,
                text=True,
                env=environment(client),
                timeout=300,
            )
        assert done.returncode == 0, done.stderr[-4000:]
        return json.loads(done.stdout.strip().splitlines()[-1])

    return outcome


@pytest.mark.parametrize("topic", TOPICS)
@pytest.mark.parametrize("composition", COMPOSITIONS, ids="-".join)
def test_the_same_together(outcomes, composition, topic):
    problem = outcomes(*composition)[topic]
    if problem:
        pytest.fail(problem, pytrace=False)
