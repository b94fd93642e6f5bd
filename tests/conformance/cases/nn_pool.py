"""Pooling and its gradients."""

from __future__ import annotations

from ..case import Family, row
from ..layout import by_transposing
from ..values import INDICES, REALS, SINGLES, Dtype, const, i64, lit, num, ramp

WITHOUT_BFLOAT = ("float16",) + SINGLES
GEOMETRIES = (
    # label, image, window, strides, padding, output
    ("", (2, 4, 4, 2), [1, 2, 2, 1], [1, 2, 2, 1], "VALID", (2, 2, 2, 2)),
    ("overlapping", (1, 5, 6, 2), [1, 3, 3, 1], [1, 1, 2, 1], "VALID", (1, 3, 2, 2)),
    ("same", (1, 5, 5, 1), [1, 3, 2, 1], [1, 2, 2, 1], "SAME", (1, 3, 3, 1)),
    ("whole", (2, 3, 3, 2), [1, 3, 3, 1], [1, 1, 1, 1], "VALID", (2, 1, 1, 2)),
    ("gaps", (1, 7, 7, 1), [1, 2, 2, 1], [1, 3, 3, 1], "VALID", (1, 2, 2, 1)),
)

rows = []
for label, image, window, strides, padding, out in GEOMETRIES:
    attrs = dict(ksize=window, strides=strides, padding=padding)
    over = WITHOUT_BFLOAT if not label else SINGLES if label == "same" else ("float32",)
    wide = REALS if not label else over
    rows += [
        row("AvgPool", label, over, value=num(*image), **attrs),
        row(
            "AvgPoolGrad", label, over, orig_input_shape=const(list(image)), grad=num(*out), **attrs
        ),
        row("MaxPool", label, wide, input=num(*image), **attrs),
        row(
            "MaxPoolV2",
            label,
            wide,
            input=num(*image),
            ksize=const(window),
            strides=const(strides),
            padding=padding,
        ),
        row("MaxPoolWithArgmax", label, over, input=num(*image), **attrs),
    ]
# Channels first, from 4 x 6 images by windows of 2 x 3
FLIPPED = dict(ksize=[1, 1, 2, 3], strides=[1, 1, 2, 2], padding="SAME", data_format="NCHW")
rows += [
    row(
        "AvgPool",
        "channels first",
        SINGLES,
        value=num(2, 3, 4, 6),
        oracle_=by_transposing("AvgPool", ["value"]),
        **FLIPPED,
    ),
    row(
        "MaxPool",
        "channels first",
        SINGLES,
        input=num(2, 3, 4, 6),
        oracle_=by_transposing("MaxPool", ["input"]),
        **FLIPPED,
    ),
    row(
        "AvgPoolGrad",
        "channels first",
        orig_input_shape=const([2, 3, 4, 6]),
        grad=num(2, 3, 2, 3),
        oracle_=by_transposing("AvgPoolGrad", ["grad"], ["orig_input_shape"]),
        **FLIPPED,
    ),
    row(
        "MaxPoolGrad",
        "channels first",
        orig_input=ramp(1, 2, 2, 4),
        orig_output=lit([[[[5, 7]], [[13, 15]]]]),
        grad=num(1, 2, 1, 2),
        ksize=[1, 1, 2, 2],
        strides=[1, 1, 2, 2],
        padding="VALID",
        data_format="NCHW",
        oracle_=by_transposing("MaxPoolGrad", ["orig_input", "orig_output", "grad"]),
    ),
]
# An input that rises everywhere has its maxima in known places; so the gradient ops agree with it.
RISING = dict(ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID")
CORNERS = lit([[[[5], [7]], [[13], [15]]]])
rows += [
    row(
        "MaxPoolGrad",
        "",
        REALS,
        orig_input=ramp(1, 4, 4, 1),
        orig_output=CORNERS,
        grad=num(1, 2, 2, 1),
        **RISING,
    ),
    row(
        "MaxPoolGrad",
        "overlapping",
        SINGLES,
        orig_input=ramp(1, 3, 3, 1),
        orig_output=lit([[[[4], [5]], [[7], [8]]]]),
        grad=num(1, 2, 2, 1),
        ksize=[1, 2, 2, 1],
        strides=[1, 1, 1, 1],
        padding="VALID",
    ),
    row(
        "MaxPoolGrad",
        "ties",
        SINGLES,
        orig_input=lit([[[[1.0], [1.0]], [[1.0], [1.0]]]]),
        orig_output=lit([[[[1.0]]]]),
        grad=lit([[[[3.0]]]]),
        numeric_=False,
        **RISING,
    ),
    row(
        "MaxPoolGradV2",
        "",
        REALS,
        orig_input=ramp(1, 4, 4, 1),
        orig_output=CORNERS,
        grad=num(1, 2, 2, 1),
        ksize=const([1, 2, 2, 1]),
        strides=const([1, 2, 2, 1]),
        padding="VALID",
    ),
    row(
        "MaxPoolGradGrad",
        "",
        SINGLES + ("int32",),
        orig_input=ramp(1, 4, 4, 1),
        orig_output=CORNERS,
        grad=num(1, 4, 4, 1),
        **RISING,
    ),
    row(
        "MaxPoolGradGradV2",
        "",
        SINGLES,
        orig_input=ramp(1, 4, 4, 1),
        orig_output=CORNERS,
        grad=num(1, 4, 4, 1),
        ksize=const([1, 2, 2, 1]),
        strides=const([1, 2, 2, 1]),
        padding="VALID",
    ),
    row(
        "MaxPoolGradWithArgmax",
        "",
        ("float32",),
        input=ramp(2, 4, 4, 1),
        grad=num(2, 2, 2, 1),
        argmax=i64([[[[5], [7]], [[13], [15]]]] * 2),
        **RISING,
    ),
    row(
        "MaxPoolGradGradWithArgmax",
        "",
        ("float32",),
        input=ramp(2, 4, 4, 1),
        grad=num(2, 4, 4, 1),
        argmax=i64([[[[5], [7]], [[13], [15]]]] * 2),
        later_=True,
        **RISING,
    ),
    row(
        "MaxPoolWithArgmax",
        "batch in index",
        input=num(2, 4, 4, 1),
        include_batch_in_index=True,
        **RISING,
    ),
    row("MaxPoolWithArgmax", "int32", input=num(2, 4, 4, 1), Targmax=Dtype("int32"), **RISING),
    row(
        "MaxPool",
        "ties",
        SINGLES,
        input=lit([[[[1.0], [1.0]], [[1.0], [1.0]]]]),
        numeric_=False,
        **RISING,
    ),
    row("MaxPool", "no batch", input=num(0, 4, 4, 1), grad_=False, **RISING),
    row(
        "MaxPool",
        "window too large",
        input=num(1, 2, 2, 1),
        ksize=[1, 3, 3, 1],
        strides=[1, 1, 1, 1],
        padding="VALID",
        error_="ValueError",
    ),
    row(
        "MaxPool",
        "rank 3",
        input=num(2, 2, 1),
        ksize=[1, 1, 1, 1],
        strides=[1, 1, 1, 1],
        padding="VALID",
        error_="InvalidArgumentError",
    ),
    row(
        "AvgPool",
        "window too large",
        value=num(1, 2, 2, 1),
        ksize=[1, 3, 3, 1],
        strides=[1, 1, 1, 1],
        padding="VALID",
        error_="ValueError",
    ),
]
VOLUMES = (
    ("", (1, 4, 4, 4, 2), [1, 2, 2, 2, 1], [1, 2, 2, 2, 1], "VALID", (1, 2, 2, 2, 2)),
    ("same", (1, 3, 5, 4, 1), [1, 2, 3, 2, 1], [1, 2, 2, 1, 1], "SAME", (1, 2, 3, 4, 1)),
)
for label, volume, window, strides, padding, out in VOLUMES:
    attrs = dict(ksize=window, strides=strides, padding=padding)
    rows += [
        row("AvgPool3D", label, SINGLES, input=num(*volume), **attrs),
        row(
            "AvgPool3DGrad",
            label,
            SINGLES,
            orig_input_shape=const(list(volume)),
            grad=num(*out),
            **attrs,
        ),
        row("MaxPool3D", label, "float32", input=num(*volume), **attrs),
    ]
BOX = dict(ksize=[1, 2, 2, 2, 1], strides=[1, 2, 2, 2, 1], padding="VALID")
rows += [
    row(
        "MaxPool3DGrad",
        "",
        "float32",
        orig_input=ramp(1, 2, 2, 4, 1),
        orig_output=lit([[[[[13], [15]]]]]),
        grad=num(1, 1, 1, 2, 1),
        **BOX,
    ),
    row(
        "MaxPool3DGradGrad",
        "",
        "float32",
        orig_input=ramp(1, 2, 2, 4, 1),
        orig_output=lit([[[[[13], [15]]]]]),
        grad=num(1, 2, 2, 4, 1),
        **BOX,
    ),
]
ROWS, COLUMNS = i64([0, 2, 3, 5]), i64([0, 1, 3, 4])
PLACES = lit([[[[7], [9], [10]], [[15], [17], [18]], [[23], [25], [26]]]])
RATIOS = [1.0, 1.5, 1.25, 1.0]
for op in ("FractionalMaxPool", "FractionalAvgPool"):
    rows += [
        row(
            op,
            "",
            SINGLES + INDICES,
            value=num(1, 6, 5, 2),
            pooling_ratio=RATIOS,
            deterministic=True,
            seed=1,
            seed2=2,
            exact_=False,
            later_=True,
            grad_=False,
        ),
        row(
            op,
            "overlapping",
            "float32",
            value=num(1, 6, 5, 2),
            pooling_ratio=RATIOS,
            overlapping=True,
            pseudo_random=True,
            deterministic=True,
            seed=1,
            seed2=2,
            exact_=False,
            later_=True,
            grad_=False,
        ),
    ]
rows += [
    row(
        "FractionalAvgPoolGrad",
        "",
        SINGLES,
        orig_input_tensor_shape=const([1, 5, 4, 1], "int64"),
        out_backprop=num(1, 3, 3, 1),
        row_pooling_sequence=ROWS,
        col_pooling_sequence=COLUMNS,
        later_=True,
        grad_=False,
    ),
    row(
        "FractionalMaxPoolGrad",
        "",
        SINGLES,
        orig_input=ramp(1, 5, 4, 1),
        orig_output=lit([[[[4], [6], [7]], [[8], [10], [11]], [[16], [18], [19]]]]),
        out_backprop=num(1, 3, 3, 1),
        row_pooling_sequence=ROWS,
        col_pooling_sequence=COLUMNS,
        later_=True,
        grad_=False,
    ),
]

FAMILY = Family("nn_pool", rows)
