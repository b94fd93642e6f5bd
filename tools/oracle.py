"""Evaluates the conformance cases with real TensorFlow 1.15 and stores what it gives.

    python3.7 tools/oracle.py --out tests/conformance/expected [--family NAME ...]

The Python that runs it needs tensorflow 1.15 and nothing of weft.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import json
import os
import re
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "tests"))

import numpy as np
from conformance import build, cases, expected_store
from conformance.case import LEVELS

MESSAGE_LENGTH = 240


def load_tensorflow():
    import warnings

    warnings.simplefilter("ignore")
    import tensorflow as tf

    tf.compat.v1.logging.set_verbosity(tf.compat.v1.logging.ERROR)
    if not tf.__version__.startswith("1.15"):
        raise SystemExit("expected values come from TensorFlow 1.15, this is " + tf.__version__)
    # Ops that come with a library of contrib.
    from tensorflow.contrib.seq2seq.ops import gen_beam_search_ops

    tf.raw_ops.GatherTree = gen_beam_search_ops.gather_tree
    return tf


def new_session(tf, cpus=1):
    """One thread and no graph rewriting: the kernels as they are, in the same order each time."""
    config = tf.ConfigProto(
        intra_op_parallelism_threads=1, inter_op_parallelism_threads=1, device_count={"CPU": cpus}
    )
    config.graph_options.optimizer_options.opt_level = tf.OptimizerOptions.L0
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    return tf.Session(config=config)


def describe(error):
    """[class, first words of the message]"""
    message = getattr(error, "message", None) or str(error)
    line = re.sub(r" ?\(defined at .*?\)", "", message.split("\n")[0])
    return [type(error).__name__, line[:MESSAGE_LENGTH]]


def reason(error):
    """Why there is no expected value."""
    return "no CPU kernel" if lacks_kernel(error) else ": ".join(describe(error))


def lacks_kernel(error):
    text = str(error)
    return (
        "No OpKernel was registered" in text
        or "Could not satisfy explicit device specification" in text
        or "Op type not registered" in text
        or type(error).__name__ == "UnimplementedError"
    )


def dims(shape):
    return None if shape.ndims is None else [-1 if d is None else d for d in shape.as_list()]


class Oracle:
    def __init__(self, tf):
        self.tf = tf
        self.problems = {}

    @contextlib.contextmanager
    def graph(self):
        """A new default graph on the CPU: what has no kernel there would else go to XLA."""
        with self.tf.Graph().as_default() as graph, graph.device("/device:CPU:0"):
            yield graph

    def family(self, family):
        writer = expected_store.Writer()
        for case in family.cases:
            writer.index["cases"][case.name] = self.case(writer, case)
        for script in family.scripts:
            writer.index["scripts"][script.name] = self.script(writer, script)
        return writer

    def problem(self, item, what, error):
        self.report(item, "%s: %s" % (what, ": ".join(describe(error))))

    def report(self, item, text):
        self.problems.setdefault((getattr(item, "op", item.name), text), []).append(item.name)

    def case(self, writer, case):
        if case.errors:
            return {"errors": self.errors(case)}
        tf = self.tf
        entry = {}
        with self.graph():
            try:
                built = build.build(tf, case, compute=case.oracle)
            except Exception as error:
                self.problem(case, "does not build", error)
                return {"left_out": "does not build: " + ": ".join(describe(error))}
            try:
                with new_session(tf) as session:
                    values = session.run(built.outputs, built.feeds)
            except Exception as error:
                if not lacks_kernel(error):
                    self.problem(case, "does not run", error)
                return {"left_out": reason(error)}
            dtypes = [output.dtype.base_dtype.name for output in built.outputs]
            entry["out"] = [
                writer.put(value, dtype)
                if case.defines(i)
                else [dtype, list(np.shape(value)), None]
                for i, (value, dtype) in enumerate(zip(values, dtypes))
            ]
            if case.wants_gradient() and case.grad != "own":
                entry.update(self.gradients(writer, case, built, [np.shape(v) for v in values]))
        entry["shapes"] = self.shapes(case)
        return entry

    def shapes(self, case):
        """Inferred shapes by level, without the levels at which the op does not build."""
        found = {}
        for level in LEVELS:
            with self.graph():
                try:
                    built = build.build(self.tf, case, level)
                except Exception:
                    continue
                found[level] = [dims(output.shape) for output in built.outputs]
        return found

    def gradients(self, writer, case, built, shapes):
        tf = self.tf
        try:
            grads, sparse = build.add_gradients(tf, case, built, shapes)
            connected = {name: grad for name, grad in grads.items() if grad is not None}
            with new_session(tf) as session:
                values = session.run(connected, built.feeds)
        except LookupError as error:
            if case.grad is not True:
                self.problem(case, "has no gradient", error)
            return {"no_gradient": describe(error)[1]}
        except Exception as error:
            if not lacks_kernel(error):
                self.problem(case, "gradient", error)
            return {"no_gradient": reason(error)}
        found = {}
        for name, grad in grads.items():
            found[name] = (
                None
                if grad is None
                else writer.put(values[name], connected[name].dtype.base_dtype.name)
            )
        return {"grad": found, "sparse": sparse} if found else {}

    def errors(self, case):
        """What a bad call ends in: with shapes known, and with nothing known until it runs."""
        found = {}
        for level in ("full", "fed"):
            phase = "build"
            with self.graph():
                try:
                    built = build.build(self.tf, case, level)
                    phase = "run"
                    with new_session(self.tf) as session:
                        session.run(built.outputs, built.feeds)
                except Exception as error:
                    found[level] = [phase] + describe(error)
        seen = {entry[1] for entry in found.values()}
        if case.errors[0] not in seen:
            self.report(case, "%s expected, got %s" % (case.errors[0], found))
        return found

    def script(self, writer, script):
        tf = self.tf
        with self.graph():
            try:
                steps, feeds = build.build_script(tf, script)
            except Exception as error:
                self.problem(script, "does not build", error)
                return {"left_out": "does not build: " + ": ".join(describe(error))}
            found = []
            with new_session(tf, script.cpus) as session:
                for position, step in enumerate(steps):
                    try:
                        values = session.run(step.fetches, feeds)
                    except Exception as error:
                        if type(error).__name__ != step.error:
                            self.problem(script, "step %d" % position, error)
                            return {"left_out": reason(error)}
                        found.append({"error": describe(error)})
                        continue
                    if step.error:
                        self.report(script, "step %d: no %s" % (position, step.error))
                    found.append({"out": self.fetched(writer, step.fetches, values)})
            return {"steps": found}

    def fetched(self, writer, fetches, values):
        kept = []
        for fetch, value in zip(fetches, values):
            if value is None:
                kept.append(None)
            else:
                dtype = fetch.dtype.base_dtype.name
                kept.append(writer.put(value, dtype))
        return kept


def write_op_defs(path):
    """The OpDef of every op, as in the registry of TensorFlow's Python side, without descriptions;
    with it the arguments of `tf.raw_ops`, some of which have other names."""
    import inspect

    import tensorflow as tf
    from google.protobuf import json_format
    from tensorflow.python.framework import op_def_registry

    found = {}
    for name, op_def in op_def_registry.get_registered_ops().items():
        found[name] = json_format.MessageToDict(op_def, preserving_proto_field_name=True)
        for field in ("summary", "description"):
            found[name].pop(field, None)
        for part in ("input_arg", "output_arg", "attr"):
            for item in found[name].get(part, ()):
                item.pop("description", None)
        raw = getattr(tf.raw_ops, name, None)
        if raw is not None:
            found[name]["raw_arguments"] = [
                argument for argument in inspect.signature(raw).parameters if argument != "name"
            ]
    text = json.dumps(found, sort_keys=True, separators=(",", ":")).encode()
    with open(path, "wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
        packed.write(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", default=expected_store.FOLDER)
    parser.add_argument("--family", action="append", choices=cases.names())
    arguments = parser.parse_args()
    tf = load_tensorflow()
    if not os.path.isdir(arguments.out):
        os.makedirs(arguments.out)
    write_op_defs(os.path.join(arguments.out, "op_defs.json.gz"))
    oracle = Oracle(tf)
    for name in arguments.family or cases.names():
        family = cases.family(name)
        writer = oracle.family(family)
        path = expected_store.path_of(name, arguments.out)
        writer.write(path)
        left = [k for k, v in writer.index["cases"].items() if "left_out" in v]
        print(
            "%-18s %4d cases, %2d left out, %3d scripts, %6d bytes"
            % (name, len(family.cases), len(left), len(family.scripts), os.path.getsize(path))
        )
    for (_, text), names in oracle.problems.items():
        print("! %s (%d like it): %s" % (names[0], len(names), text))
    return 1 if oracle.problems else 0


if __name__ == "__main__":
    sys.exit(main())
