"""Connectionist temporal classification, and distances of sequences."""

from __future__ import annotations

from ..case import Family, row
from ..values import SINGLES, i32, i64, lit, num

PLACES = i64([[0, 0], [0, 1], [0, 2], [1, 0], [2, 0], [2, 1]])
LABELS = i32([1, 1, 0, 2, 3, 0])


def places(second, last):
    return i64([[0, 0], [0, 1], [0, 2], [1, 0], [second, 1], [last, 2]])


LENGTHS = i32([6, 4, 5])


def loss(label, **given):
    arguments = dict(
        inputs=num(6, 3, 5),
        labels_indices=PLACES,
        labels_values=LABELS,
        sequence_length=LENGTHS,
        tol_=3,
    )
    return row("CTCLoss", label, **{**arguments, **given})


rows = [
    loss("", flows_=[0], numeric_=False, grad_=["inputs"]),
    loss(
        "collapsed", preprocess_collapse_repeated=True, flows_=[0], grad_=["inputs"], numeric_=False
    ),
    loss("unmerged", ctc_merge_repeated=False, flows_=[0], grad_=["inputs"], numeric_=False),
    loss(
        "neither",
        preprocess_collapse_repeated=True,
        ctc_merge_repeated=False,
        flows_=[0],
        grad_=["inputs"],
        numeric_=False,
    ),
    loss(
        "longer than the inputs",
        sequence_length=i32([2, 4, 0]),
        ignore_longer_outputs_than_inputs=True,
        flows_=[0],
        grad_=["inputs"],
        numeric_=False,
    ),
    loss("no way", sequence_length=i32([3, 4, 5]), grad_=False),
    loss("not enough time", sequence_length=i32([2, 4, 5]), error_="InvalidArgumentError"),
    loss("blanks at the end", labels_values=i32([1, 0, 4, 2, 3, 0]), grad_=False),
    loss("blank between", labels_values=i32([1, 4, 0, 2, 3, 0]), error_="InvalidArgumentError"),
    loss("negative label", labels_values=i32([1, -2, 0, 2, 3, 0]), error_="InvalidArgumentError"),
    loss(
        "no labels",
        labels_indices=places(1, 1),
        error_="InvalidArgumentError",
    ),
    loss(
        "outside of the batch",
        labels_indices=places(2, 3),
        error_="InvalidArgumentError",
    ),
    loss("too long", sequence_length=i32([7, 4, 5]), error_="InvalidArgumentError"),
    loss(
        "lengths of another batch",
        sequence_length=i32([6, 4]),
        error_="InvalidArgumentError",
    ),
]
for merge in (False, True):
    rows += [
        row(
            "CTCGreedyDecoder",
            "merged" if merge else "",
            SINGLES,
            inputs=num(7, 3, 4),
            sequence_length=i32([7, 0, 4]),
            merge_repeated=merge,
        ),
    ]
    rows += [
        row(
            "CTCBeamSearchDecoder",
            "merged" if merge else "",
            dtype,
            inputs=num(7, 3, 4),
            sequence_length=i32([7, 3, 4]),
            beam_width=20,
            top_paths=3,
            merge_repeated=merge,
            tol_=tolerance,
        )
        # TensorFlow's exponentials and logarithms are those of single precision.
        for dtype, tolerance in (("float32", 5), ("float64", 1000))
    ]
rows += [
    row(
        "CTCBeamSearchDecoder",
        "narrow",
        inputs=num(12, 2, 6),
        sequence_length=i32([12, 9]),
        beam_width=3,
        top_paths=2,
        tol_=5,
    ),
    row(
        "CTCBeamSearchDecoder",
        "more paths than beams",
        inputs=num(4, 1, 3),
        sequence_length=i32([4]),
        beam_width=2,
        top_paths=3,
        error_="InvalidArgumentError",
    ),
    row(
        "CTCBeamSearchDecoder",
        "less paths than asked for",
        inputs=num(1, 1, 3),
        sequence_length=i32([1]),
        beam_width=20,
        top_paths=5,
        error_="InvalidArgumentError",
    ),
    row(
        "CTCGreedyDecoder",
        "too long",
        inputs=num(4, 1, 3),
        sequence_length=i32([5]),
        error_="FailedPreconditionError",
    ),
]


def distance(label, said, said_values, true, true_values, shapes, dtype="int64", **more):
    return row(
        "EditDistance",
        label,
        hypothesis_indices=i64(said),
        hypothesis_values=lit(said_values, dtype),
        hypothesis_shape=i64(shapes[0]),
        truth_indices=i64(true),
        truth_values=lit(true_values, dtype),
        truth_shape=i64(shapes[1]),
        **more,
    )


SAID = [[0, 0, 0], [0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 0, 1], [1, 0, 2]]
TRUE = [[0, 0, 0], [0, 0, 1], [0, 0, 2], [1, 0, 0], [1, 0, 1], [1, 1, 0]]
SHAPES = [[2, 2, 3], [2, 2, 3]]
rows += [
    distance("", SAID, [1, 2, 3, 4, 5, 6], TRUE, [1, 3, 2, 5, 6, 1], SHAPES),
    distance(
        "not normalised",
        SAID,
        [1, 2, 3, 4, 5, 6],
        TRUE,
        [1, 3, 2, 5, 6, 1],
        SHAPES,
        normalize=False,
    ),
    distance(
        "of words",
        SAID,
        ["a", "b", "", "c", "d", "e"],
        TRUE,
        ["a", "", "b", "d", "e", "z"],
        SHAPES,
        "string",
    ),
    distance("other sizes", [[0, 0], [1, 0]], [1, 2], [[0, 0], [2, 1]], [1, 2], [[2, 1], [3, 2]]),
    distance(
        "one rank less",
        [[0, 0]],
        [1],
        [[0]],
        [1],
        [[1, 1], [1]],
        error_="InvalidArgumentError",
    ),
]

FAMILY = Family("ctc", rows)
