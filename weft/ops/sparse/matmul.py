"""A sparse matrix times a dense one."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework.registry import op
from weft.framework.shape_rules import merge_dim, rank
from weft.ops.by_name import raw
from weft.ops.math.dtype_sets import INDEX
from weft.ops.math.segments import reduce_rows
from weft.ops.sparse.coordinates import check_parts, check_ranks, require_inside, whole_shape
from weft.ops.sparse.csr_product import product as csr_product


def _adjoint(xp: Any, x: Any) -> Any:
    return xp.conj(x).T if x.dtype.kind == "c" else x.T


@op(
    "SparseTensorDenseMatMul",
    "a_indices: Tindices, a_values: T, a_shape: int64, b: T -> product: T",
    f"T: type; Tindices: {INDEX} = int64; adjoint_a: bool = false; adjoint_b: bool = false",
    static=("a_shape",),
)
def sparse_tensor_dense_matmul_op(xp, a_indices, a_values, a_shape, b, *, adjoint_a, adjoint_b):
    """A sparse matrix times a dense one; repeated positions add up."""
    check_parts(a_indices, a_values, a_shape, "a_")
    shape = whole_shape(a_shape)

    def outside(row: int, column: int) -> str:
        which = "mk"[column ^ int(adjoint_a)]
        return (
            f"{which} ({a_indices[row, column]}) from index[{row},{column}] out of bounds "
            f"(>={shape[column]})"
        )

    require_inside(xp, a_indices, np.array(shape, np.int64), outside)
    if adjoint_b:
        b = _adjoint(xp, b)
    # TensorFlow 1.15 turns `a` for `adjoint_a` but does not conjugate it, as it does with `b`.
    rows, columns = a_indices[:, int(adjoint_a)], a_indices[:, 1 - int(adjoint_a)]
    height = shape[1] if adjoint_a else shape[0]
    kind = a_values.dtype
    wide = np.dtype(np.float32) if kind.itemsize == 2 else kind  # short floats add up as long ones
    a_values, b = a_values.astype(wide), b.astype(wide)
    if xp.is_numpy:
        return _product(height, rows, columns, a_values, b).astype(kind)
    return csr_product(xp, height, rows, columns, a_values, b, adjoint_a).astype(kind)


_LARGE = 1 << 16  # multiplications that are worth the import of scipy.sparse, a fifth of a second


def _product(height: int, rows: Any, columns: Any, values: Any, b: Any) -> Any:
    if len(values) * b.shape[1] >= _LARGE:
        from scipy.sparse import coo_array

        matrix = coo_array((values, (rows, columns)), (height, b.shape[0]), copy=False)
        return (matrix @ b).astype(values.dtype, copy=False)
    if (rows[1:] < rows[:-1]).any():
        order = np.argsort(rows, kind="stable")
        rows, columns, values = rows[order], columns[order], values[order]
    return reduce_rows(b[columns] * values[:, None], rows, height, np.add, 0)


@sparse_tensor_dense_matmul_op.shape
def _(a_indices, a_values, a_shape, b, *, adjoint_a, adjoint_b, const):
    check_ranks(a_indices, a_values, a_shape, "a_")
    left, right = rank(const.shape("a_shape"), 2, "a_shape"), rank(b, 2, "b")
    if adjoint_a:
        left = left[::-1]
    if adjoint_b:
        right = right[::-1]
    merge_dim(
        left[1],
        right[0],
        "Cannot multiply A and B because inner dimension does not match (did you forget a transpose?): "
        "Dimensions must be equal",
    )
    return left[0], right[1]


@sparse_tensor_dense_matmul_op.gradient
def _(op, grad):
    indices, values, shape, b = op.inputs
    adjoint_a, adjoint_b = op.get_attr("adjoint_a"), op.get_attr("adjoint_b")
    if values.dtype.is_complex:
        raise NotImplementedError("SparseTensorDenseMatMul op does not support complex gradients.")
    to_b = sparse_tensor_dense_matmul_op(indices, values, shape, grad, adjoint_a=not adjoint_a)
    turned = np.array([1, 0], np.int32)
    if adjoint_b:
        to_b, b = raw.Transpose(to_b, turned), raw.Transpose(b, turned)
    rows, columns = raw.Unpack(indices, num=2, axis=1)
    if adjoint_a:
        rows, columns = columns, rows
    products = raw.Mul(raw.GatherV2(grad, rows, np.int32(0)), raw.GatherV2(b, columns, np.int32(0)))
    return None, raw.Sum(products, np.int32(1)), None, to_b
