"""Tasks of weft and of real TensorFlow in one cluster: one side is killed, the other goes on as with its own."""

import pytest

from tests.distributed.clusters import Cluster
from tests.interop.test_sessions import interpreter


@pytest.mark.parametrize("server, worker", [("tf1", "weft"), ("weft", "tf1"), ("tf2", "weft")])
def test_tasks_that_come_back(tmp_path, server, worker):
    others = {"ps": (server, interpreter(server)), "worker": (worker, interpreter(worker))}
    options = {"folder": str(tmp_path / "model"), "save_steps": 20, "pause": 0.002}
    with Cluster(tmp_path, others, ps=1, worker=2) as cluster:
        cluster.start("ps").next("ready", 60)
        chief = cluster.start("worker", 0, **options)
        chief.until("step", 50, 60)
        cluster.start("worker", 1, **options).next("step", 60)
        cluster.kill("worker", 1)
        chief.skip()
        chief.until("step", chief.next("step") + 20)
        other = cluster.start("worker", 1, **options)
        other.next("step", 60)
        cluster.kill("ps")
        reached = max(chief.last("step"), other.last("step"))
        cluster.start("ps")
        assert 40 <= chief.next("session", 60) <= reached + 3
        other.next("session", 90)
        other.until("step", other.next("step") + 20)
