"""Updates of rows of several variables at once by a rule, as sparse gradients make them.

An index may occur twice: then the rule applies to that row twice, one after the other, as it would in a loop
over the indices. Rows without a repeat, and all the first, second, ... occurrences, are done together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Rule = Callable[[list[Any], Any], list[Any]]


def update_rows(ctx: Any, cells: list[Any], indices: Any, per_row: Any, rule: Rule) -> None:
    """Replaces rows of the cells: `rule(rows of each cell, part of per_row)` gives the new rows, or None where
    a cell does not change."""
    if ctx.is_padded(indices) or (ctx.tracing and indices.shape[0] == 1):
        new = rule([ctx.read(cell)[indices] for cell in cells], per_row)
        where = ctx.meant(indices, ctx.shape(cells[0])[0])
        for cell, rows in zip(cells, new):
            if rows is not None:
                ctx.scatter(cell, (where,), rows, "update")
        return
    if ctx.tracing:
        _traced(ctx, cells, indices, per_row, rule)
        return
    for part in occurrences(indices):
        where = indices[part]
        new = rule([ctx.read(cell)[where] for cell in cells], per_row[part])
        for cell, rows in zip(cells, new):
            if rows is not None:
                ctx.scatter(cell, (where,), rows, "update")


def occurrences(indices: np.ndarray) -> list[Any]:
    """Splits the places of a vector so that no value occurs twice in a part: the first occurrence of each
    value, then the second, and so on."""
    order = np.argsort(indices, kind="stable")
    ordered = indices[order]
    is_new = np.ones(len(ordered), bool)
    np.not_equal(ordered[1:], ordered[:-1], out=is_new[1:])
    if is_new.all():
        return [slice(None)] if len(ordered) else []
    starts = np.flatnonzero(is_new)
    turn = np.arange(len(ordered)) - np.repeat(starts, np.diff(np.r_[starts, len(ordered)]))
    return [np.sort(order[turn == t]) for t in range(int(turn.max()) + 1)]


def _traced(ctx: Any, cells: list[Any], indices: Any, per_row: Any, rule: Rule) -> None:
    xp = ctx.xp
    indices, per_row = xp.asarray(indices), xp.asarray(per_row)
    order = xp.argsort(indices, stable=True)
    ordered = indices[order]
    is_new = xp.concatenate([xp.ones(1, bool), ordered[1:] != ordered[:-1]])
    places = xp.arange(len(indices))
    turn_of_ordered = places - xp.lax.cummax(xp.where(is_new, places, 0))
    turn = xp.zeros_like(places).at[order].set(turn_of_ordered)
    last = turn.max()
    values = [ctx.read(cell) for cell in cells]
    changed = [new is not None for new in _probe(ctx, cells, indices, per_row, rule)]
    ok = ctx.ok()
    if ok is not None:
        turn = xp.where(ok, turn, -1)

    def one_round(state: tuple) -> tuple:
        t, *tables = state
        rows = iter(tables)
        current = [next(rows) if c else v for c, v in zip(changed, values)]
        new = rule([table[indices] for table in current], per_row)
        out = [
            xp.scatter(table, (xp.where(turn == t, indices, table.shape[0]),), rows_)
            for table, rows_ in zip(current, new)
            if rows_ is not None
        ]
        return (t + 1, *out)

    state = (last * 0, *(v for v, c in zip(values, changed) if c))
    state = xp.lax.while_loop(lambda s: s[0] <= last, one_round, state)
    results = iter(state[1:])
    for cell, c in zip(cells, changed):
        if c:
            ctx.write(cell, next(results), masked=True)


def _probe(ctx: Any, cells: list[Any], indices: Any, per_row: Any, rule: Rule) -> list[Any]:
    """The rule's results once, to see which cells it changes; what is not used XLA drops."""
    return rule([ctx.read(cell)[indices] for cell in cells], per_row)
