"""Taking over what was trained with another vocabulary: GenerateVocabRemapping, LoadAndRemapMatrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import dtypes, errors
from weft.framework.checkpoint_files import open_checkpoint
from weft.framework.checkpoint_files.tensor_slice import Part
from weft.framework.registry import op
from weft.framework.shape_rules import scalar, text
from weft.ops.lookup.text_file import LINE_NUMBER, WHOLE_LINE, keys_and_values
from weft.ops.state.resource import short_name
from weft.ops.strings.elements import invalid, scalar_text, shown


def _words(file: np.ndarray, name: str, size: int) -> list[bytes]:
    """The lines of a vocabulary; no word may be in it twice."""
    path = shown(scalar_text(file, name))
    if not path:
        raise invalid(f"{name} cannot be empty.")
    words, _ = keys_and_values(
        path, size, b"\t", WHOLE_LINE, dtypes.string, LINE_NUMBER, dtypes.int64
    )
    return words.tolist()


@op(
    "GenerateVocabRemapping",
    "new_vocab_file: string, old_vocab_file: string -> remapping: int64, num_present: int32",
    "new_vocab_offset: int >= 0; num_new_vocab: int >= 0; old_vocab_size: int >= -1 = -1",
    host=True,
)
def generate_vocab_remapping_op(
    xp, new_vocab_file, old_vocab_file, *, new_vocab_offset, num_new_vocab, old_vocab_size
):
    """The line in an old vocabulary of each word of a part of a new one, -1 if it is not there."""
    new = _words(new_vocab_file, "new_vocab_file", -1)
    end = new_vocab_offset + num_new_vocab
    if end > len(new):
        raise invalid(
            f"lookup table size must be larger than last new vocab entry's line: {len(new)} lines, {end} wanted"
        )
    old = _words(old_vocab_file, "old_vocab_file", old_vocab_size)
    lines = dict(zip(old, range(len(old))))
    if len(lines) < len(old):
        word = next(w for i, w in enumerate(old) if lines[w] != i)
        raise errors.FailedPreconditionError(
            None, None, f"HashTable has different value for same key. Key {shown(word)} is repeated"
        )
    found = [lines.get(word, -1) for word in new[new_vocab_offset:end]]
    remapping = np.array(found, np.int64)
    return remapping, np.asarray((remapping >= 0).sum(), np.int32)


@generate_vocab_remapping_op.shape
def _(new_vocab_file, old_vocab_file, *, num_new_vocab):
    scalar(new_vocab_file)
    scalar(old_vocab_file)
    return (num_new_vocab,), ()


generate_vocab_remapping_op.not_differentiable()


def _known(remapping: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where a remapping takes something over, and from where; nothing may go to two places."""
    new = np.flatnonzero(remapping >= 0)
    old = remapping[new]
    order = np.argsort(old, kind="stable")
    twice = np.flatnonzero(np.diff(old[order]) == 0)
    if len(twice):
        first, second = new[order[twice[0]]], new[order[twice[0] + 1]]
        raise errors.UnimplementedError(
            None,
            None,
            f"Old ID {old[order[twice[0]]]} is mapped to both new ID {first} and {second}, which is not supported.",
        )
    return new, old


@op(
    "LoadAndRemapMatrix",
    "ckpt_path: string, old_tensor_name: string, row_remapping: int64, col_remapping: int64, "
    "initializing_values: float -> output_matrix: float",
    "num_rows: int >= 0; num_cols: int >= 1; max_rows_in_memory: int = -1",
    stateful=True,
    host=True,
)
def load_and_remap_matrix_op(
    ctx,
    ckpt_path,
    old_tensor_name,
    row_remapping,
    col_remapping,
    initializing_values,
    *,
    num_rows,
    num_cols,
    max_rows_in_memory,
):
    """A matrix of a checkpoint with its rows, and columns if so wanted, elsewhere; given values where it has none."""
    if row_remapping.shape != (num_rows,):
        raise invalid(
            f"Size of row_remapping is {row_remapping.size} instead of being equal to num_rows={num_rows}"
        )
    if col_remapping.size and col_remapping.shape != (num_cols,):
        raise invalid(
            f"Provided col_remapping, but its size is {col_remapping.size} instead of being equal to "
            f"num_cols={num_cols}"
        )
    rows, old_rows = _known(row_remapping)
    name = shown(scalar_text(old_tensor_name, "old_tensor_name"))
    reader = open_checkpoint(shown(ckpt_path.ravel()[0]))
    try:
        dtype, shape = reader.entry(name)
        if dtype is not dtypes.float32:
            raise invalid(
                f"Tensor {name} has invalid type {short_name(dtype)} instead of expected type float"
            )
        if len(shape) != 2:
            raise invalid(
                f"Tensor {name} has shape {text(shape)} of invalid rank {len(shape)} instead of expected shape "
                "of rank 2."
            )
        if col_remapping.size:
            cols, old_cols = _known(col_remapping)
        else:
            if shape[1] != num_cols:
                raise invalid(
                    f"Tensor {name} has shape {text(shape)}, where the size of its 2nd dimension is {shape[1]} "
                    f"instead of being equal to num_cols={num_cols}"
                )
            cols = old_cols = np.arange(num_cols)
        for what, old, size in (("row", old_rows, shape[0]), ("column", old_cols, shape[1])):
            if old.max(initial=-1) >= size:
                raise invalid(f"Tensor {name} of shape {text(shape)} has no {what} {old.max()}")
        out = np.empty((num_rows, num_cols), np.float32)
        for start, stop in _pieces(old_rows, max_rows_in_memory):
            here = (old_rows >= start) & (old_rows < stop)
            part = reader.read_part(name, Part(((start, stop - start), None)))
            out[np.ix_(rows[here], cols)] = part[np.ix_(old_rows[here] - start, old_cols)]
    finally:
        reader.close()
    missing = np.ones(out.shape, bool)
    missing[np.ix_(rows, cols)] = False
    values = initializing_values.ravel()
    wanted = int(missing.sum())
    if wanted > values.size:
        raise invalid(
            f"initializing_values contained {values.size} elements, but more missing values remain."
        )
    if wanted < values.size:
        raise invalid(
            f"initializing_values contained {values.size} elements, but only {wanted} elements were used to fill "
            "in missing values."
        )
    out[missing] = values
    return out


def _pieces(old_rows: np.ndarray, most: int) -> Any:
    """Ranges of rows that hold all that are wanted, of at most so many rows (all, unless positive)."""
    if not len(old_rows):
        return []
    first, end = int(old_rows.min()), int(old_rows.max()) + 1
    step = most if most > 0 else end - first
    return [(start, min(start + step, end)) for start in range(first, end, step)]


@load_and_remap_matrix_op.shape
def _(
    ckpt_path,
    old_tensor_name,
    row_remapping,
    col_remapping,
    initializing_values,
    *,
    num_rows,
    num_cols,
):
    scalar(old_tensor_name)
    return (num_rows, num_cols)


load_and_remap_matrix_op.not_differentiable()
