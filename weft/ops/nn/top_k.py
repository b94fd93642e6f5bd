"""The largest elements: TopK, InTopK, NthElement."""

from __future__ import annotations

from typing import Any

from weft.framework import dtypes
from weft.framework.export import export
from weft.framework.registry import op
from weft.framework.scopes import name_scope
from weft.framework.shape_rules import fail, merge, rank, rank_at_least, scalar
from weft.ops.by_name import raw

_REALS = "type in {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}"


def _top(xp, values, k):
    """The k largest along the last axis, and where they are; of equals the first."""
    if k > values.shape[-1]:
        raise ValueError("input must have at least k columns")
    if not xp.is_numpy and values.dtype.kind == "f" and values.dtype.itemsize >= 4:
        top, where = xp.lax.top_k(values, k)
        return top, where.astype(xp.int32)
    # A stable ascending sort of the reversed row puts, read backwards, the first of equals first.
    n = values.shape[-1]
    order = xp.argsort(values[..., ::-1], axis=-1, stable=True)[..., ::-1]
    where = (n - 1 - order)[..., :k]
    return xp.take_along_axis(values, where, axis=-1), where.astype(xp.int32)


def _shape(input, k):
    input = rank_at_least(input, 1, "input")
    if k is not None and k < 0:
        fail(f"Need k >= 0, got {k}")
    if input is None:
        return None, None
    if k is not None and input[-1] is not None and input[-1] < k:
        fail(f"input must have last dimension >= k = {k} but is {input[-1]}")
    out = (*input[:-1], k)
    return out, out


@op(
    "TopK",
    "input: T -> values: T, indices: int32",
    f"k: int >= 0; sorted: bool = true; T: {_REALS}",
)
def top_k_v1(xp, input, *, k):
    """The k largest elements of the last axis, and their positions."""
    return _top(xp, input, k)


top_k_v1.shape(lambda input, *, k: _shape(input, k))


@op(
    "TopKV2",
    "input: T, k: int32 -> values: T, indices: int32",
    f"sorted: bool = true; T: {_REALS}",
    static=("k",),
)
def top_k_v2(xp, input, k):
    """The k largest elements of the last axis, and their positions."""
    k = int(k)
    if k < 0:
        raise ValueError(f"Need k >= 0, got {k}")
    return _top(xp, input, k)


@top_k_v2.shape
def _(input, k, *, const):
    scalar(k, "k")
    value = const("k")
    return _shape(input, None if value is None else int(value))


def _top_k_gradient(op, grad, _):
    """Puts each gradient back where its element came from."""
    x, where = op.inputs[0], op.outputs[1]
    shape = raw.Shape(x)
    n = raw.StridedSlice(shape, [-1], [0], [1], end_mask=1, shrink_axis_mask=1)
    k_shape = raw.Shape(where)
    k = raw.StridedSlice(k_shape, [-1], [0], [1], end_mask=1, shrink_axis_mask=1)
    flat = raw.Reshape(where, raw.Pack([-1, k]))
    rows = raw.StridedSlice(raw.Shape(flat), [0], [1], [1], shrink_axis_mask=1)
    starts = raw.Mul(raw.Range(0, rows, 1), n)
    positions = raw.Reshape(raw.Add(flat, raw.ExpandDims(starts, 1)), [-1])
    total = raw.Prod(shape, 0)
    scattered = raw.ScatterNd(
        raw.ExpandDims(positions, 1), raw.Reshape(grad, [-1]), raw.ExpandDims(total, 0)
    )
    return raw.Reshape(scattered, shape)


top_k_v1.gradient(_top_k_gradient)


@top_k_v2.gradient
def _(op, grad, other):
    return _top_k_gradient(op, grad, other), None


@export("nn.top_k", "math.top_k")
def top_k(input: Any, k: Any = 1, sorted: bool = True, name: str | None = None) -> Any:
    """Returns the k largest elements of the last axis, largest first, and their positions."""
    return top_k_v2(input, k=k, sorted=sorted, name=name)


def _in_top(xp, predictions, targets, k):
    n = predictions.shape[1]
    valid = (targets >= 0) & (targets < n)
    at = xp.where(valid, targets, 0).astype(xp.int64)
    chosen = xp.take_along_axis(predictions, at[:, None], axis=1)
    finite = xp.all(xp.isfinite(predictions) | (predictions == chosen), axis=1)
    better = xp.sum((predictions > chosen) & xp.isfinite(predictions), axis=1)
    # A row with an infinite or missing prediction beyond the target's cannot be ranked.
    ok = xp.isfinite(chosen[:, 0]) & finite
    return valid & ok & (better < k)


def _in_top_shape(predictions, targets):
    predictions = rank(predictions, 2, "predictions")
    targets = rank(targets, 1, "targets")
    return merge(
        predictions[:1], targets, "First dimension of predictions must match length of targets"
    )


@op(
    "InTopK",
    "predictions: float, targets: T -> precision: bool",
    "k: int; T: type in {int32, int64} = int32",
)
def in_top_k_op(xp, predictions, targets, *, k):
    """Whether each target is among the k best predictions of its row."""
    return _in_top(xp, predictions, targets, k)


in_top_k_op.shape(lambda predictions, targets: _in_top_shape(predictions, targets))
in_top_k_op.not_differentiable()


@op(
    "InTopKV2",
    "predictions: float, targets: T, k: T -> precision: bool",
    "T: type in {int32, int64} = int32",
)
def in_top_k_v2(xp, predictions, targets, k):
    """Whether each target is among the k best predictions of its row."""
    return _in_top(xp, predictions, targets, k)


@in_top_k_v2.shape
def _(predictions, targets, k):
    scalar(k, "k")
    return _in_top_shape(predictions, targets)


in_top_k_v2.not_differentiable()


@export("nn.in_top_k", "math.in_top_k")
def in_top_k(predictions: Any, targets: Any, k: Any, name: str | None = None) -> Any:
    """Returns whether each target is among the k best predictions of its row."""
    with name_scope(name, "in_top_k"):
        return in_top_k_v2(predictions, targets, k, name=name)


@op(
    "NthElement",
    "input: T, n: int32 -> values: T",
    f"reverse: bool = false; T: {_REALS}",
    static=("n",),
)
def nth_element_op(xp, input, n, *, reverse):
    """The n-th smallest (or largest) element along the last axis."""
    n = int(n)
    size = input.shape[-1]
    if not 0 <= n < size:
        raise ValueError(f"Input must have at least n+1 columns: n = {n}, columns = {size}")
    return xp.sort(input, axis=-1)[..., size - 1 - n if reverse else n]


@nth_element_op.shape
def _(input, n, *, const):
    input = rank_at_least(input, 1, "input")
    scalar(n, "n")
    value = const("n")
    if value is not None and value < 0:
        fail(f"Input n must be non-negative but is {int(value)}")
    if input is None:
        return None
    if value is not None and input[-1] is not None and input[-1] <= value:
        fail(f"Input must have last dimension > n = {int(value)} but is {input[-1]}")
    return input[:-1]


@nth_element_op.gradient
def _(op, grad):
    x, y = op.inputs[0], raw.ExpandDims(op.outputs[0], -1)
    chosen = raw.Cast(raw.Equal(y, x), DstT=grad.dtype.base_dtype)
    count = raw.ExpandDims(raw.Sum(chosen, -1), -1)
    return raw.Mul(raw.RealDiv(chosen, count), raw.ExpandDims(grad, -1)), None


@export("nn.nth_element")
def nth_element(input: Any, n: Any, reverse: bool = False, name: str | None = None) -> Any:
    """Returns the n-th smallest (with `reverse`, largest) element along the last axis."""
    return nth_element_op(input, n, reverse=reverse, name=name)


__all__ = ["dtypes", "in_top_k", "nth_element", "top_k"]
