"""The order of dimensions: Transpose, ConjugateTranspose, InvertPermutation."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import conversion
from weft.framework.export import export
from weft.framework.registry import get, op
from weft.framework.scopes import name_scope
from weft.framework.shape_rules import Shape, ShapeError, merge_dim, vector
from weft.ops.array import shape_of


def _order(perm: Any, n: int, is_final: bool = True) -> list[int]:
    """The new order of dimensions, from 0; whether one is missing is a matter of the run."""
    axes = [int(p) for p in perm.reshape(-1)]
    if len(axes) != n:
        raise ShapeError(
            f"transpose expects a vector of size {n}. But input(1) is a vector of size {len(axes)}"
        )
    seen = [False] * n
    for i, a in enumerate(axes):
        if not -n <= a < n:
            raise ShapeError(f"perm dim {a} is out of range of input rank {n}")
        axes[i] = a % n
        seen[a] = True
    if is_final and not all(seen):
        raise ShapeError(f"{seen.index(False)} is missing from {axes}: perm must be a permutation")
    return axes


@op(
    "Transpose",
    "x: T, perm: Tperm -> y: T",
    "T: type; Tperm: type in {int32, int64} = int32",
    static=("perm",),
)
def transpose_op(xp, x, perm):
    """The input with its dimensions in another order."""
    return x.transpose(_order(perm, x.ndim))


def _transposed(x: Shape, perm: Shape, *, const: Any) -> Shape:
    length = vector(perm, "perm")[0]  # type: ignore[index]
    if length == 1 and x is None:
        return None  # TensorFlow takes a vector of one element for a tensor of any rank
    order = const("perm")
    if x is not None:
        merge_dim(
            length, len(x), "Dimensions must be equal: perm needs an element for each dimension"
        )
        length = len(x)
    if length is None:
        return None
    if order is None:
        partial = const.shape("perm")
        if partial is None or x is None:
            return (None,) * length
        return tuple(None if p is None else x[p] for p in partial)
    axes = _order(order, length, is_final=False)
    return (None,) * length if x is None else tuple(x[a] for a in axes)


transpose_op.shape(_transposed)


@transpose_op.gradient
def _(op, grad):
    return [transpose_op(grad, invert_permutation_op(op.inputs[1])), None]


@op(
    "ConjugateTranspose",
    "x: T, perm: Tperm -> y: T",
    "T: type; Tperm: type in {int32, int64} = int32",
    static=("perm",),
)
def conjugate_transpose(xp, x, perm):
    """The conjugate of the input with its dimensions in another order."""
    y = x.transpose(_order(perm, x.ndim))
    return xp.conj(y) if x.dtype.kind == "c" else y


conjugate_transpose.shape(_transposed)


@conjugate_transpose.gradient
def _(op, grad):
    return [conjugate_transpose(grad, invert_permutation_op(op.inputs[1])), None]


@op("InvertPermutation", "x: T -> y: T", "T: type in {int32, int64} = int32")
def invert_permutation_op(xp, x):
    """Where each position went in a permutation."""
    n = x.shape[0]
    xp.check((x >= 0) & (x < n), lambda: f"{x.tolist()}: an element is not between 0 and {n}")
    y = xp.scatter(xp.full((n,), -1, x.dtype), (x,), xp.arange(n, dtype=x.dtype))
    xp.check(y >= 0, lambda: f"{x.tolist()} has an element twice: duplicated in the input.")
    return y


@invert_permutation_op.shape
def _(x):
    return vector(x, "x")


invert_permutation_op.not_differentiable()


@export("invert_permutation", "math.invert_permutation")
def invert_permutation(x: Any, name: str | None = None) -> Any:
    """Returns where each position went in a permutation: `y[x[i]] == i`."""
    return invert_permutation_op(x, name=name)


@export("transpose")
def transpose(a: Any, perm: Any = None, name: str = "transpose", conjugate: bool = False) -> Any:
    """Returns `a` with its dimensions in the order `perm`; by default reversed."""
    with name_scope(name, "transpose", [a]) as name:
        a = conversion.convert_to_tensor(a, name="a")
        transposed = conjugate_transpose if conjugate and a.dtype.is_complex else transpose_op
        if perm is None:
            n = a._rank()
            if n is not None:
                perm = conversion.convert_to_tensor(
                    np.arange(n - 1, -1, -1, dtype=np.int32), name="perm"
                )
            else:
                rank = shape_of.rank(a)
                one = np.int32(1)
                perm = (rank - one) - get("Range")(np.int32(0), rank, one)
        return transposed(a, perm, name=name)


@export("linalg.matrix_transpose", "linalg.transpose", "matrix_transpose")
def matrix_transpose(a: Any, name: str = "matrix_transpose", conjugate: bool = False) -> Any:
    """Returns `a` with its last two dimensions exchanged."""
    from weft.ops.array.concat import concat

    with name_scope(name, values=[a]):
        a = conversion.convert_to_tensor(a, name="a")
        n = a._rank()
        if n is not None:
            if n < 2:
                raise ValueError(
                    f"Argument 'a' should be a (batch) matrix, with rank >= 2.  Found: {a.shape}"
                )
            perm: Any = np.array([*range(n - 2), n - 1, n - 2], np.int32)
        else:
            rank = shape_of.rank(a)
            batch = get("Range")(np.int32(0), rank - 2, np.int32(1))
            perm = concat([batch, [rank - 1, rank - 2]], 0)
        return transpose(a, perm=perm, conjugate=conjugate)
