"""LSTM cells in one op, for one step (`LSTMBlockCell`) and for whole sequences (`BlockLSTM`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weft.framework import errors
from weft.framework.registry import op
from weft.framework.shape_rules import ShapeError, merge_dim, rank
from weft.ops.by_name import raw

_TYPE = "T: type in {half, float}"
_INPUTS = "x: T, cs_prev: T, h_prev: T, w: T, wci: T, wcf: T, wco: T, b: T"
_OUTPUTS = "i: T, cs: T, f: T, o: T, ci: T, co: T, h: T"
_SAVED = "i: T, cs: T, f: T, o: T, ci: T, co: T"
_CELL_ATTRS = (
    f"forget_bias: float = 1.0; cell_clip: float = 3.0; use_peephole: bool = false; {_TYPE}"
)

# In which order the gates stand in weights: input gate, new memory (c), forget gate, output gate.
_OLD, _NEW = "icfo", "ifco"


def _sigmoid(xp: Any, x: Any) -> Any:
    return 1 / (1 + xp.exp(-x))


def _apart(xp: Any, gates: Any, layout: str) -> tuple:
    """Input gate, new memory, forget gate and output gate."""
    parts = dict(zip(layout, xp.split(gates, 4, axis=-1)))
    return tuple(parts[gate] for gate in "icfo")


def _together(xp: Any, parts: tuple, layout: str) -> Any:
    by_gate = dict(zip("icfo", parts))
    return xp.concatenate([by_gate[gate] for gate in layout], axis=-1)


def _step(xp: Any, sums: Any, cs_prev: Any, peepholes: tuple, layout: str, bias: Any, clip: float):
    """What a cell gives for the weighted sums of its inputs."""
    wci, wcf, wco = peepholes
    i, ci, f, o = _apart(xp, sums, layout)
    i = _sigmoid(xp, i + cs_prev * wci)
    f = _sigmoid(xp, f + bias + cs_prev * wcf)
    ci = xp.tanh(ci)
    cs = ci * i + cs_prev * f
    if clip > 0:
        cs = xp.clip(cs, -clip, clip)
    o = _sigmoid(xp, o + cs * wco)
    co = xp.tanh(cs)
    return i, cs, f, o, ci, co, co * o


def _step_gradient(
    xp: Any, saved: tuple, cs_prev: Any, peepholes: tuple, cs_grad: Any, h_grad: Any
):
    """The gradients of the memory before, and of the sums of the gates in the order i, c, f, o."""
    i, _, f, o, ci, co = saved
    wci, wcf, wco = peepholes
    do = o * (1 - o) * h_grad * co
    dcs = (1 - co * co) * h_grad * o + cs_grad + do * wco
    di = i * (1 - i) * dcs * ci
    df = f * (1 - f) * dcs * cs_prev
    dci = (1 - ci * ci) * dcs * i
    return dcs * f + di * wci + df * wcf, (di, dci, df, do)


def _peepholes(used: bool, dtype: Any, *weights: Any) -> tuple:
    return weights if used else (dtype.type(0),) * 3


def _check(cs_prev: Any, h_prev: Any, w: Any, b: Any, batch: int, depth: int) -> None:
    """InvalidArgumentError where sizes do not fit."""
    cells = cs_prev.shape[-1]
    for name, array, shape in (
        ("cs_prev", cs_prev, (batch, cells)),
        ("h_prev", h_prev, (batch, cells)),
        ("w", w, (depth + cells, 4 * cells)),
        ("b", b, (4 * cells,)),
    ):
        if tuple(array.shape) != shape:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"{name} has shape {list(array.shape)}, but for a batch of {batch}, inputs of size {depth} and "
                f"{cells} cells it must be {list(shape)}",
            )


# -- one step --------------------------------------------------------------------------------------------


@op("LSTMBlockCell", f"{_INPUTS} -> {_OUTPUTS}", _CELL_ATTRS)
def lstm_block_cell(
    xp,
    x,
    cs_prev,
    h_prev,
    w,
    wci,
    wcf,
    wco,
    b,
    *,
    forget_bias,
    cell_clip,
    use_peephole,
):
    """One step of an LSTM: gates, memory, and output."""
    _check(cs_prev, h_prev, w, b, *x.shape)
    sums = xp.matmul(xp.concatenate([x, h_prev], axis=1), w) + b
    peepholes = _peepholes(use_peephole, x.dtype, wci, wcf, wco)
    bias = x.dtype.type(forget_bias)
    return _step(xp, sums, cs_prev, peepholes, _OLD, bias, cell_clip)


def _cell_shapes(x: Any, cs_prev: Any) -> tuple:
    x, cs_prev = rank(x, 2, "x"), rank(cs_prev, 2, "cs_prev")
    return merge_dim(x[0], cs_prev[0]), cs_prev[1]


@lstm_block_cell.shape
def _(x, cs_prev, h_prev, w, wci, wcf, wco, b):
    return (_cell_shapes(x, cs_prev),) * 7


@lstm_block_cell.gradient
def _(op, *grads):
    x, cs_prev, h_prev, w, wci, wcf, wco, b = op.inputs
    cs_prev_grad, gates, wci_grad, wcf_grad, wco_grad = raw.LSTMBlockCellGrad(
        *op.inputs,
        *op.outputs[:6],
        grads[1],
        grads[6],
        use_peephole=op.get_attr("use_peephole"),
    )
    both = raw.MatMul(gates, w, transpose_b=True)
    depth = raw.Shape(x)[1]
    w_grad = raw.MatMul(raw.ConcatV2([x, h_prev], 1), gates, transpose_a=True)
    return (
        both[:, :depth],
        cs_prev_grad,
        both[:, depth:],
        w_grad,
        wci_grad,
        wcf_grad,
        wco_grad,
        raw.BiasAddGrad(gates),
    )


@op(
    "LSTMBlockCellGrad",
    f"{_INPUTS}, {_SAVED}, cs_grad: T, h_grad: T -> "
    "cs_prev_grad: T, dicfo: T, wci_grad: T, wcf_grad: T, wco_grad: T",
    f"use_peephole: bool; {_TYPE}",
)
def lstm_block_cell_grad(
    xp,
    x,
    cs_prev,
    h_prev,
    w,
    wci,
    wcf,
    wco,
    b,
    i,
    cs,
    f,
    o,
    ci,
    co,
    cs_grad,
    h_grad,
    *,
    use_peephole,
):
    """The gradients of one step: of the memory before, of the sums of the gates, and of the peepholes."""
    _check(cs_prev, h_prev, w, b, *x.shape)
    peepholes = _peepholes(use_peephole, x.dtype, wci, wcf, wco)
    cs_prev_grad, parts = _step_gradient(
        xp, (i, cs, f, o, ci, co), cs_prev, peepholes, cs_grad, h_grad
    )
    di, _, df, do = parts
    shares = di * cs_prev, df * cs_prev, do * cs
    sums = (
        xp.sum(s, axis=0, dtype=x.dtype) if use_peephole else xp.zeros_like(wci) for s in shares
    )
    return cs_prev_grad, _together(xp, parts, _OLD), *sums


@lstm_block_cell_grad.shape
def _(x, cs_prev, h_prev, w, wci, wcf, wco, b, i, cs, f, o, ci, co, cs_grad, h_grad):
    batch, cells = _cell_shapes(x, cs_prev)
    wide = None if cells is None else 4 * cells
    return (batch, cells), (batch, wide), (cells,), (cells,), (cells,)


lstm_block_cell_grad.not_differentiable()


# -- sequences -------------------------------------------------------------------------------------------


def _scan(xp: Any, step: Callable, carry: Any, arrays: Any, reverse: bool = False) -> Any:
    """Goes over the first axis of arrays: `step(carry, parts)` gives the next carry and results, which are
    stacked."""
    if not xp.is_numpy:
        return xp.lax.scan(step, carry, arrays, reverse=reverse)
    steps = range(len(arrays[0]))
    results: list[Any] = [None] * len(steps)
    for t in reversed(steps) if reverse else steps:
        carry, results[t] = step(carry, tuple(a[t] for a in arrays))
    return carry, tuple(np.stack(parts) for parts in zip(*results))


def _sequence(
    xp: Any,
    seq_len_max: Any,
    x: Any,
    cs_prev: Any,
    h_prev: Any,
    w: Any,
    peepholes: tuple,
    b: Any,
    layout: str,
    bias: Any,
    clip: float,
) -> tuple:
    """All steps up to `seq_len_max`, and zeros beyond. The inputs of all steps are weighted at once."""
    steps, batch, depth = x.shape
    _check(cs_prev, h_prev, w, b, batch, depth)
    if steps == 0:
        return tuple(xp.zeros((0, *cs_prev.shape), x.dtype) for _ in range(7))
    sums = xp.matmul(x, w[:depth]) + b
    recurrent = w[depth:]

    def step(carry: tuple, parts: tuple) -> tuple:
        cs, h = carry
        now, alive = parts
        out = _step(xp, now + xp.matmul(h, recurrent), cs, peepholes, layout, bias, clip)
        out = tuple(xp.where(alive, v, xp.zeros_like(v)) for v in out)
        return (out[1], out[6]), out

    alive = (xp.arange(steps) < seq_len_max)[:, None, None]
    return _scan(xp, step, (cs_prev, h_prev), (sums, alive))[1]


def _sequence_gradient(
    xp: Any,
    seq_len_max: Any,
    x: Any,
    cs_prev: Any,
    h_prev: Any,
    w: Any,
    peepholes: tuple | None,
    b: Any,
    saved: tuple,
    h: Any,
    cs_grad: Any,
    h_grad: Any,
    layout: str,
) -> tuple:
    """The gradients of sequences: gates step by step from the last, weights of all steps at once."""
    steps, batch, depth = x.shape
    _check(cs_prev, h_prev, w, b, batch, depth)
    recurrent = w[depth:].T
    cs = saved[1]
    cs_before = xp.concatenate([cs_prev[None], cs[:-1]])
    h_before = xp.concatenate([h_prev[None], h[:-1]])
    weights = peepholes or (x.dtype.type(0),) * 3

    def step(carry: tuple, parts: tuple) -> tuple:
        cs_later, h_later = carry
        alive, cs_now, h_now, before, *gates = parts
        cs_prev_grad, gradients = _step_gradient(
            xp, tuple(gates), before, weights, cs_now + cs_later, h_now + h_later
        )
        sums = xp.where(alive, _together(xp, gradients, layout), x.dtype.type(0))
        cs_prev_grad = xp.where(alive, cs_prev_grad, xp.zeros_like(cs_prev_grad))
        return (cs_prev_grad, xp.matmul(sums, recurrent)), (sums,)

    alive = (xp.arange(steps) < seq_len_max)[:, None, None]
    zero = xp.zeros_like(cs_prev), xp.zeros_like(h_prev)
    (cs_prev_grad, h_prev_grad), (sums,) = _scan(
        xp, step, zero, (alive, cs_grad, h_grad, cs_before, *saved), reverse=True
    )
    di, _, df, do = _apart(xp, sums, layout)
    inputs = xp.concatenate([x, h_before], axis=2).reshape(steps * batch, -1)
    w_grad = xp.matmul(inputs.T, sums.reshape(steps * batch, -1))
    shares = di * cs_before, df * cs_before, do * cs
    peephole_grads = (
        xp.sum(s, axis=(0, 1), dtype=x.dtype) if peepholes else xp.zeros(cs.shape[-1:], x.dtype)
        for s in shares
    )
    return (
        xp.matmul(sums, w[:depth].T),
        cs_prev_grad,
        h_prev_grad,
        w_grad,
        *peephole_grads,
        xp.sum(sums, axis=(0, 1), dtype=x.dtype),
    )


def _sequence_shapes(seq_len_max, x, cs_prev, h_prev, w, wci, wcf, wco, b):
    x, b = rank(x, 3, "x"), rank(b, 1, "b")
    if b[0] is not None and b[0] % 4:
        raise ShapeError(f"The size of b must be a multiple of 4, but is {b[0]}")
    return ((x[0], x[1], None if b[0] is None else b[0] // 4),) * 7


@op("BlockLSTM", f"seq_len_max: int64, {_INPUTS} -> {_OUTPUTS}", _CELL_ATTRS)
def block_lstm(
    xp,
    seq_len_max,
    x,
    cs_prev,
    h_prev,
    w,
    wci,
    wcf,
    wco,
    b,
    *,
    forget_bias,
    cell_clip,
    use_peephole,
):
    """An LSTM over sequences [time, batch, size]: gates, memories and outputs of all steps."""
    peepholes = _peepholes(use_peephole, x.dtype, wci, wcf, wco)
    bias = x.dtype.type(forget_bias)
    return _sequence(xp, seq_len_max, x, cs_prev, h_prev, w, peepholes, b, _OLD, bias, cell_clip)


block_lstm.shape(_sequence_shapes)


@op(
    "BlockLSTMV2",
    f"seq_len_max: int64, {_INPUTS} -> {_OUTPUTS}",
    f"cell_clip: float = 0.0; use_peephole: bool = false; {_TYPE}",
)
def block_lstm_v2(
    xp, seq_len_max, x, cs_prev, h_prev, w, wci, wcf, wco, b, *, cell_clip, use_peephole
):
    """`BlockLSTM` with the gates in another order, and without a bias for forgetting."""
    peepholes = _peepholes(use_peephole, x.dtype, wci, wcf, wco)
    bias = x.dtype.type(0)
    return _sequence(xp, seq_len_max, x, cs_prev, h_prev, w, peepholes, b, _NEW, bias, cell_clip)


block_lstm_v2.shape(_sequence_shapes)


def _gradient_shapes(seq_len_max, x, cs_prev, h_prev, w, wci, wcf, wco, b, *_):
    ranks = (3, 2, 2, 2, 1, 1, 1, 1)
    return tuple(map(rank, (x, cs_prev, h_prev, w, wci, wcf, wco, b), ranks))


def _declare_gradient(name: str, forward: Any, layout: str) -> None:
    def kernel(
        xp,
        seq_len_max,
        x,
        cs_prev,
        h_prev,
        w,
        wci,
        wcf,
        wco,
        b,
        i,
        cs,
        f,
        o,
        ci,
        co,
        h,
        cs_grad,
        h_grad,
        *,
        use_peephole,
    ):
        peepholes = (wci, wcf, wco) if use_peephole else None
        return _sequence_gradient(
            xp,
            seq_len_max,
            x,
            cs_prev,
            h_prev,
            w,
            peepholes,
            b,
            (i, cs, f, o, ci, co),
            h,
            cs_grad,
            h_grad,
            layout,
        )

    kernel.__doc__ = f"The gradients of `{forward.name}`."
    decl = op(
        name,
        f"seq_len_max: int64, {_INPUTS}, {_OUTPUTS}, cs_grad: T, h_grad: T -> x_grad: T, cs_prev_grad: T, "
        "h_prev_grad: T, w_grad: T, wci_grad: T, wcf_grad: T, wco_grad: T, b_grad: T",
        f"use_peephole: bool; {_TYPE}",
    )(kernel)
    decl.shape(_gradient_shapes)
    decl.not_differentiable()

    def gradient(op, *grads):
        return None, *getattr(raw, name)(
            *op.inputs,
            *op.outputs,
            grads[1],
            grads[6],
            use_peephole=op.get_attr("use_peephole"),
        )

    forward.gradient(gradient)


_declare_gradient("BlockLSTMGrad", block_lstm, _OLD)
_declare_gradient("BlockLSTMGradV2", block_lstm_v2, _NEW)
