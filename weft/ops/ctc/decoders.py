"""From classes over time to labels: the best class at each time, or a search with a beam."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import errors
from weft.framework.registry import op
from weft.framework.shape_rules import merge_dim, rank

_NEVER = -np.inf


def _check(inputs: Any, lengths: Any) -> None:
    if inputs.ndim != 3:
        raise errors.InvalidArgumentError(None, None, "inputs is not a 3-Tensor")
    if inputs.shape[0] == 0:
        raise errors.InvalidArgumentError(None, None, "max_time is 0")
    if lengths.ndim != 1:
        raise errors.InvalidArgumentError(None, None, "sequence_length is not a vector")
    steps, batch, _ = inputs.shape
    if batch != len(lengths):
        raise errors.FailedPreconditionError(
            None,
            None,
            f"len(sequence_length) != batch_size.  len(sequence_length):  {len(lengths)} batch_size: {batch}",
        )
    late = lengths > steps
    if late.any():
        raise errors.FailedPreconditionError(
            None, None, f"sequence_length({np.argmax(late)}) <= {steps}"
        )


def _sparse(labels: np.ndarray, kept: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The kept labels of each row, packed to the left, as indices, values and shape."""
    rows, columns = np.nonzero(kept)
    counts = kept.sum(1)
    places = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    indices = np.stack([rows, places], 1).astype(np.int64)
    shape = np.array([len(labels), counts.max(initial=0)], np.int64)
    return indices, labels[rows, columns].astype(np.int64), shape


@op(
    "CTCGreedyDecoder",
    "inputs: T, sequence_length: int32 -> decoded_indices: int64, decoded_values: int64, decoded_shape: int64, "
    "log_probability: T",
    "merge_repeated: bool = false; T: type in {float, double} = float",
    host=True,
)
def greedy_op(xp, inputs, sequence_length, *, merge_repeated):
    """The best class at each time, without blanks; and minus the sum of the best inputs."""
    _check(inputs, sequence_length)
    steps, _, classes = inputs.shape
    best = inputs.argmax(-1).T
    alive = np.arange(steps) < sequence_length[:, None]
    kept = alive & (best != classes - 1)
    if merge_repeated:
        kept[:, 1:] &= best[:, 1:] != best[:, :-1]
    score = -np.where(alive, inputs.max(-1).T, 0).sum(1, dtype=inputs.dtype, keepdims=True)
    return *_sparse(best, kept), score


@greedy_op.shape
def _(inputs, sequence_length, *, merge_repeated):
    batch = merge_dim(rank(inputs, 3, "inputs")[1], rank(sequence_length, 1, "sequence_length")[0])
    return (None, 2), (None,), (2,), (batch, 1)


greedy_op.not_differentiable()


@op(
    "CTCBeamSearchDecoder",
    "inputs: T, sequence_length: int32 -> decoded_indices: top_paths*int64, decoded_values: top_paths*int64, "
    "decoded_shape: top_paths*int64, log_probability: T",
    "beam_width: int >= 1; top_paths: int >= 1; merge_repeated: bool = true; T: type in {float, double} = float",
    host=True,
)
def beam_search_op(xp, inputs, sequence_length, *, beam_width, top_paths, merge_repeated):
    """The most likely sequences of labels that a search with a beam finds, best first."""
    _check(inputs, sequence_length)
    if top_paths > beam_width:
        raise errors.InvalidArgumentError(None, None, "requested more paths than the beam width.")
    beams = _Beams(inputs.shape[1], beam_width)
    logits = inputs.astype(np.float64)
    logits = logits - logits.max(-1, keepdims=True)
    log_y = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    for t, now in enumerate(log_y):
        beams.step(now, sequence_length > t)
    labels, scores = beams.best(top_paths)
    if not np.isfinite(scores).all():
        raise errors.InvalidArgumentError(
            None, None, "Less leaves in the beam search than requested."
        )
    kept = labels >= 0
    if merge_repeated:  # of the labels, once more: a repetition has had a blank between
        kept &= labels != _next_kept(labels)
    found = [_sparse(labels[:, p], kept[:, p]) for p in range(top_paths)]
    indices, values, shapes = (list(part) for part in zip(*found))
    return indices, values, shapes, scores.astype(inputs.dtype)


def _next_kept(labels: np.ndarray) -> np.ndarray:
    """For each place the label that comes after it; labels are packed to the right end, -1 before them."""
    return np.concatenate([labels[..., 1:], np.full_like(labels[..., :1], -1)], -1)


@beam_search_op.shape
def _(inputs, sequence_length, *, beam_width, top_paths, merge_repeated):
    batch = merge_dim(rank(inputs, 3, "inputs")[1], rank(sequence_length, 1, "sequence_length")[0])
    return [(None, 2)] * top_paths, [(None,)] * top_paths, [(2,)] * top_paths, (batch, top_paths)


beam_search_op.not_differentiable()


class _Beams:
    """The likeliest beginnings of each example. A beginning is known by a number made of its labels, so that it
    is the same one when it comes back after it has been dropped."""

    def __init__(self, batch: int, width: int):
        shape = (batch, width)
        self.blank, self.label = np.full(shape, _NEVER), np.full(shape, _NEVER)
        self.blank[:, 0] = 0.0  # the empty beginning
        self.total = self.blank.copy()
        self.last = np.full(shape, -1)  # its last label
        self.id = np.zeros(shape, np.uint64)
        self.parent = np.zeros(shape, np.uint64)  # the id without the last label
        self.id[:, 0] = 1
        self._sources: list[np.ndarray] = []  # for each time: what a beginning was before,
        self._added: list[np.ndarray] = []  # and the label that it got, or -1

    def step(self, log_y: np.ndarray, alive: np.ndarray) -> None:
        """Goes on by one time, for the examples that have not ended."""
        batch, width = self.total.shape
        labels = log_y.shape[1] - 1
        rows = np.arange(batch)[:, None]
        active = self.total > _NEVER
        grown = active & (self.last >= 0)
        own_parent = (
            (self.parent[:, :, None] == self.id[:, None, :])
            & grown[:, :, None]
            & active[:, None, :]
        )
        has_parent, parent = own_parent.any(2), own_parent.argmax(2)
        again = self.last == self.last[rows, parent]
        before = np.where(again, self.blank[rows, parent], self.total[rows, parent])
        label = np.logaddexp(self.label, np.where(has_parent, before, _NEVER))
        label += np.where(grown, log_y[rows, np.maximum(self.last, 0)], 0.0)
        blank = self.total + log_y[:, -1:]
        # Each beginning with one more label, but for those that are beginnings already.
        child = np.repeat(self.total[:, :, None], labels, 2)
        b, w = np.nonzero(grown)
        child[b, w, self.last[b, w]] = self.blank[b, w]
        child = child + log_y[:, None, :-1]
        b, w = np.nonzero(has_parent)
        child[b, parent[b, w], self.last[b, w]] = _NEVER
        totals = np.concatenate([np.logaddexp(blank, label), child.reshape(batch, -1)], 1)
        chosen = _largest(totals, width)
        is_new = chosen >= width
        at = chosen - width
        source = np.where(is_new, at // labels, chosen)
        added = np.where(is_new, at % labels, -1)
        total = totals[rows, chosen]
        source = np.where(alive[:, None], source, np.arange(width))
        added = np.where(alive[:, None], added, -1)
        new = {
            "total": total,
            "blank": np.where(is_new, _NEVER, blank[rows, source]),
            "label": np.where(is_new, total, label[rows, source]),
            "last": np.where(is_new, added, self.last[rows, source]),
            "parent": np.where(is_new, self.id[rows, source], self.parent[rows, source]),
            "id": np.where(is_new, _joined(self.id[rows, source], added), self.id[rows, source]),
        }
        for name, value in new.items():
            setattr(self, name, np.where(alive[:, None], value, getattr(self, name)))
        self._sources.append(source)
        self._added.append(added)

    def best(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """The labels of the best, -1 before and between them taken out to the front, and their scores."""
        place = np.argsort(-self.total, axis=1, kind="stable")[:, :count]
        rows = np.arange(len(place))[:, None]
        scores = self.total[rows, place]
        labels = np.full((*place.shape, len(self._sources)), -1)
        for t in range(len(self._sources) - 1, -1, -1):
            labels[:, :, t] = self._added[t][rows, place]
            place = self._sources[t][rows, place]
        order = np.argsort(labels >= 0, axis=2, kind="stable")
        return np.take_along_axis(labels, order, 2), scores


def _largest(values: np.ndarray, count: int) -> np.ndarray:
    """The places of the largest values of each row, largest first."""
    if values.shape[1] > 4 * count:
        some = np.argpartition(-values, count - 1, axis=1)[:, :count]
        some.sort(axis=1)
    else:
        some = np.broadcast_to(np.arange(values.shape[1]), values.shape)
    order = np.argsort(-np.take_along_axis(values, some, 1), axis=1, kind="stable")[:, :count]
    return np.take_along_axis(some, order, 1)


def _joined(ids: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Numbers for beginnings with one more label (a 64-bit mix: that two are the same is out of the question)."""
    x = ids * np.uint64(0x9E3779B97F4A7C15) + labels.astype(np.uint64) + np.uint64(1)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
