"""Cumulative sums and products along an axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weft.framework import conversion
from weft.framework.export import export
from weft.framework.registry import OpDecl, op
from weft.framework.scopes import name_scope
from weft.framework.shape_rules import ShapeError
from weft.ops.by_name import raw
from weft.ops.math.dtype_sets import NUMBERS


def _scan(name: str, types: str, kernel: Callable, start: Callable, doc: str) -> OpDecl:
    """Declares a scan: `kernel(xp, x, axis)` accumulates, `start(dtype)` is what an exclusive one begins with."""

    @op(
        name,
        "x: T, axis: Tidx -> out: T",
        f"exclusive: bool = false; reverse: bool = false; T: {types}; "
        "Tidx: type in {int32, int64} = int32",
        static=("axis",),
    )
    def decl(xp, x, axis, *, exclusive, reverse):
        along = _axis(axis, x.ndim)
        if reverse:
            x = xp.flip(x, along)
        if exclusive and x.shape[along]:
            before = [slice(None)] * x.ndim
            before[along] = slice(None, -1)
            first = list(x.shape)
            first[along] = 1
            x = xp.concatenate(
                [np.full(first, start(x.dtype), x.dtype), x[tuple(before)]], axis=along
            )
        out = kernel(xp, x, along) if x.size else x
        return xp.flip(out, along) if reverse else out

    decl.__doc__ = doc

    @decl.shape
    def _(x, axis):
        return x

    return decl


def _axis(axis: Any, rank: int) -> int:
    if np.ndim(axis):
        raise ShapeError(f"ScanOp: axis must be a scalar, not {np.shape(axis)}")
    axis = int(np.asarray(axis))
    if not -rank <= axis < rank:
        raise ShapeError(
            f"ScanOp: Expected scan axis in the range [{-rank}, {rank}), but got {axis}"
        )
    return axis % rank


def _cumulative(function: str) -> Callable:
    def kernel(xp, x, axis):
        return getattr(xp, function)(x, axis=axis, dtype=x.dtype)

    return kernel


def _cumulative_logsumexp(xp, x, axis):
    if xp.is_numpy:
        return np.logaddexp.accumulate(x, axis=axis, dtype=x.dtype)
    return xp.lax.cumlogsumexp(x, axis)


cumsum_op = _scan(
    "Cumsum", NUMBERS, _cumulative("cumsum"), lambda dtype: 0, "Cumulative sums along an axis."
)
cumprod_op = _scan(
    "Cumprod",
    NUMBERS,
    _cumulative("cumprod"),
    lambda dtype: 1,
    "Cumulative products along an axis.",
)
cumulative_logsumexp_op = _scan(
    "CumulativeLogsumexp",
    "type in {half, float, double}",
    _cumulative_logsumexp,
    lambda dtype: np.finfo(dtype).min,
    "Cumulative log(sum(exp(x))) along an axis.",
)


def _direction(op: Any) -> dict[str, bool]:
    """The attributes of the scan back."""
    return {"exclusive": op.get_attr("exclusive"), "reverse": not op.get_attr("reverse")}


@cumsum_op.gradient
def _(op, grad):
    return cumsum_op(grad, op.inputs[1], **_direction(op)), None


@cumprod_op.gradient
def _(op, grad):
    x, axis = op.inputs
    product = cumprod_op(
        x, axis, exclusive=op.get_attr("exclusive"), reverse=op.get_attr("reverse")
    )
    return cumsum_op(product * grad, axis, **_direction(op)) / x, None


@cumulative_logsumexp_op.gradient
def _(op, grad):
    # The gradient's positive and negative parts are scanned apart, as logarithms.
    x, axis = op.inputs
    lowest = np.array(grad.dtype.min, grad.dtype.base_dtype.np)
    zero = np.zeros((), lowest.dtype)

    def scanned(part, sign):
        log = raw.SelectV2(part, raw.Log(sign), lowest)
        back = cumulative_logsumexp_op(log - op.outputs[0], axis, **_direction(op))
        return raw.Exp(back + x)

    positive = scanned(raw.Greater(grad, zero), grad)
    return positive - scanned(raw.Less(grad, zero), -grad), None


def _public(decl: OpDecl, scope: str, *names: str) -> Callable:
    def function(x, axis=0, exclusive=False, reverse=False, name=None):
        with name_scope(name, scope, [x]) as name:
            x = conversion.convert_to_tensor(x, name="x")
            return decl(x, axis, exclusive=exclusive, reverse=reverse, name=name)

    function.__name__ = function.__qualname__ = names[0].rpartition(".")[2]
    function.__doc__ = (
        f"{decl.__doc__} `exclusive` leaves out the element itself; `reverse` begins at the end."
    )
    return export(*names)(function)


cumsum = _public(cumsum_op, "Cumsum", "cumsum", "math.cumsum")
cumprod = _public(cumprod_op, "Cumprod", "cumprod", "math.cumprod")
_public(cumulative_logsumexp_op, "CumulativeLogsumexp", "math.cumulative_logsumexp")
