"""Datasets that begin a pipeline: tensors, their slices, ranges, random numbers, Python's generators."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from weft.framework import errors
from weft.ops.datasets.block import Block, Element
from weft.ops.datasets.dataset import (
    INFINITE,
    UNKNOWN,
    Dataset,
    End,
    Place,
    Rows,
    Run,
    Walk,
    dataset_op,
    invalid,
)
from weft.ops.random.word_stream import RandomWords

_COMPONENTS = "Toutput_types: list(type) >= 1; output_shapes: list(shape) >= 1"


@dataset_op("TensorDataset", "components: Toutput_types", elements=_COMPONENTS, stateful=True)
def tensor_dataset(ctx, components):
    """One element: these tensors."""

    def walk(run: Run) -> Walk:
        def advance(at: Place) -> Element:
            if at.over:
                raise End
            at.over = True
            return list(components)

        return Walk(advance, Place(run, over=False))

    return Dataset(walk, 1, "TensorDataset")


@dataset_op("TensorSliceDataset", "components: Toutput_types", elements=_COMPONENTS, stateful=True)
def tensor_slice_dataset(ctx, components):
    """The slices of tensors along their first axis."""
    sizes = {c.shape[0] if np.ndim(c) else None for c in components}
    if len(sizes) != 1 or None in sizes:
        raise invalid(
            "All components must have the same number of elements along their first axis, got shapes "
            f"{[list(np.shape(c)) for c in components]}"
        )
    count = sizes.pop()
    assert count is not None
    size = count

    def numbers(run: Run) -> Walk:
        def following(at: Place, n: int) -> list[int]:
            first, at.row = at.row, min(at.row + n, size)
            return list(range(first, at.row))

        return Walk(following, Place(run, row=0))

    return Dataset.of(Rows(list(components), numbers), count, "TensorSliceDataset")


@dataset_op(
    "SparseTensorSliceDataset",
    "indices: int64, values: Tvalues, dense_shape: int64",
    "Tvalues: type",
    elements="",
    stateful=True,
)
def sparse_tensor_slice_dataset(ctx, indices, values, dense_shape):
    """The slices of a sparse tensor along its first axis, each as indices, values and shape."""
    if indices.ndim != 2 or values.ndim != 1 or dense_shape.ndim != 1:
        raise invalid("The parts of the sparse tensor must be a matrix and two vectors.")
    if len(indices) != len(values) or indices.shape[1] != len(dense_shape):
        raise invalid("The parts of the sparse tensor do not fit together.")
    if len(indices) and (np.diff(indices[:, 0]) < 0).any():
        raise errors.UnimplementedError(
            None,
            None,
            "The SparseTensor must be ordered in the batch dimension; handling arbitrarily ordered input is not "
            "currently supported.",
        )
    count = int(dense_shape[0]) if len(dense_shape) else 0
    starts = np.searchsorted(indices[:, 0], np.arange(count + 1))

    def walk(run: Run) -> Walk:
        def advance(at: Place) -> Element:
            if at.row >= count:
                raise End
            part = slice(starts[at.row], starts[at.row + 1])
            at.row += 1
            return [indices[part, 1:], values[part], dense_shape[1:]]

        return Walk(advance, Place(run, row=0))

    return Dataset(walk, count, "SparseTensorSliceDataset")


@dataset_op("RangeDataset", "start: int64, stop: int64, step: int64", stateful=True)
def range_dataset(ctx, start, stop, step):
    """Numbers from `start` to before `stop`."""
    if not step:
        raise invalid("step must be a non-zero integer.")
    numbers = range(int(start), int(stop), int(step))

    def walk(run: Run) -> Walk:
        def advance(at: Place) -> Element:
            if at.row >= len(numbers):
                raise End
            at.row += 1
            return [np.asarray(numbers[at.row - 1], np.int64)]

        def several(at: Place, most: int) -> Block:
            some = numbers[at.row : at.row + most]
            if not some:
                raise End
            at.row += len(some)
            return Block(len(some), [np.arange(some.start, some.stop, some.step, dtype=np.int64)])

        return Walk(advance, Place(run, row=0)).in_blocks(several)

    return Dataset(walk, len(numbers), "RangeDataset")


def seeds_of(seed: Any, seed2: Any) -> tuple[int, int]:
    """Two seeds; both zero stand for some that nobody knows."""
    pair = int(seed), int(seed2)
    if pair == (0, 0):
        return tuple(np.random.randint(1, 2**31, 2).tolist())  # type: ignore[return-value]
    return pair


@dataset_op("RandomDataset", "seed: int64, seed2: int64", old=True, stateful=True)
def random_dataset(ctx, seed, seed2):
    """Random numbers of 32 bits without end."""
    pair = seeds_of(seed, seed2)

    def walk(run: Run) -> Walk:
        def advance(at: Place) -> Element:
            return [np.asarray(at.words.next(), np.int64)]

        def several(at: Place, most: int) -> Block:
            return Block(most, [at.words.some(most)])

        return Walk(advance, Place(run, words=RandomWords(ctx.xp, *pair))).in_blocks(several)

    return Dataset(walk, INFINITE, "RandomDataset")


@dataset_op(
    "GeneratorDataset",
    "init_func_other_args: Tinit_func_args, next_func_other_args: Tnext_func_args, "
    "finalize_func_other_args: Tfinalize_func_args",
    "init_func: func; next_func: func; finalize_func: func; Tinit_func_args: list(type) >= 0; "
    "Tnext_func_args: list(type) >= 0; Tfinalize_func_args: list(type) >= 0",
    stateful=True,
)
def generator_dataset(
    ctx,
    init_func_other_args,
    next_func_other_args,
    finalize_func_other_args,
    *,
    init_func,
    next_func,
    finalize_func,
):
    """What a function gives, called with the state that another made, until it says OutOfRange."""

    def walk(run: Run) -> Walk:
        call = run.function(next_func.name)
        finalize = run.function(finalize_func.name)

        def finish(at: Place) -> None:
            if at.state is not None and not at.over:
                finalize([*at.state, *finalize_func_other_args])

        def advance(at: Place) -> Element:
            if at.over:
                raise End
            if at.state is None:
                at.state = run.function(init_func.name)(list(init_func_other_args))
            try:
                return call([*at.state, *next_func_other_args])
            except errors.OutOfRangeError:
                finish(at)
                at.over = True
                raise End from None

        at = Place(run, state=None, over=False)
        begun = Walk(advance, at)
        weakref.finalize(begun, finish, at).atexit = False
        return begun

    return Dataset(walk, UNKNOWN, "GeneratorDataset")
