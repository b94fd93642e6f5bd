"""An embedding matrix as a constant is neither baked into an executable nor copied at each run."""

from __future__ import annotations

import time

import numpy as np

import weft as tf
from weft import testing


def _executables(session):
    for plan in session._plans.values():
        for step in plan.steps:
            compiled = getattr(step, "compiled", None)
            if compiled is not None:
                yield from compiled.executables.values()


def test_a_large_constant_is_an_argument_of_the_executable():
    table = tf.constant(np.arange(2_000_000, dtype=np.float32).reshape(-1, 4))
    ids = tf.placeholder(tf.int32, [3])
    rows = tf.gather(table, ids) * 2
    with testing.tier("compile"), tf.Session() as session:
        assert session.run(rows, {ids: [0, 1, 499_999]})[2, 3] == 2 * 1_999_999
        (executable,) = _executables(session)
        arguments = [np.zeros(3, np.int32), np.zeros((500_000, 4), np.float32)]
        sizes = []
        for args in (arguments, arguments[::-1]):
            try:
                sizes.append(len(executable.jitted.lower(tuple(args), (), ()).as_text()))
            except Exception:
                continue
        assert sizes and min(sizes) < 20_000


def test_a_large_constant_is_not_copied_at_each_run():
    table = tf.constant(np.ones((4_000_000, 4), np.float32))  # 64 MB
    ids = tf.placeholder(tf.int32, [2])
    rows = tf.gather(table, ids)
    for which in ("interpret", "compile"):
        with testing.tier(which), tf.Session() as session:
            session.run(rows, {ids: [0, 1]})
            best = 1.0
            for _ in range(20):
                start = time.perf_counter()
                session.run(rows, {ids: [0, 1]})
                best = min(best, time.perf_counter() - start)
            assert best < 0.004, f"{which}: {best}"  # a copy of 64 MB takes 10 ms and more


def test_a_large_constant_that_is_captured_by_a_loop_or_branch():
    table = tf.constant(np.arange(400_000, dtype=np.float32))
    n = tf.placeholder(tf.int32, [])
    total = tf.while_loop(lambda i, _: i < n, lambda i, t: (i + 1, t + table[i]), [0, 0.0])[1]
    picked = tf.cond(n > 2, lambda: table[n], lambda: table[0])
    with testing.tier("compile"), tf.Session() as session:
        assert session.run([total, picked], {n: 4}) == [6, 4]
        best = 1.0
        for _ in range(20):
            start = time.perf_counter()
            session.run([total, picked], {n: 4})
            best = min(best, time.perf_counter() - start)
        assert best < 0.004
