"""Choosing by a condition: Where, Select, SelectV2, RefSelect, and `boolean_mask`."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import conversion, dtypes
from weft.framework.export import export
from weft.framework.registry import op
from weft.framework.scopes import name_scope
from weft.framework.shape_rules import ShapeError, broadcast, merge, merge_dim, text
from weft.ops.array import fill, shape_of
from weft.ops.array.broadcast import broadcast_gradient_args
from weft.ops.array.concat import concat
from weft.ops.array.gather import gather
from weft.ops.array.reshape import reshape, reshape_op, squeeze
from weft.ops.by_name import raw


@op(
    "Where",
    "input: T -> index: int64",
    "T: type in {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, "
    "bfloat16, uint16, complex128, half, uint32, uint64, bool} = bool",
    host=True,
)
def where_op(xp, input):
    """The positions of the elements that are true, or not zero."""
    return np.argwhere(input).astype(np.int64, copy=False)


@where_op.shape
def _(input):
    return (None, None if input is None else len(input))


@op("Select", "condition: bool, t: T, e: T -> output: T", "T: type")
def select(xp, condition, t, e):
    """Elements of `t` where the condition holds, else of `e`; a vector chooses among rows."""
    if condition.ndim == 1 and t.ndim > 1:
        condition = condition.reshape(condition.shape + (1,) * (t.ndim - 1))
    return xp.where(condition, t, e)


@select.shape
def _(condition, t, e):
    both = merge(t, e, "Dimensions must be equal: then and else")
    if condition is None or condition == () or both is None:
        return both
    if len(condition) == 1 and len(both) != 1:
        if not both:
            raise ShapeError(f"A vector condition {text(condition)} cannot choose among scalars")
        rows = merge_dim(condition[0], both[0], "Dimensions must be equal: rows of the condition")
        return (rows, *both[1:])
    return merge(both, condition, "Dimensions must be equal: the condition and the values")


@select.gradient
def _(op, grad):
    condition, t, _ = op.inputs
    zeros = fill.zeros_like(t)
    return [None, select(condition, grad, zeros), select(condition, zeros, grad)]


@op("SelectV2", "condition: bool, t: T, e: T -> output: T", "T: type")
def select_v2(xp, condition, t, e):
    """Elements of `t` where the condition holds, else of `e`, with broadcasting."""
    return xp.where(condition, t, e)


@select_v2.shape
def _(condition, t, e):
    return broadcast(condition, broadcast(t, e))


@select_v2.gradient
def _(op, grad):
    condition, t, e = op.inputs
    zero = fill.zeros([], dtype=grad.dtype.base_dtype)
    whole = shape_of.shape(op.outputs[0])

    def reduced(part: Any, like: Any) -> Any:
        shape = shape_of.shape(like)
        axes = broadcast_gradient_args(shape, whole)[0]
        return reshape_op(raw.Sum(part, axes, keep_dims=True), shape)

    return [
        None,
        reduced(select_v2(condition, grad, zero), t),
        reduced(select_v2(condition, zero, grad), e),
    ]


@op(
    "RefSelect", "index: int32, ref inputs: N*T -> ref output: T", "T: type; N: int >= 1", host=True
)
def ref_select(xp, index, inputs):
    """The reference at a position in the list."""
    i = int(index)
    if not 0 <= i < len(inputs):
        raise ShapeError(f"Index must be in the range [0, {len(inputs)}) but got {i}")
    return inputs[i]


@ref_select.shape
def _(index, inputs):
    if index not in (None, ()):
        raise ShapeError(f"index must be a scalar, but has shape {text(index)}")
    first = inputs[0]
    return first if first is not None and all(s == first for s in inputs) else None


def _where(select: Any, condition: Any, x: Any, y: Any, name: str | None) -> Any:
    if x is None and y is None:
        with name_scope(name, "Where", [condition]) as name:
            condition = conversion.convert_to_tensor(
                condition, preferred_dtype=dtypes.bool, name="condition"
            )
            return where_op(condition, name=name)
    if x is None or y is None:
        raise ValueError("x and y must both be non-None or both be None.")
    return select(condition, x, y, name=name)


@export("where")
def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Any:
    """Returns elements of `x` where `condition` is true, else of `y`; with neither, the positions."""
    return _where(select, condition, x, y, name)


@export("where_v2")
def where_v2(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Any:
    """As `where`, but condition, `x` and `y` broadcast."""
    return _where(select_v2, condition, x, y, name)


@export("boolean_mask")
def boolean_mask(tensor: Any, mask: Any, name: str = "boolean_mask", axis: Any = None) -> Any:
    """Returns the slices of `tensor` at which `mask` is true, along the dimensions of the mask."""
    with name_scope(name, values=[tensor, mask]):
        tensor = conversion.convert_to_tensor(tensor, name="tensor")
        mask = conversion.convert_to_tensor(mask, name="mask")
        n = mask._rank()
        if n == 0:
            raise ValueError("mask cannot be scalar.")
        if n is None:
            raise ValueError(
                "Number of mask dimensions must be specified, even if some dimensions are None.  E.g. "
                "shape=[None] is ok, but shape=None is not."
            )
        axis = 0 if axis is None else int(axis)
        whole = tensor.shape
        whole[axis : axis + n].assert_is_compatible_with(mask.shape)
        sizes = shape_of.shape(tensor)
        flat = raw.Prod(sizes[axis : axis + n], np.array([0], np.int32))
        tensor = reshape(tensor, concat([sizes[:axis], [flat], sizes[axis + n :]], 0))
        if whole.rank is not None:
            count = whole[axis : axis + n].num_elements()
            tensor.set_shape(whole[:axis].concatenate([count]).concatenate(whole[axis + n :]))
        mask = reshape(mask, np.array([-1], np.int32))
        return gather(tensor, squeeze(where(mask), axis=[1]), axis=axis)
