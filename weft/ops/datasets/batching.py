"""Datasets of several elements of others put together, and taken apart again: batches, windows."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import errors
from weft.framework.shape_rules import text
from weft.ops.datasets.block import Block, Element, as_column, joined
from weft.ops.datasets.dataset import (
    INFINITE,
    UNKNOWN,
    Dataset,
    End,
    Place,
    Run,
    Walk,
    as_dataset,
    dataset_op,
    invalid,
)


def stacked(elements: Block) -> Element:
    """Elements of one shape as one element with an axis more."""
    return [_stacked(i, column) for i, column in enumerate(elements.columns)]


def _stacked(i: int, column: Any) -> np.ndarray:
    if type(column) is list:
        column = as_column(column)
    if type(column) is np.ndarray:
        return column
    first = column[0]
    for row, part in enumerate(column):
        if np.shape(part) != np.shape(first):
            raise _mismatch(i, first, row, part)
    array = np.empty((len(column), *np.shape(first)), object)
    for row, part in enumerate(column):
        array[row] = part if np.ndim(part) else _item(part)
    return array


def _item(value: Any) -> Any:
    return value.item() if isinstance(value, np.ndarray) else value


def _mismatch(i: int, first: Any, row: int, other: Any) -> Exception:
    return invalid(
        f"Cannot batch tensors with different shapes in component {i}. First element had shape "
        f"{text(np.shape(first))} and element {row} had shape {text(np.shape(other))}."
    )


def batches(
    size: int,
    drop_remainder: bool,
    source: Dataset,
    put_together: Any,
    kind: str,
    fails_as_a_whole: bool = False,
) -> Dataset:
    """So many elements as one. With `fails_as_a_whole` the elements behind one that fails are of its batch, too."""
    if size <= 0:
        raise invalid("Batch size must be greater than zero.")

    def walk(run: Run) -> Walk:
        def advance(at: Place) -> Element:
            blocks, missing = [], size
            failed: errors.OpError | None = None
            while at.before is not None and missing:
                run.check()
                try:
                    blocks.append(at.before.some(missing))
                except End:
                    at.before = None
                except errors.OpError as e:
                    if not fails_as_a_whole or isinstance(e, errors.CancelledError):
                        raise
                    failed, missing = failed or e, missing - 1
                else:
                    missing -= blocks[-1].count
            if failed is not None:
                raise failed
            if not blocks or drop_remainder and missing:
                raise End
            return put_together(joined(blocks))

        at = Place(run, source.walk)
        at.before = at.begin()
        return Walk(advance, at)

    known = source.cardinality
    if known >= 0:
        known = known // size if drop_remainder else -(-known // size)
    return Dataset(walk, known, kind)


@dataset_op("BatchDataset", "input_dataset: variant, batch_size: int64")
def batch_dataset(ctx, input_dataset, batch_size):
    """So many elements as one; the last may have fewer."""
    return batches(int(batch_size), False, as_dataset(input_dataset), stacked, "BatchDataset")


@dataset_op(
    "BatchDatasetV2",
    "input_dataset: variant, batch_size: int64, drop_remainder: bool",
    "parallel_copy: bool = false",
)
def batch_dataset_v2(ctx, input_dataset, batch_size, drop_remainder, *, parallel_copy):
    """So many elements as one; a last one with fewer may be dropped."""
    source = as_dataset(input_dataset)
    return batches(int(batch_size), bool(drop_remainder), source, stacked, "BatchDatasetV2")


def _padded(elements: Block, shapes: list[np.ndarray], fillers: list[Any]) -> Element:
    out = []
    for i, (parts, wanted, filler) in enumerate(zip(zip(*elements.rows), shapes, fillers)):
        sizes = [np.shape(p) for p in parts]
        rank = len(wanted)
        if any(len(s) != rank for s in sizes):
            bad = next(s for s in sizes if len(s) != rank)
            raise invalid(
                f"All elements in a batch must have the same rank as the padded shape for component {i}: expected rank "
                f"{rank} but got element with rank {len(bad)}"
            )
        full = []
        for axis, n in enumerate(wanted):
            longest = max(s[axis] for s in sizes)
            if n >= 0 and longest > n:
                raise errors.DataLossError(
                    None,
                    None,
                    "Attempted to pad to a smaller size than the input element: component "
                    f"{i}, axis {axis}: {int(n)} is less than {longest}",
                )
            full.append(longest if n < 0 else int(n))
        first = parts[0]
        dtype = first.dtype if isinstance(first, np.ndarray) else object
        array: Any = np.empty((len(parts), *full), dtype)
        array[...] = _item(filler)
        if rank == 1:
            array[np.arange(full[0]) < np.array(sizes)] = np.concatenate(parts)
        else:
            for row, part in enumerate(parts):
                array[(row, *(slice(n) for n in np.shape(part)))] = (
                    part if np.ndim(part) else _item(part)
                )
        out.append(array)
    return out


def _padded_batches(
    input_dataset: Any,
    batch_size: Any,
    padded_shapes: list[Any],
    padding_values: list[Any],
    drop_remainder: Any,
) -> Dataset:
    for i, shape in enumerate(padded_shapes):
        if (shape < -1).any():
            raise invalid(
                f"Padded shapes must be at least -1, but that of component {i} is {shape.tolist()}."
            )
    return batches(
        int(batch_size),
        bool(drop_remainder),
        as_dataset(input_dataset),
        lambda elements: _padded(elements, padded_shapes, padding_values),
        "PaddedBatchDataset",
    )


_PADDED = "Toutput_types: list(type) >= 1; output_shapes: list(shape) >= 1; N: int >= 1"
_PADDED_ARGS = "input_dataset: variant, batch_size: int64, padded_shapes: N*int64, padding_values: Toutput_types"


@dataset_op("PaddedBatchDataset", _PADDED_ARGS, elements=_PADDED)
def padded_batch_dataset(ctx, input_dataset, batch_size, padded_shapes, padding_values):
    """So many elements as one, padded to a size or to that of the largest."""
    return _padded_batches(input_dataset, batch_size, padded_shapes, padding_values, False)


@dataset_op(
    "PaddedBatchDatasetV2",
    f"{_PADDED_ARGS}, drop_remainder: bool",
    "parallel_copy: bool = false",
    elements=_PADDED,
)
def padded_batch_dataset_v2(
    ctx, input_dataset, batch_size, padded_shapes, padding_values, drop_remainder, *, parallel_copy
):
    """So many elements as one, padded to a size or to that of the largest."""
    return _padded_batches(input_dataset, batch_size, padded_shapes, padding_values, drop_remainder)


@dataset_op(
    "DenseToSparseBatchDataset",
    "input_dataset: variant, batch_size: int64, row_shape: int64",
    old=True,
)
def dense_to_sparse_batch_dataset(ctx, input_dataset, batch_size, row_shape):
    """So many elements as one sparse tensor, of which each is a row; as indices, values and shape."""
    sizes = tuple(int(n) for n in row_shape)

    def put_together(elements: Block) -> Element:
        parts = [row[0] for row in elements.rows]
        for part in parts:
            if part.ndim != len(sizes):
                raise invalid(
                    "Input element had shape "
                    f"{list(part.shape)} that is incompatible with the row shape {list(sizes)}"
                )
            if any(0 <= most < n for n, most in zip(part.shape, sizes)):
                raise errors.DataLossError(
                    None,
                    None,
                    f"Input element had shape {list(part.shape)} that is larger than the row shape {list(sizes)}",
                )
        full = [max(p.shape[axis] for p in parts) if n < 0 else n for axis, n in enumerate(sizes)]
        indices = [
            np.column_stack([np.full(p.size, i), *(x.reshape(-1) for x in np.indices(p.shape))])
            for i, p in enumerate(parts)
        ]
        return [
            np.concatenate(indices).astype(np.int64).reshape(-1, 1 + len(sizes)),
            np.concatenate([p.reshape(-1) for p in parts]),
            np.array([len(parts), *full], np.int64),
        ]

    return _sparse_rows(
        batches(
            int(batch_size),
            False,
            as_dataset(input_dataset),
            put_together,
            "DenseToSparseBatchDataset",
        )
    )


def _sparse_rows(dataset: Dataset) -> Dataset:
    """Sparse tensors travel as one component: an array of three variants."""

    def walk(run: Run) -> Walk:
        def advance(at: Place) -> Element:
            serialized = np.empty(3, object)
            serialized[:] = at.before()
            return [serialized]

        at = Place(run, dataset.walk)
        at.before = at.begin()
        return Walk(advance, at)

    return Dataset(walk, dataset.cardinality, dataset.kind)


@dataset_op("UnbatchDataset", "input_dataset: variant", old=True)
def unbatch_dataset(ctx, input_dataset):
    """The rows of elements, one after the other."""
    source = as_dataset(input_dataset)

    def walk(run: Run) -> Walk:
        def advance(at: Place) -> Element:
            get_rows(at)
            at.row += 1
            return [_row(c, at.row - 1) for c in at.element]

        def several(at: Place, most: int) -> Block:
            get_rows(at)
            first, at.row = at.row, min(at.row + most, at.size)
            return Block(at.row - first, [c[first : at.row] for c in at.element])

        def get_rows(at: Place) -> None:
            while at.row >= at.size:
                run.check()
                at.element, at.row, at.size = at.before(), 0, 0
                sizes = {len(c) if np.ndim(c) else None for c in at.element}
                if len(sizes) != 1 or None in sizes:
                    raise invalid(
                        "Input element must have the same batch size in each component. Shapes: "
                        f"{[list(np.shape(c)) for c in at.element]}"
                    )
                at.size = sizes.pop() or 0

        at = Place(run, source.walk, element=[], row=0, size=0)
        at.before = at.begin()
        return Walk(advance, at).in_blocks(several)

    return Dataset(walk, UNKNOWN, "UnbatchDataset")


def _row(array: Any, i: int) -> Any:
    row = array[i]
    if isinstance(row, (np.ndarray, Dataset)):
        return row
    if isinstance(row, (bytes, str)):
        text = np.empty((), object)
        text[()] = row
        return text
    return np.asarray(row, array.dtype) if array.dtype != object else row


@dataset_op(
    "WindowDataset",
    "input_dataset: variant, size: int64, shift: int64, stride: int64, drop_remainder: bool",
)
def window_dataset(ctx, input_dataset, size, shift, stride, drop_remainder):
    """Windows over the elements, each a dataset of its own for each component."""
    source = as_dataset(input_dataset)
    n, step, gap, drop = int(size), int(shift), int(stride), bool(drop_remainder)
    for name, value in (("size", n), ("shift", step), ("stride", gap)):
        if value <= 0:
            raise invalid(f"Window {name} must be greater than zero, got {value}.")
    reach = (n - 1) * gap + 1

    def walk(run: Run) -> Walk:
        def advance(at: Place) -> Element:
            while at.before is not None and len(at.held) < reach:
                run.check()
                try:
                    at.held.append(at.before())
                except End:
                    at.before = None
                except errors.OpError as e:  # for the windows that have this element
                    at.held.append(e)
            if not at.held or drop and len(at.held) < reach:
                raise End
            rows = at.held[:reach:gap]
            skip = step - len(at.held)
            del at.held[:step]
            while at.before is not None and skip > 0:
                run.check()
                try:
                    at.before()
                except End:
                    at.before = None
                except errors.OpError:
                    pass  # of an element that is in no window
                skip -= 1
            for row in rows:
                if isinstance(row, Exception):
                    raise row
            return [of_rows([[row[i]] for row in rows]) for i in range(len(rows[0]))]

        at = Place(run, source.walk, held=[])
        at.before = at.begin()
        return Walk(advance, at)

    known = source.cardinality
    if known >= 0:
        known = max((known - reach) // step + 1, 0) if drop else -(-known // step)
    return Dataset(walk, known, "WindowDataset")


def of_rows(rows: list[Element]) -> Dataset:
    """A dataset of elements that are there."""

    def walk(run: Run) -> Walk:
        def advance(at: Place) -> Element:
            if at.row >= len(rows):
                raise End
            at.row += 1
            return rows[at.row - 1]

        def several(at: Place, most: int) -> Block:
            if at.row >= len(rows):
                raise End
            first, at.row = at.row, min(at.row + most, len(rows))
            return Block.of(rows[first : at.row])

        return Walk(advance, Place(run, row=0)).in_blocks(several)

    dataset = Dataset(walk, len(rows), "WindowDataset of elements")
    dataset.elements = rows
    return dataset


@dataset_op(
    "SlidingWindowDataset",
    "input_dataset: variant, window_size: int64, window_shift: int64, window_stride: int64",
    old=True,
)
def sliding_window_dataset(ctx, input_dataset, window_size, window_shift, window_stride):
    """Batches that overlap: each begins so many elements after the one before."""
    source = as_dataset(input_dataset)
    n, step, gap = int(window_size), int(window_shift), int(window_stride)
    for name, value in (("size", n), ("shift", step), ("stride", gap)):
        if value <= 0:
            raise invalid(f"Window {name} must be greater than zero, got {value}.")
    reach = (n - 1) * gap + 1

    def walk(run: Run) -> Walk:
        def advance(at: Place) -> Element:
            while at.skip:
                at.before()
                at.skip -= 1
            while len(at.held) < reach:
                run.check()
                at.held.append(at.before())
            window = stacked(Block.of(at.held[::gap]))
            at.skip = max(step - len(at.held), 0)
            del at.held[:step]
            return window

        at = Place(run, source.walk, held=[], skip=0)
        at.before = at.begin()
        return Walk(advance, at)

    return Dataset(
        walk, UNKNOWN if source.cardinality != INFINITE else INFINITE, "SlidingWindowDataset"
    )
