"""Diagonals of (batches of) matrices, and of tensors; bands; the identity matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import conversion, dtypes
from weft.framework.export import export
from weft.framework.registry import op
from weft.framework.scopes import name_scope
from weft.framework.shape_rules import Shape, ShapeError, merge, merge_dim, text
from weft.framework.tensor import Tensor
from weft.ops.array import fill, shape_of
from weft.ops.array.concat import concat
from weft.ops.by_name import raw

_TENSOR = "T: type in {bfloat16, half, float, double, int32, int64, complex64, complex128}"


def _at_least(shape: Shape, n: int, name: str) -> Shape:
    """The shape, which must have this rank at least."""
    if shape is not None and len(shape) < n:
        raise ShapeError(
            f"Shape must be at least rank {n} but is rank {len(shape)}: {name} must be at least "
            f"{n}-dim, received shape: {text(shape)}"
        )
    return shape


# -- tensors: rank k to rank 2k and back -------------------------------------------------------------------


@op("Diag", "diagonal: T -> output: T", _TENSOR)
def diag_op(xp, diagonal):
    """A tensor of twice the rank with the given one on its diagonal."""
    flat = diagonal.reshape(-1)
    n = flat.shape[0]
    matrix = xp.where(np.eye(n, dtype=bool), flat[:, None], np.zeros((), diagonal.dtype))
    return matrix.reshape(diagonal.shape * 2)


@diag_op.shape
def _(diagonal):
    _at_least(diagonal, 1, "diagonal")
    return None if diagonal is None else diagonal * 2


@diag_op.gradient
def _(op, grad):
    return diag_part_op(grad)


@op("DiagPart", "input: T -> diagonal: T", _TENSOR)
def diag_part_op(xp, input):
    """The diagonal of a tensor of even rank."""
    half = _half(input.shape)
    n = int(np.prod(half, dtype=np.int64))
    return xp.diagonal(input.reshape(n, n)).reshape(half)


def _half(shape: tuple) -> tuple:
    if not shape or len(shape) % 2:
        raise ShapeError(f"Input must have even and non-zero rank, input rank is {len(shape)}")
    n = len(shape) // 2
    found = merge(shape[:n], shape[n:], "Invalid shape: dimensions do not match")
    assert found is not None
    return found


@diag_part_op.shape
def _(input):
    return None if input is None else _half(input)


@diag_part_op.gradient
def _(op, grad):
    return diag_op(grad)


@export("linalg.tensor_diag", "diag")
def tensor_diag(diagonal: Any, name: str | None = None) -> Any:
    """Returns a tensor of twice the rank with `diagonal` on its diagonal, zero elsewhere."""
    return diag_op(diagonal, name=name)


@export("linalg.tensor_diag_part", "diag_part")
def tensor_diag_part(input: Any, name: str | None = None) -> Any:
    """Returns the diagonal of a tensor of even rank."""
    return diag_part_op(input, name=name)


# -- matrices: what is where -------------------------------------------------------------------------------


def _bounds(k: Any) -> tuple[int, int]:
    """The lowest and the highest diagonal of a band."""
    if k.ndim > 1 or k.size not in (1, 2):
        raise ShapeError(
            f"diag_index must have one or two elements, received shape {text(k.shape)}"
        )
    values = k.reshape(-1).tolist()
    low, high = values[0], values[-1]
    if low > high:
        raise ShapeError(f"diag_index[0] must not be larger than diag_index[1]: {low} > {high}")
    return low, high


def _longest(rows: Any, columns: Any, low: int, high: int) -> Any:
    """The length of the longest diagonal of a band in a matrix."""
    if rows is None or columns is None:
        return None
    for name, d in (("d_lower", low), ("d_upper", high)):
        if not (-rows < d < columns) and not (d == 0):
            raise ShapeError(f"{name} is out of bound: {d} in a matrix of {rows} x {columns}")
    return min(rows + min(high, 0), columns - max(low, 0))


def _band_of(xp: Any, diagonal: Any, rows: int, columns: int, low: int, high: int) -> tuple:
    """(what stands at each element of a matrix, whether it lies in the band), from packed diagonals."""
    i, j = np.arange(rows)[:, None], np.arange(columns)[None, :]
    inside = (j - i >= low) & (j - i <= high)
    if low == high:  # the value depends on the column alone
        last = max(diagonal.shape[-1] - 1, 0)
        at = np.clip(np.arange(columns) - max(high, 0), 0, last)
        if diagonal.shape[-1] == 0:
            return xp.zeros((*diagonal.shape[:-1], rows, columns), diagonal.dtype), inside
        return xp.take(diagonal, at, -1)[..., None, :], inside
    which = np.clip(high - (j - i), 0, high - low)
    at = np.clip(j - np.maximum(j - i, 0), 0, max(diagonal.shape[-1] - 1, 0))
    return diagonal[..., which, at], inside


def _packed(xp: Any, matrix: Any, low: int, high: int, padding: Any) -> Any:
    """The diagonals of a band, highest first, each at the left of its row."""
    rows, columns = matrix.shape[-2:]
    length = _longest(rows, columns, low, high)
    n = np.arange(length)[None, :]
    d = np.arange(high, low - 1, -1)[:, None]
    i, j = n + np.maximum(-d, 0), n + np.maximum(d, 0)
    inside = (i < rows) & (j < columns)
    if matrix.size == 0:
        found = fill.filled(xp, (*matrix.shape[:-2], *inside.shape), padding, matrix.dtype)
    else:
        found = matrix[..., np.minimum(i, rows - 1), np.minimum(j, columns - 1)]
        if not inside.all():
            found = xp.where(inside, found, padding)
    return found[..., 0, :] if low == high else found


def _part_shape(input: Shape, k: Any) -> Shape:
    _at_least(input, 2, "input")
    if input is None:
        return None
    if k is None:
        return None
    low, high = _bounds(k)
    length = _longest(input[-2], input[-1], low, high)
    if low == high:
        return (*input[:-2], length)
    return (*input[:-2], high - low + 1, length)


_ZERO = np.zeros((), np.int32)


@op("MatrixDiagPart", "input: T -> diagonal: T", "T: type")
def matrix_diag_part_v1(xp, input):
    """The main diagonal of matrices."""
    _at_least(input.shape, 2, "input")
    return _packed(xp, input, 0, 0, fill.zero_of(input.dtype))


@matrix_diag_part_v1.shape
def _(input):
    return _part_shape(input, _ZERO)


@matrix_diag_part_v1.gradient
def _(op, grad):
    input = op.inputs[0]
    dims = input._dims
    if dims is not None and dims[-1] is not None and dims[-1] == dims[-2]:
        return matrix_diag_v1(grad)
    return matrix_set_diag_v1(fill.zeros_like(input), grad)


@op(
    "MatrixDiagPartV2",
    "input: T, k: int32, padding_value: T -> diagonal: T",
    "T: type",
    static=("k",),
)
def matrix_diag_part_v2(xp, input, k, padding_value):
    """The diagonals of a band of matrices, highest first."""
    _at_least(input.shape, 2, "input")
    return _packed(xp, input, *_bounds(k), padding_value)


@matrix_diag_part_v2.shape
def _(input, k, padding_value, *, const):
    return _part_shape(input, const("k"))


@matrix_diag_part_v2.gradient
def _(op, grad):
    input, k = op.inputs[0], op.inputs[1]
    dims = input._dims
    if dims is not None and None not in dims[-2:]:
        found = matrix_diag(grad, k=k, num_rows=dims[-2], num_cols=dims[-1])
    else:
        found = matrix_set_diag(fill.zeros_like(input), grad, k=k)
    return [found, None, None]


@export("linalg.diag_part", "matrix_diag_part")
def matrix_diag_part(
    input: Any, name: str = "diag_part", k: Any = 0, padding_value: Any = 0
) -> Any:
    """Returns the diagonals `k` (or those from `k[0]` to `k[1]`, highest first) of matrices."""
    if _is(k, 0) and _is(padding_value, 0):
        return matrix_diag_part_v1(input, name=name)
    return matrix_diag_part_v2(input, k, _like(padding_value, input), name=name)


def _is(value: Any, default: int) -> bool:
    """Whether an argument has its default, for which the older op will do, as TensorFlow 1.15 uses it."""
    return isinstance(value, int) and value == default


def _like(value: Any, like: Any) -> Any:
    """A Python value as the dtype of a tensor: False, not 0, of booleans."""
    dtype = getattr(like, "dtype", None)
    return bool(value) if dtype is not None and dtype == "bool" else value


# -- matrices of given diagonals -----------------------------------------------------------------------------


def _matrix_size(length: int, rows: int, columns: int, low: int, high: int) -> tuple[int, int]:
    least_rows, least_columns = length - min(high, 0), length + max(low, 0)
    if rows == -1 and columns == -1:
        rows = columns = max(least_rows, least_columns)
    if rows == -1:
        rows = least_rows
    elif rows < least_rows:
        raise ShapeError("The number of rows is too small.")
    if columns == -1:
        columns = least_columns
    elif columns < least_columns:
        raise ShapeError("The number of columns is too small.")
    if rows != least_rows and columns != least_columns:
        raise ShapeError(
            "The number of rows or columns is not consistent with the specified d_lower, d_upper, and diagonal."
        )
    return rows, columns


@op("MatrixDiag", "diagonal: T -> output: T", "T: type")
def matrix_diag_v1(xp, diagonal):
    """Square matrices with the given diagonals."""
    _at_least(diagonal.shape, 1, "diagonal")
    n = diagonal.shape[-1]
    values, inside = _band_of(xp, diagonal, n, n, 0, 0)
    return xp.where(inside, values, fill.zero_of(diagonal.dtype))


@matrix_diag_v1.shape
def _(diagonal):
    _at_least(diagonal, 1, "diagonal")
    return None if diagonal is None else (*diagonal, diagonal[-1])


@matrix_diag_v1.gradient
def _(op, grad):
    return matrix_diag_part_v1(grad)


@op(
    "MatrixDiagV2",
    "diagonal: T, k: int32, num_rows: int32, num_cols: int32, padding_value: T -> output: T",
    "T: type",
    static=("k", "num_rows", "num_cols"),
)
def matrix_diag_v2(xp, diagonal, k, num_rows, num_cols, padding_value):
    """Matrices with the given diagonals, another value elsewhere."""
    _at_least(diagonal.shape, 1, "diagonal")
    low, high = _bounds(k)
    _check_count(diagonal.shape, low, high)
    rows, columns = _matrix_size(diagonal.shape[-1], int(num_rows), int(num_cols), low, high)
    values, inside = _band_of(xp, diagonal, rows, columns, low, high)
    return xp.where(inside, values, padding_value)


def _check_count(diagonal: tuple, low: int, high: int) -> None:
    if low == high:
        return
    if len(diagonal) < 2:
        raise ShapeError(f"diagonal must be at least 2-dim, received shape: {text(diagonal)}")
    if diagonal[-2] not in (None, high - low + 1):
        raise ShapeError(
            "The number of diagonals provided in the input does not match the lower_diag_index and "
            f"upper_diag_index range: {diagonal[-2]} diagonals for [{low}, {high}]"
        )


@matrix_diag_v2.shape
def _(diagonal, k, num_rows, num_cols, padding_value, *, const):
    _at_least(diagonal, 1, "diagonal")
    band, rows, columns = const("k"), const("num_rows"), const("num_cols")
    if diagonal is None or band is None:
        return None
    low, high = _bounds(band)
    _check_count(diagonal, low, high)
    batch = diagonal[:-1] if low == high else diagonal[:-2]
    if rows is None or columns is None or diagonal[-1] is None:
        size: tuple = tuple(None if d is None or d < 0 else int(d) for d in (rows, columns))
    else:
        size = _matrix_size(diagonal[-1], int(rows), int(columns), low, high)
    return (*batch, *size)


@matrix_diag_v2.gradient
def _(op, grad):
    return [matrix_diag_part(grad, k=op.inputs[1]), None, None, None, None]


@export("linalg.diag", "matrix_diag")
def matrix_diag(
    diagonal: Any,
    name: str = "diag",
    k: Any = 0,
    num_rows: Any = -1,
    num_cols: Any = -1,
    padding_value: Any = 0,
) -> Any:
    """Returns matrices with `diagonal` as their diagonals `k`, and `padding_value` elsewhere."""
    if _is(k, 0) and _is(num_rows, -1) and _is(num_cols, -1) and _is(padding_value, 0):
        return matrix_diag_v1(diagonal, name=name)
    padding = _like(padding_value, diagonal)
    return matrix_diag_v2(diagonal, k, num_rows, num_cols, padding, name=name)


# -- diagonals replaced --------------------------------------------------------------------------------------


def _set_shape(input: Shape, diagonal: Shape, k: Any) -> Shape:
    _at_least(input, 2, "input")
    _at_least(diagonal, 1, "diagonal")
    if input is None or k is None:
        return input
    low, high = _bounds(k)
    wanted = _part_shape(input, k)
    if diagonal is None:
        return input
    batch = merge(
        diagonal,
        wanted,
        "Dimensions must be equal: first dimensions of diagonal don't match, or there are more or fewer "
        "of them than the input has",
    )
    assert batch is not None
    lead = batch[:-1] if low == high else batch[:-2]
    return (*lead, *input[-2:])


def _with_diagonal(xp: Any, input: Any, diagonal: Any, low: int, high: int) -> Any:
    rows, columns = input.shape[-2:]
    length = _longest(rows, columns, low, high)
    wanted = (length,) if low == high else (high - low + 1, length)
    if diagonal.shape != (*input.shape[:-2], *wanted):
        raise ShapeError(
            f"must have diagonal.shape == input.shape[:-2] + {text(wanted)}, but received input shape: "
            f"{text(input.shape)} and diagonal shape: {text(diagonal.shape)}"
        )
    values, inside = _band_of(xp, diagonal, rows, columns, low, high)
    return xp.where(inside, values, input)


@op("MatrixSetDiag", "input: T, diagonal: T -> output: T", "T: type")
def matrix_set_diag_v1(xp, input, diagonal):
    """Matrices with another main diagonal."""
    return _with_diagonal(xp, input, diagonal, 0, 0)


@matrix_set_diag_v1.shape
def _(input, diagonal):
    return _set_shape(input, diagonal, _ZERO)


@matrix_set_diag_v1.gradient
def _(op, grad):
    nothing = fill.zeros(_new_diagonal_shape(op, grad), dtype=grad.dtype)
    return [matrix_set_diag_v1(grad, nothing), matrix_diag_part_v1(grad)]


def _new_diagonal_shape(op: Any, grad: Any) -> Any:
    """The shape of the new main diagonal, as numbers where they are known."""
    dims: Any = merge(op.inputs[0]._dims, grad._dims)
    if dims is not None and None not in dims:
        return [*dims[:-2], min(dims[-2:])]
    shape, rank = shape_of.shape(grad), shape_of.rank(grad)
    size = raw.Min(shape[rank - 2 :], np.array([0], np.int32))
    return concat([shape[: rank - 2], [size]], 0)


@op("MatrixSetDiagV2", "input: T, diagonal: T, k: int32 -> output: T", "T: type", static=("k",))
def matrix_set_diag_v2(xp, input, diagonal, k):
    """Matrices with other diagonals in a band."""
    _at_least(input.shape, 2, "input")
    return _with_diagonal(xp, input, diagonal, *_bounds(k))


@matrix_set_diag_v2.shape
def _(input, diagonal, k, *, const):
    return _set_shape(input, diagonal, const("k"))


@matrix_set_diag_v2.gradient
def _(op, grad):
    k = op.inputs[2]
    found = matrix_diag_part(grad, k=k)
    nothing = fill.zeros_like(found)
    return [matrix_set_diag(grad, nothing, k=k), found, None]


@export("linalg.set_diag", "matrix_set_diag")
def matrix_set_diag(input: Any, diagonal: Any, name: str = "set_diag", k: Any = 0) -> Any:
    """Returns the matrices with `diagonal` in place of their diagonals `k`."""
    if _is(k, 0):
        return matrix_set_diag_v1(input, diagonal, name=name)
    return matrix_set_diag_v2(input, diagonal, k, name=name)


# -- bands ---------------------------------------------------------------------------------------------------


@op(
    "MatrixBandPart",
    "input: T, num_lower: Tindex, num_upper: Tindex -> band: T",
    "T: type; Tindex: type in {int32, int64} = int64",
)
def matrix_band_part_op(xp, input, num_lower, num_upper):
    """The matrices, zero outside of a band around the main diagonal."""
    for x, which in ((num_lower, "num_lower"), (num_upper, "num_upper")):
        if x.ndim != 0:
            raise ShapeError(f"{which} must be scalar, got shape {text(x.shape)}")
    _at_least(input.shape, 2, "input")
    rows, columns = input.shape[-2:]
    for x, which, most in ((num_lower, "num_lower", rows), (num_upper, "num_upper", columns)):
        xp.check(
            x <= most,
            lambda which=which, most=most, x=x: (
                f"{which} must be negative or less or equal to number of "
                f"{'rows' if which == 'num_lower' else 'columns'} ({most}) got: {x}"
            ),
        )
    below = np.arange(rows)[:, None] - np.arange(columns)[None, :]
    inside = ((num_lower < 0) | (below <= num_lower)) & ((num_upper < 0) | (-below <= num_upper))
    return xp.where(inside, input, fill.zero_of(input.dtype))


@matrix_band_part_op.shape
def _(input, num_lower, num_upper):
    for s, which in ((num_lower, "num_lower"), (num_upper, "num_upper")):
        merge_dim(None if s is None else len(s), 0, f"Shape must be rank 0 for {which}")
    return _at_least(input, 2, "input")


@matrix_band_part_op.gradient
def _(op, grad):
    return [matrix_band_part_op(grad, op.inputs[1], op.inputs[2]), None, None]


@export("linalg.band_part", "matrix_band_part")
def matrix_band_part(input: Any, num_lower: Any, num_upper: Any, name: str | None = None) -> Any:
    """Returns the matrices with zeros outside of `num_lower` diagonals below the main one and
    `num_upper` above it; a negative number keeps all."""
    return matrix_band_part_op(input, num_lower, num_upper, name=name)


@export("eye", "linalg.eye")
def eye(
    num_rows: Any,
    num_columns: Any = None,
    batch_shape: Any = None,
    dtype: Any = dtypes.float32,
    name: str | None = None,
) -> Any:
    """Returns an identity matrix, or a batch of them."""
    with name_scope(name, "eye", [num_rows, num_columns, batch_shape]):
        square = num_columns is None
        batch_shape = [] if batch_shape is None else batch_shape
        num_columns = num_rows if num_columns is None else num_columns
        if isinstance(num_rows, Tensor) or isinstance(num_columns, Tensor):
            size = raw.Minimum(num_rows, num_columns)
        else:
            for n in (num_rows, num_columns):
                if isinstance(n, bool) or not isinstance(n, (int, np.integer)):
                    raise TypeError("num_rows and num_columns must be positive integer values.")
            square = num_rows == num_columns
            size = min(num_rows, num_columns)
        static = None
        if isinstance(batch_shape, Tensor) or isinstance(size, Tensor):
            if not isinstance(batch_shape, Tensor):
                static = [
                    *batch_shape,
                    *(None if isinstance(n, Tensor) else n for n in (num_rows, num_columns)),
                ]
            batch = conversion.convert_to_tensor(batch_shape, name="shape", dtype=dtypes.int32)
            diagonal_shape = concat([batch, [size]], 0)
            shape = None if square else concat([batch, [num_rows, num_columns]], 0)
        else:
            batch = list(batch_shape)
            diagonal_shape = [*batch, size]
            shape = [*batch, num_rows, num_columns]
        ones = fill.ones(diagonal_shape, dtype=dtype)
        if square:
            found = matrix_diag(ones)
        else:
            found = matrix_set_diag(fill.zeros(shape, dtype=dtype), ones)
        if static is not None and all(
            d is None or isinstance(d, (int, np.integer)) for d in static
        ):
            found.set_shape(static)
        return found
