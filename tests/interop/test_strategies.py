"""Programs of real TensorFlow with a strategy, whose workers are servers of weft: what they compute together is
weft's business."""

import json
import subprocess

import pytest

from tests.interop.test_clusters import ports
from tests.interop.test_sessions import environment, program

# What TensorFlow 1.15.5 gives at servers of its own.
LOSSES = [29.25, 27.332502, 25.481874, 23.699213]


@pytest.mark.parametrize("client", ["weft", "tf1"])
def test_workers_of_a_strategy_at_servers_of_weft(client):
    addresses = [f"localhost:{p}" for p in ports(2)]
    servers = [_server(i, addresses) for i in range(2)]
    clients = []
    try:
        for i in range(2):
            clients.append(
                subprocess.Popen(
                    program("strategy_worker.py", client, str(i), json.dumps(addresses)),
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                    env=environment(client),
                )
            )
        found = [c.communicate(timeout=120) for c in clients]
    finally:
        for process in (*clients, *servers):
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream is not None:
                    stream.close()
    for process, (out, errors) in zip(clients, found):
        assert process.returncode == 0, errors[-4000:]
        losses, w, step = json.loads(out.strip().splitlines()[-1])
        assert losses == pytest.approx(LOSSES, rel=1e-5)
        assert step == 4
        assert w[0][0] == pytest.approx(0.4, abs=0.01)


def _server(index, addresses):
    return subprocess.Popen(
        program("task_server.py", "weft", "worker", str(index), json.dumps({"worker": addresses})),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment("weft"),
    )
