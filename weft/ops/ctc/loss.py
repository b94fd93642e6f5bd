"""The CTC loss (Graves et al. 2006): the probability of a sequence of labels, over all ways to place them in time."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import errors
from weft.framework.registry import op
from weft.framework.shape_rules import merge_dim, rank
from weft.ops.by_name import raw

_NEVER = -np.inf


def _invalid(message: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, message)


@op(
    "CTCLoss",
    "inputs: T, labels_indices: int64, labels_values: int32, sequence_length: int32 -> loss: T, gradient: T",
    "preprocess_collapse_repeated: bool = false; ctc_merge_repeated: bool = true; "
    "ignore_longer_outputs_than_inputs: bool = false; T: type in {float, double} = float",
    host=True,
)
def ctc_loss_op(
    xp,
    inputs,
    labels_indices,
    labels_values,
    sequence_length,
    *,
    preprocess_collapse_repeated,
    ctc_merge_repeated,
    ignore_longer_outputs_than_inputs,
):
    """The loss of each example, and its gradient with respect to `inputs` [time, batch, classes]."""
    _check(inputs, labels_indices, labels_values, sequence_length)
    steps, batch, classes = inputs.shape
    given, counts = _by_example(labels_indices, labels_values, batch)
    labels, lengths = _without_blanks(given, counts, classes, preprocess_collapse_repeated)
    fits = counts <= sequence_length
    if not ignore_longer_outputs_than_inputs and not fits.all():
        b = int(np.argmin(fits))
        raise _invalid(
            f"Not enough time for target transition sequence (required: {counts[b]}, available: "
            f"{sequence_length[b]}){b}You can turn this error into a warning by using the flag "
            "ignore_longer_outputs_than_inputs"
        )
    counted = (sequence_length > 0) & fits
    logits = inputs.astype(np.float64)
    log_y = logits - logits.max(-1, keepdims=True)
    log_y -= np.log(np.exp(log_y).sum(-1, keepdims=True))
    states = np.full((batch, 2 * labels.shape[1] + 1), classes - 1)  # blanks between the labels
    states[:, 1::2] = labels
    alpha, beta = _forward_backward(
        log_y, states, 2 * lengths + 1, sequence_length, ctc_merge_repeated
    )
    both = alpha + beta
    log_p = np.logaddexp.reduce(both[0], axis=-1)
    loss = np.where(counted, -log_p, 0.0)
    share = np.exp(both - np.where(np.isfinite(log_p), log_p, 0.0)[:, None])
    taken = np.zeros(log_y.shape)
    np.add.at(
        taken,
        (np.arange(steps)[:, None, None], np.arange(batch)[:, None], states[None]),
        share,
    )
    alive = (np.arange(steps)[:, None] < sequence_length) & counted
    gradient = np.where(alive[..., None], np.exp(log_y) - taken, 0.0)
    return loss.astype(inputs.dtype), gradient.astype(inputs.dtype)


def _check(inputs: Any, indices: Any, values: Any, lengths: Any) -> None:
    if inputs.ndim != 3:
        raise _invalid("inputs is not a 3-Tensor")
    if lengths.ndim != 1:
        raise _invalid("sequence_length is not a vector")
    if indices.ndim != 2:
        raise _invalid("labels_indices is not a matrix")
    if indices.shape[1] < 2:
        raise _invalid(f"labels_indices second dimension must be >= 1. Received {indices.shape[1]}")
    if values.ndim != 1:
        raise _invalid("labels_values is not a vector")
    steps, batch, _ = inputs.shape
    if steps == 0:
        raise _invalid("Max time or first dimension of input cannot be 0.")
    if batch != len(lengths):
        raise _invalid(
            f"len(sequence_length) != batch_size.  len(sequence_length):  {len(lengths)} batch_size: {batch}"
        )
    if len(indices) != len(values):
        raise _invalid(
            "labels_indices and labels_values must contain the same number of rows, but saw shapes: "
            f"{list(indices.shape)} vs. {list(values.shape)}"
        )
    if batch == 0:
        raise _invalid("batch_size must not be 0")
    for b, length in enumerate(lengths.tolist()):
        if length > steps:
            raise _invalid(f"sequence_length({b}) <= {steps}")
        if length < 0:
            raise _invalid(f"seq_len({b}) < 0")


def _by_example(indices: Any, values: Any, batch: int) -> tuple[np.ndarray, np.ndarray]:
    """The labels of each example, one behind the other, and how many there are."""
    rows = indices[:, 0]
    outside = (rows < 0) | (rows >= batch)
    if outside.any():
        raise _invalid(
            f"labels batch index must be between 0 and {batch} but saw: {rows[np.argmax(outside)]}"
        )
    place = indices[:, 0] * (indices[:, 1].max(initial=0) + 1) + indices[:, 1]
    if (indices[:, 1] < 0).any() or (np.diff(place) <= 0).any():
        raise _invalid("label SparseTensor is not valid: indices are out of order or repeated")
    counts = np.bincount(rows, minlength=batch)
    if (counts == 0).any():
        raise _invalid(f"Labels length is zero in batch {np.argmin(counts)}")
    labels = np.full((batch, counts.max()), -1, np.int64)
    columns = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    labels[rows, columns] = values
    return labels, counts


def _without_blanks(
    labels: np.ndarray, counts: np.ndarray, classes: int, collapse: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The labels up to the first blank, without repetitions if they are to be collapsed; then how many."""
    width = labels.shape[1]
    there = np.arange(width) < counts[:, None]
    if collapse:
        there[:, 1:] &= labels[:, 1:] != labels[:, :-1]
    blank = there & (labels >= classes - 1)
    ended = np.logical_or.accumulate(blank, axis=1)
    kept = there & ~blank
    for fault, message in (
        (
            (kept & ended).any(1),
            "Saw a non-null label (index >= num_classes - 1) following a null label,",
        ),
        ((kept & (labels < 0)).any(1), "All labels must be nonnegative integers,"),
    ):
        if fault.any():
            b = int(np.argmax(fault))
            shown = ",".join(map(str, labels[b, : counts[b]]))
            raise _invalid(f"{message} batch: {b} num_classes: {classes} labels: {shown}")
    order = np.argsort(~kept, axis=1, kind="stable")
    packed = np.take_along_axis(np.where(kept, labels, classes - 1), order, 1)
    lengths = kept.sum(1)
    return packed[:, : max(int(lengths.max()), 1)], lengths


def _forward_backward(
    log_y: np.ndarray, states: np.ndarray, sizes: np.ndarray, lengths: np.ndarray, merge: bool
) -> tuple[np.ndarray, np.ndarray]:
    """For each time, example and state: the logarithm of the probability of the ways to it (its own class
    included), and of those on from it."""
    steps, batch, classes = log_y.shape
    n = states.shape[1]
    emitted = np.take_along_axis(log_y, np.broadcast_to(states, (steps, batch, n)), 2)
    u = np.arange(n)
    exists = u < sizes[:, None]
    is_blank = states == classes - 1
    may_stay = is_blank | merge
    may_skip = np.zeros((batch, n), bool)  # from two states before
    may_skip[:, 2:] = ~is_blank[:, 2:] & ~(merge & (states[:, 2:] == states[:, :-2]))

    def total(stay: np.ndarray, one: np.ndarray, two: np.ndarray) -> np.ndarray:
        return np.logaddexp(np.logaddexp(stay, one), two)

    alpha = np.full((steps, batch, n), _NEVER)
    alpha[0] = np.where((u < 2) & exists, emitted[0], _NEVER)
    for t in range(1, steps):
        before = np.pad(alpha[t - 1], ((0, 0), (2, 0)), constant_values=_NEVER)
        ways = total(
            np.where(may_stay, before[:, 2:], _NEVER),
            before[:, 1:-1],
            np.where(may_skip, before[:, :-2], _NEVER),
        )
        alpha[t] = np.where(exists, ways + emitted[t], _NEVER)
    beta = np.full((steps, batch, n), _NEVER)
    last = exists & (u >= sizes[:, None] - 2)
    skip_after = np.pad(may_skip[:, 2:], ((0, 0), (0, 2)))
    for t in range(steps - 1, -1, -1):
        beta[t] = np.where((lengths[:, None] == t + 1) & last, 0.0, _NEVER)
        if t + 1 < steps:
            after = np.pad(beta[t + 1] + emitted[t + 1], ((0, 0), (0, 2)), constant_values=_NEVER)
            ways = total(
                np.where(may_stay, after[:, :-2], _NEVER),
                after[:, 1:-1],
                np.where(skip_after, after[:, 2:], _NEVER),
            )
            beta[t] = np.where((lengths[:, None] > t + 1) & exists, ways, beta[t])
    return alpha, beta


@ctc_loss_op.shape
def _(inputs, labels_indices, labels_values, sequence_length, **_):
    inputs = rank(inputs, 3, "inputs")
    indices = rank(labels_indices, 2, "labels_indices")
    values = rank(labels_values, 1, "labels_values")
    merge_dim(indices[0], values[0])
    lengths = rank(sequence_length, 1, "sequence_length")
    batch = merge_dim(inputs[1], lengths[0])
    return (batch,), (inputs[0], batch, inputs[2])


@ctc_loss_op.gradient
def _(op, grad_loss, _):
    gradient = raw.PreventGradient(
        op.outputs[1],
        message="Currently there is no way to take the second derivative of ctc_loss due to the fused "
        "implementation's interaction with tf.gradients()",
    )
    return raw.Mul(raw.ExpandDims(grad_loss, -1), gradient), None, None, None
