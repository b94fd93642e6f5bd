"""Ops that act on the host: Python functions, messages, assertions; and ops that feed graphs."""

from __future__ import annotations

import os
import tempfile

import numpy as np

from ..case import Family, script

scripts = []


def declare(*ops, **options):
    def keep(function):
        scripts.append(script(*ops, **options)(function))
        return function

    return keep


@declare("PyFunc", "PyFuncStateless", round_trip=False)
def py_func(g):
    tf = g.tf
    x, n = g.feed([[1.0, 2.0], [3.0, 4.0]]), g.feed([3, 4], "int64")
    yield g.run(*tf.py_func(lambda x, n: (x.sum(0), n * 2), [x, n], [tf.float32, tf.int64]))
    yield g.run(tf.py_func(lambda x: x + 1, [x], tf.float32, stateful=False))
    yield g.run(tf.py_func(lambda text: text + b"\0", [g.feed(b"a\0b", "string")], tf.string))
    yield g.run(tf.py_func(lambda: None, [], []))


@declare("PyFunc", round_trip=False)
def py_func_fails(g):
    tf = g.tf
    x = g.feed([1.0, 2.0])

    def raising(kind):
        def function(x):
            raise kind("from Python")

        return function

    def found(function, result=tf.float32):
        return tf.py_func(function, [x], result)

    yield g.run(found(raising(ValueError)), error="InvalidArgumentError")
    yield g.run(found(raising(TypeError)), error="InvalidArgumentError")
    yield g.run(found(raising(StopIteration)), error="OutOfRangeError")
    yield g.run(found(raising(MemoryError)), error="ResourceExhaustedError")
    yield g.run(found(raising(NotImplementedError)), error="UnimplementedError")
    yield g.run(found(raising(RuntimeError)), error="UnknownError")
    yield g.run(found(lambda x: x, tf.int32), error="InvalidArgumentError")
    yield g.run(found(lambda x: (x, x), [tf.float32]), error="InvalidArgumentError")
    yield g.run(found(lambda x: x))


@declare("EagerPyFunc", round_trip=False)
def eager_py_func(g):
    tf = g.tf
    x = g.feed([1.0, 2.0])
    y = tf.py_function(lambda x: tf.square(x) + 1.0, [x], tf.float32)
    yield g.run(y, *tf.gradients(y, [x]))


@declare("Print")
def print_(g):
    tf = g.tf
    x = g.feed([1.0, 2.0])
    y = g.raw.Print(
        input=x, data=[x, g.feed([1, 2, 3, 4], "int32")], message="seen: ", first_n=1, summarize=2
    )
    yield g.run(y, *tf.gradients(y, [x]))
    yield g.run(y)


@declare("PrintV2", eager=True)
def print_v2(g):
    yield g.run(g.raw.PrintV2(input=g.feed(b"a line", "string"), output_stream="stderr", end=""))


@declare("Assert", eager=False)
def assert_(g):
    tf = g.tf
    x = g.feed([1.0, 2.0])
    yield g.run(g.raw.Assert(condition=g.feed(True, "bool"), data=[x]))
    yield g.run(
        g.raw.Assert(
            condition=g.feed(False, "bool"), data=[x, g.feed([1, 2, 3, 4], "int64")], summarize=2
        ),
        error="InvalidArgumentError",
    )
    with tf.control_dependencies(
        [g.raw.Assert(condition=g.feed(False, "bool"), data=[g.feed(b"why", "string")])]
    ):
        guarded = x * 2.0
    yield g.run(guarded, error="InvalidArgumentError")
    yield g.run(x * 2.0)


@declare("Timestamp", eager=True)
def timestamp(g):
    now = g.raw.Timestamp()
    yield g.run(now > g.feed(1e9, "float64"))


@declare("Const", eager=True)
def const(g):
    tf = g.tf
    yield g.run(
        tf.constant([[1, 2], [3, 4]]),
        tf.constant(2.5, shape=[2, 3]),
        tf.constant([1, 2], tf.bfloat16),
        tf.constant([b"a\0", "text", b""]),
        tf.constant([1 + 2j, 3]),
        tf.constant([], tf.int64),
        tf.constant([True, False]),
        tf.constant([0.1, 0.2], tf.float16),
        tf.constant([1, 2, 3, 4], shape=[2, 2], dtype=tf.int64),
        tf.constant([255, 0], tf.uint8),
    )


@declare("Const")
def const_repeats_its_last_element(g):
    tf = g.tf
    yield g.run(tf.constant([1, 2, 3], shape=[5], dtype=tf.int64))


@declare("Placeholder", "PlaceholderV2", "PlaceholderWithDefault")
def placeholders(g):
    tf = g.tf
    yield g.run(g.raw.Placeholder(dtype=tf.float32, shape=[2]), error="InvalidArgumentError")
    yield g.run(g.raw.PlaceholderWithDefault(input=g.constant([1.0, 2.0]), shape=[None]))
    yield g.run(g.feed([3.0, 4.0], shape=[None]) * 2.0)


@declare("ImmutableConst", later=True)
def immutable_const(g):
    """An array that lies in a file."""
    tf = g.tf
    path = os.path.join(tempfile.gettempdir(), "weft conformance immutable const")
    with open(path, "wb") as file:
        file.write(np.arange(6, dtype=np.float32).tobytes())
    yield g.run(
        g.raw.ImmutableConst(dtype=tf.float32, shape=[2, 3], memory_region_name=path),
    )


@declare("GuaranteeConst", "DebugGradientRefIdentity", "DebugGradientIdentity", later=True)
def debug_identities(g):
    x = g.feed([1.0, 2.0])
    v = g.raw.VariableV2(shape=[2], dtype=g.tf.float32)
    yield g.run(g.raw.Assign(ref=v, value=x))
    yield g.run(
        g.raw.DebugGradientIdentity(input=x),
        g.raw.DebugGradientRefIdentity(input=v),
        g.raw.GuaranteeConst(input=x),
    )


FAMILY = Family("host", [], scripts)
