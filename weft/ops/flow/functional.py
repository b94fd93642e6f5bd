"""Ops that call functions of the graph's library: If, Case, While, For, PartitionedCall and their like."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import dtypes
from weft.framework.registry import op
from weft.framework.shape_rules import Shape


def _declared(output_shapes: list[Shape], types: list[dtypes.DType]) -> list[Shape]:
    return list(output_shapes) if output_shapes else [None] * len(types)


# -- branches ---------------------------------------------------------------------------------------------

_BRANCHES = (
    "Tin: list(type) >= 0; Tout: list(type) >= 0; then_branch: func; else_branch: func; "
    "output_shapes: list(shape) = []"
)


def _if(ctx: Any, cond: Any, input: list, *, then_branch: Any, else_branch: Any) -> list:
    """Calls one of two functions."""
    return ctx.branch(truth(ctx, cond), [(else_branch.name, input), (then_branch.name, input)])


def truth(ctx: Any, value: Any) -> Any:
    """A tensor as a condition: a number that is not 0, a string that is not empty, a tensor with elements."""
    if isinstance(value, np.ndarray):
        if value.ndim:
            return np.asarray(value.size > 0)
        return (
            np.asarray(bool(value[()])) if value.dtype != object else np.asarray(len(value[()]) > 0)
        )
    if value.ndim:
        return np.asarray(value.size > 0)
    return value if value.dtype == bool else value != 0


if_op = op(
    "If",
    "cond: Tcond, input: Tin -> output: Tout",
    "Tcond: type; " + _BRANCHES,
    stateful=True,
    passes_references=True,
)(_if)
stateless_if = op(
    "StatelessIf",
    "cond: Tcond, input: Tin -> output: Tout",
    "Tcond: type; " + _BRANCHES,
    passes_references=True,
)(_if)


@if_op.shape
@stateless_if.shape
def _(cond, input, *, output_shapes, Tout):
    return _declared(output_shapes, Tout)


@op(
    "Case",
    "branch_index: int32, input: Tin -> output: Tout",
    "Tin: list(type) >= 0; Tout: list(type) >= 0; branches: list(func) >= 1; "
    "output_shapes: list(shape) = []",
    stateful=True,
    passes_references=True,
)
def case(ctx, branch_index, input, *, branches):
    """Calls one of several functions; an index out of range calls the last."""
    n, xp = len(branches), ctx.xp
    if isinstance(branch_index, np.ndarray):
        i = int(branch_index)
        branch_index = np.asarray(i if 0 <= i < n else n - 1, np.int32)
    else:
        outside = (branch_index < 0) | (branch_index >= n)
        branch_index = xp.where(outside, n - 1, branch_index)
    return ctx.branch(branch_index, [(b.name, input) for b in branches])


@case.shape
def _(branch_index, input, *, output_shapes, Tout):
    return _declared(output_shapes, Tout)


@op("FakeParam", "-> output: dtype", "dtype: type; shape: shape")
def fake_param(ctx, *, dtype, shape):
    """A value that nobody reads: what one branch returns in place of an intermediate of another."""
    return ctx.missing(dtype, shape)


@fake_param.shape
def _(*, shape):
    return shape


fake_param.not_differentiable()

# -- loops --------------------------------------------------------------------------------------------------

_LOOP = (
    "T: list(type) >= 0; cond: func; body: func; output_shapes: list(shape) = []; "
    "parallel_iterations: int = 10"
)


def _while(ctx: Any, input: list, *, cond: Any, body: Any) -> list:
    """Calls `body` on its own results for as long as `cond` says so."""
    return ctx.loop(cond.name, body.name, input)


while_op = op("While", "input: T -> output: T", _LOOP, stateful=True, passes_references=True)(
    _while
)
stateless_while = op("StatelessWhile", "input: T -> output: T", _LOOP, passes_references=True)(
    _while
)


@while_op.shape
@stateless_while.shape
def _(input, *, output_shapes):
    return list(output_shapes) if output_shapes else list(input)


@op(
    "For",
    "start: int32, limit: int32, delta: int32, input: T -> output: T",
    "T: list(type) >= 0; body: func",
    passes_references=True,
)
def for_op(ctx, start, limit, delta, input, *, body):
    """Calls `body` on a counter and its own results, for each value of the counter."""
    return ctx.count(body.name, start, limit, delta, input)


@for_op.shape
def _(start, limit, delta, input):
    return [None] * len(input)


# -- calls --------------------------------------------------------------------------------------------------

_CALL = (
    'Tin: list(type) >= 0; Tout: list(type) >= 0; f: func; config: string = ""; '
    'config_proto: string = ""; executor_type: string = ""'
)


def _call(ctx: Any, args: list, *, f: Any) -> list:
    """Calls a function."""
    return ctx.call(f.name, args)


partitioned_call = op(
    "PartitionedCall", "args: Tin -> output: Tout", _CALL, passes_references=True
)(_call)
stateful_partitioned_call = op(
    "StatefulPartitionedCall",
    "args: Tin -> output: Tout",
    _CALL,
    stateful=True,
    passes_references=True,
)(_call)


@op(
    "SymbolicGradient",
    "input: Tin -> output: Tout",
    "Tin: list(type) >= 1; Tout: list(type) >= 1; f: func",
    passes_references=True,
)
def symbolic_gradient(ctx, input, *, f):
    """The gradient of a function: from its arguments and the gradients of its results."""
    return ctx.call(ctx.functions.gradient_of(f.name), input)


@partitioned_call.shape
@stateful_partitioned_call.shape
def _(args, *, Tout):
    return [None] * len(Tout)


@symbolic_gradient.shape
def _(input, *, Tout):
    return list(input[: len(Tout)])
