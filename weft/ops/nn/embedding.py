"""Embedding lookups: rows of a table that may lie in several parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.framework import context, dtypes
from weft.framework.conversion import convert_to_tensor
from weft.framework.export import export, find
from weft.framework.scopes import name_scope
from weft.framework.tensor import Tensor
from weft.ops.by_name import raw


def _parts(params: Any) -> list[Any]:
    """The parts of a table: a list, a partitioned variable, or the table alone."""
    if params is None or (isinstance(params, (list, tuple)) and len(params) == 0):
        raise ValueError("Need at least one param")
    if isinstance(params, (list, tuple)):
        return list(params)
    variables = getattr(params, "_get_variable_list", None)
    return list(variables()) if variables is not None else [params]


def _gather(params: Any, ids: Any, name: str | None = None) -> Any:
    """`gather`, from the variable itself where it is one, so that its gradient stays sparse."""
    if not isinstance(params, Tensor) and hasattr(params, "sparse_read"):
        return params.sparse_read(ids, name=name)
    return find("", "gather", "tf")(params, ids, name=name)


def _clip(rows: Any, ids: Any, max_norm: Any) -> Any:
    """Rows no longer than `max_norm`."""
    if max_norm is None:
        return rows
    ids_rank = None if ids._dims is None else len(ids._dims)
    rows_rank = None if rows._dims is None else len(rows._dims)
    if ids_rank is not None and rows_rank is not None:
        axes: Any = list(range(ids_rank, rows_rank))
    else:
        axes = raw.Range(raw.Rank(ids), raw.Rank(rows), 1)
    return find("", "clip_by_norm", "tf")(rows, max_norm, axes=axes)


def _colocated(param: Any) -> Any:
    if context.executing_eagerly():
        import contextlib

        return contextlib.nullcontext()
    from weft.framework.graph import colocate_with

    return colocate_with(param)


def _lookup(
    params: list[Any],
    ids: Any,
    partition_strategy: str,
    name: str | None,
    max_norm: Any,
    transform: Callable | None = None,
) -> Any:
    with name_scope(name, "embedding_lookup", [*params, ids]) as scope:
        ids = convert_to_tensor(ids, name="ids")
        params = [p if hasattr(p, "sparse_read") else convert_to_tensor(p) for p in params]
        if len(params) == 1 and (
            transform is None or (ids._dims is not None and len(ids._dims) == 1)
        ):
            with _colocated(params[0]):
                rows = _clip(_gather(params[0], ids, name=scope or None), ids, max_norm)
                if transform is not None:
                    rows = transform(rows)
            return raw.Identity(rows)
        return _from_parts(params, ids, partition_strategy, max_norm, transform, scope)


def _from_parts(
    params: list[Any],
    ids: Any,
    strategy: str,
    max_norm: Any,
    transform: Callable | None,
    scope: str,
) -> Any:
    """Looks up each part's rows in that part, and puts them together in the order of the ids."""
    n = len(params)
    flat = raw.Reshape(ids, [-1])
    original = raw.Range(0, raw.Size(flat), 1)
    if strategy == "mod":
        assignments = raw.FloorMod(flat, convert_to_tensor(n, dtype=flat.dtype.base_dtype))
        new_ids = raw.FloorDiv(flat, convert_to_tensor(n, dtype=flat.dtype.base_dtype))
    elif strategy == "div":
        sizes = []
        for p in params:
            first = p.get_shape().as_list()[0] if p.get_shape().ndims is not None else None
            if first is None:
                with _colocated(p):
                    first = raw.StridedSlice(
                        raw.Shape(convert_to_tensor(p)), [0], [1], [1], shrink_axis_mask=1
                    )
            sizes.append(first)
        dtype = flat.dtype.base_dtype
        if all(isinstance(s, int) for s in sizes):
            total = convert_to_tensor(sum(sizes), dtype=dtype)
        else:
            total = raw.Cast(
                raw.AddN([convert_to_tensor(s, dtype=dtypes.int32) for s in sizes]), DstT=dtype
            )
        count = convert_to_tensor(n, dtype=dtype)
        one = convert_to_tensor(1, dtype=dtype)
        per_part, extras = raw.FloorDiv(total, count), raw.FloorMod(total, count)
        assignments = raw.Maximum(
            raw.FloorDiv(flat, raw.Add(per_part, one)),
            raw.FloorDiv(raw.Sub(flat, extras), per_part),
        )
        new_ids = raw.Select(
            raw.Less(assignments, raw.Add(raw.ZerosLike(assignments), extras)),
            raw.FloorMod(flat, raw.Add(per_part, one)),
            raw.FloorMod(raw.Sub(flat, extras), per_part),
        )
    else:
        raise ValueError(f"Unrecognized partition strategy: {strategy}")
    assignments = raw.Cast(assignments, DstT=dtypes.int32)
    gather_ids = raw.DynamicPartition(new_ids, assignments, num_partitions=n)
    indices = raw.DynamicPartition(original, assignments, num_partitions=n)
    rows = []
    for p, part_ids in zip(params, gather_ids):
        with _colocated(p):
            found = _gather(p, part_ids)
            if transform is not None:
                found = transform(_clip(found, part_ids, max_norm))
        rows.append(found)
    merged = raw.ParallelDynamicStitch(indices, rows, name=scope or None)
    element = _element_shape(params, transform)
    if element is None:
        with _colocated(params[0]):
            tail = raw.StridedSlice(
                raw.Shape(convert_to_tensor(params[0])), [1], [0], [1], end_mask=1
            )
        merged = raw.Reshape(merged, raw.ConcatV2([raw.Shape(ids), tail], 0))
    else:
        tail = convert_to_tensor(list(element), dtype=dtypes.int32)
        merged = raw.Reshape(merged, raw.ConcatV2([raw.Shape(ids), tail], 0))
        merged.set_shape(ids.get_shape().concatenate(list(element)))
    return _clip(merged, ids, max_norm) if transform is None else merged


def _element_shape(params: list[Any], transform: Callable | None) -> tuple | None:
    """The static shape of one row, as far as all parts agree on it."""
    if transform is not None:
        return None
    shape = params[0].get_shape()[1:]
    for p in params[1:]:
        shape = shape.merge_with(p.get_shape()[1:])
    return tuple(shape.as_list()) if shape.is_fully_defined() else None


@export("nn.embedding_lookup")
def embedding_lookup(
    params: Any,
    ids: Any,
    partition_strategy: str = "mod",
    name: str | None = None,
    validate_indices: bool = True,
    max_norm: Any = None,
) -> Any:
    """Returns the rows `ids` of a table that is one tensor or lies in parts. With "mod" the parts
    take turns, with "div" each has a contiguous range. Ids are checked always; rows longer than
    `max_norm` are scaled to it."""
    del validate_indices
    return _lookup(_parts(params), ids, partition_strategy, name, max_norm)


@export("nn.embedding_lookup_sparse")
def embedding_lookup_sparse(
    params: Any,
    sp_ids: Any,
    sp_weights: Any,
    partition_strategy: str = "mod",
    name: str | None = None,
    combiner: str | None = None,
    max_norm: Any = None,
) -> Any:
    """Returns for each row of `sp_ids` the sum ("sum"), weighted mean ("mean") or sum over the root
    of summed squared weights ("sqrtn") of the table's rows."""
    combiner = "mean" if combiner is None else combiner
    if combiner not in ("mean", "sqrtn", "sum"):
        raise ValueError("combiner must be one of 'mean', 'sqrtn' or 'sum'")
    params = _parts(params)
    if not hasattr(sp_ids, "dense_shape"):
        raise TypeError("sp_ids must be SparseTensor")
    if sp_weights is not None:
        if not hasattr(sp_weights, "dense_shape"):
            raise TypeError("sp_weights must be either None or SparseTensor")
        sp_ids.values.get_shape().assert_is_compatible_with(sp_weights.values.get_shape())
        sp_ids.indices.get_shape().assert_is_compatible_with(sp_weights.indices.get_shape())
        sp_ids.dense_shape.get_shape().assert_is_compatible_with(sp_weights.dense_shape.get_shape())
    with name_scope(name, "embedding_lookup_sparse", [*params, sp_ids.values]) as scope:
        segments = raw.StridedSlice(
            sp_ids.indices, [0, 0], [0, 1], [1, 1], begin_mask=1, end_mask=1, shrink_axis_mask=2
        )
        segments = raw.Cast(segments, DstT=dtypes.int32)
        ids, where = raw.Unique(sp_ids.values)
        rows = embedding_lookup(params, ids, partition_strategy, max_norm=max_norm)
        if rows.dtype.base_dtype in (dtypes.float16, dtypes.bfloat16):
            rows = raw.Cast(rows, DstT=dtypes.float32)
        if sp_weights is None:
            segment_op = {
                "sum": raw.SparseSegmentSum,
                "mean": raw.SparseSegmentMean,
                "sqrtn": raw.SparseSegmentSqrtN,
            }[combiner]
            return segment_op(rows, where, segments, name=scope or None)
        weights = sp_weights.values
        if weights.dtype.base_dtype is not rows.dtype.base_dtype:
            weights = raw.Cast(weights, DstT=rows.dtype.base_dtype)
        rows = raw.GatherV2(rows, where, 0)
        ones = raw.Fill(raw.ExpandDims(raw.Sub(raw.Rank(rows), 1), 0), 1)
        wide = raw.Reshape(weights, raw.ConcatV2([raw.Shape(weights), ones], 0))
        if rows._dims is not None and weights._dims is not None:
            wide.set_shape([*weights._dims, *[1] * (len(rows._dims) - 1)])
        total = raw.SegmentSum(raw.Mul(rows, wide), segments)
        if combiner == "sum":
            return raw.Identity(total, name=scope or None)
        if combiner == "mean":
            return raw.RealDiv(total, raw.SegmentSum(wide, segments), name=scope or None)
        squares = raw.SegmentSum(raw.Square(wide), segments)
        return raw.RealDiv(total, raw.Sqrt(squares), name=scope or None)
