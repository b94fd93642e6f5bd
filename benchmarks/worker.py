"""Times one piece of work with one implementation and prints the figures as a line of JSON.

    python benchmarks/worker.py weft|tf1|tf2|jax MODULE[:PART]

The work is written once in the vocabulary that TensorFlow 1.15, TensorFlow 2's `compat.v1` and weft
share. The driver starts a process like this for each figure, so that nothing warm is inherited.
"""

import importlib
import json
import sys


def vocabulary(implementation):
    """The module that the work calls `tf`."""
    if implementation == "weft":
        import weft

        return weft
    if implementation == "tf1":
        import tensorflow

        return tensorflow
    import tensorflow.compat.v1 as tensorflow

    tensorflow.disable_v2_behavior()
    return tensorflow


def main():
    implementation, name = sys.argv[1:]
    name, _, part = name.partition(":")
    work = importlib.import_module("work." + name)
    if implementation == "jax":
        figures = work.measure_jax()
    elif getattr(work, "IN_PROCESSES_OF_ITS_OWN", False):
        figures = work.measure(implementation, *filter(None, [part]))
    else:
        figures = work.measure(vocabulary(implementation))
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
