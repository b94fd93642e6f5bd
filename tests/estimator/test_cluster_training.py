"""Training by a chief, a worker, a parameter server and an evaluator, each a process."""

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import weft as tf

ROOT = Path(__file__).resolve().parents[2]


def free_addresses(count: int) -> list[str]:
    sockets = [socket.socket() for _ in range(count)]
    for s in sockets:
        s.bind(("localhost", 0))
    addresses = [f"localhost:{s.getsockname()[1]}" for s in sockets]
    for s in sockets:
        s.close()
    return addresses


def wait_for(path: Path) -> None:
    until = time.monotonic() + 60
    while not path.exists() and time.monotonic() < until:
        time.sleep(0.05)


def test_each_task_does_its_part(tmp_path):
    chief, worker, server = free_addresses(3)
    cluster = {"chief": [chief], "worker": [worker], "ps": [server]}
    model, processes = tmp_path / "model", {}
    try:
        for kind in ("ps", "chief", "worker", "evaluator"):
            if (
                kind == "worker"
            ):  # one that comes before the model is made looks again after half a minute
                wait_for(model / "checkpoint")
            told = json.dumps({"cluster": cluster, "task": {"type": kind, "index": 0}})
            log = (tmp_path / kind).open("w")
            processes[kind] = subprocess.Popen(
                [sys.executable, "-m", "tests.estimator.cluster_task", str(model)],
                cwd=ROOT,
                env=dict(os.environ, TF_CONFIG=told, PYTHONPATH=str(ROOT)),
                stdout=log,
                stderr=subprocess.STDOUT,
            )
            log.close()
        for kind in ("chief", "worker", "evaluator"):
            assert processes[kind].wait(timeout=100) == 0, (tmp_path / kind).read_text()[-3000:]
        assert processes["ps"].poll() is None, (tmp_path / "ps").read_text()[-3000:]
    finally:
        for process in processes.values():
            process.kill()
            process.wait()
    assert " steps" in (tmp_path / "worker").read_text()
    assert "\n0 steps" not in "\n" + (tmp_path / "worker").read_text()
    assert tf.train.load_variable(str(model), "global_step") >= 300
    (events,) = (model / "eval").iterdir()
    steps = {e.step for e in tf.train.summary_iterator(str(events)) if e.summary.value}
    assert max(steps) >= 300
