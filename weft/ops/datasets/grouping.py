"""Datasets that put elements of the same key together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weft.ops.datasets.batching import of_rows
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
from weft.ops.datasets.function import Function

_AT_ONCE = 64  # elements that are read before they are needed, where nobody can notice


def _next(at: Place, key_of: Function, at_once: int) -> list[Any] | None:
    """The key of the next element, and the element; None behind the last."""
    if not at.keyed and at.before is not None:
        try:
            elements, results = key_of.some(at, at_once)
        except End:
            at.before = None
        else:
            keys = [_key(row) for row in results.rows]
            at.keyed = [list(pair) for pair in zip(keys, elements.own_rows())][::-1]
    return at.keyed.pop() if at.keyed else None


def _key(results: Element) -> int:
    if len(results) != 1 or np.ndim(results[0]) or results[0].dtype != np.int64:
        raise invalid("`key_func` must return a scalar int64.")
    return int(results[0])


@dataset_op(
    "GroupByWindowDataset",
    "input_dataset: variant, key_func_other_arguments: Tkey_func_other_arguments, reduce_func_other_arguments: "
    "Treduce_func_other_arguments, window_size_func_other_arguments: Twindow_size_func_other_arguments",
    "key_func: func; reduce_func: func; window_size_func: func; Tkey_func_other_arguments: list(type) >= 0; "
    "Treduce_func_other_arguments: list(type) >= 0; Twindow_size_func_other_arguments: list(type) >= 0",
    old=True,
)
def group_by_window_dataset(
    ctx,
    input_dataset,
    key_func_other_arguments,
    reduce_func_other_arguments,
    window_size_func_other_arguments,
    *,
    key_func,
    reduce_func,
    window_size_func,
):
    """The elements of the datasets that a function makes of windows of elements with the same key."""
    source = as_dataset(input_dataset)

    def walk(run: Run) -> Walk:
        key_of = Function(run, key_func, key_func_other_arguments)
        size_of = Function(run, window_size_func, window_size_func_other_arguments)
        reduce = Function(run, reduce_func, reduce_func_other_arguments)

        def reduced(window: list[Any]) -> Callable[[Run], Walk]:
            key, rows = window
            return as_dataset(reduce([np.asarray(key, np.int64), of_rows(rows)])[0]).walk

        def start(at: Place, key: int) -> Walk:
            return at.begin([key, at.groups.pop(key)])

        def several(at: Place, most: int) -> Block:
            while True:
                run.check()
                if at.current is not None:
                    try:
                        return at.current.some(most)
                    except End:
                        at.current = None
                keyed = _next(at, key_of, at_once)
                if keyed is None:
                    if not at.groups:
                        raise End
                    at.current = start(at, min(at.groups))
                    continue
                key, element = keyed
                if key not in at.sizes:
                    at.sizes[key] = int(size_of([np.asarray(key, np.int64)])[0])
                    if at.sizes[key] <= 0:
                        raise invalid(
                            f"Window size must be greater than zero, but got {at.sizes[key]}."
                        )
                at.groups.setdefault(key, []).append(element)
                if len(at.groups[key]) == at.sizes[key]:
                    at.current = start(at, key)

        at_once = 1 if run.has_state(source) else _AT_ONCE
        at = key_of.place(run, source, made=reduced)
        at.groups, at.sizes, at.current, at.keyed = {}, {}, None, []
        return Walk.of_blocks(several, at)

    return Dataset(walk, UNKNOWN, "GroupByWindowDataset")


@dataset_op(
    "GroupByReducerDataset",
    "input_dataset: variant, key_func_other_arguments: Tkey_func_other_arguments, init_func_other_arguments: "
    "Tinit_func_other_arguments, reduce_func_other_arguments: Treduce_func_other_arguments, "
    "finalize_func_other_arguments: Tfinalize_func_other_arguments",
    "key_func: func; init_func: func; reduce_func: func; finalize_func: func; Tkey_func_other_arguments: list(type) >= "
    "0; Tinit_func_other_arguments: list(type) >= 0; Treduce_func_other_arguments: list(type) >= 0; "
    "Tfinalize_func_other_arguments: list(type) >= 0",
    old=True,
    stateful=True,
)
def group_by_reducer_dataset(
    ctx,
    input_dataset,
    key_func_other_arguments,
    init_func_other_arguments,
    reduce_func_other_arguments,
    finalize_func_other_arguments,
    *,
    key_func,
    init_func,
    reduce_func,
    finalize_func,
):
    """One element for each key: the state that a function has made of all elements with the key."""
    source = as_dataset(input_dataset)

    def walk(run: Run) -> Walk:
        key_of = Function(run, key_func, key_func_other_arguments)
        begin = Function(run, init_func, init_func_other_arguments)
        reduce = Function(run, reduce_func, reduce_func_other_arguments)
        finish = Function(run, finalize_func, finalize_func_other_arguments)

        def advance(at: Place) -> Element:
            while (keyed := _next(at, key_of, at_once)) is not None:
                run.check()
                key, element = keyed
                if key not in at.states:
                    at.states[key] = begin([np.asarray(key, np.int64)])
                at.states[key] = reduce([*at.states[key], *element])
            if not at.states:
                raise End
            return finish(at.states.pop(min(at.states)))

        at_once = 1 if run.has_state(source) else _AT_ONCE
        at = key_of.place(run, source)
        at.states, at.keyed = {}, []
        return Walk(advance, at)

    return Dataset(walk, UNKNOWN, "GroupByReducerDataset")
