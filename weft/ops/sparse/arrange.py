"""Sparse tensors put in order, reshaped, joined and cut."""

from __future__ import annotations

import math

import numpy as np

from weft.framework import errors
from weft.framework.registry import op
from weft.framework.shape_rules import (
    Shape,
    ShapeError,
    merge,
    merge_dim,
    num_elements,
    rank,
    scalar,
    text,
    vector,
)
from weft.ops.by_name import raw
from weft.ops.math.dtype_sets import NUMBERS
from weft.ops.sparse.coordinates import (
    check_parts,
    check_ranks,
    flat_positions,
    order_of,
    refuse,
    require_inside,
    whole_shape,
)


@op(
    "SparseReorder",
    "input_indices: int64, input_values: T, input_shape: int64 -> output_indices: int64, output_values: T",
    "T: type",
    host=True,
)
def sparse_reorder_op(xp, input_indices, input_values, input_shape):
    """The same sparse tensor with its elements in row-major order."""
    check_parts(input_indices, input_values, input_shape, "input_")
    whole_shape(input_shape)
    order = order_of(input_indices)
    if order is None:
        return input_indices, input_values
    return input_indices[order], input_values[order]


@sparse_reorder_op.shape
def _(input_indices, input_values, input_shape):
    check_ranks(input_indices, input_values, input_shape, "input_")
    return rank(input_indices, 2), vector(input_values)


@sparse_reorder_op.gradient
def _(op, to_indices, to_values):
    indices, _, shape = op.inputs
    rows = raw.Unpack(raw.Shape(indices), num=2, axis=0)[0]
    numbers = raw.Range(np.int32(0), rows, np.int32(1))
    _, order = sparse_reorder_op(indices, numbers, shape)
    return None, raw.GatherV2(to_values, raw.InvertPermutation(order), np.int32(0)), None


@op(
    "SparseReshape",
    "input_indices: int64, input_shape: int64, new_shape: int64 -> "
    "output_indices: int64, output_shape: int64",
    host=True,
)
def sparse_reshape_op(xp, input_indices, input_shape, new_shape):
    """The positions after a reshape of the whole; one size may be -1."""
    old = whole_shape(input_shape)
    new = _completed(old, new_shape.tolist())
    if old == new:
        return input_indices, input_shape
    sizes = np.array(new, np.int64)
    n = len(input_indices)
    if not n:
        return np.zeros((0, len(new)), np.int64), sizes
    if not math.prod(old):
        refuse(
            f"Input tensor has {n} non zero elements but input shape {text(old)} or output shape "
            f"{text(new)} is empty"
        )
    require_inside(xp, input_indices, input_shape)
    positions = np.unravel_index(flat_positions(input_indices, old), new) if new else ()
    return np.array(positions, np.int64).reshape(len(new), n).T, sizes


def _completed(old: tuple[int, ...], new: list[int]) -> tuple[int, ...]:
    """The new shape with the size that is -1."""
    missing = [d for d, size in enumerate(new) if size == -1]
    for d, size in enumerate(new):
        if size < -1:
            refuse(f"size {d} must be non-negative, not {size}")
    if len(missing) > 1:
        refuse(f"only one output dimension may be -1, not both {missing[0]} and {missing[1]}")
    whole, known = math.prod(old), math.prod(size for size in new if size != -1)
    if missing:
        if not known:
            refuse(
                "reshape cannot infer the missing input size for an empty tensor unless all specified "
                "input sizes are non-zero"
            )
        if whole % known:
            refuse(
                f"Input to reshape is a SparseTensor with {whole} dense values, but the requested shape "
                f"requires a multiple of {known}. input_shape={text(old)} output_shape={text(tuple(new))}"
            )
        return tuple(whole // known if size == -1 else size for size in new)
    if known != whole:
        refuse(
            f"Input to reshape is a tensor with {whole} dense values, but the requested shape has {known}. "
            f"input_shape={text(old)} output_shape={text(tuple(new))}"
        )
    return tuple(new)


@sparse_reshape_op.shape
def _(input_indices, input_shape, new_shape):
    input_indices, new_shape = (
        rank(input_indices, 2, "input_indices"),
        vector(new_shape, "new_shape"),
    )
    columns = vector(input_shape, "input_shape")[0]
    merge_dim(input_indices[1], columns, "input_indices must have a column for each size")
    return (input_indices[0], new_shape[0]), new_shape


sparse_reshape_op.not_differentiable()


@op(
    "SparseConcat",
    "indices: N*int64, values: N*T, shapes: N*int64 -> "
    "output_indices: int64, output_values: T, output_shape: int64",
    "concat_dim: int; N: int >= 2; T: type",
    host=True,
)
def sparse_concat_op(xp, indices, values, shapes, *, concat_dim):
    """Sparse tensors one after another along an axis, in row-major order."""
    for parts in zip(indices, values, shapes):
        check_parts(*parts)
    whole = [whole_shape(s) for s in shapes]
    n = len(whole[0])
    if not -n <= concat_dim < n:
        refuse(f"Concat dimension must be in range [{-n}, {n}), got {concat_dim}")
    along = concat_dim % n
    for i, shape in enumerate(whole):
        for d, (wanted, given) in enumerate(zip(whole[0], shape)):
            if d != along and wanted != given:
                refuse(
                    f"Input shapes must match: expected {wanted} for dimension {d} but got {given} at "
                    f"position {i}"
                )
    sizes = [shape[along] for shape in whole]
    offsets = np.cumsum([0, *sizes[:-1]])
    joined = np.concatenate(indices)
    joined[:, along] += np.repeat(offsets, [len(i) for i in indices])
    elements = np.concatenate(values)
    order = order_of(joined)
    if order is not None:
        joined, elements = joined[order], elements[order]
    shape = np.array(whole[0], np.int64)
    shape[along] = sum(sizes)
    return joined, elements, shape


@sparse_concat_op.shape
def _(indices, values, shapes):
    rows: int | None = 0
    columns: int | None = None
    whole: Shape = None
    for i, v, s in zip(indices, values, shapes):
        check_ranks(i, v, s)
        i, v = rank(i, 2), vector(v)
        count = merge_dim(i[0], v[0])
        rows = None if rows is None or count is None else rows + count
        columns = merge_dim(columns, i[1], "Ranks of all input tensors must match")
        whole = merge(whole, vector(s), "Ranks of all input tensors must match")
    return (rows, columns), (rows,), whole


sparse_concat_op.not_differentiable()


@op(
    "SparseSplit",
    "split_dim: int64, indices: int64, values: T, shape: int64 -> "
    "output_indices: num_split*int64, output_values: num_split*T, output_shape: num_split*int64",
    "num_split: int >= 1; T: type",
    host=True,
)
def sparse_split_op(xp, split_dim, indices, values, shape, *, num_split):
    """A sparse tensor cut along an axis into parts of equal size; the first may be one longer."""
    scalar(split_dim.shape, "split_dim")
    check_parts(indices, values, shape)
    whole = whole_shape(shape)
    if not 0 <= split_dim < len(whole):
        refuse(f"Input split_dim should be between 0 and rank ({len(whole)}), got {split_dim}")
    along = int(split_dim)
    if num_split > whole[along]:
        refuse(
            "Input num_split should be between 1 and the splitting dimension size "
            f"({whole[along]}), got {num_split}"
        )
    require_inside(xp, indices, shape)
    size, longer = divmod(whole[along], num_split)
    lengths = np.full(num_split, size, np.int64)
    lengths[:longer] += 1
    ends = np.cumsum(lengths)
    part = np.searchsorted(ends, indices[:, along], "right")
    order = np.argsort(part, kind="stable")
    cuts = np.searchsorted(part[order], np.arange(1, num_split))
    moved = indices.copy()
    moved[:, along] -= (ends - lengths)[part]
    shapes = np.tile(shape, (num_split, 1))
    shapes[:, along] = lengths
    return np.split(moved[order], cuts), np.split(values[order], cuts), list(shapes)


@sparse_split_op.shape
def _(split_dim, indices, values, shape, *, num_split):
    columns = num_elements(shape)
    return [(None, columns)] * num_split, [(None,)] * num_split, [(columns,)] * num_split


@op(
    "SparseSlice",
    "indices: int64, values: T, shape: int64, start: int64, size: int64 -> "
    "output_indices: int64, output_values: T, output_shape: int64",
    "T: type",
    host=True,
)
def sparse_slice_op(xp, indices, values, shape, start, size):
    """The part of a sparse tensor that lies in a box; the box may reach beyond the tensor."""
    check_parts(indices, values, shape)
    for name, given in (("start", start), ("size", size)):
        if given.shape != shape.shape:
            refuse(
                f"Expected {name} to be a vector of length {len(shape)} but got shape {text(given.shape)}"
            )
    whole_shape(shape)
    if (start < 0).any() or (size < 0).any():
        refuse(f"start and size must be >= 0, got {start.tolist()} and {size.tolist()}")
    ends = start + np.minimum(size, np.maximum(shape - start, 0))  # cannot overflow
    inside = ((indices >= start) & (indices < ends)).all(1)
    return indices[inside] - start, values[inside], np.maximum(ends - start, 0)


@sparse_slice_op.shape
def _(indices, values, shape, start, size):
    return (None, num_elements(shape)), (None,), shape


@sparse_slice_op.gradient
def _(op, to_indices, to_values, to_shape):
    indices, values, _, start, _ = op.inputs
    grad = sparse_slice_grad(to_values, indices, start, op.outputs[0])
    grad.set_shape(values.shape)
    return None, grad, None, None, None


@op(
    "SparseSliceGrad",
    "backprop_val_grad: T, input_indices: int64, input_start: int64, output_indices: int64 -> val_grad: T",
    f"T: {NUMBERS}",
    host=True,
)
def sparse_slice_grad(xp, backprop_val_grad, input_indices, input_start, output_indices):
    """The gradient of SparseSlice: zero for the elements that it left out."""
    wanted = output_indices + input_start
    grad = np.zeros(len(input_indices), backprop_val_grad.dtype)
    where = _positions_of(wanted, input_indices)
    if where is None:
        raise errors.InternalError(
            None,
            None,
            f"Elements of backprop_val_grad aren't all propagated. Num elements: {len(wanted)}",
        )
    grad[where] = backprop_val_grad
    return grad


def _positions_of(rows: np.ndarray, among: np.ndarray) -> np.ndarray | None:
    """Where each row is, rows being some of `among` in the same order; None if one is missing."""
    if not len(rows):
        return np.zeros(0, np.int64)
    if not len(among):
        return None
    low = np.minimum(rows.min(0), among.min(0))
    sizes = np.maximum(rows.max(0), among.max(0)) - low + 1
    if math.prod(sizes.tolist()) >= 2**63:
        refuse("The positions span more elements than 64 bits can count")
    keys, all_keys = flat_positions(rows - low, sizes), flat_positions(among - low, sizes)
    found = np.flatnonzero(np.isin(all_keys, keys))
    return found if len(found) == len(keys) and (all_keys[found] == keys).all() else None


@sparse_slice_grad.shape
def _(backprop_val_grad, input_indices, input_start, output_indices):
    input_indices = rank(input_indices, 2, "input_indices")
    output_indices = rank(output_indices, 2, "output_indices")
    why = "The input and output should have the same ndims"
    columns = merge_dim(input_indices[1], output_indices[1], why)
    merge_dim(
        columns, vector(input_start, "input_start")[0], "input_start must have a size for each"
    )
    merge_dim(
        vector(backprop_val_grad, "backprop_val_grad")[0],
        output_indices[0],
        "# elements of backprop_val_grad and # rows of output_indices should match",
    )
    return (input_indices[0],)


@op(
    "SparseFillEmptyRows",
    "indices: int64, values: T, dense_shape: int64, default_value: T -> output_indices: int64, "
    "output_values: T, empty_row_indicator: bool, reverse_index_map: int64",
    "T: type",
    host=True,
)
def sparse_fill_empty_rows_op(xp, indices, values, dense_shape, default_value):
    """A sparse tensor with one element of the default value in each row that has none."""
    check_parts(indices, values, dense_shape)
    rows = whole_shape(dense_shape)[0]
    n = len(indices)
    if not rows and n:
        refuse(f"Received SparseTensor with dense_shape[0] = 0 but indices.shape[0] = {n}")
    at = indices[:, 0]
    bad = np.flatnonzero((at < 0) | (at >= rows))
    if len(bad):
        refuse(f"indices({bad[0]}, 0) is invalid: {at[bad[0]]} >= {rows}")
    empty = np.bincount(at, minlength=rows) == 0
    missing = np.flatnonzero(empty)
    added = np.zeros((len(missing), indices.shape[1]), np.int64)
    added[:, 0] = missing
    order = np.argsort(np.concatenate([at, missing]), kind="stable")
    reverse = np.empty(len(order), np.int64)
    reverse[order] = np.arange(len(order))
    defaults = np.full(len(missing), default_value[()], values.dtype)
    filled = np.concatenate([values, defaults])
    return np.concatenate([indices, added])[order], filled[order], empty, reverse[:n]


@sparse_fill_empty_rows_op.shape
def _(indices, values, dense_shape, default_value, *, const):
    check_ranks(indices, values, dense_shape)
    scalar(default_value, "default_value")
    columns = vector(dense_shape)[0]
    if columns == 0:
        raise ShapeError("dense_shape must not be empty")
    n = merge_dim(rank(indices, 2)[0], vector(values)[0])
    shape = const.shape("dense_shape")
    return (None, columns), (None,), (shape[0] if shape else None,), (n,)


@sparse_fill_empty_rows_op.gradient
def _(op, to_indices, to_values, to_empty, to_map):
    grad, default = sparse_fill_empty_rows_grad(op.outputs[3], to_values)
    return None, grad, None, default


@op(
    "SparseFillEmptyRowsGrad",
    "reverse_index_map: int64, grad_values: T -> d_values: T, d_default_value: T",
    "T: type",
)
def sparse_fill_empty_rows_grad(xp, reverse_index_map, grad_values):
    """The gradient of SparseFillEmptyRows: what the added elements get is the default value's."""
    n = grad_values.shape[0]
    inside = (reverse_index_map >= 0) & (reverse_index_map < n)

    def message() -> str:
        wrong = reverse_index_map[~inside][0]
        return f"Elements in reverse index must be in [0, {n}) but got {wrong}"

    xp.check(inside, message)
    there = xp.scatter(xp.zeros(n, bool), (reverse_index_map,), True)
    rest = xp.where(there, xp.zeros((), grad_values.dtype), grad_values)
    return xp.constant(grad_values)[reverse_index_map], xp.sum(rest, dtype=grad_values.dtype)


@sparse_fill_empty_rows_grad.shape
def _(reverse_index_map, grad_values):
    vector(grad_values, "grad_values")
    return vector(reverse_index_map, "reverse_index_map"), ()


sparse_fill_empty_rows_grad.not_differentiable()
for _decl in (sparse_split_op, sparse_slice_grad):
    _decl.not_differentiable()
