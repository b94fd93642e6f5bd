"""Non-max suppression of batches and classes at once: CombinedNonMaxSuppression."""

from __future__ import annotations

import numpy as np

from weft.framework.registry import op
from weft.framework.shape_rules import fail, merge_dim, rank, scalar
from weft.ops.image.suppression import row_overlaps


def _kept(
    boxes: np.ndarray, scores: np.ndarray, limit: int, threshold: float, least: float
) -> np.ndarray:
    """The positions of the boxes of one class that stay, best first."""
    order = np.argsort(-scores, kind="stable")
    order = order[scores[order] > least]
    kept: list[int] = []
    while len(order) and len(kept) < limit:
        best = order[0]
        kept.append(best)
        rest = order[1:]
        order = rest[~(row_overlaps(boxes, best, rest) > threshold)]
    return np.array(kept, np.int64)


@op(
    "CombinedNonMaxSuppression",
    "boxes: float, scores: float, max_output_size_per_class: int32, max_total_size: int32, "
    "iou_threshold: float, score_threshold: float "
    "-> nmsed_boxes: float, nmsed_scores: float, nmsed_classes: float, valid_detections: int32",
    "pad_per_class: bool = false; clip_boxes: bool = true",
    host=True,
)
def combined_non_max_suppression_op(
    xp,
    boxes,
    scores,
    max_output_size_per_class,
    max_total_size,
    iou_threshold,
    score_threshold,
    *,
    pad_per_class,
    clip_boxes,
):
    """The best boxes of all classes of each image, after suppression in each class, padded with zeros."""
    per_class, total = int(max_output_size_per_class), int(max_total_size)
    threshold, least = float(iou_threshold), float(score_threshold)
    if per_class <= 0:
        raise ValueError("max_size_per_class must be positive")
    if total <= 0:
        raise ValueError("max_total_size must be > 0")
    if not 0 <= threshold <= 1:
        raise ValueError("iou_threshold must be in [0, 1]")
    batch, _, classes = scores.shape
    if boxes.shape[2] not in (1, classes):
        raise ValueError("third dimension of boxes must be either 1 or num classes")
    size = min(total, per_class * classes) if pad_per_class else total
    out_boxes = np.zeros((batch, size, 4), np.float32)
    out_scores = np.zeros((batch, size), np.float32)
    out_classes = np.zeros((batch, size), np.float32)
    valid = np.zeros(batch, np.int32)
    for b in range(batch):
        found = []
        for c in range(classes):
            of_class = boxes[b, :, c if boxes.shape[2] > 1 else 0]
            kept = _kept(of_class, scores[b, :, c], per_class, threshold, least)
            found.append((of_class[kept], scores[b, kept, c], np.full(len(kept), c)))
        if not found:
            continue
        all_boxes, all_scores, all_classes = map(np.concatenate, zip(*found))
        best = np.argsort(-all_scores, kind="stable")[:size]
        n = valid[b] = len(best)
        out_boxes[b, :n] = all_boxes[best]
        out_scores[b, :n], out_classes[b, :n] = all_scores[best], all_classes[best]
    return (np.clip(out_boxes, 0, 1) if clip_boxes else out_boxes), out_scores, out_classes, valid


@combined_non_max_suppression_op.shape
def _(
    boxes,
    scores,
    max_output_size_per_class,
    max_total_size,
    iou_threshold,
    score_threshold,
    *,
    pad_per_class,
    const,
):
    boxes = rank(boxes, 4, "boxes")
    scores = rank(scores, 3, "scores")
    for shape in (max_output_size_per_class, max_total_size, iou_threshold, score_threshold):
        scalar(shape)
    batch = merge_dim(boxes[0], scores[0], "boxes and scores must be of as many images")
    merge_dim(boxes[1], scores[1], "boxes and scores must be as many")
    if boxes[3] not in (None, 4):
        fail("boxes must have 4 columns", boxes)
    if None not in (boxes[2], scores[2]) and boxes[2] not in (1, scores[2]):
        fail(
            "third dimension of boxes must be either 1 or equal to the third dimension of scores",
            boxes,
            scores,
        )
    total, per_class = const("max_total_size"), const("max_output_size_per_class")
    size = None if total is None else int(total)
    if size is not None and size <= 0:
        fail("max_total_size should be > 0")
    if pad_per_class:
        if per_class is not None and int(per_class) <= 0:
            fail("max_output_size_per_class should be > 0")
        if None in (size, scores[2]) or per_class is None:
            size = None
        else:
            size = min(size, int(per_class) * scores[2])
    return (batch, size, 4), (batch, size), (batch, size), (batch,)


combined_non_max_suppression_op.not_differentiable()
