"""GatherTree: beams read backwards, from each last id to its ancestors."""

from __future__ import annotations

import numpy as np

from weft.framework import errors
from weft.framework.export import export
from weft.framework.registry import op
from weft.framework.shape_rules import merge, merge_dim, rank, scalar


@op(
    "GatherTree",
    "step_ids: T, parent_ids: T, max_sequence_lengths: int32, end_token: T -> beams: T",
    "T: type in {int32}",
    host=True,
)
def gather_tree_op(xp, step_ids, parent_ids, max_sequence_lengths, end_token):
    """The ids of each beam; all that follows the first end token is end tokens."""
    max_time, batch, width = step_ids.shape
    beams = np.full(step_ids.shape, end_token, step_ids.dtype)
    ends = np.minimum(max_sequence_lengths, max_time)[:, None]
    rows = np.arange(batch)[:, None]
    at = np.broadcast_to(np.arange(width), (batch, width))
    for time in range(max_time - 1, -1, -1):
        read = np.broadcast_to(time < ends, at.shape)
        wrong = read & ((at < 0) | (at >= width))
        if wrong.any():
            row, beam = np.argwhere(wrong)[0]
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Saw invalid parent id {at[row, beam]} at (batch, time, beam) == ({row}, {time}, {beam})",
            )
        here = np.where(read, at, 0)
        beams[time] = np.where(read, step_ids[time][rows, here], end_token)
        at = np.where(read, parent_ids[time][rows, here], at)
    over = np.logical_or.accumulate(beams == end_token, axis=0)
    return np.where(over, end_token, beams)


@gather_tree_op.shape
def _(step_ids, parent_ids, max_sequence_lengths, end_token):
    scalar(end_token, "end_token")
    out = merge(rank(step_ids, 3, "step_ids"), rank(parent_ids, 3, "parent_ids"))
    (batch,) = rank(max_sequence_lengths, 1, "max_sequence_lengths")
    return out[0], merge_dim(out[1], batch), out[2]


gather_tree_op.not_differentiable()


@export("contrib.seq2seq.gather_tree")
def gather_tree(step_ids, parent_ids, max_sequence_lengths, end_token, name=None):
    """The ids of each beam, from the ids of each step and the beams that they continue."""
    return gather_tree_op(step_ids, parent_ids, max_sequence_lengths, end_token, name=name)
