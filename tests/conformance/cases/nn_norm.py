"""Normalisation, biases and activations."""

from __future__ import annotations

from ..case import Family, row
from ..layout import by_transposing
from ..values import FLOATS, NUMBERS, REALS, SINGLES, lit, nonzero, num, pos, zeros

rows = [
    row("BiasAdd", "", NUMBERS, value=num(2, 3), bias=num(3)),
    row("BiasAdd", "image", SINGLES, value=num(2, 2, 2, 3), bias=num(3)),
    row(
        "BiasAdd", "channels first", SINGLES, value=num(2, 3, 2, 2), bias=num(3), data_format="NCHW"
    ),
    row("BiasAdd", "channels first, rank 3", value=num(2, 3, 2), bias=num(3), data_format="NCHW"),
    row("BiasAdd", "lengths differ", value=num(2, 5), bias=num(4), error_="InvalidArgumentError"),
    row("BiasAdd", "length 1", value=num(2, 5), bias=num(1), error_="InvalidArgumentError"),
    row("BiasAdd", "vector value", value=num(3), bias=num(3), error_="InvalidArgumentError"),
    row("BiasAdd", "matrix bias", value=num(2, 3), bias=num(2, 3), error_="InvalidArgumentError"),
    row("BiasAddV1", "", SINGLES, value=num(2, 3), bias=num(3)),
    row("BiasAddGrad", "", FLOATS + ("int32",), out_backprop=num(2, 3)),
    row("BiasAddGrad", "image", SINGLES, out_backprop=num(2, 2, 2, 3)),
    row("BiasAddGrad", "channels first", SINGLES, out_backprop=num(2, 3, 2, 2), data_format="NCHW"),
    row(
        "LRN",
        "",
        ("float32", "float16"),
        input=num(1, 2, 2, 7),
        depth_radius=2,
        bias=1.0,
        alpha=0.5,
        beta=0.75,
    ),
    row("LRN", "defaults", "float32", input=num(1, 1, 2, 4)),
    row("LRN", "rank 3", "float32", input=num(1, 2, 4), error_="InvalidArgumentError"),
    row(
        "LRNGrad",
        "",
        "float32",
        input_grads=num(1, 1, 2, 7),
        input_image=num(1, 1, 2, 7),
        output_image=num(1, 1, 2, 7),
        depth_radius=2,
        bias=1.0,
        alpha=0.5,
        beta=0.75,
        grad_=False,
    ),
    row("Softmax", "", ("float16",) + SINGLES, logits=num(2, 3)),
    row(
        "Softmax", "large", SINGLES, logits=lit([[1000.0, 1001.0, 999.0], [-1000.0, 0.0, -2000.0]])
    ),
    row("Softmax", "rank 3", logits=num(2, 2, 3)),
    row("Softmax", "scalar", logits=num(), error_="InvalidArgumentError"),
    row("LogSoftmax", "", ("float16",) + SINGLES, logits=num(2, 3)),
    row(
        "LogSoftmax",
        "large",
        SINGLES,
        logits=lit([[1000.0, 1001.0, 999.0], [-1000.0, 0.0, -2000.0]]),
    ),
]
for op, over in (
    ("Relu", REALS),
    ("Relu6", REALS),
    ("Elu", FLOATS),
    ("Selu", FLOATS),
    ("LeakyRelu", FLOATS),
    ("Softplus", FLOATS),
    ("Softsign", FLOATS),
):
    rows += [
        row(op, "", over, features=nonzero(2, 3)),
        row(op, "empty", "float32", features=zeros(0, 3)),
        row(
            op,
            "special",
            SINGLES,
            features=lit(
                [-1000.0, -7.5, -0.0, 0.0, 6.5, 1000.0, float("inf"), float("-inf"), float("nan")]
            ),
            grad_=False,
        ),
    ]
rows += [
    row("LeakyRelu", "alpha", SINGLES, features=nonzero(2, 3), alpha=0.01),
    row("LeakyReluGrad", "", FLOATS, gradients=num(2, 3), features=nonzero(2, 3), alpha=0.3),
]
for op, over, name in (
    ("ReluGrad", REALS, "features"),
    ("Relu6Grad", REALS, "features"),
    ("EluGrad", FLOATS, "outputs"),
    ("SeluGrad", FLOATS, "outputs"),
    ("SoftplusGrad", FLOATS, "features"),
    ("SoftsignGrad", FLOATS, "features"),
):
    rows.append(row(op, "", over, gradients=num(2, 3), **{name: nonzero(2, 3)}))
    rows.append(
        row(
            op,
            "shapes differ",
            "float32",
            gradients=num(2, 3),
            error_="InvalidArgumentError",
            **{name: num(3)},
        )
    )

CHANNELS = dict(scale=pos(3).typed("float32"), offset=num(3).typed("float32"))
MOMENTS = dict(mean=num(3).typed("float32"), variance=pos(3).typed("float32"))
NO_MOMENTS = dict(mean=lit([], "float32"), variance=lit([], "float32"))
for op, over in (
    ("FusedBatchNorm", ("float32",)),
    ("FusedBatchNormV2", ("float32", "float16")),
    ("FusedBatchNormV3", ("float32", "float16")),
):
    rows += [
        row(
            op,
            "training",
            over,
            x=num(2, 2, 3, 3),
            tol_=5,
            epsilon=0.001,
            only_=[0, 1, 2, 3, 4],
            grad_=["x", "scale", "offset"],
            **dict(CHANNELS, **NO_MOMENTS),
        ),
        row(
            op,
            "inference",
            over,
            x=num(2, 2, 3, 3),
            tol_=5,
            epsilon=0.001,
            is_training=False,
            only_=[0],
            grad_=["x", "scale", "offset"],
            **dict(CHANNELS, **MOMENTS),
        ),
        row(
            op,
            "channels first",
            "float32",
            x=num(2, 3, 2, 2),
            tol_=5,
            data_format="NCHW",
            only_=[0, 1, 2, 3, 4],
            grad_=["x", "scale", "offset"],
            oracle_=by_transposing(op, ["x"]),
            **dict(CHANNELS, **NO_MOMENTS),
        ),
        row(
            op,
            "inference channels first",
            "float32",
            x=num(2, 3, 2, 2),
            tol_=5,
            data_format="NCHW",
            is_training=False,
            only_=[0],
            grad_=["x", "scale", "offset"],
            oracle_=by_transposing(op, ["x"]),
            **dict(CHANNELS, **MOMENTS),
        ),
        row(
            op,
            "training with moments",
            "float32",
            x=num(2, 2, 3, 3),
            error_="InvalidArgumentError",
            **dict(CHANNELS, **MOMENTS),
        ),
        row(
            op,
            "lengths differ",
            "float32",
            x=num(2, 2, 3, 4),
            error_="ValueError",
            **dict(CHANNELS, **NO_MOMENTS),
        ),
    ]
for op, over in (
    ("FusedBatchNormGrad", ("float32",)),
    ("FusedBatchNormGradV2", ("float32", "float16")),
    ("FusedBatchNormGradV3", ("float32", "float16")),
):
    reserved = dict(
        reserve_space_1=num(3).typed("float32"), reserve_space_2=pos(3).typed("float32")
    )
    if op.endswith("V3"):
        reserved["reserve_space_3"] = pos(3).typed("float32")
    for training in (True, False):
        rows.append(
            row(
                op,
                "training" if training else "inference",
                over,
                y_backprop=num(2, 2, 3, 3),
                x=num(2, 2, 3, 3),
                scale=pos(3).typed("float32"),
                is_training=training,
                tol_=5,
                grad_=False,
                epsilon=0.01,
                **reserved,
            )
        )

FAMILY = Family("nn_norm", rows)
