"""LSTM and GRU cells in one op."""

from __future__ import annotations

from ..case import Family, row
from ..values import between, const, num

HALF = ("float32", "float16")
STEPS, BATCH, DEPTH, CELLS = 4, 2, 3, 5


def weights(depth=DEPTH, cells=CELLS):
    return dict(
        w=num(depth + cells, 4 * cells),
        wci=num(cells),
        wcf=num(cells),
        wco=num(cells),
        b=num(4 * cells),
    )


def cell(op, label="", over=("float32",), grad="own", **given):
    inputs = dict(
        x=num(BATCH, DEPTH), cs_prev=num(BATCH, CELLS), h_prev=num(BATCH, CELLS), **weights()
    )
    return row(op, label, over, grad_=grad, flows_=[1, 6], **{**inputs, **given})


def sequence(op, label="", over=("float32",), length=STEPS, grad=True, **given):
    inputs = dict(
        seq_len_max=const(length, "int64"),
        x=num(STEPS, BATCH, DEPTH),
        cs_prev=num(BATCH, CELLS),
        h_prev=num(BATCH, CELLS),
        **weights(),
    )
    return row(op, label, over, grad_=grad, flows_=[1, 6], **{**inputs, **given})


def saved(*shape):
    return {name: between(0.1, 0.9, *shape) for name in "i cs f o ci co".split()}


rows = [
    cell("LSTMBlockCell", cell_clip=0.0),
    cell("LSTMBlockCell", "clipped", HALF, grad=False, cell_clip=0.3, forget_bias=0.5),
    cell("LSTMBlockCell", "peepholes", use_peephole=True, cell_clip=0.0),
    cell(
        "LSTMBlockCell",
        "weights of another size",
        w=num(DEPTH + CELLS, 3 * CELLS),
        error_="InvalidArgumentError",
    ),
]
for peep in (False, True):
    label = "peepholes" if peep else ""
    rows += [
        cell(
            "LSTMBlockCellGrad",
            label,
            grad=False,
            use_peephole=peep,
            cs_grad=num(BATCH, CELLS),
            h_grad=num(BATCH, CELLS),
            **saved(BATCH, CELLS),
        )
    ]
    for version in ("", "V2"):
        rows += [
            sequence(
                "BlockLSTM" + version,
                label,
                cell_clip=0.0,
                use_peephole=peep,
                # TensorFlow gives V2 the gradient of V1, whose gates stand in another order.
                grad=not version and ["x", "cs_prev", "h_prev", "w", "b"],
            ),
            sequence(
                "BlockLSTMGrad" + version,
                label,
                grad=False,
                use_peephole=peep,
                h=num(STEPS, BATCH, CELLS),
                cs_grad=num(STEPS, BATCH, CELLS),
                h_grad=num(STEPS, BATCH, CELLS),
                **saved(STEPS, BATCH, CELLS),
            ),
        ]
rows += [
    sequence("BlockLSTM", "clipped", HALF, grad=False, cell_clip=0.3, forget_bias=0.5),
    sequence("BlockLSTM", "shorter", length=2, grad=False, only_=[1, 6]),
]


def gru(op, label="", grad="own", **given):
    inputs = dict(
        x=num(BATCH, DEPTH),
        h_prev=num(BATCH, CELLS),
        w_ru=num(DEPTH + CELLS, 2 * CELLS),
        w_c=num(DEPTH + CELLS, CELLS),
        b_ru=num(2 * CELLS),
        b_c=num(CELLS),
    )
    return row(op, label, grad_=grad, flows_=[3], **{**inputs, **given})


rows += [
    gru("GRUBlockCell"),
    gru(
        "GRUBlockCell",
        "weights of another size",
        w_c=num(DEPTH, CELLS),
        error_=("InvalidArgumentError", "ValueError"),
    ),
    gru(
        "GRUBlockCellGrad",
        grad=False,
        r=num(BATCH, CELLS),
        u=num(BATCH, CELLS),
        c=num(BATCH, CELLS),
        d_h=num(BATCH, CELLS),
    ),
]

FAMILY = Family("fused_cells", rows)
