"""The programs of the case tables: state, control flow, functions, lists; step by step."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

import weft as tf
from weft import testing

from . import build, harness

SCRIPTS = harness.scripts()
IDS = [script.name for _, script in SCRIPTS]


def wanted_steps(family, script):
    entry = harness.expected(family).scripts[script.name]
    if "left_out" in entry:
        pytest.skip(entry["left_out"])
    return entry["steps"]


def compare_step(verdict, family, script, position, wanted, fetches, values):
    reader = harness.expected(family)
    for i, (value, reference) in enumerate(zip(values, wanted)):
        what = f"step {position} [{i}]"
        if reference is None:
            if value is not None:
                verdict.fail(what, f"{value}, not None")
            continue
        wrong = harness.difference(value, reference, reader, script.tolerance, script.exact)
        if wrong:
            verdict.fail(what, wrong)
        tensor = fetches[i]
        if not harness.contains(tensor.shape, np.shape(value)):
            verdict.fail(what, f"declared shape {tensor.shape}, actual {np.shape(value)}")


def run_steps(verdict, family, script, session, steps, feeds):
    for position, (step, wanted) in enumerate(
        zip(steps, wanted_steps(family, script), strict=True)
    ):
        what = f"step {position}"
        try:
            values = session.run(step.fetches, feeds)
        except Exception as error:
            expected_class = wanted.get("error", [None])[0]
            classes = [kind.__name__ for kind in type(error).__mro__]
            if expected_class not in classes:
                verdict.fail(what, f"{harness.one_line(error)}; wanted: {wanted.get('error')}")
            continue
        if "error" in wanted:
            verdict.fail(what, f"no error, TensorFlow has {wanted['error']}")
            continue
        compare_step(verdict, family, script, position, wanted["out"], step.fetches, values)


def session_for(script, graph):
    config = tf.ConfigProto(device_count={"CPU": script.cpus})
    return tf.Session(graph=graph, config=config)


@pytest.mark.parametrize("tier", ["interpret", "compile"])
@pytest.mark.parametrize(("family", "script"), SCRIPTS, ids=IDS)
def test_in_a_session(family, script, tier):
    wanted_steps(family, script)
    verdict = harness.Verdict()
    with tf.Graph().as_default() as graph:
        steps, feeds = build.build_script(tf, script)
        with testing.tier(tier), session_for(script, graph) as session:
            run_steps(verdict, family, script, session, steps, feeds)
    verdict.settle()


TRAVELLING = [(f, s) for f, s in SCRIPTS if s.round_trip]


@pytest.mark.parametrize(("family", "script"), TRAVELLING, ids=[s.name for _, s in TRAVELLING])
def test_round_trip(family, script):
    """As a serialized GraphDef and back, then run."""
    wanted_steps(family, script)
    verdict = harness.Verdict()
    with tf.Graph().as_default() as graph:
        steps, feeds = build.build_script(tf, script)
        graph_def = graph.as_graph_def()
        data = graph_def.SerializeToString()
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(type(graph_def).FromString(data), name="")
        feeds = {graph.get_tensor_by_name(tensor.name): value for tensor, value in feeds.items()}
        steps = [
            build.Step([graph.as_graph_element(fetch.name) for fetch in step.fetches], step.error)
            for step in steps
        ]
        with testing.tier("interpret"), session_for(script, graph) as session:
            run_steps(verdict, family, script, session, steps, feeds)
    verdict.settle()


EAGER = [(f, s) for f, s in SCRIPTS if s.eager]


@pytest.mark.parametrize(("family", "script"), EAGER, ids=[s.name for _, s in EAGER])
def test_eagerly(family, script):
    """The program as it stands, each step run when it is yielded."""
    verdict = harness.Verdict()
    with contextlib.ExitStack() as stack:
        stack.enter_context(testing.eager_mode())
        steps = script.function(build.Builder(tf, eager=True))
        for position, (step, wanted) in enumerate(
            zip(steps, wanted_steps(family, script), strict=True)
        ):
            values = [None if fetch is None else fetch.numpy() for fetch in step.fetches]
            compare_step(verdict, family, script, position, wanted["out"], step.fetches, values)
    verdict.settle()
