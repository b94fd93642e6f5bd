"""Reductions of ragged tensors: over rows, over columns, over all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.framework import dtypes
from weft.framework.constant_value import constant_value
from weft.framework.export import find
from weft.framework.scopes import name_scope
from weft.framework.tensor import Tensor
from weft.ops.by_name import raw
from weft.ops.math.cast import cast
from weft.ops.math.reduce_functions import chosen
from weft.ops.ragged.elementwise import mapped
from weft.ops.ragged.ranges import steps_of
from weft.ops.ragged.segments import aggregated
from weft.ops.ragged.splits import lengths_of
from weft.ops.ragged.tensor import (
    RaggedTensor,
    axis_from_start,
    is_ragged,
    rows_of,
    takes,
    tensor_or_ragged,
)

__all__ = ["takes"]


def reduced(reduce: Callable, by_segment: Callable, x: Any, axis: Any) -> Any:
    """`reduce(x, axis)` for a ragged tensor; `by_segment` is the same of rows that belong together."""
    if not is_ragged(x):
        return reduce(x, axis)
    if axis is None:
        return reduce(x.flat_values, None)
    if isinstance(axis, (list, tuple)):
        if not axis:
            return x
        axes = sorted(axis_from_start(a, x.shape.rank) for a in axis)
        if len(axes) > 1:
            inner = reduced(reduce, by_segment, x, axes[-1])
            return reduced(reduce, by_segment, inner, axes[:-1])
        axis = axes[0]
    axis = axis_from_start(axis, x.shape.rank)
    if axis == 0:
        lengths = lengths_of(x.row_splits)
        count = x.bounding_shape(1)
        return aggregated(by_segment, x.values, steps_of(lengths), count)
    if axis == 1:
        return aggregated(by_segment, x.values, x.value_rowids(), rows_of(x))
    return x.with_values(reduced(reduce, by_segment, x.values, axis - 1))


def _known(axis: Any) -> Any:
    if not isinstance(axis, Tensor):
        return axis
    known = constant_value(axis)
    if known is None:
        raise ValueError("axis must be known at graph construction time.")
    return known.tolist()


def _taking(name_: str, compute: Callable) -> Callable:
    def taker(
        function: Callable,
        input_tensor: Any,
        axis: Any = None,
        keepdims: Any = None,
        name: str | None = None,
        reduction_indices: Any = None,
        keep_dims: Any = None,
    ) -> Any:
        axis = chosen("reduction_indices", reduction_indices, "axis", axis)
        if chosen("keep_dims", keep_dims, "keepdims", keepdims):
            raise ValueError("keepdims=True is not supported for RaggedTensors.")
        with name_scope(name, f"RaggedReduce{name_}"):
            x = tensor_or_ragged(input_tensor, name="rt_input")
            return compute(function, x, _known(axis))

    return taker


def _by(kind: str) -> Callable:
    """Reduces by what the functions `reduce_KIND` and `unsorted_segment_KIND` do for tensors."""

    def compute(function: Callable, x: Any, axis: Any) -> Any:
        return reduced(
            find("", f"reduce_{kind}", "tf"), find("", f"unsorted_segment_{kind}", "tf"), x, axis
        )

    return compute


_sum, _prod = _by("sum"), _by("prod")


def _mean(function: Callable, x: Any, axis: Any) -> Any:
    total = _sum(function, x, axis)
    count = _sum(function, mapped(x, raw.OnesLike), axis)
    if not isinstance(total, RaggedTensor):
        return total / count
    return total.with_flat_values(total.flat_values / count.flat_values)


def _through_int(compute: Callable) -> Callable:
    def of_bool(function: Callable, x: Any, axis: Any) -> Any:
        as_int = mapped(x, lambda t: cast(t, dtypes.int32))
        return mapped(compute(function, as_int, axis), lambda t: cast(t, dtypes.bool))

    return of_bool


reduce_sum = _taking("Sum", _sum)
reduce_prod = _taking("Prod", _prod)
reduce_min = _taking("Min", _by("min"))
reduce_max = _taking("Max", _by("max"))
reduce_mean = _taking("Mean", _mean)
reduce_all = _taking("All", _through_int(_prod))
reduce_any = _taking("Any", _through_int(_sum))


def reduce_join(
    function: Callable,
    inputs: Any,
    axis: Any = None,
    keep_dims: Any = None,
    separator: str = "",
    name: str | None = None,
    reduction_indices: Any = None,
    keepdims: Any = None,
) -> Any:
    """`tf.strings.reduce_join` of a ragged tensor."""
    axis = chosen("reduction_indices", reduction_indices, "axis", axis)
    if chosen("keep_dims", keep_dims, "keepdims", keepdims):
        raise ValueError("keepdims=True is not supported for RaggedTensors.")

    def join(x: Any, axis: Any) -> Any:
        return function(x, axis=axis, separator=separator)

    def join_segments(x: Any, ids: Any, count: Any) -> Any:
        return raw.UnsortedSegmentJoin(x, ids, count, separator=separator)

    with name_scope(name, "RaggedSegmentJoin"):
        x = tensor_or_ragged(inputs, name="inputs")
        return reduced(join, join_segments, x, _known(axis))
