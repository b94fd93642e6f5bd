"""Weights for values: a scalar, or of the same rank with each size that of the values, or 1."""

from __future__ import annotations

from typing import Any

from weft.framework import context, conversion
from weft.framework.graph import control_dependencies
from weft.framework.scopes import name_scope
from weft.ops.by_name import raw
from weft.ops.flow.cond import cond
from weft.ops.flow.grouping import no_op
from weft.ops.flow.logging_ops import assert_
from weft.ops.math.arithmetic import multiply
from weft.ops.math.reduce_functions import reduce_all

_PREFIX = "weights can not be broadcast to values."


def assert_broadcastable(weights: Any, values: Any) -> Any:
    """Checks that weights fit values: at once where the shapes are known, else when it runs."""
    with name_scope(None, "assert_broadcastable", (weights, values)) as scope:
        weights = conversion.convert_to_tensor(weights, name="weights")
        values = conversion.convert_to_tensor(values, name="values")
        w, v = weights._dims, values._dims
        if w == ():
            return no_op(name="static_scalar_check_success")
        if w is not None and v is not None:
            if len(w) != len(v):
                raise ValueError(
                    f"{_PREFIX} values.rank={len(v)}. weights.rank={len(w)}. values.shape={values.shape}. "
                    f"weights.shape={weights.shape}."
                )
            if None not in w and None not in v:
                for i, (a, b) in enumerate(zip(w, v)):
                    if a not in (1, b):
                        raise ValueError(
                            f"{_PREFIX} Mismatch at dim {i}. values.shape={list(v)} weights.shape={list(w)}."
                        )
                return no_op(name="static_dims_check_success")
        return _check_at_run(weights, values, scope)


def _check_at_run(weights: Any, values: Any, scope: str) -> Any:
    w, v = raw.Shape(weights), raw.Shape(values)
    rank, wanted = raw.Rank(weights), raw.Rank(values)
    is_scalar = raw.Equal(rank, 0)

    def sizes_fit() -> Any:
        return reduce_all(raw.LogicalOr(raw.Equal(w, 1), raw.Equal(w, v)))

    def fits() -> Any:
        return cond(raw.Equal(rank, wanted), sizes_fit, lambda: raw.Equal(rank, wanted))

    ok = cond(is_scalar, lambda: is_scalar, fits)
    names = ("", "") if context.executing_eagerly() else (weights.name, values.name)
    data = [_PREFIX, "weights.shape=", names[0], w, "values.shape=", names[1], v]
    return assert_(ok, [*data, "is_scalar=", is_scalar], name=scope)


def broadcast_weights(weights: Any, values: Any) -> Any:
    """Weights of the shape of the values."""
    with name_scope(None, "broadcast_weights", (weights, values)) as scope:
        values = conversion.convert_to_tensor(values, name="values")
        weights = conversion.convert_to_tensor(
            weights, dtype=values.dtype.base_dtype, name="weights"
        )
        w, v = weights._dims, values._dims
        if w is not None and None not in w and w == v:
            return weights
        check = assert_broadcastable(weights, values)
        with control_dependencies([] if check is None else [check]):
            return multiply(weights, raw.OnesLike(values), name=scope)
