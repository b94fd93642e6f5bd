"""A GRU cell in one op."""

from __future__ import annotations

from weft.framework.registry import op
from weft.framework.shape_rules import merge_dim, rank
from weft.ops.by_name import raw


@op(
    "GRUBlockCell",
    "x: T, h_prev: T, w_ru: T, w_c: T, b_ru: T, b_c: T -> r: T, u: T, c: T, h: T",
    "T: type in {float}",
)
def gru_block_cell(xp, x, h_prev, w_ru, w_c, b_ru, b_c):
    """One step of a GRU: reset gate, update gate, new values, and the new state."""
    gates = xp.matmul(xp.concatenate([x, h_prev], axis=1), w_ru) + b_ru
    r, u = xp.split(1 / (1 + xp.exp(-gates)), 2, axis=1)
    c = xp.tanh(xp.matmul(xp.concatenate([x, h_prev * r], axis=1), w_c) + b_c)
    return r, u, c, (1 - u) * c + u * h_prev


def _fit(x, h_prev, w_ru, w_c, b_ru, b_c):
    """The batch size and the number of cells; ShapeError where sizes do not fit."""
    x, h_prev = rank(x, 2, "x"), rank(h_prev, 2, "h_prev")
    w_ru, w_c = rank(w_ru, 2, "w_ru"), rank(w_c, 2, "w_c")
    b_ru, b_c = rank(b_ru, 1, "b_ru"), rank(b_c, 1, "b_c")
    batch = merge_dim(x[0], h_prev[0], "batch sizes of x and h_prev differ")
    cells = h_prev[1]
    if cells is not None:
        merge_dim(w_c[1], cells, "columns of w_c and cells differ")
        merge_dim(b_c[0], cells, "sizes of b_c and cells differ")
        merge_dim(w_ru[1], 2 * cells, "columns of w_ru and twice the cells differ")
        merge_dim(b_ru[0], 2 * cells, "sizes of b_ru and twice the cells differ")
        if x[1] is not None:
            merge_dim(w_ru[0], x[1] + cells, "rows of w_ru and inputs with cells differ")
            merge_dim(w_c[0], x[1] + cells, "rows of w_c and inputs with cells differ")
    return batch, cells


@gru_block_cell.shape
def _(x, h_prev, w_ru, w_c, b_ru, b_c):
    return (_fit(x, h_prev, w_ru, w_c, b_ru, b_c),) * 4


@gru_block_cell.gradient
def _(op, *grads):
    x, h_prev, w_ru, w_c, b_ru, b_c = op.inputs
    r, u, c, _ = op.outputs
    dx, dh_prev, dc, dru = raw.GRUBlockCellGrad(x, h_prev, w_ru, w_c, b_ru, b_c, r, u, c, grads[3])
    gates_in = raw.ConcatV2([x, h_prev], 1)
    new_in = raw.ConcatV2([x, raw.Mul(h_prev, r)], 1)
    return (
        dx,
        dh_prev,
        raw.MatMul(gates_in, dru, transpose_a=True),
        raw.MatMul(new_in, dc, transpose_a=True),
        raw.BiasAddGrad(dru),
        raw.BiasAddGrad(dc),
    )


@op(
    "GRUBlockCellGrad",
    "x: T, h_prev: T, w_ru: T, w_c: T, b_ru: T, b_c: T, r: T, u: T, c: T, d_h: T -> "
    "d_x: T, d_h_prev: T, d_c_bar: T, d_r_bar_u_bar: T",
    "T: type in {float}",
)
def gru_block_cell_grad(xp, x, h_prev, w_ru, w_c, b_ru, b_c, r, u, c, d_h):
    """The gradients of one step: of the inputs, of the state before, and of the sums of the gates."""
    depth = x.shape[1]
    du = d_h * (h_prev - c) * u * (1 - u)
    dc = d_h * (1 - u) * (1 - c * c)
    through_new = xp.matmul(dc, w_c.T)
    dhr = through_new[:, depth:]
    dru = xp.concatenate([dhr * h_prev * r * (1 - r), du], axis=1)
    through_gates = xp.matmul(dru, w_ru.T)
    dx = through_gates[:, :depth] + through_new[:, :depth]
    return dx, through_gates[:, depth:] + dhr * r + u * d_h, dc, dru


@gru_block_cell_grad.shape
def _(x, h_prev, w_ru, w_c, b_ru, b_c, r, u, c, d_h):
    batch, cells = _fit(x, h_prev, w_ru, w_c, b_ru, b_c)
    wide = None if cells is None else 2 * cells
    return rank(x, 2, "x"), (batch, cells), (batch, cells), (batch, wide)


gru_block_cell_grad.not_differentiable()
