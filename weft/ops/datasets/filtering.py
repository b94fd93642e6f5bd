"""Datasets of the elements of others for which a function is true."""

from __future__ import annotations

import numpy as np

from weft.ops.datasets.block import Block
from weft.ops.datasets.dataset import (
    UNKNOWN,
    Dataset,
    Element,
    End,
    Place,
    Run,
    Walk,
    as_dataset,
    dataset_op,
    invalid,
)
from weft.ops.datasets.function import ARGS, Function


@dataset_op("FilterDataset", ARGS, "predicate: func; Targuments: list(type) >= 0")
def filter_dataset(ctx, input_dataset, other_arguments, *, predicate):
    """The elements for which a function is true."""
    source = as_dataset(input_dataset)

    def walk(run: Run) -> Walk:
        function = Function(run, predicate, other_arguments)

        def advance(at: Place) -> Element:
            while True:
                run.check()
                element = function.following(at)
                if _truth(function(element)):
                    return element

        def several(at: Place, most: int) -> Block:
            while True:
                run.check()
                elements, results = function.some(at, most)
                found = elements.those(_truths(results))
                if found.count:
                    return found

        return function.walk(function.place(run, source), advance, several)

    known = source.cardinality
    return Dataset(walk, known if known == 0 else UNKNOWN, "FilterDataset")


def _truths(results: Block) -> np.ndarray:
    column = results.columns[0]
    if type(column) is np.ndarray and column.shape == (results.count,) and column.dtype == bool:
        if len(results.columns) == 1:
            return column
    return np.array([_truth(row) for row in results.rows])


def _truth(results: Element) -> bool:
    if len(results) != 1 or np.ndim(results[0]) or results[0].dtype != bool:
        raise invalid("Filter predicate `f` must return a scalar bool.")
    return bool(results[0])


@dataset_op("TakeWhileDataset", ARGS, "predicate: func; Targuments: list(type) >= 0", old=True)
def take_while_dataset(ctx, input_dataset, other_arguments, *, predicate):
    """The elements up to the first for which a function is false."""
    source = as_dataset(input_dataset)

    def walk(run: Run) -> Walk:
        call = Function(run, predicate, other_arguments)

        def advance(at: Place) -> Element:
            if at.over:
                raise End
            element = at.before()
            at.over = not _truth(call(element))
            if at.over:
                raise End
            return element

        at = Place(run, source.walk, over=False)
        at.before = at.begin()
        return Walk(advance, at)

    return Dataset(walk, UNKNOWN, "TakeWhileDataset")


@dataset_op("FilterByLastComponentDataset", "input_dataset: variant", output="output")
def filter_by_last_component_dataset(ctx, input_dataset):
    """The elements of which the last component is true, without it."""
    source = as_dataset(input_dataset)

    def walk(run: Run) -> Walk:
        def advance(at: Place) -> Element:
            while True:
                run.check()
                *element, keep = at.before()
                if _truth([keep]):
                    return element

        at = Place(run, source.walk)
        at.before = at.begin()
        return Walk(advance, at)

    return Dataset(walk, UNKNOWN, "FilterByLastComponentDataset")
