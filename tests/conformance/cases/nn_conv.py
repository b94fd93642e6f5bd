"""Convolutions, their gradients, and morphology."""

from __future__ import annotations

from ..case import Family, row
from ..layout import by_transposing, first
from ..values import SINGLES, const, num

WITHOUT_BFLOAT = ("float16",) + SINGLES
CONV2D = ("Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter")
DEPTHWISE = (
    "DepthwiseConv2dNative",
    "DepthwiseConv2dNativeBackpropInput",
    "DepthwiseConv2dNativeBackpropFilter",
)
CONV3D = ("Conv3D", "Conv3DBackpropInputV2", "Conv3DBackpropFilterV2")

rows = []


def conv(
    ops,
    label,
    image,
    kernel,
    strides,
    padding,
    out=None,
    over="float32",
    channels_first=False,
    **attrs,
):
    """A convolution and, given its output's shape, both of its gradient ops on that geometry."""
    forward, by_image, by_filter = ops
    if channels_first:
        image, strides = first(image), first(strides)
        out = out and first(out)
        label = (label + " channels first").strip()
        attrs["data_format"] = "NCHW" if len(image) == 4 else "NCDHW"
    attrs = dict(attrs, strides=list(strides), padding=padding, tol_=3)

    def add(op, images, sizes, results, **inputs):
        oracle = by_transposing(op, images, sizes, results) if channels_first else None
        rows.append(row(op, label, over, oracle_=oracle, **dict(attrs, **inputs)))

    add(forward, ["input"], [], [0], input=num(*image), filter=num(*kernel))
    if out:
        flowing = num(*out)
        add(
            by_image,
            ["out_backprop"],
            ["input_sizes"],
            [0],
            input_sizes=const(list(image)),
            filter=num(*kernel),
            out_backprop=flowing,
        )
        add(
            by_filter,
            ["input", "out_backprop"],
            [],
            [],
            input=num(*image),
            filter_sizes=const(list(kernel)),
            out_backprop=flowing,
        )


PLAIN = [1, 1, 1, 1]
conv(CONV2D, "", (2, 5, 5, 2), (3, 3, 2, 3), PLAIN, "VALID", (2, 3, 3, 3), WITHOUT_BFLOAT)
conv(CONV2D, "same", (1, 5, 4, 2), (3, 2, 2, 3), PLAIN, "SAME", (1, 5, 4, 3), SINGLES)
conv(CONV2D, "strided", (1, 6, 7, 2), (3, 3, 2, 2), [1, 2, 3, 1], "SAME", (1, 3, 3, 2), SINGLES)
conv(CONV2D, "strided valid", (1, 7, 6, 1), (2, 3, 1, 2), [1, 3, 2, 1], "VALID", (1, 2, 2, 2))
# TensorFlow's CPU kernels dilate forward only.
conv(
    CONV2D,
    "dilated",
    (1, 7, 7, 1),
    (3, 3, 1, 2),
    PLAIN,
    "VALID",
    over=SINGLES,
    dilations=[1, 2, 2, 1],
    grad_="own",
)
conv(
    CONV2D,
    "dilated same",
    (1, 7, 7, 1),
    (3, 2, 1, 2),
    PLAIN,
    "SAME",
    dilations=[1, 2, 3, 1],
    grad_="own",
)
conv(CONV2D, "1 x 1", (2, 3, 3, 4), (1, 1, 4, 2), PLAIN, "VALID", (2, 3, 3, 2))
conv(CONV2D, "1 x 1 strided", (1, 4, 4, 2), (1, 1, 2, 2), [1, 2, 2, 1], "SAME", (1, 2, 2, 2))
conv(
    CONV2D, "kernel as large as the image", (1, 4, 4, 2), (4, 4, 2, 2), PLAIN, "VALID", (1, 1, 1, 2)
)
conv(
    CONV2D,
    "explicit",
    (1, 5, 5, 1),
    (3, 3, 1, 2),
    PLAIN,
    "EXPLICIT",
    (1, 6, 4, 2),
    explicit_paddings=[0, 0, 2, 1, 0, 1, 0, 0],
)
conv(CONV2D, "no batch", (0, 5, 5, 1), (3, 3, 1, 2), PLAIN, "SAME")
conv(
    CONV2D,
    "",
    (2, 5, 5, 2),
    (3, 3, 2, 3),
    PLAIN,
    "VALID",
    (2, 3, 3, 3),
    SINGLES,
    channels_first=True,
)
conv(
    CONV2D,
    "strided",
    (1, 6, 7, 2),
    (3, 3, 2, 2),
    [1, 2, 3, 1],
    "SAME",
    (1, 3, 3, 2),
    channels_first=True,
)
rows += [
    row(
        "Conv2D",
        "channels differ",
        input=num(1, 5, 5, 2),
        filter=num(3, 3, 3, 2),
        strides=PLAIN,
        padding="SAME",
        error_="InvalidArgumentError",
    ),
    row(
        "Conv2D",
        "stride over the batch",
        input=num(2, 5, 5, 2),
        filter=num(3, 3, 2, 2),
        strides=[2, 1, 1, 1],
        padding="SAME",
        error_="InvalidArgumentError",
    ),
    row(
        "Conv2D",
        "kernel too large",
        input=num(1, 2, 2, 1),
        filter=num(3, 3, 1, 2),
        strides=PLAIN,
        padding="VALID",
        error_="ValueError",
    ),
    row(
        "Conv2D",
        "rank 3",
        input=num(2, 2, 1),
        filter=num(1, 1, 1, 2),
        strides=PLAIN,
        padding="VALID",
        error_="InvalidArgumentError",
    ),
    row(
        "Conv2DBackpropInput",
        "wrong geometry",
        input_sizes=const([1, 5, 5, 1]),
        filter=num(3, 3, 1, 2),
        out_backprop=num(1, 4, 4, 2),
        strides=PLAIN,
        padding="VALID",
        error_="InvalidArgumentError",
    ),
]

conv(DEPTHWISE, "", (2, 5, 5, 3), (3, 3, 3, 2), PLAIN, "VALID", (2, 3, 3, 6), WITHOUT_BFLOAT)
conv(DEPTHWISE, "same", (1, 5, 4, 2), (3, 2, 2, 1), PLAIN, "SAME", (1, 5, 4, 2), SINGLES)
conv(DEPTHWISE, "strided", (1, 6, 6, 2), (3, 3, 2, 2), [1, 2, 2, 1], "SAME", (1, 3, 3, 4))
conv(DEPTHWISE, "", (2, 5, 5, 3), (3, 3, 3, 2), PLAIN, "VALID", (2, 3, 3, 6), channels_first=True)
rows += [
    row(
        "DepthwiseConv2dNative",
        "channels differ",
        input=num(1, 5, 5, 2),
        filter=num(3, 3, 3, 1),
        strides=PLAIN,
        padding="SAME",
        error_="InvalidArgumentError",
    ),
    row(
        "FusedPadConv2D",
        "",
        SINGLES,
        input=num(1, 4, 4, 2),
        paddings=const([[0, 0], [1, 1], [2, 0], [0, 0]]),
        filter=num(3, 3, 2, 2),
        mode="REFLECT",
        strides=PLAIN,
        padding="VALID",
        tol_=3,
        later_=True,
    ),
]

UNIT = [1, 1, 1, 1, 1]
conv(CONV3D, "", (1, 4, 5, 4, 2), (2, 3, 2, 2, 3), UNIT, "VALID", (1, 3, 3, 3, 3), WITHOUT_BFLOAT)
conv(CONV3D, "same", (1, 3, 4, 3, 1), (2, 2, 3, 1, 2), UNIT, "SAME", (1, 3, 4, 3, 2), SINGLES)
conv(CONV3D, "strided", (1, 5, 4, 6, 1), (3, 2, 3, 1, 2), [1, 2, 2, 3, 1], "SAME", (1, 3, 2, 2, 2))
conv(
    CONV3D,
    "",
    (1, 4, 5, 4, 2),
    (2, 3, 2, 2, 3),
    UNIT,
    "VALID",
    (1, 3, 3, 3, 3),
    channels_first=True,
)
rows += [
    row(
        "Conv3DBackpropInputV2",
        "int64 sizes",
        input_sizes=const([1, 3, 3, 3, 1], "int64"),
        filter=num(2, 2, 2, 1, 2),
        out_backprop=num(1, 2, 2, 2, 2),
        strides=UNIT,
        padding="VALID",
        tol_=3,
    ),
    row(
        "Conv3D",
        "channels differ",
        input=num(1, 3, 3, 3, 2),
        filter=num(2, 2, 2, 3, 2),
        strides=UNIT,
        padding="SAME",
        error_="InvalidArgumentError",
    ),
]

DILATION = dict(strides=PLAIN, rates=PLAIN, padding="VALID")
SPREAD = dict(strides=[1, 2, 2, 1], rates=[1, 2, 1, 1], padding="SAME")
rows += [
    row(
        "Dilation2D",
        "",
        SINGLES + ("int32",),
        input=num(1, 4, 4, 2),
        filter=num(2, 2, 2),
        **DILATION,
    ),
    row("Dilation2D", "spread", SINGLES, input=num(1, 5, 5, 2), filter=num(2, 3, 2), **SPREAD),
    row(
        "Dilation2DBackpropInput",
        "",
        SINGLES,
        input=num(1, 4, 4, 2),
        filter=num(2, 2, 2),
        out_backprop=num(1, 3, 3, 2),
        **DILATION,
    ),
    row(
        "Dilation2DBackpropFilter",
        "",
        SINGLES,
        input=num(1, 4, 4, 2),
        filter=num(2, 2, 2),
        out_backprop=num(1, 3, 3, 2),
        **DILATION,
    ),
    row(
        "Dilation2DBackpropInput",
        "spread",
        input=num(1, 5, 5, 2),
        filter=num(2, 3, 2),
        out_backprop=num(1, 3, 3, 2),
        **SPREAD,
    ),
    row(
        "Dilation2DBackpropFilter",
        "spread",
        input=num(1, 5, 5, 2),
        filter=num(2, 3, 2),
        out_backprop=num(1, 3, 3, 2),
        **SPREAD,
    ),
]

FAMILY = Family("nn_conv", rows)
