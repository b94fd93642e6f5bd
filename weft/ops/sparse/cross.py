"""SparseCross: all combinations of the features in each row, as strings or hashed."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import dtypes
from weft.framework.export import export
from weft.framework.registry import op
from weft.framework.sparse_tensor import SparseTensor
from weft.framework.tensor import Tensor
from weft.ops.math.cast import cast
from weft.ops.sparse.coordinates import check_parts, refuse
from weft.ops.strings.farm_hash import fingerprint64
from weft.ops.strings.packed import pack

_DEFAULT_KEY = 0xDECAFCAFFE
_MUL = np.uint64(0xC6A4A7935BD1E995)
_MOST = np.uint64(2**63 - 1)


def _mixed(x: np.ndarray) -> np.ndarray:
    return x ^ (x >> np.uint64(47))


def concatenated(a: Any, b: np.ndarray) -> np.ndarray:
    """The fingerprint of two things, of their fingerprints."""
    result = (a ^ _MUL) ^ (_mixed(b * _MUL) * _MUL)
    return _mixed(_mixed(result * _MUL) * _MUL)


class _Column:
    """The features of one input: those of row r are `values[starts[r]:starts[r] + counts[r]]`."""

    def __init__(self, values: np.ndarray, counts: np.ndarray):
        self.values, self.counts = values, counts
        self.starts = np.cumsum(counts) - counts

    def hashes(self) -> np.ndarray:
        if self.values.dtype == object:
            return fingerprint64(pack(self.values))
        return self.values.astype(np.int64).view(np.uint64)

    def texts(self) -> np.ndarray:
        if self.values.dtype == object:
            return self.values
        return np.array([b"%d" % v for v in self.values.tolist()] + [None], object)[:-1]


def _columns(
    indices: list[np.ndarray],
    values: list[np.ndarray],
    shapes: list[np.ndarray],
    dense: list[np.ndarray],
) -> tuple[int, list[_Column]]:
    """The number of rows, and the columns: sparse ones, then dense ones."""
    for i, parts in enumerate(zip(indices, values, shapes)):
        check_parts(*parts)
        if len(parts[2]) != 2:
            refuse(f"shape should imply a 2D tensor, but got {parts[2].tolist()} at position {i}")
    for i, d in enumerate(dense):
        if d.ndim != 2:
            refuse(
                f"Dense inputs should be a matrix but received shape {list(d.shape)} at position {i}"
            )
    sizes = [int(s[0]) for s in shapes] + [len(d) for d in dense]
    rows = sizes[0] if sizes else 0
    for i, size in enumerate(sizes):
        if size != rows or size < 0:
            refuse(f"Expected batch size {rows} got {size} at position {i}")
    columns = []
    for i, (where, what) in enumerate(zip(indices, values)):
        at = where[:, 0]
        if len(at) and (at.min() < 0 or at.max() >= rows):
            refuse(f"Row {int(at.max())} of input {i} is out of bounds: there are {rows} rows")
        if (at[1:] < at[:-1]).any():
            order = np.argsort(at, kind="stable")
            at, what = at[order], what[order]
        columns.append(_Column(what, np.bincount(at, minlength=rows)))
    for d in dense:
        columns.append(_Column(d.reshape(-1), np.full(rows, d.shape[1])))
    return rows, columns


@op(
    "SparseCross",
    "indices: N*int64, values: sparse_types, shapes: N*int64, dense_inputs: dense_types -> "
    "output_indices: int64, output_values: out_type, output_shape: int64",
    "N: int >= 0; hashed_output: bool; num_buckets: int >= 0; hash_key: int; "
    "sparse_types: list(type) in {int64, string} >= 0; dense_types: list(type) in {int64, string} >= 0; "
    "out_type: type in {int64, string}; internal_type: type in {int64, string}",
    host=True,
)
def sparse_cross_op(
    xp, indices, values, shapes, dense_inputs, *, hashed_output, num_buckets, hash_key
):
    """Every combination of one feature of each input, row by row."""
    rows, columns = _columns(indices, values, shapes, dense_inputs)
    crosses = np.ones(rows, np.int64) if columns else np.zeros(rows, np.int64)
    for column in columns:
        crosses = crosses * column.counts
    total = int(crosses.sum())
    row = np.repeat(np.arange(rows), crosses)
    number = np.arange(total) - np.repeat(np.cumsum(crosses) - crosses, crosses)
    # Of the combinations in a row the last input's feature changes first.
    rest, chosen = number, []
    for column in reversed(columns):
        count = np.maximum(column.counts[row], 1)
        chosen.append(column.starts[row] + rest % count)
        rest = rest // count
    chosen.reverse()
    if hashed_output:
        result = np.full(total, np.int64(hash_key).view(np.uint64))
        for column, which in zip(columns, chosen):
            result = concatenated(result, column.hashes()[which])
        result = (result % (np.uint64(num_buckets) if num_buckets else _MOST)).astype(np.int64)
    else:
        result = np.empty(total, object)
        parts = [column.texts()[which].tolist() for column, which in zip(columns, chosen)]
        result[:] = [b"_X_".join(row) for row in zip(*parts)]
    shape = np.array([rows, crosses.max(initial=0)], np.int64)
    return np.stack([row, number], axis=1), result, shape


@sparse_cross_op.shape
def _(indices, values, shapes, dense_inputs):
    return (None, 2), (None,), (2,)


def _crossed(inputs: Any, hashed: bool, num_buckets: int, hash_key: Any, name: Any) -> SparseTensor:
    if not isinstance(inputs, list):
        raise TypeError("Inputs must be a list")
    if not all(isinstance(i, (SparseTensor, Tensor)) for i in inputs):
        raise TypeError("All inputs must be SparseTensors")
    sparse = [i for i in inputs if isinstance(i, SparseTensor)]
    dense = [i for i in inputs if isinstance(i, Tensor)]
    is_text = all(i.dtype.base_dtype is dtypes.string for i in inputs)

    def plain(x: Any) -> Any:
        return x if x.dtype.base_dtype is dtypes.string else cast(x, dtypes.int64)

    return SparseTensor(
        *sparse_cross_op(
            [s.indices for s in sparse],
            [plain(s.values) for s in sparse],
            [s.dense_shape for s in sparse],
            [plain(d) for d in dense],
            hashed_output=hashed,
            num_buckets=num_buckets,
            hash_key=hash_key or _DEFAULT_KEY,
            out_type=dtypes.int64 if hashed else dtypes.string,
            internal_type=dtypes.string if is_text else dtypes.int64,
            name=name,
        )
    )


@export("sparse.cross")
def sparse_cross(inputs: Any, name: str | None = None) -> SparseTensor:
    """Returns all combinations of the features in each row, as strings joined by `_X_`."""
    return _crossed(inputs, False, 0, None, name)


@export("sparse.cross_hashed")
def sparse_cross_hashed(
    inputs: Any, num_buckets: int = 0, hash_key: int | None = None, name: str | None = None
) -> SparseTensor:
    """Returns all combinations of the features in each row, as hashes below `num_buckets`."""
    return _crossed(inputs, True, num_buckets, hash_key, name)
