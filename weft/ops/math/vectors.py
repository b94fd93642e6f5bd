"""Products of vectors and matrices that are made of other ops: cross, matvec, trace, polynomials."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import conversion
from weft.framework.export import export
from weft.framework.registry import op
from weft.framework.scopes import name_scope
from weft.framework.shape_rules import ShapeError, merge, rank_at_least, text
from weft.ops.by_name import raw
from weft.ops.math.dtype_sets import REAL_NUMBERS
from weft.ops.math.matmul import matmul
from weft.ops.math.reduce_functions import reduce_sum


@op("Cross", "a: T, b: T -> product: T", f"T: {REAL_NUMBERS}")
def cross_op(xp, a, b):
    """The cross products of vectors of 3 elements in the last axis."""
    ax, ay, az = (a[..., i] for i in (0, 1, 2))
    bx, by, bz = (b[..., i] for i in (0, 1, 2))
    return xp.stack([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx], axis=-1)


@cross_op.shape
def _(a, b):
    rank_at_least(a, 1), rank_at_least(b, 1)
    shape = merge(a, b, "Both inputs must be of same shape; Dimensions must be equal")
    if shape is not None and shape[-1] not in (None, 3):
        raise ShapeError(
            f"Cross-products are only defined for 3-element vectors, got {text(shape)}; Dimension must be 3"
        )
    return shape


@cross_op.gradient
def _(op, grad):
    u, v = op.inputs
    return cross_op(v, grad), cross_op(grad, u)


@export("cross", "linalg.cross")
def cross(a: Any, b: Any, name: str | None = None) -> Any:
    """The cross products of vectors of 3 elements in the last axis."""
    return cross_op(a, b, name=name)


@export("linalg.matvec")
def matvec(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    adjoint_a: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Any:
    """Multiplies matrices by vectors: the last two axes of `a` and the last one of `b`."""
    with name_scope(name, "MatVec", [a, b]):
        column = raw.ExpandDims(conversion.convert_to_tensor(b, name="b"), np.int32(-1))
        product = matmul(
            a,
            column,
            transpose_a=transpose_a,
            adjoint_a=adjoint_a,
            a_is_sparse=a_is_sparse,
            b_is_sparse=b_is_sparse,
        )
        return raw.Squeeze(product, squeeze_dims=[-1])


@export("trace", "linalg.trace")
def trace(x: Any, name: str | None = None) -> Any:
    """The sum of the diagonal of the matrices in the last two axes."""
    with name_scope(name, "Trace", [x]) as name:
        x = conversion.convert_to_tensor(x, name="x")
        return reduce_sum(raw.MatrixDiagPart(x, name="diag_part"), [-1], name=name)


@export("math.polyval")
def polyval(coeffs: Any, x: Any, name: str | None = None) -> Any:
    """The value of a polynomial, its coefficients listed from the highest power down."""
    with name_scope(name, "polyval", [*coeffs, x]) as name:
        x = conversion.convert_to_tensor(x, name="x")
        if not coeffs:
            return raw.ZerosLike(x, name=name)
        tensors = [conversion.convert_to_tensor(c, name=f"coeff_{i}") for i, c in enumerate(coeffs)]
        value = tensors[0]
        for coefficient in tensors[1:]:
            value = coefficient + value * x
        return value
