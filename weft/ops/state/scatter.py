"""Updates of rows, and of slices anywhere, of reference and resource variables."""

from __future__ import annotations

from typing import Any

from weft.framework.registry import OpDecl, op
from weft.framework.shape_rules import Shape, ShapeError, concatenate, merge, rank_at_least
from weft.ops.array.scatter import check_updates
from weft.ops.state import indices as index_checks

_ORDERED = "T: type in {half, bfloat16, float, double, int32, int64}"


def scatter_rows(ctx: Any, cell: Any, indices: Any, updates: Any, how: str) -> None:
    """Combines rows of a variable with updates, one for each index, or one scalar for all."""
    shape = ctx.shape(cell)
    index_checks.check_row_updates(shape, indices.shape, updates.shape)
    index_checks.check_rows(ctx.xp, indices, shape[0])
    if indices.size:
        ctx.scatter(cell, (ctx.meant(indices, shape[0]),), updates, how)


def scatter_nd(ctx: Any, cell: Any, indices: Any, updates: Any, how: str) -> None:
    """Combines slices of a variable with updates; the last axis of `indices` tells where."""
    shape = ctx.shape(cell)
    if not shape:
        raise ShapeError("Output must be at least 1-D, got shape: []")
    check_updates(indices.shape, updates.shape, shape)
    index_checks.check_nd(ctx.xp, indices, shape)
    if not indices.shape[-1]:
        raise ShapeError("The inner dimension of indices must be at least 1")
    if indices.size:
        where = tuple(indices[..., i] for i in range(indices.shape[-1]))
        ctx.scatter(cell, where, updates, how)


def _check_rows(ref: Shape, indices: Shape, updates: Shape) -> Shape:
    rank_at_least(ref, 1, "ref")
    wanted = concatenate(indices, None if ref is None else ref[1:])
    if wanted is not None and updates != ():
        merge(wanted, updates, "Must have updates.shape = indices.shape + ref.shape[1:]")
    return ref


def _check_nd(ref: Shape, indices: Shape, updates: Shape) -> Shape:
    indices = rank_at_least(indices, 1, "indices")
    if ref != ():  # a scalar is refused as the op runs
        check_updates(indices, updates, ref)
    return ref


def _on_reference(
    name: str, scatter: Any, check: Any, how: str, dtypes: str, locking: str
) -> OpDecl:
    @op(
        name,
        "ref ref: T, indices: Tindices, updates: T -> ref output_ref: T",
        f"{dtypes}; Tindices: index_types; use_locking: bool = {locking}",
    )
    def update(ctx, ref, indices, updates):
        scatter(ctx, ref, indices, updates, how)
        return ref

    update.shape(lambda ref, indices, updates: check(ref, indices, updates))
    return update.not_differentiable()


def _on_resource(name: str, args: str, attrs: str, scatter: Any, check: Any, how: str) -> OpDecl:
    @op(name, args, attrs, stateful=True)
    def update(ctx, resource, indices, updates):
        scatter(ctx, resource, indices, updates, how)

    @update.shape
    def _(resource, indices, updates, *, const):
        check(const.handle(0), indices, updates)

    return update.not_differentiable()


def _rows(
    suffix: str, how: str, ref_types: str = "T: numbers", types: str = "dtype: numbers"
) -> tuple:
    return (
        _on_reference(
            "Scatter" + suffix,
            scatter_rows,
            _check_rows,
            how,
            ref_types,
            "true" if how == "update" else "false",
        ),
        _on_resource(
            "ResourceScatter" + suffix,
            "resource: resource, indices: Tindices, updates: dtype",
            f"{types}; Tindices: index_types",
            scatter_rows,
            _check_rows,
            how,
        ),
    )


def _nd(suffix: str, how: str, ref_types: str = "T: numbers") -> tuple:
    return (
        _on_reference(
            "ScatterNd" + suffix,
            scatter_nd,
            _check_nd,
            how,
            ref_types,
            "true" if how == "update" else "false",
        ),
        _on_resource(
            "ResourceScatterNd" + suffix,
            "ref: resource, indices: Tindices, updates: T",
            "T: type; Tindices: index_types; use_locking: bool = true",
            scatter_nd,
            _check_nd,
            how,
        ),
    )


scatter_update, resource_scatter_update = _rows("Update", "update", "T: type", "dtype: type")
scatter_add, resource_scatter_add = _rows("Add", "add")
scatter_sub, resource_scatter_sub = _rows("Sub", "sub")
scatter_mul, resource_scatter_mul = _rows("Mul", "mul")
scatter_div, resource_scatter_div = _rows("Div", "div")
scatter_min, resource_scatter_min = _rows("Min", "min", _ORDERED)
scatter_max, resource_scatter_max = _rows("Max", "max", _ORDERED)
scatter_nd_update, resource_scatter_nd_update = _nd("Update", "update", "T: type")
scatter_nd_add, resource_scatter_nd_add = _nd("Add", "add")
scatter_nd_sub, resource_scatter_nd_sub = _nd("Sub", "sub")
