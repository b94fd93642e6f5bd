"""Fractional pooling: windows whose sizes vary, so that an image shrinks by a factor that is not
whole."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from weft.framework import errors
from weft.framework.export import export
from weft.framework.registry import OpDecl, op
from weft.framework.shape_rules import ShapeError, rank, vector
from weft.ops.by_name import raw
from weft.ops.random import discrete, distributions, philox

_TYPES = "T: type in {float, double, int32, int64}"
_ATTRS = (
    "pooling_ratio: list(float) >= 4; pseudo_random: bool = false; overlapping: bool = false; "
    f"deterministic: bool = false; seed: int = 0; seed2: int = 0; {_TYPES}"
)
_OUTPUTS = "output: T, row_pooling_sequence: int64, col_pooling_sequence: int64"


class _Sequences:
    """Draws where the windows begin, as TensorFlow does for the same seeds."""

    def __init__(self, xp: Any, seed: int, seed2: int):
        self.xp = xp
        self.key, self.counter = philox.key_and_counter(seed, seed2)

    def draw(self, size: int, out: int, pseudo_random: bool) -> np.ndarray:
        """The first element of each window, and the end: [out + 1]."""
        start = self.counter
        if pseudo_random:
            self.counter = philox.advance(self.xp, start, 1)
            alpha, k = size / out, size // out
            greatest = min((k + 2) / alpha - 1, (size + 1 - k) / alpha - (out - 1))
            words = philox.words(self.xp, self.key, start, 1)
            u = float(distributions.unit_double(self.xp, *words[:2])[0]) * greatest
            inner = np.ceil(alpha * (np.arange(1, out) + u)).astype(np.int64)
            return np.concatenate([[0], inner - 1, [size]])
        self.counter = philox.advance(self.xp, start, -(-out // 4))
        sizes = np.full(out, size // out, np.int64)
        sizes[: size % out] += 1
        order = discrete.permutation(self.xp, self.key, start, out)
        return np.concatenate([[0], np.cumsum(sizes[order])])


def _places(xp: Any, sequence: Any, size: int, overlapping: bool) -> Any:
    """For each window and each place in it: where it lies, and whether it belongs to the window."""
    out = sequence.shape[0] - 1
    longest = size // max(out, 1) + 2 + (1 if overlapping else 0)
    start = sequence[:-1]
    last = xp.minimum(sequence[1:] - (0 if overlapping else 1), size - 1)
    place = start[:, None] + np.arange(min(longest, size), dtype=np.int64)
    return xp.minimum(place, size - 1), place <= last[:, None]


def _elements(xp: Any, x: Any, rows: Any, columns: Any, overlapping: bool) -> Any:
    """Element by element of the windows: its index in the flattened image, its values, and whether
    it counts."""
    height, width = x.shape[1:3]
    y, has_y = _places(xp, rows, height, overlapping)
    z, has_z = _places(xp, columns, width, overlapping)
    for i in range(y.shape[1]):
        for j in range(z.shape[1]):
            index = y[:, i][:, None] * width + z[:, j]
            inside = has_y[:, i][:, None] & has_z[:, j]
            yield index, x[:, y[:, i]][:, :, z[:, j]], inside[None, :, :, None]


def _prepared(xp: Any, value: Any, attrs: tuple) -> tuple[np.ndarray, np.ndarray]:
    """The two sequences of windows for an input."""
    ratio, pseudo_random, deterministic, seed, seed2 = attrs
    if not deterministic and (seed or seed2):
        raise errors.InvalidArgumentError(
            None, None, "Both seed and seed2 should be 0 if deterministic is false."
        )
    for i, (size, r) in enumerate(zip(value.shape, ratio)):
        if size < r:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Pooling ratio is higher than input dimension size for dimension {i}. Input dim size: {size} "
                f"pooling ratio: {r:g}",
            )
    sequences = _Sequences(xp, seed, seed2)
    rows, columns = (
        sequences.draw(
            value.shape[i], math.floor(value.shape[i] / np.float32(ratio[i])), pseudo_random
        )
        for i in (1, 2)
    )
    return rows, columns


def _pooled_shape(value: Any, ratio: Any) -> tuple:
    if len(ratio) != 4:
        raise ShapeError("pooling_ratio field must specify 4 dimensions")
    if min(ratio) < 1:
        raise errors.InvalidArgumentError(
            None, None, f"pooling_ratio cannot be smaller than 1, got: {min(ratio):g}"
        )
    if ratio[0] != 1 or ratio[3] != 1:
        raise errors.UnimplementedError(
            None,
            None,
            "Fractional pooling is not yet supported on the batch nor channel dimension.",
        )
    value = rank(value, 4)
    out = tuple(None if n is None else math.floor(n / np.float32(r)) for n, r in zip(value, ratio))
    return out, *((None if n is None else n + 1,) for n in out[1:3])


@op("FractionalMaxPool", f"value: T -> {_OUTPUTS}", _ATTRS, host=True)
def fractional_max_pool_op(
    xp, value, *, pooling_ratio, pseudo_random, overlapping, deterministic, seed, seed2
):
    """The greatest element of each window; windows are drawn at random."""
    attrs = (pooling_ratio, pseudo_random, deterministic, seed, seed2)
    rows, columns = _prepared(xp, value, attrs)
    lowest = np.iinfo(value.dtype).min if value.dtype.kind == "i" else -np.inf
    greatest: Any = np.full((), lowest, value.dtype)
    for _, seen, inside in _elements(xp, value, rows, columns, overlapping):
        greatest = np.maximum(greatest, np.where(inside, seen, greatest))
    return greatest, rows, columns


@op("FractionalAvgPool", f"value: T -> {_OUTPUTS}", _ATTRS, host=True)
def fractional_avg_pool_op(
    xp, value, *, pooling_ratio, pseudo_random, overlapping, deterministic, seed, seed2
):
    """The mean of each window; windows are drawn at random."""
    attrs = (pooling_ratio, pseudo_random, deterministic, seed, seed2)
    rows, columns = _prepared(xp, value, attrs)
    total: Any = 0
    count: Any = 0
    for _, seen, inside in _elements(xp, value, rows, columns, overlapping):
        total = total + np.where(inside, seen, value.dtype.type(0))
        count = count + inside
    if value.dtype.kind == "i":  # integers are divided as C does it
        mean = np.sign(total) * (np.abs(total) // count)
    else:
        mean = total / count
    return mean.astype(value.dtype), rows, columns


for _decl in (fractional_max_pool_op, fractional_avg_pool_op):
    _decl.shape(lambda value, *, pooling_ratio: _pooled_shape(value, pooling_ratio))


@op(
    "FractionalMaxPoolGrad",
    "orig_input: T, orig_output: T, out_backprop: T, row_pooling_sequence: int64, "
    "col_pooling_sequence: int64 -> output: T",
    f"overlapping: bool = false; {_TYPES}",
)
def fractional_max_pool_grad(
    xp,
    orig_input,
    orig_output,
    out_backprop,
    row_pooling_sequence,
    col_pooling_sequence,
    *,
    overlapping,
):
    """The gradient of FractionalMaxPool: to the first greatest element of each window."""
    x = orig_input
    lowest = np.iinfo(x.dtype).min if np.dtype(x.dtype).kind == "i" else -np.inf
    greatest = xp.full(out_backprop.shape, lowest, x.dtype)
    place = xp.full(out_backprop.shape, -1, xp.int64)
    sequences = (row_pooling_sequence, col_pooling_sequence)
    for index, seen, inside in _elements(xp, x, *sequences, overlapping):
        better = inside & ((seen > greatest) | (place < 0))
        greatest = xp.where(better, seen, greatest)
        place = xp.where(better, index[None, :, :, None], place)
    batch, height, width, channels = x.shape
    image = np.arange(batch, dtype=np.int64).reshape(-1, 1, 1, 1) * (height * width)
    flat = (image + place) * channels + np.arange(channels, dtype=np.int64)
    zeros = xp.zeros(x.size, x.dtype)
    return xp.scatter(zeros, (flat.reshape(-1),), out_backprop.reshape(-1), "add").reshape(x.shape)


@fractional_max_pool_grad.shape
def _(orig_input, orig_output, out_backprop, row_pooling_sequence, col_pooling_sequence):
    vector(row_pooling_sequence)
    vector(col_pooling_sequence)
    return rank(orig_input, 4)


@op(
    "FractionalAvgPoolGrad",
    "orig_input_tensor_shape: int64, out_backprop: T, row_pooling_sequence: int64, "
    "col_pooling_sequence: int64 -> output: T",
    f"overlapping: bool = false; {_TYPES}",
    static=("orig_input_tensor_shape",),
)
def fractional_avg_pool_grad(
    xp,
    orig_input_tensor_shape,
    out_backprop,
    row_pooling_sequence,
    col_pooling_sequence,
    *,
    overlapping,
):
    """The gradient of FractionalAvgPool: each window's share for its elements."""
    shape = tuple(int(n) for n in orig_input_tensor_shape)
    if len(shape) != 4:
        raise errors.InvalidArgumentError(
            None, None, "original input tensor shape must be 1-dimensional and 4 elements"
        )
    batch, height, width, channels = shape
    for name, n in zip(("Batch", "Rows", "Columns", "Depth"), shape):
        if n == 0:
            raise errors.InvalidArgumentError(
                None, None, f"{name} dimension of input must not be 0"
            )
    sequences = (row_pooling_sequence, col_pooling_sequence)
    for name, sequence in zip(("Row", "Column"), sequences):
        xp.check(
            (sequence >= 0).all(),
            lambda: f"{name} sequence tensor values must not be negative, got {sequence}",  # noqa: B023
        )
    places = xp.zeros((1, height, width, 1), np.int8)
    count: Any = 0
    for _, _, inside in _elements(xp, places, *sequences, overlapping):
        count = count + inside
    share = out_backprop.astype(xp.float64) / count
    total = xp.zeros((height * width, batch, channels), xp.float64)
    for index, _, inside in _elements(xp, places, *sequences, overlapping):
        part = xp.moveaxis(xp.where(inside, share, 0.0), 0, 2)
        part = part.reshape(-1, batch, channels)
        total = xp.scatter(total, (index.reshape(-1),), part, "add")
    total = xp.moveaxis(total, 1, 0).reshape(shape)
    return total.astype(out_backprop.dtype)


@fractional_avg_pool_grad.shape
def _(orig_input_tensor_shape, out_backprop, row_pooling_sequence, col_pooling_sequence, *, const):
    return rank(const.shape("orig_input_tensor_shape"), 4)


@fractional_max_pool_op.gradient
def _(op, grad, *_):
    y, rows, columns = op.outputs
    overlapping = op.get_attr("overlapping")
    return fractional_max_pool_grad(op.inputs[0], y, grad, rows, columns, overlapping=overlapping)


@fractional_avg_pool_op.gradient
def _(op, grad, *_):
    _, rows, columns = op.outputs
    from weft.framework import dtypes

    shape = raw.Shape(op.inputs[0], out_type=dtypes.int64)
    overlapping = op.get_attr("overlapping")
    return fractional_avg_pool_grad(shape, grad, rows, columns, overlapping=overlapping)


def _public(decl: OpDecl, kind: str) -> Any:
    def function(
        value,
        pooling_ratio,
        pseudo_random=False,
        overlapping=False,
        deterministic=False,
        seed=0,
        seed2=0,
        name=None,
    ):
        return decl(
            value,
            pooling_ratio=pooling_ratio,
            pseudo_random=pseudo_random,
            overlapping=overlapping,
            deterministic=deterministic,
            seed=seed,
            seed2=seed2,
            name=name,
        )

    function.__name__ = function.__qualname__ = f"fractional_{kind}_pool"
    function.__doc__ = f"Fractional {kind} pooling: returns the result and both pooling sequences."
    return export(f"nn.fractional_{kind}_pool")(function)


fractional_max_pool = _public(fractional_max_pool_op, "max")
fractional_avg_pool = _public(fractional_avg_pool_op, "avg")
