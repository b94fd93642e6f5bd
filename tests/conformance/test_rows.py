"""Forms for rows: what they give for several runs at once is what the kernel gives for each."""

from __future__ import annotations

import numpy as np
import pytest

import weft as tf
from weft.engine import interpreter
from weft.engine.program import Node
from weft.framework import registry
from weft.ops.datasets.block import row_of
from weft.runtime.host_rows import HostRows

from . import harness

OPS = [
    name
    for name in harness.cases_by_op()
    if registry.get(name).rows_kernel is not None and not registry.get(name).stateful
]


def rows_like(value, permuted):
    """Four rows: a value, and where the kernel goes by element, the same elements in other places."""
    if not permuted:
        return [value] * 4
    return [np.roll(value.reshape(-1), i).reshape(value.shape) for i in range(4)]


@pytest.mark.parametrize("op", OPS)
def test_rows_are_what_the_kernel_gives_for_each(op):
    decl = registry.get(op)
    verdict = harness.Verdict()
    graphs = harness.Graphs(verdict)
    ran = 0
    for _, case in harness.valued(op):
        built = graphs.build(case)
        made = [o for o in graphs.graph.get_operations() if o.type == op][-1]
        with graphs.session() as session:
            found = session.run(list(made.inputs), built.feeds)
            args = [
                np.asarray(v, t.dtype.base_dtype.as_numpy_dtype) for v, t in zip(found, made.inputs)
            ]
            ctx = interpreter.Context(session.resources, None, session._functions)
        node = Node(
            made, tuple(range(len(args))), tuple(range(len(args), len(args) + len(made.outputs)))
        )
        names = [""] * len(args)
        groups = node.groups or range(len(args))
        for a, group in zip(decl.signature.inputs, groups, strict=True):
            for i in range(len(args))[group] if type(group) is slice else [group]:
                names[i] = a.name
        differing = {i for i, name in enumerate(names) if name in decl.rows_inputs}
        columns = {
            i: rows_like(args[i], decl.is_elementwise and len(differing) == 1) for i in differing
        }
        wanted = []
        for k in range(4):
            table = [columns[i][k] if i in differing else a for i, a in enumerate(args)]
            table += [None] * len(made.outputs)
            ctx.node = node
            interpreter.run_node(node, table, ctx)
            wanted.append(table[len(args) :])
        table = [np.stack(columns[i]) if i in differing else a for i, a in enumerate(args)]
        table += [None] * len(made.outputs)
        hosts = HostRows(node, differing)
        if not hosts.run(table, ctx):
            continue
        ran += 1
        for o, column in enumerate(table[len(args) :]):
            for k in range(4):
                found, value = row_of(column, k), wanted[k][o]
                with verdict.attempt(f"{case.name}: output {o} of row {k}"):
                    assert found.dtype == value.dtype and found.shape == value.shape
                    np.testing.assert_array_equal(found, value)
    verdict.settle()
    assert ran, f"no case of {op} went through its form for rows"


def test_there_are_some():
    assert {"DecodeRaw", "ParseSingleExample", "StringSplit", "DecodeCSV"} <= set(OPS)
    assert tf.decode_raw is not None
