"""Two sparse tensors of the same shape, element by element: sums, maxima, minima."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from weft.framework.registry import OpDecl, op
from weft.framework.shape_rules import merge_dim, rank, scalar, vector
from weft.ops.math.dtype_sets import NUMBERS, REAL_NUMBERS
from weft.ops.sparse.batches import Parts
from weft.ops.sparse.coordinates import check_parts, check_ranks, joined, refuse


def _check(a: Parts, b: Parts) -> None:
    """Raises unless both are sparse tensors, of the same shape."""
    check_parts(*a, prefix="a_")
    check_parts(*b, prefix="b_")
    a_shape, b_shape = a.shape, b.shape
    if len(a_shape) != len(b_shape):
        refuse(
            f"Operands do not have the same ranks; got shapes: {a_shape.tolist()} and {b_shape.tolist()}"
        )
    for i, (a, b) in enumerate(zip(a_shape.tolist(), b_shape.tolist())):
        if a != b:
            refuse(f"Operands' shapes do not match: got {a} and {b} for dimension {i}")


def _spread(values: np.ndarray, which: np.ndarray, n: int) -> np.ndarray:
    out = np.zeros(n, values.dtype)
    out[which] = values
    return out


def _sides(
    a_indices: np.ndarray, a_values: np.ndarray, b_indices: np.ndarray, b_values: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """All positions of both, the elements of either at these, and which positions both have."""
    rows, in_a, in_b = joined(a_indices, b_indices)
    n = len(rows)
    there = np.zeros(n, np.int8)
    there[in_a] += 1
    there[in_b] += 1
    return rows, _spread(a_values, in_a, n), _spread(b_values, in_b, n), there == 2


@op(
    "SparseAdd",
    "a_indices: int64, a_values: T, a_shape: int64, b_indices: int64, b_values: T, b_shape: int64, "
    "thresh: Treal -> sum_indices: int64, sum_values: T, sum_shape: int64",
    f"T: {NUMBERS}; Treal: {REAL_NUMBERS}",
    host=True,
)
def sparse_add_op(xp, a_indices, a_values, a_shape, b_indices, b_values, b_shape, thresh):
    """The sum of two sparse tensors; a sum of two elements that is smaller than `thresh` goes."""
    _check(Parts(a_indices, a_values, a_shape), Parts(b_indices, b_values, b_shape))
    scalar(thresh.shape, "thresh")
    if not len(a_shape):
        refuse("Tensors must not be empty")
    rows, a, b, both = _sides(a_indices, a_values, b_indices, b_values)
    sums = a + b
    stays = ~both | (np.abs(sums) >= thresh)
    return rows[stays], sums[stays], a_shape


@sparse_add_op.shape
def _(a_indices, a_values, a_shape, b_indices, b_values, b_shape, thresh):
    a_shape = vector(a_shape, "a_shape")
    return (None, a_shape[0]), (None,), a_shape


@sparse_add_op.gradient
def _(op, to_indices, to_values, to_shape):
    a_grad, b_grad = sparse_add_grad(to_values, op.inputs[0], op.inputs[3], op.outputs[0])
    a_grad.set_shape(op.inputs[1].shape)
    b_grad.set_shape(op.inputs[4].shape)
    return None, a_grad, None, None, b_grad, None, None


@op(
    "SparseAddGrad",
    "backprop_val_grad: T, a_indices: int64, b_indices: int64, sum_indices: int64 -> "
    "a_val_grad: T, b_val_grad: T",
    f"T: {NUMBERS}",
    host=True,
)
def sparse_add_grad(xp, backprop_val_grad, a_indices, b_indices, sum_indices):
    """The gradients of SparseAdd: zero for the elements that the threshold took."""

    def side(indices: np.ndarray) -> np.ndarray:
        rows, in_sum, here = joined(sum_indices, indices)
        return _spread(backprop_val_grad, in_sum, len(rows))[here]

    return side(a_indices), side(b_indices)


@sparse_add_grad.shape
def _(backprop_val_grad, a_indices, b_indices, sum_indices):
    a_indices, b_indices = rank(a_indices, 2, "a_indices"), rank(b_indices, 2, "b_indices")
    sum_indices = rank(sum_indices, 2, "sum_indices")
    why = "The densified operands should have the same ndims"
    merge_dim(merge_dim(a_indices[1], b_indices[1], why), sum_indices[1], why)
    merge_dim(
        vector(backprop_val_grad, "backprop_val_grad")[0],
        sum_indices[0],
        "# elements of backprop_val_grad and # rows of sum_indices should match",
    )
    return (a_indices[0],), (b_indices[0],)


sparse_add_grad.not_differentiable()


def _extreme(name: str, types: str, choose: Callable, doc: str) -> OpDecl:
    @op(
        name,
        "a_indices: int64, a_values: T, a_shape: int64, b_indices: int64, b_values: T, b_shape: int64 -> "
        "output_indices: int64, output_values: T",
        f"T: {types}",
        host=True,
    )
    def decl(xp, a_indices, a_values, a_shape, b_indices, b_values, b_shape):
        _check(Parts(a_indices, a_values, a_shape), Parts(b_indices, b_values, b_shape))
        rows, a, b, _ = _sides(a_indices, a_values, b_indices, b_values)
        return rows, choose(a, b)

    decl.__doc__ = doc

    @decl.shape
    def _(a_indices, a_values, a_shape, b_indices, b_values, b_shape):
        check_ranks(a_indices, a_values, a_shape, "a_")
        check_ranks(b_indices, b_values, b_shape, "b_")
        return (None, None), (None,)

    @decl.gradient
    def _(op, *grads):
        raise NotImplementedError(f"TensorFlow has no gradient of {name} either.")

    return decl


sparse_maximum_op = _extreme(
    "SparseSparseMaximum",
    REAL_NUMBERS,
    np.maximum,
    "The greater element at each position of either; what is missing is zero.",
)
sparse_minimum_op = _extreme(
    "SparseSparseMinimum",
    NUMBERS,
    np.minimum,
    "The lesser element at each position of either; what is missing is zero.",
)
