"""Gradients: TensorFlow's values, and differences for those and for the gradients' own gradients."""

from __future__ import annotations

import pytest

import weft as tf

from . import build, differences, harness
from .values import between


def differentiable(op):
    """Cases whose gradient TensorFlow has, or that are judged by differences alone."""
    return [
        (family, case)
        for family, case in harness.valued(op)
        if case.wants_gradient() and ("grad" in harness.entry(family, case) or case.grad == "own")
    ]


DIFFERENTIABLE = [op for op in harness.cases_by_op() if differentiable(op)]


def can_be_probed(case, built):
    return (
        case.dtype == "float64"
        and case.numeric
        and not any(output.dtype.is_complex for output in built.outputs)
    )


@pytest.mark.parametrize("op", DIFFERENTIABLE)
def test_first(op):
    """Against TensorFlow's, and against differences in float64."""
    verdict = harness.Verdict()
    graphs = harness.Graphs(verdict)
    kept = {}
    for family, case in differentiable(op):
        built = graphs.build(case)
        if not built:
            continue
        with graphs.graph.as_default(), verdict.attempt(f"{case.name} gradient"):
            dense, sparse = build.add_gradients(tf, case, built, harness.shapes_of(family, case))
            kept[case.name] = (family, case, built)
            graphs.fetch(case.name, {n: g for n, g in dense.items() if g is not None})
            wanted = harness.entry(family, case).get("sparse", sparse)
            if sorted(sparse) != sorted(wanted):
                verdict.fail(case.name, f"IndexedSlices for {sparse}, TensorFlow has {wanted}")
    probes = {}
    with graphs.session() as session:
        for key, values in graphs.run_in(session).items():
            family, case, built = kept[key]
            harness.compare_gradients(verdict, family, case, "interpreted", values)
            if can_be_probed(case, built):
                probes[key] = probe_of_outputs(family, case, built, values)
        differences.check(verdict, session, graphs.feeds, probes)
    verdict.settle()


def probe_of_outputs(family, case, built, gradients):
    """What the gradients are of: the outputs weighted by the gradients that flow into them."""
    tensors, weights = [], []
    shapes = harness.shapes_of(family, case)
    for i, output in enumerate(built.outputs):
        if output.dtype == tf.float64 and case.receives(i):
            tensors.append(output)
            weights.append(build.output_gradient(case, i, shapes[i], "float64"))
    return differences.Probe(tensors, weights, built.inputs, gradients)


@pytest.mark.parametrize("op", DIFFERENTIABLE)
def test_second(op):
    """The gradient of the gradient, of the first case that has one, against differences."""
    verdict = harness.Verdict()
    for family, case in differentiable(op):
        if case.dtype != "float64" or not case.numeric:
            continue
        graphs = harness.Graphs(verdict)
        built = graphs.build(case)
        if not built or not can_be_probed(case, built):
            continue
        with graphs.graph.as_default(), verdict.attempt(f"{case.name} second gradient"):
            first, _ = build.add_gradients(tf, case, built, harness.shapes_of(family, case))
            first = {name: grad for name, grad in first.items() if grad is not None}
            shapes = {name: built.inputs[name].shape.as_list() for name in first}
            weights = {name: weight(case, name, shape) for name, shape in shapes.items()}
            try:
                second = tf.gradients(
                    list(first.values()),
                    [built.inputs[name] for name in first],
                    [tf.constant(value) for value in weights.values()],
                )
            except LookupError:
                break  # the gradient is an op that has none
            second = {
                name: tf.convert_to_tensor(grad)
                for name, grad in zip(first, second)
                if grad is not None
            }
            with graphs.session() as session:
                values = session.run(second, graphs.feeds)
                probe = differences.Probe(
                    list(first.values()), list(weights.values()), built.inputs, values
                )
                differences.check(
                    verdict, session, graphs.feeds, {f"{case.name} second gradient": probe}
                )
        break
    verdict.settle()


def weight(case, name, shape):
    return between(-1, 1, *shape).array(f"{case.seed}/second gradient by {name}", "float64")
