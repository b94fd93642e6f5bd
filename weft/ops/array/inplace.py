"""Rows of a tensor replaced or added to: InplaceUpdate, InplaceAdd, InplaceSub.

TensorFlow's kernels may write into their input; here a new array takes its place, as everywhere.
"""

from __future__ import annotations

from weft.framework.registry import OpDecl, op
from weft.framework.shape_rules import ShapeError, text


def _row_update(name: str, how: str) -> OpDecl:
    @op(name, "x: T, i: int32, v: T -> y: T", "T: type")
    def update(xp, x, i, v):
        if i.ndim != 1 or v.ndim != x.ndim or v.shape != (i.shape[0], *x.shape[1:]):
            raise ShapeError(
                f"i must be a vector and v have a row of x for each of its elements: x {text(x.shape)}, "
                f"i {text(i.shape)}, v {text(v.shape)}"
            )
        return xp.scatter(x, (i % max(x.shape[0], 1),), v, how)

    @update.shape
    def _(x, i, v):
        return x

    return update


inplace_update = _row_update("InplaceUpdate", "update")
inplace_add = _row_update("InplaceAdd", "add")
inplace_sub = _row_update("InplaceSub", "sub")
