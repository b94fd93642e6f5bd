"""Losses."""

from __future__ import annotations

from ..case import Family, row
from ..values import SINGLES, i32, i64, lit, num, pos, zeros

WITHOUT_BFLOAT = ("float16",) + SINGLES

# TensorFlow's gradient takes the labels of a row to add up to 1.
SHARES = lit([[0.25, 0.25, 0.5, 0.0], [0.0, 1.0, 0.0, 0.0], [0.125, 0.125, 0.25, 0.5]])

rows = [
    row(
        "SoftmaxCrossEntropyWithLogits",
        "",
        WITHOUT_BFLOAT,
        flows_=[0],
        features=num(3, 4),
        labels=SHARES,
        grad_=["features"],
    ),
    row(
        "SoftmaxCrossEntropyWithLogits",
        "labels' gradient",
        SINGLES,
        flows_=[0],
        features=num(3, 4),
        labels=SHARES,
    ),
    row(
        "SoftmaxCrossEntropyWithLogits",
        "broadcast",
        SINGLES,
        flows_=[0],
        features=num(3, 4),
        labels=pos(1, 4),
        grad_=False,
    ),
    row(
        "SoftmaxCrossEntropyWithLogits",
        "large",
        SINGLES,
        flows_=[0],
        features=lit([[1000.0, 0.0], [-1000.0, 1000.0]]),
        labels=lit([[1.0, 0.0], [1.0, 0.0]]),
    ),
    row(
        "SoftmaxCrossEntropyWithLogits",
        "no batch",
        flows_=[0],
        features=zeros(0, 4),
        labels=zeros(0, 4),
    ),
    row(
        "SoftmaxCrossEntropyWithLogits",
        "shapes differ",
        flows_=[0],
        features=num(3, 4),
        labels=num(3, 5),
        error_="InvalidArgumentError",
    ),
    row(
        "SparseSoftmaxCrossEntropyWithLogits",
        "",
        WITHOUT_BFLOAT,
        flows_=[0],
        features=num(3, 4),
        labels=i64([3, 0, 2]),
    ),
    row(
        "SparseSoftmaxCrossEntropyWithLogits",
        "int32 labels",
        SINGLES,
        flows_=[0],
        features=num(3, 4),
        labels=i32([3, 0, 2]),
    ),
    row(
        "SparseSoftmaxCrossEntropyWithLogits",
        "large",
        SINGLES,
        flows_=[0],
        features=lit([[1000.0, 0.0], [-1000.0, 1000.0]]),
        labels=i32([0, 0]),
    ),
    row(
        "SparseSoftmaxCrossEntropyWithLogits",
        "no batch",
        flows_=[0],
        features=zeros(0, 4),
        labels=lit([], "int32"),
    ),
    row(
        "SparseSoftmaxCrossEntropyWithLogits",
        "label out of range",
        flows_=[0],
        features=num(2, 3),
        labels=i32([0, 3]),
        error_="InvalidArgumentError",
    ),
    row(
        "SparseSoftmaxCrossEntropyWithLogits",
        "negative label",
        flows_=[0],
        features=num(2, 3),
        labels=i64([0, -1]),
        error_="InvalidArgumentError",
    ),
    row(
        "SparseSoftmaxCrossEntropyWithLogits",
        "batches differ",
        flows_=[0],
        features=num(2, 3),
        labels=i32([0]),
        error_="InvalidArgumentError",
    ),
]

FAMILY = Family("nn_loss", rows)
