"""Candidate sampling: for given seeds the samples of TensorFlow, and how often they are expected."""

from __future__ import annotations

from ..case import Family, row, script
from ..values import i64, lit

SEEDS = dict(seed=87654321, seed2=5)
RANGED = (
    "UniformCandidateSampler",
    "LogUniformCandidateSampler",
    "LearnedUnigramCandidateSampler",
    "ThreadUnsafeUnigramCandidateSampler",
)
TRUE = [[0, 3], [7, 7], [20, 1]]


def sampled(op, label, count, unique, true=TRUE, **more):
    return row(
        op,
        label,
        true_classes=i64(true),
        num_true=2,
        num_sampled=count,
        unique=unique,
        eager_=False,
        **{**SEEDS, **more},
    )


rows = []
for op in RANGED:
    rows += [
        sampled(op, "unique", 20, True, range_max=100),
        sampled(op, "repeated", 200, False, range_max=64),
        sampled(op, "nearly all", 30, True, range_max=31),
        sampled(op, "unseeded", 5, True, range_max=50, exact_=False, seed=0, seed2=0),
        sampled(op, "range too small", 30, True, range_max=29, error_="InvalidArgumentError"),
        row(
            op,
            "wrong columns",
            true_classes=i64([[1, 2, 3]]),
            num_true=2,
            num_sampled=2,
            unique=False,
            range_max=9,
            error_="InvalidArgumentError",
        ),
    ]
FIXED = "FixedUnigramCandidateSampler"
WEIGHTS = [0.5, 2.0, 0.0, 3.5, 1.0, 1.0, 0.25, 4.0]
rows += [
    sampled(FIXED, "unique", 5, True, [[0, 3], [7, 2]], range_max=8, unigrams=WEIGHTS),
    sampled(
        FIXED,
        "distorted, with reserved ids",
        300,
        False,
        [[0, 3], [7, 2]],
        range_max=10,
        unigrams=WEIGHTS,
        distortion=0.5,
        num_reserved_ids=2,
    ),
    sampled(
        FIXED,
        "a shard",
        50,
        False,
        [[0, 3], [1, 2]],
        range_max=5,
        unigrams=WEIGHTS,
        num_reserved_ids=2,
        num_shards=2,
        shard=1,
    ),
    sampled(FIXED, "no weights", 5, True, range_max=8, error_="InvalidArgumentError"),
    sampled(
        FIXED,
        "too many weights",
        5,
        True,
        range_max=8,
        unigrams=WEIGHTS,
        vocab_file="/nowhere",
        error_="InvalidArgumentError",
    ),
    row(
        "AllCandidateSampler",
        true_classes=i64(TRUE),
        num_true=2,
        num_sampled=25,
        unique=True,
        **SEEDS,
    ),
    row(
        "ComputeAccidentalHits",
        true_classes=i64(TRUE),
        sampled_candidates=i64([7, 2, 0, 1, 30, 20]),
        num_true=2,
    ),
    row(
        "ComputeAccidentalHits",
        "repeated samples",
        true_classes=i64([[1], [2], [5]]),
        sampled_candidates=i64([2, 1, 2, 1]),
        num_true=1,
    ),
    row(
        "ComputeAccidentalHits",
        "no samples",
        true_classes=i64([[1], [2]]),
        sampled_candidates=lit([], "int64"),
        num_true=1,
    ),
    row(
        "ComputeAccidentalHits",
        "wrong columns",
        true_classes=i64(TRUE),
        sampled_candidates=i64([2]),
        num_true=3,
        error_="InvalidArgumentError",
    ),
]


@script(*RANGED)
def new_samples_each_run(g):
    true, samples = g.constant([[5], [5], [9]], "int64"), []
    for op in RANGED:
        samples += getattr(g.raw, op)(
            true_classes=true, num_true=1, num_sampled=12, unique=False, range_max=20, **SEEDS
        )
    for _ in range(3):  # two of the samplers learn from what was true
        yield g.run(*samples)


FAMILY = Family("candidates", rows, [new_samples_each_run])
