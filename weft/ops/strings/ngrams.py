"""StringNGrams: neighbours in rows of strings, joined."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework.registry import op
from weft.framework.shape_rules import rank
from weft.ops.strings.elements import as_bytes, invalid, of


@op(
    "StringNGrams",
    "data: string, data_splits: Tsplits -> ngrams: string, ngrams_splits: Tsplits",
    "separator: string; ngram_widths: list(int) >= 0; left_pad: string; right_pad: string; pad_width: int; "
    "preserve_short_sequences: bool; Tsplits: type in {int32, int64} = int64",
    host=True,
)
def string_ngrams_op(
    xp,
    data,
    data_splits,
    *,
    separator,
    ngram_widths,
    left_pad,
    right_pad,
    pad_width,
    preserve_short_sequences,
    Tsplits,
):
    """Each row's neighbouring strings, so many at a time, joined; and where the results of each row end."""
    if any(width <= 0 for width in ngram_widths):
        raise invalid("ngram_widths must contain positive values")
    splits = data_splits.astype(np.int64)
    for i in np.flatnonzero((splits < 0) | (splits > data.size))[:1]:
        raise invalid(f"Invalid split value {splits[i]}, must be in [0,{data.size}]")
    if (np.diff(splits) < 0).any():
        raise invalid(f"Splits must not decrease: {splits}")
    if not data.size or not splits.size:
        return data, np.zeros(splits.shape, Tsplits.np)
    starts, lengths = splits[:-1], np.diff(splits)
    pieces = of([as_bytes(left_pad), as_bytes(right_pad), *data.tolist()], (data.size + 2,))
    join = as_bytes(separator).join
    found: list[bytes] = []
    rows = np.empty(0, np.int64)  # that each of the found belongs to
    for width in ngram_widths:
        pad = width - 1 if pad_width < 0 else min(pad_width, width - 1)
        counts = np.maximum(lengths + 2 * pad - width + 1, 0)
        found += map(join, pieces[_windows(starts, lengths, pad, counts, width)].tolist())
        rows = np.concatenate([rows, np.repeat(np.arange(len(counts)), counts)])
    if preserve_short_sequences:
        counts = np.bincount(rows, minlength=len(lengths))
        short = np.flatnonzero((counts == 0) & (lengths > 0))
        if short.size and pad_width < 0:
            raise invalid(
                "Pad width should be >= 0 when preserve_short_sequences is True and ngram_widths are not "
                f"provided, got {pad_width}"
            )
        for i in short.tolist():
            one = np.ones(1, np.int64)
            width = int(lengths[i]) + 2 * pad_width
            window = _windows(starts[i : i + 1], lengths[i : i + 1], pad_width, one, width)
            found.append(join(pieces[window[0]].tolist()))
        rows = np.concatenate([rows, short])
    order = np.argsort(rows, kind="stable")
    ends = np.cumsum(np.bincount(rows, minlength=len(lengths)))
    return of(found, (len(found),))[order], np.concatenate([[0], ends]).astype(Tsplits.np)


def _windows(starts: Any, lengths: Any, pad: int, counts: Any, width: int) -> np.ndarray:
    """The pieces that each result is joined of: 0 and 1 are what pads rows left and right."""
    rows = np.repeat(np.arange(len(counts)), counts)
    first = np.arange(len(rows)) - (np.cumsum(counts) - counts)[rows]
    at = first[:, None] + np.arange(width) - pad
    inside = 2 + starts[rows][:, None] + at
    return np.where(at < 0, 0, np.where(at >= lengths[rows][:, None], 1, inside))


@string_ngrams_op.shape
def _(data, data_splits):
    rank(data, 1)
    return (None,), rank(data_splits, 1)


string_ngrams_op.not_differentiable()
