"""Sparse tensors from dense ones, from ids, and back."""

from __future__ import annotations

import numbers
from collections.abc import Iterable
from typing import Any

from weft.framework import conversion, dtypes
from weft.framework.export import export
from weft.framework.scopes import name_scope
from weft.framework.sparse_tensor import SparseTensor, is_sparse
from weft.framework.tensor import Tensor
from weft.ops.array.concat import concat, stack
from weft.ops.array.fill import ones, zeros
from weft.ops.array.gather import gather_nd
from weft.ops.array.select import where_v2
from weft.ops.array.shape_of import shape
from weft.ops.by_name import raw
from weft.ops.math.cast import cast
from weft.ops.math.ranges import range as range_
from weft.ops.sparse.arrange import sparse_reorder_op
from weft.ops.sparse.dense import sparse_to_dense_op
from weft.ops.sparse.inputs import as_int64, as_sparse


@export("sparse_to_dense")
def sparse_to_dense(
    sparse_indices: Any,
    output_shape: Any,
    sparse_values: Any,
    default_value: Any = 0,
    validate_indices: bool = True,
    name: str | None = None,
) -> Any:
    """Returns a dense tensor of `default_value` with elements at positions (deprecated: use
    `tf.sparse.to_dense`). With `validate_indices` positions must be in order and not repeat."""
    return sparse_to_dense_op(
        sparse_indices,
        output_shape,
        sparse_values,
        default_value,
        validate_indices=validate_indices,
        name=name,
    )


@export("sparse.to_dense", "sparse_tensor_to_dense")
def sparse_tensor_to_dense(
    sp_input: Any, default_value: Any = None, validate_indices: bool = True, name: str | None = None
) -> Any:
    """Returns a sparse tensor as a dense one, with `default_value` where it has no element."""
    sp = as_sparse(sp_input)
    if default_value is None:
        default_value = zeros([], dtype=sp.dtype)
    return sparse_to_dense_op(
        sp.indices,
        sp.dense_shape,
        sp.values,
        default_value,
        validate_indices=validate_indices,
        name=name,
    )


@export("sparse.from_dense")
def from_dense(tensor: Any, name: str | None = None) -> SparseTensor:
    """Returns the elements of a dense tensor that are not zero, as a sparse tensor."""
    with name_scope(name, "dense_to_sparse", [tensor]):
        tensor = conversion.convert_to_tensor(tensor)
        zero = zeros([], dtype=tensor.dtype.base_dtype)
        indices = where_v2(raw.NotEqual(tensor, zero))
        return SparseTensor(
            indices, gather_nd(tensor, indices), shape(tensor, out_type=dtypes.int64)
        )


@export("sparse.eye")
def sparse_eye(
    num_rows: Any, num_columns: Any = None, dtype: Any = dtypes.float32, name: str | None = None
) -> SparseTensor:
    """Returns a matrix with ones on its diagonal, sparse."""
    with name_scope(name, "eye", [num_rows, num_columns]):
        rows = _size(num_rows, "num_rows")
        columns = rows if num_columns is None else _size(num_columns, "num_columns")
        n = raw.Minimum(rows, columns)
        places = range_(n, dtype=dtypes.int64)
        return SparseTensor(stack([places, places], axis=1), ones(n, dtype=dtype), [rows, columns])


def _size(value: Any, name: str) -> Any:
    if not isinstance(value, (numbers.Integral, Tensor)):
        raise TypeError(f"{name} must be an integer value")
    return as_int64(value, name)


@export("sparse.to_indicator", "sparse_to_indicator")
def sparse_to_indicator(sp_input: Any, vocab_size: Any, name: str | None = None) -> Any:
    """Returns a dense tensor of flags: the ids, which are elements along the last axis, are set."""
    sp = as_sparse(sp_input)
    with name_scope(name, "SparseToIndicator", [sp]) as scope:
        flags = raw.Fill(raw.ExpandDims(shape(sp.indices)[0], 0), True)
        there = SparseTensor(sp.indices, flags, sp.dense_shape)
        merged = sparse_merge(sp, there, vocab_size, scope or None)
        return sparse_tensor_to_dense(
            merged, default_value=False, validate_indices=False, name=scope or None
        )


@export("sparse.merge", "sparse_merge")
def sparse_merge(
    sp_ids: Any,
    sp_values: Any,
    vocab_size: Any,
    name: str | None = None,
    already_sorted: bool = False,
) -> SparseTensor:
    """Returns the elements of `sp_values` at the positions that `sp_ids` name: ids take the place of the
    last coordinate. Several sparse tensors of ids, and as many sizes, give several coordinates."""
    ids, sizes = _ids_and_sizes(sp_ids, vocab_size)
    with name_scope(name, "SparseMerge", [*ids, sp_values]):
        ids = [as_sparse(one) for one in ids]
        values = as_sparse(sp_values)
        columns = [raw.ExpandDims(as_int64(one.values), 1) for one in ids]
        indices = concat([ids[0].indices[:, :-1], *columns], 1)
        whole = concat([ids[0].dense_shape[:-1], [cast(n, dtypes.int64) for n in sizes]], 0)
        if already_sorted:
            return SparseTensor(indices, values.values, whole)
        indices, elements = sparse_reorder_op(indices, values.values, whole)
        return SparseTensor(indices, elements, whole)


def _ids_and_sizes(sp_ids: Any, vocab_size: Any) -> tuple[list[Any], list[Any]]:
    if is_sparse(sp_ids):
        if not isinstance(vocab_size, (Tensor, numbers.Integral)):
            raise TypeError(
                f"vocab_size has to be a Tensor or Python int. Found {type(vocab_size)}"
            )
        return [sp_ids], [vocab_size]
    if not isinstance(sp_ids, Iterable):
        raise TypeError(f"sp_ids has to be a SparseTensor or list thereof. Found {type(sp_ids)}")
    if not isinstance(vocab_size, Iterable) or isinstance(vocab_size, Tensor):
        raise TypeError(
            f"vocab_size has to be a list of Tensors or Python ints. Found {type(vocab_size)}"
        )
    ids, sizes = list(sp_ids), list(vocab_size)
    for size in sizes:
        if not isinstance(size, (Tensor, numbers.Integral)):
            raise TypeError(
                f"vocab_size has to be a list of Tensors or Python ints. Found {type(size)}"
            )
    if len(ids) != len(sizes):
        raise ValueError("sp_ids and vocab_size have to have equal lengths.")
    return ids, sizes
