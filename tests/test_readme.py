"""The README's example runs as it stands there, and does what it says."""

import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).resolve().parent.parent / "README.md"


def test_the_example_learns():
    (program,) = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    printed = done.stdout.replace("float32", "")
    first, second, loss = (float(x) for x in re.findall(r"-?\d+\.?\d*(?:e-?\d+)?", printed))
    assert abs(first - 1) < 0.01
    assert abs(second - 1) < 0.01
    assert loss < 1e-3
