"""Losses of networks that are composed of other ops, L2Loss, dropout and small helpers of `tf.nn`."""

from __future__ import annotations

from typing import Any

from weft.framework import dtypes
from weft.framework.constant_value import constant_value
from weft.framework.conversion import convert_to_tensor
from weft.framework.export import export
from weft.framework.registry import op
from weft.framework.scopes import name_scope
from weft.framework.shape_rules import scalars
from weft.framework.tensor_shape import TensorShape
from weft.ops.by_name import raw
from weft.ops.nn.activations import relu


@op("L2Loss", "t: T -> output: T", "T: type in {half, bfloat16, float, double}")
def l2_loss_op(xp, t):
    """Half the sum of squares."""
    return (xp.sum(xp.square(t), dtype=t.dtype) * t.dtype.type(0.5)).astype(t.dtype)


l2_loss_op.shape(scalars)
l2_loss_op.gradient(lambda op, grad: raw.Mul(op.inputs[0], grad))


@export("nn.l2_loss")
def l2_loss(t: Any, name: str | None = None) -> Any:
    """Half the sum of the squares of all elements."""
    return l2_loss_op(t, name=name)


def _same_shapes(logits: Any, targets: Any, what: str) -> None:
    try:
        targets.get_shape().merge_with(logits.get_shape())
    except ValueError:
        raise ValueError(
            f"logits and {what} must have the same shape ({logits.get_shape()} vs {targets.get_shape()})"
        ) from None


@export("nn.sigmoid_cross_entropy_with_logits")
def sigmoid_cross_entropy_with_logits(
    _sentinel: Any = None, labels: Any = None, logits: Any = None, name: str | None = None
) -> Any:
    """The cross entropy of sigmoid(logits) with `labels`, elementwise."""
    if _sentinel is not None:
        raise ValueError(
            "Only call `sigmoid_cross_entropy_with_logits` with named arguments (labels=..., logits=..., ...)"
        )
    if labels is None or logits is None:
        raise ValueError("Both labels and logits must be provided.")
    with name_scope(name, "logistic_loss", [logits, labels]) as scope:
        logits = convert_to_tensor(logits, name="logits")
        labels = convert_to_tensor(labels, name="labels")
        _same_shapes(logits, labels, "labels")
        # max(x, 0) - x z + log(1 + exp(-|x|)), written so that its gradient at 0 is right too
        zeros = raw.ZerosLike(logits)
        positive = raw.GreaterEqual(logits, zeros)
        relu_logits = raw.Select(positive, logits, zeros)
        negative = raw.Select(positive, raw.Neg(logits), logits)
        return raw.Add(
            raw.Sub(relu_logits, raw.Mul(logits, labels)),
            raw.Log1p(raw.Exp(negative)),
            name=scope,
        )


@export("nn.weighted_cross_entropy_with_logits")
def weighted_cross_entropy_with_logits(
    labels: Any = None,
    logits: Any = None,
    pos_weight: Any = None,
    name: str | None = None,
    targets: Any = None,
) -> Any:
    """The cross entropy of sigmoid(logits), where positive labels weigh `pos_weight`."""
    if targets is not None:
        if labels is not None:
            raise ValueError("Cannot specify both 'labels' and 'targets'")
        labels = targets
    with name_scope(name, "logistic_loss", [logits, labels]) as scope:
        logits = convert_to_tensor(logits, name="logits")
        labels = convert_to_tensor(labels, name="targets")
        _same_shapes(logits, labels, "targets")
        one = convert_to_tensor(1, dtype=logits.dtype.base_dtype)
        weight = raw.Add(
            one,
            raw.Mul(
                raw.Sub(convert_to_tensor(pos_weight, dtype=logits.dtype.base_dtype), one), labels
            ),
        )
        inner = raw.Add(raw.Log1p(raw.Exp(raw.Neg(raw.Abs(logits)))), relu(raw.Neg(logits)))
        return raw.Add(raw.Mul(raw.Sub(one, labels), logits), raw.Mul(weight, inner), name=scope)


@export("nn.log_poisson_loss")
def log_poisson_loss(
    targets: Any, log_input: Any, compute_full_loss: bool = False, name: str | None = None
) -> Any:
    """The negative log likelihood of Poisson counts `targets` with log rates `log_input`."""
    with name_scope(name, "log_poisson_loss", [log_input, targets]):
        log_input = convert_to_tensor(log_input, name="log_input")
        targets = convert_to_tensor(targets, name="targets")
        _same_shapes(log_input, targets, "targets")
        result = raw.Sub(raw.Exp(log_input), raw.Mul(log_input, targets))
        if compute_full_loss:
            dtype = targets.dtype.base_dtype
            half, two_pi = (convert_to_tensor(c, dtype=dtype) for c in (0.5, 6.283185307179586))
            stirling = raw.Add(
                raw.Sub(raw.Mul(targets, raw.Log(targets)), targets),
                raw.Mul(half, raw.Log(raw.Mul(two_pi, targets))),
            )
            zeros = raw.ZerosLike(targets)
            one = raw.OnesLike(targets)
            small = raw.LogicalAnd(raw.GreaterEqual(targets, zeros), raw.LessEqual(targets, one))
            result = raw.Add(result, raw.Select(small, zeros, stirling))
        return result


@export("nn.zero_fraction", "math.zero_fraction")
def zero_fraction(value: Any, name: str | None = None) -> Any:
    """The fraction of elements that are zero."""
    with name_scope(name, "zero_fraction", [value]):
        value = convert_to_tensor(value, name="value")
        size = raw.Size(value, out_type=dtypes.int64)
        nonzero = raw.Sum(
            raw.Cast(raw.NotEqual(value, raw.ZerosLike(value)), DstT=dtypes.int64),
            raw.Range(0, raw.Rank(value), 1),
        )
        zero = raw.Sub(size, nonzero, name="counts_to_fraction/num_zero")
        return raw.RealDiv(
            raw.Cast(zero, DstT=dtypes.float32),
            raw.Cast(size, DstT=dtypes.float32),
            name="fraction",
        )


def _noise_shape(x: Any, noise_shape: Any) -> Any:
    if noise_shape is None:
        return raw.Shape(x)
    try:
        wanted = TensorShape(noise_shape)
    except (TypeError, ValueError):
        return noise_shape
    dims = x._dims
    if dims is not None and wanted.ndims is not None and len(dims) == wanted.ndims:
        return (
            TensorShape([d if w is None else w for w, d in zip(wanted.as_list(), dims)])
            if None not in [d if w is None else w for w, d in zip(wanted.as_list(), dims)]
            else noise_shape
        )
    return noise_shape


@export("nn.dropout")
def dropout(
    x: Any,
    keep_prob: Any = None,
    noise_shape: Any = None,
    seed: Any = None,
    name: str | None = None,
    rate: Any = None,
) -> Any:
    """Sets a fraction `rate` (1 - `keep_prob`) of the elements to zero at random, and scales up the
    others."""
    if rate is not None and keep_prob is not None:
        raise ValueError("Cannot specify both 'rate' and 'keep_prob'")
    if rate is None:
        if keep_prob is None:
            raise ValueError("You must provide a rate to dropout.")
        try:
            rate = 1 - keep_prob
        except TypeError:
            raise ValueError(
                f"keep_prob must be a floating point number or Tensor (got {keep_prob!r})"
            ) from None
    return dropout_v2(x, rate, noise_shape, seed, name)


def dropout_v2(
    x: Any, rate: Any, noise_shape: Any = None, seed: Any = None, name: str | None = None
) -> Any:
    """Sets a fraction `rate` of the elements to zero at random, and scales up the others."""
    with name_scope(name, "dropout", [x]):
        x = convert_to_tensor(x, name="x")
        if not x.dtype.is_floating:
            raise ValueError(
                "x has to be a floating point tensor since it's going to be scaled. Got a "
                f"{x.dtype!r} tensor instead."
            )
        if isinstance(rate, (int, float)) and not 0 <= rate < 1:
            raise ValueError(
                f"rate must be a scalar tensor or a float in the range [0, 1), got {rate:g}"
            )
        from weft.framework import context

        if isinstance(rate, (int, float)) and rate == 0:
            return x
        rate = convert_to_tensor(rate, dtype=x.dtype.base_dtype, name="rate")
        rate.get_shape().assert_has_rank(0)
        known = constant_value(rate)
        if known is not None and known == 0:
            return x
        from weft.framework.export import find

        random_uniform = find("random", "uniform", "tf.random")
        noise = random_uniform(_noise_shape(x, noise_shape), seed=seed, dtype=x.dtype.base_dtype)
        one = convert_to_tensor(1.0, dtype=x.dtype.base_dtype)
        scale = raw.RealDiv(one, raw.Sub(one, rate))
        kept = raw.Cast(raw.GreaterEqual(noise, rate), DstT=x.dtype.base_dtype)
        out = raw.Mul(raw.Mul(x, scale), kept)
        if not context.executing_eagerly():
            out.set_shape(x.get_shape())
        return out


@export("nn.l2_normalize", "math.l2_normalize", "linalg.l2_normalize")
def l2_normalize(
    x: Any, axis: Any = None, epsilon: float = 1e-12, name: str | None = None, dim: Any = None
) -> Any:
    """`x` over its length along `axis`; a length below the root of `epsilon` counts as that."""
    if dim is not None:
        axis = dim
    with name_scope(name, "l2_normalize", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        over = raw.Range(0, raw.Rank(x), 1) if axis is None else axis
        if x.dtype.is_complex:
            square = raw.Sum(raw.Real(raw.Mul(x, raw.Conj(x))), over, keep_dims=True)
            inverse = raw.Rsqrt(raw.Maximum(square, epsilon))
            return raw.Mul(x, raw.Cast(inverse, DstT=x.dtype.base_dtype), name=scope)
        square = raw.Sum(raw.Square(x), over, keep_dims=True)
        return raw.Mul(x, raw.Rsqrt(raw.Maximum(square, epsilon)), name=scope)
