"""`where` of ragged tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.framework.scopes import name_scope
from weft.ops.array import select as dense
from weft.ops.array.concat import concat
from weft.ops.array.gather import gather
from weft.ops.array.reshape import expand_dims
from weft.ops.math.ranges import range as range_
from weft.ops.ragged.concatenation import joined
from weft.ops.ragged.elementwise import map_flat_values
from weft.ops.ragged.gather import gather_rows
from weft.ops.ragged.tensor import (
    is_ragged,
    rows_of,
    takes,
    tensor_or_ragged,
    with_same_splits_dtype,
)

__all__ = ["takes", "where"]


def where(
    function: Callable, condition: Any, x: Any = None, y: Any = None, name: str | None = None
) -> Any:
    """`tf.where` where the condition or what it chooses from is ragged."""
    if (x is None) != (y is None):
        raise ValueError("x and y must be either both None or both non-None")
    with name_scope(name, "RaggedWhere"):
        condition = tensor_or_ragged(condition, name="condition")
        if x is None:
            return _positions(condition)
        x, y = tensor_or_ragged(x, name="x"), tensor_or_ragged(y, name="y")
        dtype, (condition, x, y) = with_same_splits_dtype(condition, x, y)
        ragged = [is_ragged(t) for t in (condition, x, y)]
        if all(ragged):
            return map_flat_values(dense.where, condition, x, y)
        if ragged[0]:
            raise ValueError("Input shapes do not match.")
        condition.shape.assert_has_rank(1)
        below = joined([x, y], 0, stacked=False)
        n, m = rows_of(x, dtype), rows_of(y, dtype)
        return gather_rows(below, dense.where(condition, range_(n), n + range_(m)))


def _positions(condition: Any) -> Any:
    """Where the condition holds: a row of coordinates for each place."""
    if not is_ragged(condition):
        return dense.where(condition)
    inner = _positions(condition.values)
    condition = condition.with_row_splits_dtype(inner.dtype)
    at = inner[:, 0]
    rows = gather(condition.value_rowids(), at)
    columns = at - gather(condition.row_splits, rows)
    return concat([expand_dims(rows, 1), expand_dims(columns, 1), inner[:, 1:]], 1)
