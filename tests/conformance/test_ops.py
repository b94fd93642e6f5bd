"""Every op with rows: both tiers, eagerly, through GraphDef and back, shapes, gradients, errors."""

from __future__ import annotations

import re

import numpy as np
import pytest

import weft as tf
from weft import testing
from weft.framework import registry

from . import build, harness
from .case import LEVELS

# TensorFlow infers vectors of these, whatever the axis.
OVERCONFIDENT = (
    "FusedBatchNormGrad",
    "FusedBatchNormGradV2",
    "FusedBatchNormGradV3",
    "UniqueV2",
    "UniqueWithCountsV2",
)
# Series of hundreds of terms, ciphers of ten rounds: one of their cases must do.
SLOW_TO_COMPILE = re.compile(
    "Betainc|Igamma.*|Polygamma|Zeta|.*Random.*|.*TruncatedNormal|.*Multinomial"
)
OPS = list(harness.cases_by_op())
VALUED = [op for op in OPS if harness.valued(op)]
FAULTY = [op for op in OPS if harness.faulty(op)]


@pytest.mark.parametrize("op", VALUED)
def test_interpreted(op):
    """With all shapes known, and with nothing known but what is fed."""
    verdict = harness.Verdict()
    graphs = harness.Graphs(verdict)
    tensors = {}
    for family, case in harness.valued(op):
        for level in ("full", "fed"):
            if level not in harness.entry(family, case)["shapes"]:
                continue
            built = graphs.build(case, level)
            if built:
                key = f"{case.name} ({level})"
                tensors[key] = (family, case, built.outputs)
                graphs.fetch(key, built.outputs)
    for key, values in graphs.run().items():
        family, case, outputs = tensors[key]
        harness.compare_outputs(verdict, family, case, key.rsplit(" ", 1)[1], outputs, values)
    verdict.settle()


@pytest.mark.parametrize("op", VALUED)
def test_compiled(op):
    """By XLA, with gradients; a second run compiles nothing more."""
    if not registry.get(op).is_compilable:
        pytest.skip(f"{op} runs on the host")
    verdict = harness.Verdict()
    graphs = harness.Graphs(verdict, "compile")
    tensors, gradients = {}, {}
    chosen = representative(harness.valued(op))
    first = chosen[0][1].seed
    for family, case in chosen:
        built = graphs.build(case)
        if not built:
            continue
        tensors[case.name] = (family, case, built.outputs)
        graphs.fetch(case.name, built.outputs)
        wants_gradient = case.dtype in ("float32", "complex64") and case.seed == first
        if wants_gradient and "grad" in harness.entry(family, case):
            with graphs.graph.as_default(), verdict.attempt(f"{case.name} gradient"):
                dense, _ = build.add_gradients(tf, case, built, harness.shapes_of(family, case))
                dense = {name: grad for name, grad in dense.items() if grad is not None}
                gradients[case.name + " gradient"] = (family, case)
                graphs.fetch(case.name + " gradient", dense)
    with graphs.session() as session:
        found = graphs.run_in(session)
        compiled = testing.compilations()
        again = graphs.run_in(session)
        if testing.compilations() != compiled:
            verdict.fail(op, "compiled again for the same shapes")
        if refusals(session):
            for key, fetches in graphs.fetches.items():
                with graphs.session() as alone:
                    alone.run(fetches, graphs.feeds)
                    for why in refusals(alone):
                        verdict.fail(key, f"left to the interpreter: {why}")
    for key, values in found.items():
        if key in gradients:
            family, case = gradients[key]
            harness.compare_gradients(verdict, family, case, "compiled", values)
            continue
        family, case, outputs = tensors[key]
        harness.compare_outputs(verdict, family, case, "compiled", outputs, values)
        for first, second in zip(values, again.get(key, ())):
            if case.exact and not registry.get(op).stateful and not same_bits(first, second):
                verdict.fail(case.name, "two runs differ")
    verdict.settle()


def fed_constants(op):
    """The first case of `op` with inputs that are constants elsewhere and may be fed as well."""
    for family, case in harness.valued(op):
        if "fed" in harness.entry(family, case)["shapes"] and case.constants():
            return [(family, case)]
    return []


@pytest.mark.parametrize("op", [op for op in VALUED if fed_constants(op)])
def test_compiled_with_fed_constants(op):
    """Shapes, axes and the like that XLA must know arrive with the step."""
    if not registry.get(op).is_compilable:
        pytest.skip(f"{op} runs on the host")
    verdict = harness.Verdict()
    graphs = harness.Graphs(verdict, "compile")
    ((family, case),) = fed_constants(op)
    built = graphs.build(case, "fed")
    graphs.fetch(case.name, built.outputs)
    with graphs.session() as session:
        found = graphs.run_in(session)
        for why in refusals(session):
            verdict.fail(case.name, f"left to the interpreter: {why}")
    for values in found.values():
        harness.compare_outputs(verdict, family, case, "fed", built.outputs, values)
    verdict.settle()


def refusals(session):
    """Why segments that should have been compiled were not."""
    steps = [step for plan in session._plans.values() for step in plan.steps]
    return [step.refused for step in steps if getattr(step, "refused", "")]


def representative(pairs):
    """Every dtype of an op's first row, the first dtype of each other: compiling takes its time."""
    chosen, seen = [], set()
    if SLOW_TO_COMPILE.fullmatch(pairs[0][1].op):
        return [pair for pair in pairs if pair[1].dtype == "float32"][:1] or pairs[:1]
    for family, case in pairs:
        if case.seed not in seen or case.seed == pairs[0][1].seed:
            chosen.append((family, case))
        seen.add(case.seed)
    return chosen


def same_bits(first, second):
    first, second = np.asarray(first), np.asarray(second)
    if first.dtype == object:
        return np.array_equal(first, second)
    return first.tobytes() == second.tobytes()


@pytest.mark.parametrize("op", VALUED)
def test_eager(op):
    verdict = harness.Verdict()
    taped = None
    with testing.eager_mode():
        for family, case in harness.valued(op):
            if not case.eager:
                continue
            with verdict.attempt(case.name):
                arguments, inputs = build.call_eagerly(tf, case)
                values = [value.numpy() for value in build.call(tf, case, arguments)]
                harness.compare_outputs(verdict, family, case, "eager", None, values)
            if taped is None and case.dtype == "float32" and "grad" in harness.entry(family, case):
                taped = (family, case)
        if taped:
            with verdict.attempt(f"{taped[1].name} tape"):
                compare_tape(verdict, *taped)
    verdict.settle()


def compare_tape(verdict, family, case):
    """The gradient by a tape of one case."""
    reader = harness.expected(family)
    wanted = harness.entry(family, case)["grad"]
    arguments, inputs = build.call_eagerly(tf, case)
    with tf.GradientTape() as tape:
        for name in wanted:
            tape.watch(inputs[name])
        outputs = build.call(tf, case, arguments)
    flowing = [
        (output, build.output_gradient(case, i, output.shape.as_list(), output.dtype.name))
        for i, output in enumerate(outputs)
        if build.is_differentiable(tf, output.dtype) and case.receives(i)
    ]
    grads = tape.gradient(
        [output for output, _ in flowing],
        {name: inputs[name] for name in wanted},
        [tf.constant(gradient) for _, gradient in flowing],
    )
    for name, grad in grads.items():
        if (grad is None) != (wanted[name] is None):
            verdict.fail(f"{case.name} tape by {name}", f"{grad}, not {wanted[name]}")
        elif grad is not None:
            value = tf.convert_to_tensor(grad).numpy()
            wrong = harness.difference(value, wanted[name], reader, 2 * case.tolerance)
            if wrong:
                verdict.fail(f"{case.name} tape by {name}", wrong)


@pytest.mark.parametrize("op", VALUED)
def test_round_trip(op):
    """As a serialized GraphDef and back, then run."""
    verdict = harness.Verdict()
    graphs = harness.Graphs(verdict)
    tensors = {}
    for family, case in harness.valued(op):
        built = graphs.build(case)
        if built:
            tensors[case.name] = (family, case, [output.name for output in built.outputs])
    graph_def = graphs.graph.as_graph_def()
    data = graph_def.SerializeToString()
    imported = harness.Graphs(verdict)
    with imported.graph.as_default():
        tf.import_graph_def(type(graph_def).FromString(data), name="")
    find = imported.graph.get_tensor_by_name
    imported.feeds = {find(tensor.name): value for tensor, value in graphs.feeds.items()}
    outputs = {}
    for key, (_, _, names) in tensors.items():
        outputs[key] = [find(name) for name in names]
        imported.fetch(key, outputs[key])
    for key, values in imported.run().items():
        family, case, _ = tensors[key]
        harness.compare_outputs(verdict, family, case, "imported", outputs[key], values)
    verdict.settle()


@pytest.mark.parametrize("op", VALUED)
def test_static_shapes(op):
    """Shapes are inferred at least as exactly as TensorFlow infers them, and never wrongly."""
    verdict = harness.Verdict()
    with tf.Graph().as_default():
        for family, case in harness.valued(op):
            actual = harness.shapes_of(family, case)
            for level in LEVELS:
                wanted = harness.entry(family, case)["shapes"].get(level)
                if wanted is None:
                    continue
                with verdict.attempt(f"{case.name} ({level})"):
                    outputs = build.build(tf, case, level).outputs
                    for i, (output, shape) in enumerate(zip(outputs, wanted)):
                        wrong = wrong_shape(output.shape, shape, actual[i], op in OVERCONFIDENT)
                        if wrong:
                            verdict.fail(f"{case.name} ({level}) [{i}]", wrong)
    verdict.settle()


def wrong_shape(inferred, wanted, actual, only_sound=False):
    """What is wrong with an inferred shape; -1 in `wanted`: TensorFlow leaves it open."""
    if not harness.contains(inferred, actual):
        return f"{inferred}, actually {actual}"
    if wanted is None or only_sound:
        return None
    if inferred.ndims is None:
        return f"unknown, TensorFlow infers {wanted}"
    vague = any(w >= 0 and i is None for w, i in zip(wanted, inferred.as_list()))
    return f"{inferred}, TensorFlow infers {wanted}" if vague else None


@pytest.mark.parametrize("op", FAULTY)
def test_errors(op):
    """Bad input ends in TensorFlow's class of error, naming the op, in both tiers and eagerly."""
    verdict = harness.Verdict()
    for family, case in harness.faulty(op):
        for level, recorded in harness.entry(family, case)["errors"].items():
            for tier in ("interpret", "compile"):
                what = f"{case.name} ({level}, {tier})"
                judge_error(verdict, what, case, *outcome(case, level, tier), recorded)
            if level == "fed" and recorded[0] == "run" and case.eager:
                judge_error(verdict, f"{case.name} (eager)", case, *eager_outcome(case), recorded)
    verdict.settle()


def outcome(case, level, tier):
    """The error that a case ends in and its text, or (None, what came instead)."""
    with tf.Graph().as_default() as graph:
        try:
            built = build.build(tf, case, level)
            with testing.tier(tier), tf.Session(graph=graph) as session:
                return None, session.run(built.outputs, built.feeds)
        except Exception as error:
            return error, str(error)


def eager_outcome(case):
    with testing.eager_mode():
        try:
            arguments, _ = build.call_eagerly(tf, case)
            return None, [value.numpy() for value in build.call(tf, case, arguments)]
        except Exception as error:
            return error, str(error)


def judge_error(verdict, what, case, got, text, recorded):
    phase, wanted, message = recorded
    if got is None:
        verdict.fail(what, f"no error, TensorFlow has {wanted}: {message}")
        return
    classes = [kind.__name__ for kind in type(got).__mro__]
    if phase == "run" and "(full" in what:
        classes.append("InvalidArgumentError" if "ValueError" in classes else "")  # told sooner
    if not {wanted, *case.errors[1:]} & set(classes):
        verdict.fail(what, f"{harness.one_line(got)}; TensorFlow has {wanted}: {message}")
    elif case.op not in text:
        verdict.fail(what, f"the message does not name {case.op}: {text[:200]}")
