"""The demo's program trains: one pass over its data is enough for nine digits of ten."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_demo_learns_to_read_digits():
    command = [sys.executable, "-m", "weft", "run", "examples/mnist.py", "--epochs", "1"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    losses = [float(loss) for loss in re.findall(r"loss (\d+\.\d+)", done.stdout)]
    assert losses[-1] < losses[0]
    (accuracy,) = re.findall(r"test accuracy: (\d+\.\d+) %$", done.stdout.strip())
    assert float(accuracy) > 90
