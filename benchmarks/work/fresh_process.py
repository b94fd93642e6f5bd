"""A fresh process: start, import, a graph of three ops, its first run."""

import subprocess
import sys

from timing import once

IN_PROCESSES_OF_ITS_OWN = True

IMPORT = {
    "weft": "import weft as tf",
    "tf1": "import tensorflow as tf",
    "tf2": "import tensorflow.compat.v1 as tf; tf.disable_v2_behavior()",
}
PROGRAM = """
a, b = tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0])
with tf.Session() as session:
    assert session.run(a * b).tolist() == [3.0, 8.0]
"""


def measure(implementation):
    command = [sys.executable, "-c", IMPORT[implementation] + PROGRAM]
    seconds = [
        once(lambda: subprocess.check_call(command, stderr=subprocess.DEVNULL)) for _ in range(4)
    ]
    return {"process": min(seconds[1:])}
