"""Non-max suppression: of boxes that overlap, the one with the best score stays."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework.registry import op
from weft.framework.shape_rules import fail, merge_dim, rank, scalar

_HALF = "type in {half, float} = float"


def row_overlaps(boxes: np.ndarray, i: int, others: np.ndarray) -> np.ndarray:
    """Intersection over union of one box with others; corners may come in any order."""
    b = boxes[np.concatenate([[i], others])]
    y1, y2 = np.minimum(b[:, 0], b[:, 2]), np.maximum(b[:, 0], b[:, 2])
    x1, x2 = np.minimum(b[:, 1], b[:, 3]), np.maximum(b[:, 1], b[:, 3])
    area = (y2 - y1) * (x2 - x1)
    height = np.minimum(y2[0], y2[1:]) - np.maximum(y1[0], y1[1:])
    width = np.minimum(x2[0], x2[1:]) - np.maximum(x1[0], x1[1:])
    both = np.maximum(height, 0) * np.maximum(width, 0)
    either = area[0] + area[1:] - both
    ok = (area[0] > 0) & (area[1:] > 0)
    return np.where(ok, both / np.where(ok, either, 1), 0)


def suppress(
    scores: np.ndarray, limit: int, overlap: Any, threshold: float, least: float
) -> np.ndarray:
    """The positions of the boxes that stay, best first. `overlap(i, others)` gives overlaps of box i.

    TensorFlow leaves it to the overlap of a box with itself that it is not chosen twice: one without
    an area has none, and fills the rest of the places.
    """
    order = np.argsort(-scores.astype(np.float32), kind="stable")
    order = order[scores[order] > least]
    kept: list[int] = []
    while len(order) and len(kept) < limit:
        best = order[0]
        kept.append(best)
        shared = overlap(best, order)  # the first is its own
        if shared[0] < threshold:
            kept += [best] * (limit - len(kept))
        order = order[1:][shared[1:] < threshold]
    return np.array(kept, np.int32)


def suppress_softly(
    boxes: np.ndarray, scores: np.ndarray, limit: int, threshold: float, least: float, sigma: float
) -> tuple[np.ndarray, np.ndarray]:
    """As `suppress`, but overlapping boxes lose score rather than go; gives the scores left as well."""
    current = scores.copy()
    alive = np.flatnonzero(current > least)
    scale = scores.dtype.type(-0.5 / sigma if sigma > 0 else 0.0)
    kept: list[int] = []
    values: list[Any] = []
    while len(alive) and len(kept) < limit:
        best = alive[np.argmax(current[alive])]
        kept.append(best)
        values.append(current[best])
        shared = row_overlaps(boxes, best, alive)
        if shared[alive == best][0] < threshold:
            kept += [best] * (limit - len(kept))
            values += [current[best]] * (limit - len(values))
        stays = (shared < threshold) & (alive != best)
        alive, shared = alive[stays], shared[stays]
        current[alive] *= np.exp(scale * shared * shared)
        alive = alive[current[alive] > least]
    return np.array(kept, np.int32), np.array(values, scores.dtype)


def _check(boxes: np.ndarray, scores: np.ndarray, threshold: Any) -> None:
    if not 0 <= float(threshold) <= 1:
        raise ValueError(f"iou_threshold must be in [0, 1], but is {float(threshold)}")
    if len(boxes) != len(scores):
        raise ValueError(f"scores has incompatible shape: {scores.shape} for {len(boxes)} boxes")


def _shape(boxes, scores, *numbers, columns=4):
    for number in numbers:
        scalar(number)
    boxes = rank(boxes, 2, "boxes")
    scores = rank(scores, 1, "scores")
    merge_dim(boxes[0], scores[0], "boxes and scores: Dimensions must be equal")
    if columns and boxes[1] not in (None, columns):
        fail(f"Dimension must be {columns} but is {boxes[1]} for the columns of boxes", boxes)


def _hard(boxes, scores, limit, threshold, least=-np.inf):
    _check(boxes, scores, threshold)
    return suppress(
        scores,
        int(limit),
        lambda i, others: row_overlaps(boxes, i, others),
        float(threshold),
        float(least),
    )


@op(
    "NonMaxSuppression",
    "boxes: float, scores: float, max_output_size: int32 -> selected_indices: int32",
    "iou_threshold: float = 0.5",
    host=True,
)
def non_max_suppression_v1(xp, boxes, scores, max_output_size, *, iou_threshold):
    """The boxes that stay, best first."""
    return _hard(boxes, scores, max_output_size, iou_threshold)


@non_max_suppression_v1.shape
def _(boxes, scores, max_output_size):
    _shape(boxes, scores, max_output_size)
    return (None,)


@op(
    "NonMaxSuppressionV2",
    "boxes: T, scores: T, max_output_size: int32, iou_threshold: T_threshold -> selected_indices: int32",
    f"T: {_HALF}; T_threshold: {_HALF}",
    host=True,
)
def non_max_suppression_v2(xp, boxes, scores, max_output_size, iou_threshold):
    """The boxes that stay, best first."""
    return _hard(boxes, scores, max_output_size, iou_threshold)


@non_max_suppression_v2.shape
def _(boxes, scores, max_output_size, iou_threshold):
    _shape(boxes, scores, max_output_size, iou_threshold)
    return (None,)


@op(
    "NonMaxSuppressionV3",
    "boxes: T, scores: T, max_output_size: int32, iou_threshold: T_threshold, score_threshold: T_threshold "
    "-> selected_indices: int32",
    f"T: {_HALF}; T_threshold: {_HALF}",
    host=True,
)
def non_max_suppression_v3(xp, boxes, scores, max_output_size, iou_threshold, score_threshold):
    """The boxes that stay, best first; those below a score go."""
    return _hard(boxes, scores, max_output_size, iou_threshold, score_threshold)


@non_max_suppression_v3.shape
def _(boxes, scores, max_output_size, iou_threshold, score_threshold):
    _shape(boxes, scores, max_output_size, iou_threshold, score_threshold)
    return (None,)


def _padded(array: np.ndarray, size: int) -> np.ndarray:
    return np.concatenate([array, np.zeros(size - len(array), array.dtype)])


@op(
    "NonMaxSuppressionV4",
    "boxes: T, scores: T, max_output_size: int32, iou_threshold: T_threshold, score_threshold: T_threshold "
    "-> selected_indices: int32, valid_outputs: int32",
    f"T: {_HALF}; T_threshold: {_HALF}; pad_to_max_output_size: bool = false",
    host=True,
)
def non_max_suppression_v4(
    xp, boxes, scores, max_output_size, iou_threshold, score_threshold, *, pad_to_max_output_size
):
    """The boxes that stay, best first, and how many they are."""
    kept = _hard(boxes, scores, max_output_size, iou_threshold, score_threshold)
    n = np.array(len(kept), np.int32)
    return (_padded(kept, int(max_output_size)) if pad_to_max_output_size else kept), n


@non_max_suppression_v4.shape
def _(
    boxes, scores, max_output_size, iou_threshold, score_threshold, *, pad_to_max_output_size, const
):
    _shape(boxes, scores, max_output_size, iou_threshold, score_threshold)
    size = const("max_output_size") if pad_to_max_output_size else None
    return (None if size is None else int(size),), ()


@op(
    "NonMaxSuppressionV5",
    "boxes: T, scores: T, max_output_size: int32, iou_threshold: T, score_threshold: T, soft_nms_sigma: T -> "
    "selected_indices: int32, selected_scores: T, valid_outputs: int32",
    f"T: {_HALF}; pad_to_max_output_size: bool = false",
    host=True,
)
def non_max_suppression_v5(
    xp,
    boxes,
    scores,
    max_output_size,
    iou_threshold,
    score_threshold,
    soft_nms_sigma,
    *,
    pad_to_max_output_size,
):
    """The boxes that stay, best first, their scores and their number; overlapping ones lose score softly."""
    _check(boxes, scores, iou_threshold)
    if float(soft_nms_sigma) < 0:
        raise ValueError("soft_nms_sigma_val must be >= 0.0")
    kept, values = suppress_softly(
        boxes,
        scores,
        int(max_output_size),
        float(iou_threshold),
        float(score_threshold),
        float(soft_nms_sigma),
    )
    n = np.array(len(kept), np.int32)
    values = values.astype(scores.dtype)
    if pad_to_max_output_size:
        kept, values = _padded(kept, int(max_output_size)), _padded(values, int(max_output_size))
    return kept, values, n


@non_max_suppression_v5.shape
def _(
    boxes,
    scores,
    max_output_size,
    iou_threshold,
    score_threshold,
    soft_nms_sigma,
    *,
    pad_to_max_output_size,
    const,
):
    _shape(boxes, scores, max_output_size, iou_threshold, score_threshold, soft_nms_sigma)
    size = const("max_output_size") if pad_to_max_output_size else None
    one = (None if size is None else int(size),)
    return one, one, ()


@op(
    "NonMaxSuppressionWithOverlaps",
    "overlaps: float, scores: float, max_output_size: int32, overlap_threshold: float, score_threshold: float "
    "-> selected_indices: int32",
    host=True,
)
def non_max_suppression_with_overlaps(
    xp, overlaps, scores, max_output_size, overlap_threshold, score_threshold
):
    """The boxes that stay, best first, where the overlap of each pair is given."""
    return suppress(
        scores,
        int(max_output_size),
        lambda i, others: overlaps[i, others],
        float(overlap_threshold),
        float(score_threshold),
    )


@non_max_suppression_with_overlaps.shape
def _(overlaps, scores, max_output_size, overlap_threshold, score_threshold):
    overlaps = rank(overlaps, 2, "overlaps")
    merge_dim(overlaps[0], overlaps[1], "overlaps must be square")
    _shape(overlaps, scores, max_output_size, overlap_threshold, score_threshold, columns=0)
    return (None,)


for _decl in (
    non_max_suppression_v1,
    non_max_suppression_v2,
    non_max_suppression_v3,
    non_max_suppression_v4,
    non_max_suppression_v5,
    non_max_suppression_with_overlaps,
):
    _decl.not_differentiable()
