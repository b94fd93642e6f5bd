"""Softmax, its logarithm, and the cross entropies that take logits."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import dtypes
from weft.framework.constant_value import constant_value
from weft.framework.conversion import convert_to_tensor
from weft.framework.export import export
from weft.framework.registry import OpDecl, op
from weft.framework.scopes import name_scope
from weft.framework.shape_rules import ShapeError, broadcast, merge, rank, rank_at_least
from weft.ops.by_name import raw

FLOATS = "type in {half, bfloat16, float, double}"


def _shifted(xp: Any, logits: Any) -> Any:
    if logits.size == 0:
        return logits
    return logits - xp.max(logits, axis=-1, keepdims=True)


@op("Softmax", "logits: T -> softmax: T", f"T: {FLOATS}")
def softmax_op(xp, logits):
    """exp(logits) over its sum along the last axis."""
    e = xp.exp(_shifted(xp, logits))
    return e / xp.sum(e, axis=-1, keepdims=True, dtype=e.dtype)


@softmax_op.shape
def _(logits):
    return rank_at_least(logits, 1, "logits")


@softmax_op.gradient
def _(op, grad):
    y = op.outputs[0]
    return raw.Mul(raw.Sub(grad, raw.Sum(raw.Mul(grad, y), -1, keep_dims=True)), y)


@op("LogSoftmax", "logits: T -> logsoftmax: T", f"T: {FLOATS}")
def log_softmax_op(xp, logits):
    """The logarithm of the softmax along the last axis."""
    shifted = _shifted(xp, logits)
    return shifted - xp.log(xp.sum(xp.exp(shifted), axis=-1, keepdims=True, dtype=shifted.dtype))


@log_softmax_op.shape
def _(logits):
    return rank_at_least(logits, 1, "logits")


@log_softmax_op.gradient
def _(op, grad):
    y = raw.Exp(op.outputs[0])
    return raw.Sub(grad, raw.Mul(raw.Sum(grad, -1, keep_dims=True), y))


@op(
    "SoftmaxCrossEntropyWithLogits",
    "features: T, labels: T -> loss: T, backprop: T",
    f"T: {FLOATS}",
)
def softmax_xent(xp, features, labels):
    """The cross entropy of each row, and its gradient with respect to the logits."""
    shifted = _shifted(xp, features)
    e = xp.exp(shifted)
    total = xp.sum(e, axis=-1, keepdims=True, dtype=e.dtype)
    loss = xp.sum(labels * (xp.log(total) - shifted), axis=-1, dtype=features.dtype)
    return loss, e / total - labels


@softmax_xent.shape
def _(features, labels):
    both = broadcast(features, labels)
    if both is None:
        return (None,), (None, None)
    rank(both, 2, "logits and labels, broadcast together")
    return (both[0],), both


@softmax_xent.gradient
def _(op, grad_loss, grad_grad):
    softmax_grad = op.outputs[1]
    grad = raw.Mul(raw.ExpandDims(grad_loss, -1), softmax_grad)
    logits = op.inputs[0]
    if not _is_zero(grad_grad):
        softmax = softmax_op(logits)
        inner = raw.Squeeze(
            raw.BatchMatMulV2(raw.ExpandDims(grad_grad, 1), raw.ExpandDims(softmax, 2)),
            squeeze_dims=[1],
        )
        grad = raw.Add(grad, raw.Mul(raw.Sub(grad_grad, inner), softmax))
    return grad, raw.Mul(raw.ExpandDims(grad_loss, -1), raw.Neg(log_softmax_op(logits)))


def _is_zero(tensor: Any) -> bool:
    """Whether nothing flows into this gradient: it is the zeros that stand for no gradient."""
    if tensor is None:
        return True
    if hasattr(tensor, "numpy"):
        return not np.any(tensor.numpy())
    if tensor.op.type in ("ZerosLike", "Zeros"):
        return True
    value = constant_value(tensor)
    return value is not None and not np.any(value)


@op(
    "SparseSoftmaxCrossEntropyWithLogits",
    "features: T, labels: Tlabels -> loss: T, backprop: T",
    f"T: {FLOATS}; Tlabels: type in {{int32, int64}} = int64",
)
def sparse_softmax_xent(xp, features, labels):
    """The cross entropy of each row with the class of its label, and its gradient."""
    n = features.shape[1]
    valid = (labels >= 0) & (labels < n)

    def message() -> str:
        bad = labels[~valid][0]
        return (
            f"Received a label value of {bad} which is outside the valid range of [0, {n}).  Label values: "
            + " ".join(map(str, labels.ravel()[:100].tolist()))
        )

    xp.check(valid, message)
    shifted = _shifted(xp, features)
    e = xp.exp(shifted)
    total = xp.sum(e, axis=-1, keepdims=True, dtype=e.dtype)
    picked = (labels[:, None] == xp.arange(n, dtype=labels.dtype)[None, :]).astype(features.dtype)
    chosen = xp.sum(shifted * picked, axis=-1, dtype=features.dtype)
    loss = xp.log(total[:, 0]) - chosen
    return loss, e / total - picked


@sparse_softmax_xent.shape
def _(features, labels):
    features = rank(features, 2, "logits")
    labels = rank(labels, 1, "labels")
    rows = merge(features[:1], labels, "Rows of logits and labels must be as many")
    return rows, (rows[0], features[1])


@sparse_softmax_xent.gradient
def _(op, grad_loss, grad_grad):
    softmax_grad = op.outputs[1]
    grad = raw.Mul(
        raw.ExpandDims(grad_loss, -1),
        raw.PreventGradient(
            softmax_grad,
            message="Currently there is no way to take the second derivative of "
            "sparse_softmax_cross_entropy_with_logits due to the fused implementation's interaction with "
            "tf.gradients()",
        ),
    )
    return grad, None


# -- public functions
# --------------------------------------------------------------------------------


def _along(decl: OpDecl, logits: Any, axis: Any, name: str | None) -> Any:
    """Applies an op of the last axis along another one."""
    logits = convert_to_tensor(logits)
    shape = logits._dims
    is_last = axis == -1 or (shape is not None and axis == len(shape) - 1)
    if is_last:
        return decl(logits, name=name)
    if isinstance(axis, int) and shape is not None and not -len(shape) <= axis < len(shape):
        from weft.framework import errors

        raise errors.InvalidArgumentError(
            None,
            None,
            f"Dimension (in 0-based index) {axis} must be in the range [{-len(shape)}, {len(shape)}) where "
            f"{len(shape)} is the number of dimensions in the input.",
        )
    n = raw.Rank(logits)
    axis = convert_to_tensor(axis, dtype=dtypes.int32)
    axis = raw.FloorMod(axis, n)
    last = raw.Sub(n, 1)
    # A permutation that swaps the axis with the last one.
    order = raw.Range(0, n, 1)
    order = raw.SelectV2(
        raw.Equal(order, axis), last, raw.SelectV2(raw.Equal(order, last), axis, order)
    )
    out = raw.Transpose(decl(raw.Transpose(logits, order)), order, name=name)
    out.set_shape(logits.shape)
    return out


def _deprecated_dim(axis: Any, dim: Any) -> Any:
    if dim is not None:
        if axis is not None:
            raise ValueError("Cannot specify both 'axis' and 'dim'")
        return dim
    return axis


@export("nn.softmax", "math.softmax")
def softmax(logits: Any, axis: Any = None, name: str | None = None, dim: Any = None) -> Any:
    """Softmax along `axis` (the last one)."""
    axis = _deprecated_dim(axis, dim)
    return _along(softmax_op, logits, -1 if axis is None else axis, name)


@export("nn.log_softmax", "math.log_softmax")
def log_softmax(logits: Any, axis: Any = None, name: str | None = None, dim: Any = None) -> Any:
    """The logarithm of the softmax along `axis` (the last one)."""
    axis = _deprecated_dim(axis, dim)
    return _along(log_softmax_op, logits, -1 if axis is None else axis, name)


def _only_named(function: str, sentinel: Any, labels: Any, logits: Any) -> None:
    if sentinel is not None:
        raise ValueError(
            f"Only call `{function}` with named arguments (labels=..., logits=..., ...)"
        )
    if labels is None or logits is None:
        raise ValueError("Both labels and logits must be provided.")


def _flattened(logits: Any) -> Any:
    """All but the last axis as one."""
    n = raw.Rank(logits)
    last = raw.Slice(raw.Shape(logits), raw.ExpandDims(raw.Sub(n, 1), 0), [1])
    out = raw.Reshape(logits, raw.ConcatV2([[-1], last], 0))
    shape = logits._dims
    if shape is not None:
        rows: int | None = 1
        for d in shape[:-1]:
            rows = None if rows is None or d is None else rows * d
        out.set_shape((rows, shape[-1]))
    return out


@export("nn.softmax_cross_entropy_with_logits_v2")
def softmax_cross_entropy_with_logits_v2(
    labels: Any, logits: Any, axis: Any = None, name: str | None = None, dim: Any = None
) -> Any:
    """The cross entropy of softmax(logits) with distributions `labels`, along `axis`. The gradient
    flows into both."""
    axis = _deprecated_dim(axis, dim)
    return _softmax_xent(labels, logits, -1 if axis is None else axis, name)


def _softmax_xent(labels: Any, logits: Any, axis: int, name: str | None) -> Any:
    if labels is None or logits is None:
        raise ValueError("Both labels and logits must be provided.")
    with name_scope(name, "softmax_cross_entropy_with_logits", [logits, labels]) as scope:
        logits = convert_to_tensor(logits, name="logits")
        labels = convert_to_tensor(labels, name="labels")
        dtype = logits.dtype.base_dtype
        precise = logits
        if dtype in (dtypes.float16, dtypes.bfloat16):
            precise = raw.Cast(logits, DstT=dtypes.float32)
        labels = (
            raw.Cast(labels, DstT=precise.dtype.base_dtype)
            if labels.dtype.base_dtype is not precise.dtype.base_dtype
            else labels
        )
        shape = logits._dims
        n = None if shape is None else len(shape)
        if axis != -1 and n is not None and axis % n == n - 1:
            axis = -1
        if axis != -1:
            precise, labels = _to_last(precise, axis), _to_last(labels, axis)
        outer = raw.Slice(raw.Shape(precise), [0], raw.ExpandDims(raw.Sub(raw.Rank(precise), 1), 0))
        cost, _ = softmax_xent(_flattened(precise), _flattened(labels), name=scope)
        out = raw.Reshape(cost, outer)
        if shape is not None and None not in shape:
            out.set_shape([d for i, d in enumerate(shape) if i != axis % len(shape)])
        elif shape is not None:
            out.set_shape([d for i, d in enumerate(shape) if i != axis % len(shape)])
        if dtype in (dtypes.float16, dtypes.bfloat16):
            return raw.Cast(out, DstT=dtype)
        return out


def _to_last(x: Any, axis: int) -> Any:
    n = raw.Rank(x)
    axis = raw.FloorMod(convert_to_tensor(axis, dtype=dtypes.int32), n)
    order = raw.ConcatV2(
        [raw.Range(0, axis, 1), raw.Range(raw.Add(axis, 1), n, 1), raw.ExpandDims(axis, 0)], 0
    )
    return raw.Transpose(x, order)


@export("nn.softmax_cross_entropy_with_logits")
def softmax_cross_entropy_with_logits(
    _sentinel: Any = None,
    labels: Any = None,
    logits: Any = None,
    dim: int = -1,
    name: str | None = None,
    axis: Any = None,
) -> Any:
    """As `softmax_cross_entropy_with_logits_v2`, but no gradient flows into `labels`."""
    if axis is not None:
        dim = axis
    _only_named("softmax_cross_entropy_with_logits", _sentinel, labels, logits)
    with name_scope(name, "softmax_cross_entropy_with_logits_sg", [logits, labels]) as scope:
        labels = raw.StopGradient(convert_to_tensor(labels), name="labels_stop_gradient")
    return _softmax_xent(labels, logits, dim, scope)


@export("nn.sparse_softmax_cross_entropy_with_logits")
def sparse_softmax_cross_entropy_with_logits(
    _sentinel: Any = None, labels: Any = None, logits: Any = None, name: str | None = None
) -> Any:
    """The cross entropy of softmax(logits) with classes `labels`."""
    _only_named("sparse_softmax_cross_entropy_with_logits", _sentinel, labels, logits)
    with name_scope(name, "SparseSoftmaxCrossEntropyWithLogits", [labels, logits]):
        labels = convert_to_tensor(labels)
        logits = convert_to_tensor(logits)
        dtype = logits.dtype.base_dtype
        precise = raw.Cast(logits, DstT=dtypes.float32) if dtype is dtypes.float16 else logits
        label_shape = raw.Shape(labels)
        if logits._dims is not None and len(logits._dims) == 0:
            raise ValueError(f"Logits cannot be scalars - received shape {logits.shape}.")
        if logits._dims is not None and labels._dims is not None:
            if len(labels._dims) != len(logits._dims) - 1:
                raise ValueError(
                    f"Rank mismatch: Rank of labels (received {len(labels._dims)}) should equal rank of logits "
                    f"minus 1 (received {len(logits._dims)})."
                )
            try:
                merge(labels._dims, logits._dims[:-1])
            except ShapeError:
                raise ValueError(
                    "Shape mismatch: The shape of labels (received "
                    f"{labels.shape}) should equal the shape of logits except for the last dimension "
                    f"(received {logits.shape})."
                ) from None
        if logits._dims is not None and len(logits._dims) == 2:
            cost, _ = sparse_softmax_xent(precise, labels, name=name)
        else:
            classes = raw.StridedSlice(
                raw.Shape(logits),
                raw.Pack([raw.Sub(raw.Rank(logits), 1)]),
                raw.Pack([raw.Rank(logits)]),
                [1],
                shrink_axis_mask=1,
            )
            flat = raw.Reshape(precise, raw.Pack([-1, classes]))
            cost, _ = sparse_softmax_xent(flat, raw.Reshape(labels, [-1]), name=name)
            cost = raw.Reshape(cost, label_shape)
            cost.set_shape(labels.shape)
        return raw.Cast(cost, DstT=dtypes.float16) if dtype is dtypes.float16 else cost
