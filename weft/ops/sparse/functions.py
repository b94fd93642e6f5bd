"""Functions that give sparse tensors another order, shape or extent."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from weft.framework import conversion, dtypes
from weft.framework.constant_value import constant_value, constant_value_as_shape
from weft.framework.export import export, find
from weft.framework.graph import control_dependencies
from weft.framework.scopes import name_scope
from weft.framework.sparse_tensor import SparseTensor
from weft.framework.tensor import Tensor
from weft.ops.array.concat import concat
from weft.ops.array.gather import gather
from weft.ops.array.identity import identity
from weft.ops.array.select import where_v2
from weft.ops.array.shape_of import rank, shape
from weft.ops.array.transpose import transpose
from weft.ops.by_name import raw
from weft.ops.math.reduce_functions import chosen
from weft.ops.sparse import arrange
from weft.ops.sparse.inputs import as_int64, as_sparse, as_sparse_list


def _known_shape(sp: SparseTensor) -> list[int] | None:
    return sp.shape.as_list() if sp.shape.is_fully_defined() else None


@export("sparse.reorder", "sparse_reorder")
def sparse_reorder(sp_input: Any, name: str | None = None) -> SparseTensor:
    """Returns the same sparse tensor with its elements in row-major order."""
    sp = as_sparse(sp_input)
    indices, values = arrange.sparse_reorder_op(sp.indices, sp.values, sp.dense_shape, name=name)
    known = _known_shape(sp)
    return SparseTensor(indices, values, identity(sp.dense_shape) if known is None else known)


@export("sparse.reshape", "sparse_reshape")
def sparse_reshape(sp_input: Any, shape: Any, name: str | None = None) -> SparseTensor:
    """Returns the same elements in another shape; one size may be -1."""
    sp = as_sparse(sp_input)
    with name_scope(name, "SparseReshape", [sp, shape]) as scope:
        shape = as_int64(shape)
        indices, new_shape = arrange.sparse_reshape_op(
            sp.indices, sp.dense_shape, shape, name=scope or None
        )
        old, new = _known_shape(sp), constant_value_as_shape(shape)
        if old is not None and new is not None:
            completed = _completed(old, list(new), constant_value(shape))
            if completed is not None:
                new_shape = conversion.convert_to_tensor(completed, dtype=dtypes.int64)
        return SparseTensor(indices, identity(sp.values), new_shape)


def _completed(old: list[int], new: list[int | None], given: Any) -> list[int] | None:
    """The new shape where it follows from the old one; ValueError where they do not fit."""
    if given is not None and (given == -1).sum() > 1:
        raise ValueError(f"At most one dimension can be inferred (-1). Found: {given}")
    size, missing = int(np.prod(old)), new.count(None)
    if missing > 1:
        return None
    known = int(np.prod([d for d in new if d is not None]))
    rest = size // known if known else 0
    out = [rest if d is None else d for d in new]
    if int(np.prod(out)) != size:
        raise ValueError(
            f"Cannot reshape a tensor with {size} elements to shape {new} ({known} elements)."
        )
    return out


@export("sparse.transpose", "sparse_transpose")
def sparse_transpose(sp_input: Any, perm: Any = None, name: str | None = None) -> SparseTensor:
    """Returns a sparse tensor with its axes in another order (without `perm` in reverse)."""
    with name_scope(name, "SparseTranspose", [sp_input]):
        sp = as_sparse(sp_input)
        if perm is None:
            n = rank(sp)
            perm = (n - 1) - raw.Range(0, n, 1)
        perm = conversion.convert_to_tensor(perm)
        indices = transpose(gather(transpose(sp.indices), perm))
        order, known = constant_value(perm), _known_shape(sp)
        if order is not None and known is not None:
            whole: Any = [known[p] for p in order]
        else:
            whole = gather(sp.dense_shape, perm)
        return sparse_reorder(SparseTensor(indices, sp.values, whole))


@export("sparse.expand_dims")
def sparse_expand_dims(sp_input: Any, axis: Any = None, name: str | None = None) -> SparseTensor:
    """Returns a sparse tensor with an axis of size 1 more (without `axis` at the end)."""
    sp = as_sparse(sp_input)
    columns = sp.dense_shape.shape.dims[0].value
    axis = -1 if axis is None else axis
    with name_scope(name, "expand_dims", [sp]):
        if isinstance(axis, numbers.Integral):
            axis = conversion.convert_to_tensor(axis, name="axis", dtype=dtypes.int32)
        elif not isinstance(axis, Tensor):
            raise TypeError(
                "axis must be an integer value in range [-rank(sp_input) - 1, rank(sp_input)]"
            )
        n = rank(sp) if columns is None else columns
        axis = where_v2(axis >= 0, axis, axis + n + 1)
        zero = raw.Fill(raw.Pack([shape(sp.indices)[0], 1], axis=0), np.int64(0))
        before = raw.Slice(sp.indices, [0, 0], raw.Pack([-1, axis], axis=0))
        after = raw.Slice(sp.indices, raw.Pack([0, axis], axis=0), [-1, -1])
        at = raw.ExpandDims(axis, 0)
        sizes = [raw.Slice(sp.dense_shape, [0], at), [1], raw.Slice(sp.dense_shape, at, [-1])]
        return SparseTensor(concat([before, zero, after], 1), sp.values, concat(sizes, 0))


@export("sparse.concat", "sparse_concat")
def sparse_concat(
    axis: Any,
    sp_inputs: Any,
    name: str | None = None,
    expand_nonconcat_dim: bool = False,
    concat_dim: Any = None,
    expand_nonconcat_dims: bool | None = None,
) -> SparseTensor:
    """Returns sparse tensors one after another along an axis; with `expand_nonconcat_dim` their other sizes
    may differ, and the greatest is taken."""
    if expand_nonconcat_dims is not None:
        expand_nonconcat_dim = expand_nonconcat_dims
    axis = chosen("concat_dim", concat_dim, "axis", axis)
    sps = as_sparse_list(sp_inputs)
    if len(sps) == 1:
        return sps[0]
    shapes = [sp.dense_shape for sp in sps]
    if expand_nonconcat_dim:
        greatest = raw.Max(raw.Pack(shapes, axis=0), 0)
        shapes = [_with_size_of(greatest, s, axis) for s in shapes]
    indices, values, whole = arrange.sparse_concat_op(
        [sp.indices for sp in sps],
        [sp.values for sp in sps],
        shapes,
        concat_dim=axis,
        name=name,
    )
    known = [s for s in map(constant_value, shapes) if s is not None]
    if len(known) == len(shapes):
        total = known[0].copy()
        total[axis] = sum(s[axis] for s in known)
        whole = conversion.convert_to_tensor(total)
    return SparseTensor(indices, values, whole)


def _with_size_of(greatest: Any, own: Any, axis: int) -> Any:
    """The greatest sizes, but for that along the axis."""
    if axis == -1:
        return concat([greatest[:-1], own[-1:]], 0)
    return concat([greatest[:axis], own[axis : axis + 1], greatest[axis + 1 :]], 0)


class KeywordRequired:
    """Marks that what follows must be given by name."""

    def __repr__(self) -> str:
        return "KeywordRequired()"


@export("sparse.split", "sparse_split")
def sparse_split(
    keyword_required: Any = KeywordRequired(),  # noqa: B008
    sp_input: Any = None,
    num_split: int | None = None,
    axis: Any = None,
    name: str | None = None,
    split_dim: Any = None,
) -> list[SparseTensor]:
    """Returns a sparse tensor cut into `num_split` along an axis; the first ones may be one longer."""
    if not isinstance(keyword_required, KeywordRequired):
        raise ValueError("Keyword arguments are required for this function.")
    axis = chosen("split_dim", split_dim, "axis", axis)
    for what, value in (("sp_input", sp_input), ("num_split", num_split), ("axis", axis)):
        if value is None:
            raise ValueError(f"{what} is required")
    sp = as_sparse(sp_input)
    parts = arrange.sparse_split_op(
        as_int64(axis), sp.indices, sp.values, sp.dense_shape, num_split=num_split, name=name
    )
    return [SparseTensor(*part) for part in zip(*parts)]


@export("sparse.slice", "sparse_slice")
def sparse_slice(sp_input: Any, start: Any, size: Any, name: str | None = None) -> SparseTensor:
    """Returns the part of a sparse tensor that lies in a box."""
    sp = as_sparse(sp_input)
    with name_scope(name, "SparseSlice", [sp]) as scope:
        start = conversion.convert_to_tensor(start, dtypes.int64)
        size = conversion.convert_to_tensor(size, dtypes.int64)
        return SparseTensor(
            *arrange.sparse_slice_op(
                sp.indices, sp.values, sp.dense_shape, start, size, name=scope or None
            )
        )


@export("sparse.retain", "sparse_retain")
def sparse_retain(sp_input: Any, to_retain: Any) -> SparseTensor:
    """Returns the elements of a sparse tensor for which a vector of flags is true."""
    sp = as_sparse(sp_input)
    to_retain = conversion.convert_to_tensor(to_retain)
    flags = to_retain.shape.with_rank(1)
    if sp.values.shape.ndims is not None:
        sp.values.shape.dims[0].merge_with(flags.dims[0])
    kept = raw.Reshape(where_v2(to_retain), [-1])
    return SparseTensor(gather(sp.indices, kept), gather(sp.values, kept), sp.dense_shape)


@export("sparse.reset_shape", "sparse_reset_shape")
def sparse_reset_shape(sp_input: Any, new_shape: Any = None) -> SparseTensor:
    """Returns a sparse tensor with another, larger shape; without one, with the smallest that fits."""
    sp = as_sparse(sp_input)
    indices, values, old = identity(sp.indices), identity(sp.values), identity(sp.dense_shape)
    if new_shape is None:
        highest = raw.Max(indices, 0)
        return SparseTensor(
            indices, values, raw.Maximum(np.int64(0), raw.Add(highest, raw.OnesLike(old)))
        )
    new = conversion.convert_to_tensor(new_shape)
    new.shape.assert_has_rank(1)
    new = as_int64(new)
    if new.shape.ndims is not None and old.shape.ndims is not None:
        new.shape.dims[0].merge_with(old.shape.dims[0])
    given, known = constant_value(new), _known_shape(sp)
    if given is not None and known is not None:
        if not (np.array(known) <= given).all():
            raise ValueError(
                "Requested new_shape should have dimension sizes >= sp_input.shape.  Found new_shape "
                f"({given}), sp_input.shape ({known})."
            )
        return SparseTensor(indices, values, given)
    assert_equal, assert_less_equal = (
        find("", n, "tf") for n in ("assert_equal", "assert_less_equal")
    )
    with control_dependencies([assert_equal(shape(old), shape(new))]):
        new = identity(new)
    with control_dependencies([assert_less_equal(old, new)]):
        return SparseTensor(indices, values, identity(new))


@export("sparse.fill_empty_rows", "sparse_fill_empty_rows")
def sparse_fill_empty_rows(
    sp_input: Any, default_value: Any, name: str | None = None
) -> tuple[SparseTensor, Any]:
    """Returns a sparse tensor with one element of `default_value` in each row that had none, and flags that
    tell these rows."""
    sp = as_sparse(sp_input)
    with name_scope(name, "SparseFillEmptyRows", [sp]):
        default_value = conversion.convert_to_tensor(default_value, dtype=sp.dtype.base_dtype)
        indices, values, empty, _ = arrange.sparse_fill_empty_rows_op(
            sp.indices, sp.values, sp.dense_shape, default_value
        )
        return SparseTensor(indices, values, sp.dense_shape), empty
