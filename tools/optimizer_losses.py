"""Trains every optimizer with real TensorFlow 1.15 and stores the losses.

    python3.7 tools/optimizer_losses.py [--out tests/train/expected]

The Python that runs it needs tensorflow 1.15 and nothing of weft.
"""

from __future__ import annotations

import argparse
import json
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "tests")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", default=os.path.join(TESTS, "train", "expected"))
    out = parser.parse_args().out
    sys.path.insert(0, TESTS)
    import tensorflow as tf
    from train import optimizer_programs as programs

    if not tf.__version__.startswith("1.15"):
        raise SystemExit("expected values come from TensorFlow 1.15, this is " + tf.__version__)
    tf.compat.v1.logging.set_verbosity(tf.compat.v1.logging.ERROR)
    if not os.path.isdir(out):
        os.makedirs(out)
    found = {}
    for kind in programs.KINDS:
        losses, variables = programs.losses(tf, kind)
        found[kind] = {
            "losses": {name: [float("%.7g" % v) for v in losses[name]] for name in sorted(losses)},
            "variables": variables,
        }
    with open(os.path.join(out, "optimizer_losses.json"), "w") as file:
        json.dump(found, file, indent=0, sort_keys=True)
        file.write("\n")


if __name__ == "__main__":
    main()
