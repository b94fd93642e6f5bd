"""Clients and servers of weft and of real TensorFlow in different processes understand each other."""

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tools import peers

ROOT = Path(__file__).resolve().parents[2]
EXPECTED = [
    ["trained", True, 100],
    ["flow", 32.0, "neg"],
    ["parts", [64, 1], True],
    ["callable", True],
    ["error", 3, "checked", True],
    ["unset", True],
    ["late"],
    ["large", True],
    ["devices", True],
    ["reset"],
]


@cache
def interpreter(implementation):
    if implementation == "weft":
        return sys.executable
    try:
        return peers.interpreter(implementation)
    except peers.Missing as why:
        pytest.skip(f"without {peers.PEERS[implementation].title}: {why}")


def environment(implementation):
    out = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3", PYTHONWARNINGS="ignore")
    out.pop("PYTHONPATH", None)
    out.pop("XLA_FLAGS", None)  # those of this process, which older XLAs don't know
    if implementation == "weft":
        out["PYTHONPATH"] = str(ROOT)
    return out


def program(name, implementation, *args):
    return [interpreter(implementation), str(Path(__file__).with_name(name)), implementation, *args]


@pytest.mark.parametrize(
    "client, server",
    [("weft", "weft"), ("tf1", "weft"), ("tf2", "weft"), ("weft", "tf1"), ("weft", "tf2")],
)
def test_a_client_at_a_server(client, server):
    with subprocess.Popen(
        program("server.py", server),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment(server),
    ) as serving:
        try:
            target = serving.stdout.readline().strip()
            done = subprocess.run(
                program("session_client.py", client, target),
                capture_output=True,
                text=True,
                env=environment(client),
                timeout=120,
            )
        finally:
            serving.kill()
    assert done.returncode == 0, done.stderr[-4000:]
    assert json.loads(done.stdout.strip().splitlines()[-1]) == EXPECTED
