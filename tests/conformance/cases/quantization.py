"""Quantization, fake and real. Values are kept away from the middle between two levels."""

from __future__ import annotations

from ..case import Family, row, script
from ..values import SINGLES, f32, lit, num

INVALID = "InvalidArgumentError"


def newer(tf, arguments, attrs):
    """What took the place of QuantizeAndDequantize, which TensorFlow has for older graphs only."""
    ends = {name: tf.constant(attrs[name], arguments["input"].dtype) for name in ENDS}
    rest = {name: value for name, value in attrs.items() if name not in ENDS}
    return [tf.raw_ops.QuantizeAndDequantizeV2(input=arguments["input"], **dict(ends, **rest))]


ENDS = ("input_min", "input_max")
X = [-7.03, -3.3, -0.51, -0.02, 0.0, 0.013, 0.77, 2.91, 5.02, 8.2]
rows = []
for label, attrs in (
    ("", {}),
    ("narrow", {"narrow_range": True}),
    ("4 bits", {"num_bits": 4}),
    ("16 bits", {"num_bits": 16}),
):
    how = dict(attrs, numeric_=False)
    for low, high in ((-6.0, 6.0), (-0.3, 4.0), (1.0, 3.0)):
        rows.append(
            row(
                "FakeQuantWithMinMaxArgs",
                "%s%s to %s" % (label, low, high),
                inputs=f32(X),
                min=low,
                max=high,
                **how,
            )
        )
        rows.append(
            row(
                "FakeQuantWithMinMaxVars",
                "%s%s to %s" % (label, low, high),
                inputs=f32([X, X]),
                min=f32(low),
                max=f32(high),
                **how,
            )
        )
    ends = dict(min=f32([-6.0, 0.0, 0.5]), max=f32([5.0, 0.0, 1.5]))
    image = f32([[[-7.0, 0.3, 0.4], [0.3, 0.1, 3.0]], [[2.0, -1.0, -1.0], [5.5, 3.0, 0.9]]])
    rows.append(row("FakeQuantWithMinMaxVarsPerChannel", label, inputs=image, **dict(ends, **how)))
    how = dict(attrs, grad_=False)
    rows += [
        row("FakeQuantWithMinMaxArgsGradient", label, gradients=num(10), inputs=f32(X), **how),
        row(
            "FakeQuantWithMinMaxVarsGradient",
            label,
            gradients=num(10),
            inputs=f32(X),
            min=f32(-1.0),
            max=f32(2.0),
            **how,
        ),
        row(
            "FakeQuantWithMinMaxVarsPerChannelGradient",
            label,
            gradients=num(2, 2, 3),
            inputs=image,
            **dict(ends, **how),
        ),
    ]
rows += [
    row(
        "FakeQuantWithMinMaxVars",
        "no range",
        inputs=f32(X),
        min=f32(0.0),
        max=f32(0.0),
        numeric_=False,
    ),
    row("FakeQuantWithMinMaxArgs", "one bit", inputs=f32(X), num_bits=1, error_=INVALID),
    row("FakeQuantWithMinMaxArgs", "turned", inputs=f32(X), min=2.0, max=1.0, error_=INVALID),
    row(
        "FakeQuantWithMinMaxVarsPerChannel",
        "other channels",
        inputs=num(2, 3),
        min=f32([0.0, 0.0]),
        max=f32([1.0, 1.0]),
        error_=(INVALID, "ValueError"),
    ),
]
for signed in (True, False):
    for given in (True, False):
        for low, high in ((-4.0, 3.0), (-1.0, 6.5), (0.0, 5.0)):
            attrs = dict(signed_input=signed, range_given=given, numeric_=False, tol_=5)
            label = "%s %s %s to %s" % (signed, given, low, high)
            ends = dict(input_min=lit(low), input_max=lit(high))
            rows += [
                row(
                    "QuantizeAndDequantize",
                    label,
                    SINGLES,
                    input=lit(X),
                    input_min=low,
                    input_max=high,
                    oracle_=newer,
                    **attrs,
                ),
                row("QuantizeAndDequantizeV2", label, SINGLES, input=lit(X), **dict(ends, **attrs)),
                row(
                    "QuantizeAndDequantizeV2",
                    label + " up",
                    SINGLES,
                    input=lit(X),
                    round_mode="HALF_UP",
                    num_bits=5,
                    narrow_range=True,
                    **dict(ends, **attrs),
                ),
                row(
                    "QuantizeAndDequantizeV3",
                    label,
                    SINGLES,
                    input=lit(X),
                    num_bits=lit(6, "int32"),
                    **dict(ends, **attrs),
                ),
            ]
rows += [
    row(
        "QuantizeAndDequantizeV2",
        "turned",
        input=num(3),
        input_min=f32(2.0),
        input_max=f32(1.0),
        range_given=True,
        error_=INVALID,
    ),
    row(
        "QuantizeAndDequantizeV2",
        "no bits",
        input=num(3),
        input_min=f32(0.0),
        input_max=f32(1.0),
        num_bits=0,
        error_=INVALID,
    ),
]
KINDS = ("qint8", "quint8", "qint16", "quint16", "qint32")
PLAIN = {
    "qint8": "int8",
    "quint8": "uint8",
    "qint16": "int16",
    "quint16": "uint16",
    "qint32": "int32",
}


def plain(g, x, kind):
    """Quantized values as the integers that they are."""
    return g.raw.Bitcast(input=x, type=getattr(g.tf, PLAIN[kind]))


def ranges():
    return ((-6.0, 6.0), (-1.0, 7.5), (0.5, 3.0), (0.0, 0.0))


@script("QuantizeV2", "Dequantize")
def there_and_back(g):
    x = g.feed(X)
    for kind in KINDS:
        for mode in ("MIN_COMBINED", "MIN_FIRST", "SCALED"):
            for low, high in ranges():
                if kind == "qint32" and mode != "MIN_FIRST":
                    continue  # single precision does not tell its levels apart
                ends = dict(min_range=g.feed(low), max_range=g.feed(high))
                how = dict(T=getattr(g.tf, kind), mode=mode)
                q, least, most = g.raw.QuantizeV2(input=x, **dict(ends, **how))
                back = g.raw.Dequantize(input=q, min_range=least, max_range=most, mode=mode)
                if kind == "qint32":
                    yield g.run(least, most, back)
                else:
                    yield g.run(plain(g, q, kind), least, most, back)
    ends = dict(min_range=g.feed(-3.0), max_range=g.feed(4.0))
    how = dict(T=g.tf.qint8, mode="SCALED", round_mode="HALF_TO_EVEN")
    q, least, most = g.raw.QuantizeV2(input=x, **dict(ends, **how))
    yield g.run(plain(g, q, "qint8"), least, most)
    turned = dict(min_range=g.feed(3.0), max_range=g.feed(1.0), T=g.tf.qint8)
    yield g.run(g.raw.QuantizeV2(input=x, **turned)[1], error=INVALID)


@script("Requantize", "RequantizationRange", "QuantizeDownAndShrinkRange")
def other_ranges(g):
    values = g.feed([-(2**30), -12345678, 0, 99, 7654321, 2**29, 2**30], "int32")
    q = g.raw.Bitcast(input=values, type=g.tf.qint32)
    for low, high in ((-256.0, 256.0), (-100.0, 300.0)):
        ends = dict(input_min=g.feed(low), input_max=g.feed(high))
        yield g.run(*g.raw.RequantizationRange(input=q, **ends))
        shrunk = g.raw.QuantizeDownAndShrinkRange(input=q, out_type=g.tf.quint8, **ends)
        yield g.run(plain(g, shrunk[0], "quint8"), *shrunk[1:])
        for new_low, new_high in ((-200.0, 200.0), (0.0, 255.0), (-1.0, 99.0)):
            wanted = dict(
                requested_output_min=g.feed(new_low), requested_output_max=g.feed(new_high)
            )
            new = g.raw.Requantize(input=q, out_type=g.tf.quint8, **dict(ends, **wanted))
            yield g.run(plain(g, new[0], "quint8"), *new[1:])
    wrong = dict(requested_output_min=g.feed(1.0), requested_output_max=g.feed(2.0))
    new = g.raw.Requantize(input=q, out_type=g.tf.quint8, **dict(ends, **wrong))
    yield g.run(new[1], error=INVALID)


@script("QuantizedConcat")
def one_after_the_other(g):
    x = g.feed([[-6.0, 0.3], [1.2, 5.0]])
    for kind in ("quint8", "qint32"):
        parts, lows, highs = [], [], []
        for low, high in ((-6.0, 6.0), (-1.0, 7.5), (-6.0, 7.5)):
            ends = dict(min_range=g.feed(low), max_range=g.feed(high))
            how = dict(T=getattr(g.tf, kind), mode="MIN_FIRST")
            q, least, most = g.raw.QuantizeV2(input=x, **dict(ends, **how))
            parts.append(q)
            lows.append(least)
            highs.append(most)
        whole = dict(values=parts, input_mins=lows, input_maxes=highs)
        for axis in (0, 1):
            q, least, most = g.raw.QuantizedConcat(concat_dim=g.constant(axis, "int32"), **whole)
            back = g.raw.Dequantize(input=q, min_range=least, max_range=most, mode="MIN_FIRST")
            yield g.run(back, least, most)


FAMILY = Family("quantization", rows, [there_and_back, other_ranges, one_after_the_other])
