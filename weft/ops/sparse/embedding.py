"""Embedding lookups by sparse ids of any rank, some of which may be invalid or missing."""

from __future__ import annotations

from typing import Any

from weft.framework import dtypes
from weft.framework.conversion import convert_to_tensor
from weft.framework.export import export
from weft.framework.scopes import name_scope
from weft.framework.sparse_tensor import SparseTensor
from weft.framework.tensor_shape import TensorShape
from weft.ops.array.concat import concat
from weft.ops.array.gather import gather
from weft.ops.by_name import raw
from weft.ops.nn.embedding import embedding_lookup_sparse
from weft.ops.sparse.functions import sparse_fill_empty_rows, sparse_reshape, sparse_retain


def _tables(params: Any, dtype: Any) -> list[Any]:
    """The parts of a table; resource variables of the right dtype as they are, so that they stay sparse."""
    if params is None:
        raise ValueError(f"Missing embedding_weights {params}.")
    variables = getattr(params, "_get_variable_list", None)
    parts = list(variables()) if variables is not None else params
    if not isinstance(parts, list):
        parts = [parts]
    if not parts:
        raise ValueError(f"Missing embedding_weights {params}.")
    reads_rows = [hasattr(p, "sparse_read") and dtype in (None, p.dtype) for p in parts]
    return [p if ok else convert_to_tensor(p, dtype=dtype) for p, ok in zip(parts, reads_rows)]


def _only(ids: SparseTensor, weights: SparseTensor | None, valid: Any) -> tuple[Any, Any]:
    return sparse_retain(ids, valid), None if weights is None else sparse_retain(weights, valid)


@export("nn.safe_embedding_lookup_sparse")
def safe_embedding_lookup_sparse(
    embedding_weights: Any,
    sparse_ids: Any,
    sparse_weights: Any = None,
    combiner: str | None = "mean",
    default_id: Any = None,
    name: str | None = None,
    partition_strategy: str = "div",
    max_norm: Any = None,
) -> Any:
    """As `embedding_lookup_sparse`, for ids of any rank: ids below zero and (but for "sum") weights that are not
    positive are left out. A row that has none left gives the vector of `default_id`, or zeros."""
    dtype = None if sparse_weights is None else sparse_weights.dtype
    tables = _tables(embedding_weights, dtype)
    parts = [*tables, sparse_ids, sparse_weights]
    with name_scope(name, "embedding_lookup", parts) as scope:
        shape = sparse_ids.dense_shape
        rank = shape.shape.dims[0].value if shape.shape.ndims is not None else None
        # Most ids are matrices already, and steps of many lookups are many small ops.
        ids = sparse_ids if rank == 2 else _as_matrix(sparse_ids, rank)
        weights = None
        if sparse_weights is not None:
            weights = SparseTensor(ids.indices, sparse_weights.values, ids.dense_shape)
        ids, weights, is_empty = _filled(ids, weights, combiner, default_id or 0)
        result = embedding_lookup_sparse(
            tables,
            ids,
            weights,
            combiner=combiner,
            partition_strategy=partition_strategy,
            name=None if default_id is None else scope or None,
            max_norm=max_norm,
        )
        if default_id is None:
            result = raw.Select(is_empty, raw.ZerosLike(result), result, name=scope or None)
        if rank != 2:
            sizes = raw.Cast(_outer(shape, rank)[0], DstT=dtypes.int32)
            result = raw.Reshape(result, concat([sizes, raw.Shape(result)[1:]], 0))
            lead = TensorShape(None if rank is None else [None] * (rank - 1))
            result.set_shape(lead.concatenate(tables[0].get_shape()[1:]))
        return result


def _outer(shape: Any, rank: int | None) -> tuple[Any, Any]:
    """The sizes of all axes but the last, and the number of these axes."""
    last = raw.Sub(raw.Size(shape), 1) if rank is None else rank - 1
    return raw.Slice(shape, [0], raw.Pack([last], axis=0) if rank is None else [last]), last


def _as_matrix(ids: SparseTensor, rank: int | None) -> SparseTensor:
    """Ids of any rank with all axes but the last as one."""
    outer, last = _outer(ids.dense_shape, rank)
    rows = raw.Prod(outer, raw.Range(0, raw.Rank(outer), 1))
    return sparse_reshape(ids, [rows, gather(ids.dense_shape, last)])


def _filled(
    ids: SparseTensor, weights: SparseTensor | None, combiner: str | None, default_id: int
) -> tuple[SparseTensor, SparseTensor | None, Any]:
    """Ids and weights that are valid, with the default in rows that have none, and which rows these are."""
    zero = convert_to_tensor(0, dtype=ids.values.dtype.base_dtype)
    valid = raw.GreaterEqual(ids.values, zero)
    if weights is not None:  # which must be as many
        valid = raw.LogicalAnd(valid, raw.Fill(raw.Shape(weights.values), True))
    ids, weights = _only(ids, weights, valid)
    if combiner != "sum" and weights is not None:
        zero = convert_to_tensor(0, dtype=weights.values.dtype.base_dtype)
        ids, weights = _only(ids, weights, raw.Greater(weights.values, zero))
    ids, is_empty = sparse_fill_empty_rows(ids, default_id)
    if weights is not None:
        weights, _ = sparse_fill_empty_rows(weights, 1.0)
    return ids, weights, is_empty


@export("compat.v2.nn.safe_embedding_lookup_sparse")
def safe_embedding_lookup_sparse_v2(
    embedding_weights: Any,
    sparse_ids: Any,
    sparse_weights: Any = None,
    combiner: str | None = "mean",
    default_id: Any = None,
    max_norm: Any = None,
    name: str | None = None,
) -> Any:
    """`tf.nn.safe_embedding_lookup_sparse` of parts that each have a contiguous range of ids."""
    return safe_embedding_lookup_sparse(
        embedding_weights,
        sparse_ids,
        sparse_weights,
        combiner,
        default_id,
        name,
        "div",
        max_norm,
    )


@export("compat.v2.nn.embedding_lookup_sparse")
def embedding_lookup_sparse_v2(
    params: Any,
    sp_ids: Any,
    sp_weights: Any,
    combiner: str | None = None,
    max_norm: Any = None,
    name: str | None = None,
) -> Any:
    """`tf.nn.embedding_lookup_sparse` of parts that each have a contiguous range of ids."""
    return embedding_lookup_sparse(params, sp_ids, sp_weights, "div", name, combiner, max_norm)
