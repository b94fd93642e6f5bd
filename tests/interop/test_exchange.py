"""weft and real TensorFlow load and run each other's graphs and get the same numbers.

Each program in `programs/` is written once in the common vocabulary. A side builds it, runs it and
leaves the graph and the results; the other loads the graph, runs it and compares. The pair of the
two TensorFlows checks the harness itself.
"""

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.interop import side
from tools import peers

ROOT = Path(__file__).resolve().parents[2]
PAIRS = [("weft", "tf1"), ("weft", "tf2"), ("tf1", "weft"), ("tf2", "weft"), ("tf1", "tf2")]


@cache
def interpreter(implementation: str) -> str:
    if implementation == "weft":
        return sys.executable
    try:
        return peers.interpreter(implementation)
    except peers.Missing as why:
        pytest.skip(f"without {peers.PEERS[implementation].title}: {why}")


def run_side(verb: str, implementation: str, folder: Path) -> dict[str, str | None]:
    environment = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3", PYTHONWARNINGS="ignore")
    environment.pop("PYTHONPATH", None)
    if implementation == "weft":
        environment["PYTHONPATH"] = str(ROOT)
    script = Path(__file__).with_name("side.py")
    done = subprocess.run(
        [interpreter(implementation), str(script), verb, implementation, str(folder)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=500,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.strip().splitlines()[-1])


@pytest.fixture(scope="session")
def outcomes(tmp_path_factory):
    """Gives the outcome of writing with one side, and of reading with the other, each done once."""
    root = tmp_path_factory.mktemp("interop")

    @cache
    def written(writer):
        folder = root / writer
        folder.mkdir(exist_ok=True)
        return run_side("write", writer, folder)

    @cache
    def read(writer, reader):
        return run_side("read", reader, root / writer)

    def both(writer, reader, program):
        interpreter(reader)  # skips before the other side does any work
        problem = written(writer)[program]
        return problem or read(writer, reader)[program]

    return both


@pytest.mark.parametrize(
    ("writer", "reader", "program"),
    [(*pair, p) for pair in PAIRS for p in side.PROGRAMS if side.exchanges(*pair, p)],
)
def test_a_graph_runs_on_the_other_side(outcomes, writer, reader, program):
    problem = outcomes(writer, reader, program)
    if problem:
        pytest.fail(problem, pytrace=False)
