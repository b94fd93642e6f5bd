"""What the checks share: expected values, graphs of many cases, comparing."""

from __future__ import annotations

import contextlib
import functools

import numpy as np

import weft as tf
from weft import testing
from weft.framework import registry

from . import build, cases, expected_store
from .case import TOLERANCE

EXACT_KINDS = ("bool", "string")


@functools.cache
def families():
    return {name: cases.family(name) for name in cases.names()}


@functools.cache
def expected(family):
    return expected_store.Reader(expected_store.path_of(family))


@functools.cache
def cases_by_op():
    """op -> [(family, case)] for every registered op with rows."""
    found = {}
    for name, family in families().items():
        for op, rows in family.by_op().items():
            if registry.find(op) is not None:
                found.setdefault(op, []).extend((name, case) for case in rows)
    return dict(sorted(found.items()))


def scripts():
    """[(family, script)] of those whose ops are registered; a `later` one may wait for its ops."""
    return [
        (name, script)
        for name, family in families().items()
        for script in family.scripts
        if not (script.later and any(registry.find(op) is None for op in script.ops))
    ]


def entry(family, case):
    return expected(family).cases[case.name]


def valued(op):
    """The cases of `op` that have expected values."""
    return [(f, c) for f, c in cases_by_op()[op] if "out" in entry(f, c)]


def faulty(op):
    """The cases of `op` that must end in an error."""
    return [(f, c) for f, c in cases_by_op()[op] if "errors" in entry(f, c)]


def one_line(error):
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[0][:300]}"


class Verdict:
    """Collects what went wrong over the cases of an op, to tell all of it at once."""

    def __init__(self):
        self.failures = []

    def fail(self, what, text):
        self.failures.append(f"{what}: {text}")

    @contextlib.contextmanager
    def attempt(self, what):
        """Makes an error of weft a failure of one case rather than of the whole test."""
        try:
            yield
        except Exception as error:
            self.fail(what, one_line(error))

    def settle(self):
        assert not self.failures, "\n".join(["", *self.failures])


class Graphs:
    """Many cases in one graph, run by one session; where a run fails, each case alone."""

    def __init__(self, verdict, tier="interpret"):
        self.verdict = verdict
        self.tier = tier
        self.graph = tf.Graph()
        self.fetches = {}
        self.feeds = {}

    def build(self, case, level="full"):
        """Adds the case; None, and a failure noted, where it does not build."""
        with self.graph.as_default(), self.verdict.attempt(f"{case.name} ({level}) builds"):
            built = build.build(tf, case, level)
            self.feeds.update(built.feeds)
            return built
        return None

    def fetch(self, key, fetches):
        self.fetches[key] = fetches

    @contextlib.contextmanager
    def session(self):
        with testing.tier(self.tier), tf.Session(graph=self.graph) as session:
            yield session

    def run(self):
        """key -> values of the fetches, without those whose run failed."""
        if not self.fetches:
            return {}
        with self.session() as session:
            return self.run_in(session)

    def run_in(self, session):
        try:
            return session.run(self.fetches, self.feeds)
        except Exception:
            found = {}
            for key, fetches in self.fetches.items():
                with self.verdict.attempt(f"{key} runs"):
                    found[key] = session.run(fetches, self.feeds)
            return found


def difference(actual, reference, reader, tolerance=1, defined=True):
    """What is wrong with a result, or None."""
    dtype, shape, _ = reference
    actual = np.asarray(actual)
    name = dtype_name(actual)
    if name != dtype:
        return f"dtype {name}, not {dtype}"
    if list(actual.shape) != list(shape):
        return f"shape {list(actual.shape)}, not {shape}"
    if not defined:
        return None
    return unequal(actual, reader.get(reference)[1], dtype, tolerance)


def dtype_name(array):
    return "string" if array.dtype.kind in "OSU" else array.dtype.name


def unequal(actual, wanted, dtype, tolerance=1):
    if dtype == "bfloat16":
        actual = actual.astype(np.float32)
    if dtype not in TOLERANCE:
        if np.array_equal(actual, wanted):
            return None
        return f"{shorten(actual)}, not {shorten(wanted)}"
    allowed = TOLERANCE[dtype] * tolerance
    if np.allclose(actual, wanted, rtol=allowed, atol=allowed, equal_nan=True):
        return None
    with np.errstate(all="ignore"):
        apart = np.abs(actual.astype(complex) - wanted.astype(complex))
        worst = np.nanmax(np.where(np.isfinite(apart), apart, 0)) if apart.size else 0
    return f"{shorten(actual)}, not {shorten(wanted)} (off by {worst:.3g}, allowed {allowed:.3g})"


def shorten(array):
    return np.array2string(array.ravel()[:8], max_line_width=1000, precision=8, threshold=8)


def contains(static, shape):
    """Whether a static shape (a TensorShape) allows the actual one."""
    return static.ndims is None or (
        static.ndims == len(shape)
        and all(s is None or s == a for s, a in zip(static.as_list(), shape))
    )


def compare_outputs(verdict, family, case, what, tensors, values):
    """Values against the expected ones, and against what the graph declared of them."""
    reader = expected(family)
    wanted = entry(family, case)["out"]
    if len(values) != len(wanted):
        verdict.fail(f"{case.name} {what}", f"{len(values)} outputs, not {len(wanted)}")
        return
    for i, (value, reference) in enumerate(zip(values, wanted)):
        wrong = difference(value, reference, reader, case.tolerance, case.defines(i))
        if wrong:
            verdict.fail(f"{case.name} {what} [{i}]", wrong)
        if tensors is not None:
            declared = tensors[i]
            if declared.dtype.base_dtype.name != dtype_name(np.asarray(value)):
                verdict.fail(f"{case.name} {what} [{i}]", f"declared as {declared.dtype}")
            if not contains(declared.shape, np.shape(value)):
                verdict.fail(
                    f"{case.name} {what} [{i}]",
                    f"declared shape {declared.shape}, actual {np.shape(value)}",
                )


def shapes_of(family, case):
    return [reference[1] for reference in entry(family, case)["out"]]


def compare_gradients(verdict, family, case, what, values):
    reader = expected(family)
    for name, reference in entry(family, case).get("grad", {}).items():
        if (reference is None) != (name not in values):
            text = "None, TensorFlow has one" if reference else "has a value, TensorFlow has None"
            verdict.fail(f"{case.name} {what} gradient by {name}", text)
        elif reference is not None:
            wrong = difference(values[name], reference, reader, 2 * case.tolerance)
            if wrong:
                verdict.fail(f"{case.name} {what} gradient by {name}", wrong)
