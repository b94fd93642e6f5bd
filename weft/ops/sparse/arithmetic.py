"""Functions that compute with sparse tensors: sums, products, maxima, reductions."""

from __future__ import annotations

from typing import Any

from weft.framework import conversion
from weft.framework.export import export
from weft.framework.scopes import name_scope
from weft.framework.sparse_tensor import SparseTensor, is_sparse
from weft.ops.array.broadcast import broadcast_static_shape
from weft.ops.by_name import raw
from weft.ops.math.reduce_functions import chosen
from weft.ops.sparse import combine, reduce
from weft.ops.sparse.dense import sparse_tensor_dense_add
from weft.ops.sparse.inputs import as_sparse
from weft.ops.sparse.matmul import sparse_tensor_dense_matmul_op


@export("sparse.add", "sparse_add")
def sparse_add(a: Any, b: Any, threshold: Any = None, thresh: Any = None) -> Any:
    """Returns the sum of two tensors, at least one of them sparse. That of two sparse ones is sparse, and
    leaves out sums that are smaller than `threshold`."""
    threshold = chosen("thresh", thresh, "threshold", threshold)
    if not (is_sparse(a) or is_sparse(b)):
        raise TypeError("At least one input should be SparseTensor; do you mean to use tf.add()?")
    if not (is_sparse(a) and is_sparse(b)):
        sp, dense = (a, b) if is_sparse(a) else (b, a)
        return sparse_tensor_dense_add(sp.indices, sp.values, sp.dense_shape, dense)
    a, b = as_sparse(a), as_sparse(b)
    threshold = conversion.convert_to_tensor(
        0 if threshold is None else threshold,
        dtype=a.dtype.real_dtype.base_dtype,
        name="threshold",
    )
    indices, values, shape = combine.sparse_add_op(
        a.indices, a.values, a.dense_shape, b.indices, b.values, b.dense_shape, threshold
    )
    a.shape.assert_is_compatible_with(b.shape)
    known = broadcast_static_shape(a.shape, b.shape)
    return SparseTensor(indices, values, known.as_list() if known.is_fully_defined() else shape)


@export("sparse.sparse_dense_matmul", "sparse.matmul", "sparse_tensor_dense_matmul")
def sparse_tensor_dense_matmul(
    sp_a: Any, b: Any, adjoint_a: bool = False, adjoint_b: bool = False, name: str | None = None
) -> Any:
    """Returns the product of a sparse matrix and a dense one; repeated positions add up."""
    sp = as_sparse(sp_a)
    with name_scope(name, "SparseTensorDenseMatMul", [sp.indices, sp.values, b]):
        b = conversion.convert_to_tensor(b, name="b")
        return sparse_tensor_dense_matmul_op(
            sp.indices, sp.values, sp.dense_shape, b, adjoint_a=adjoint_a, adjoint_b=adjoint_b
        )


@export("sparse.softmax", "sparse_softmax")
def sparse_softmax(sp_input: Any, name: str | None = None) -> SparseTensor:
    """Returns the softmax over the last axis of the elements that are there."""
    with name_scope(name, "SparseSoftmax", [sp_input.indices, sp_input.values]):
        values = reduce.sparse_softmax_op(sp_input.indices, sp_input.values, sp_input.dense_shape)
        return SparseTensor(sp_input.indices, values, sp_input.dense_shape)


def _extreme(decl: Any, name: str, what: str) -> None:

    def function(sp_a, sp_b, name=None):
        with name_scope(
            name, decl.name, [sp_a.indices, sp_a.values, sp_b.indices, sp_b.values]
        ) as scope:
            parts = decl(
                sp_a.indices,
                sp_a.values,
                sp_a.dense_shape,
                sp_b.indices,
                sp_b.values,
                sp_b.dense_shape,
                name=scope or None,
            )
        return SparseTensor(*parts, sp_a.dense_shape)

    function.__name__ = function.__qualname__ = f"sparse_{name}"
    function.__doc__ = (
        f"Returns the {what} of two sparse tensors at each position; what is missing is zero."
    )
    export(f"sparse.{name}", f"sparse_{name}")(function)


_extreme(combine.sparse_maximum_op, "maximum", "greater element")
_extreme(combine.sparse_minimum_op, "minimum", "lesser element")


def _axes(sp: Any, axis: Any) -> Any:
    if axis is not None:
        return axis
    sizes = (
        sp.dense_shape.shape.as_list() if isinstance(sp, SparseTensor) else [len(sp.dense_shape)]
    )
    if sizes[0] is not None:
        return list(range(sizes[0]))
    return raw.Range(0, raw.Size(sp.dense_shape), 1)


def _reduction(decl: Any, name: str, doc: str) -> None:
    is_sparse_result = name.endswith("_sparse")

    def function(sp_input, axis=None, keepdims=None, reduction_axes=None, keep_dims=None):
        keepdims = chosen("keep_dims", keep_dims, "keepdims", keepdims)
        axis = chosen("reduction_axes", reduction_axes, "axis", axis)
        result = decl(
            sp_input.indices,
            sp_input.values,
            sp_input.dense_shape,
            _axes(sp_input, axis),
            keep_dims=bool(keepdims),
        )
        return SparseTensor(*result) if is_sparse_result else result

    function.__name__ = function.__qualname__ = f"sparse_{name}"
    function.__doc__ = (
        f"Returns {doc} (all axes where none is given); `keepdims` keeps these with size 1."
    )
    export(f"sparse.{name}", f"sparse_{name}")(function)


_reduction(reduce.sparse_reduce_sum_op, "reduce_sum", "the sum over axes as a dense tensor")
_reduction(
    reduce.sparse_reduce_max_op,
    "reduce_max",
    "the greatest of the elements that are there over axes, as a dense tensor",
)
_reduction(
    reduce.sparse_reduce_sum_sparse_op, "reduce_sum_sparse", "the sum over axes as a sparse tensor"
)
_reduction(
    reduce.sparse_reduce_max_sparse_op,
    "reduce_max_sparse",
    "the greatest of the elements that are there over axes, as a sparse tensor",
)
