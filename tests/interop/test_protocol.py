"""A client, a master and workers, of weft and of real TensorFlow, do the same together: each program of
`topics/` runs in each composition."""

import contextlib
import json
import subprocess
from functools import cache

import pytest

from tests.distributed.proxy import Proxy
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
def cluster(worker, ps, between=None):
    """A worker and a parameter server in processes of their own; gives the worker's target. `between` makes an
    address by which another one is reached."""
    between = between or (lambda address: address)
    w, p = (f"localhost:{port}" for port in ports(2))
    of_worker = {"worker": [w], "ps": [between(p)]}
    of_ps = {"worker": [between(w)], "ps": [p]}
    with _task(ps, "ps", of_ps) as server, _task(worker, "worker", of_worker) as master:
        try:
            for task in (server, master):
                assert task.stdout.readline().strip() == "serving"
            yield "grpc://" + w
        finally:
            master.kill()
            server.kill()


def _outcome(client, target, *topics):
    done = subprocess.run(
        program("protocol_client.py", client, target, *topics),
        capture_output=True,
        text=True,
        env=environment(client),
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.strip().splitlines()[-1])


@pytest.fixture(scope="session")
def outcomes():
    """Gives what became of each topic in a composition, which is run once."""

    @cache
    def outcome(client, worker, ps):
        for implementation in (client, worker, ps):
            interpreter(implementation)
        with cluster(worker, ps) as target:
            return _outcome(client, target)

    return outcome


@pytest.mark.parametrize("topic", TOPICS)
@pytest.mark.parametrize("composition", COMPOSITIONS, ids="-".join)
def test_the_same_together(outcomes, composition, topic):
    problem = outcomes(*composition)[topic]
    if problem:
        pytest.fail(problem, pytrace=False)


@pytest.mark.parametrize("worker, ps", [("weft", "tf1"), ("tf1", "weft")])
def test_of_an_embedding_only_touched_rows_travel(worker, ps):
    with contextlib.ExitStack() as stack:
        proxies = []

        def between(address):
            proxies.append(stack.enter_context(Proxy(address)))
            return proxies[-1].address

        with cluster(worker, ps, between) as target:
            found = _outcome(worker, target, "large_embeddings")
        assert found == {"large_embeddings": None}
        # In 20 steps 16 rows of 128 bytes, of two tables, there and back. A table has 5 MB.
        rows = 20 * 2 * 2 * 16 * 128
        assert rows < sum(p.count for p in proxies) < 2 * rows + 500_000
