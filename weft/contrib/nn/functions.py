"""What `tf.contrib.nn` has besides the samplers of `tf.nn`."""

from __future__ import annotations

import numbers
from typing import Any

import weft as tf
from weft.framework.constant_value import constant_value
from weft.framework.export import export
from weft.framework.indexed_slices import IndexedSlices


@export("contrib.nn.deprecated_flipped_softmax_cross_entropy_with_logits")
def deprecated_flipped_softmax_cross_entropy_with_logits(
    logits: Any, labels: Any, dim: int = -1, name: str | None = None
) -> Any:
    """`tf.nn.softmax_cross_entropy_with_logits`, with logits first."""
    return tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits, dim=dim, name=name)


@export("contrib.nn.deprecated_flipped_sparse_softmax_cross_entropy_with_logits")
def deprecated_flipped_sparse_softmax_cross_entropy_with_logits(
    logits: Any, labels: Any, name: str | None = None
) -> Any:
    """`tf.nn.sparse_softmax_cross_entropy_with_logits`, with logits first."""
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits, name=name)


@export("contrib.nn.deprecated_flipped_sigmoid_cross_entropy_with_logits")
def deprecated_flipped_sigmoid_cross_entropy_with_logits(
    logits: Any, targets: Any, name: str | None = None
) -> Any:
    """`tf.nn.sigmoid_cross_entropy_with_logits`, with logits first."""
    return tf.nn.sigmoid_cross_entropy_with_logits(labels=targets, logits=logits, name=name)


_ALPHA = -1.7580993408473766  # what SELU goes to for small inputs


@export("contrib.nn.alpha_dropout")
def alpha_dropout(
    x: Any, keep_prob: Any, noise_shape: Any = None, seed: Any = None, name: str | None = None
) -> Any:
    """Dropout that leaves mean and variance as they are, for networks with SELU (Klambauer et al. 2017)."""
    with tf.name_scope(name, "alpha_dropout", [x]):
        x = tf.convert_to_tensor(x, name="x")
        if isinstance(keep_prob, numbers.Real) and not 0 < float(keep_prob) <= 1.0:
            raise ValueError(
                f"keep_prob must be a scalar tensor or a float in the range (0, 1], got {keep_prob:g}"
            )
        keep = tf.convert_to_tensor(keep_prob, dtype=x.dtype, name="keep_prob")
        keep.get_shape().assert_has_rank(0)
        if constant_value(keep) == 1:
            return x
        shape = tf.shape(x) if noise_shape is None else noise_shape
        drawn = tf.random_uniform(shape, seed=seed, dtype=x.dtype)
        kept = tf.cast(tf.greater_equal(drawn, 1 - keep), x.dtype)
        a = (keep + keep * (1 - keep) * _ALPHA**2) ** -0.5
        b = -a * _ALPHA * (1 - keep)
        return a * (x * kept + _ALPHA * (1 - kept)) + b


@export("contrib.nn.fwd_gradients")
def fwd_gradients(ys: Any, xs: Any, grad_xs: Any = None, assert_unused: bool = False) -> list[Any]:
    """How `ys` change with `xs`, in forward mode: the gradient of a gradient."""
    us = [tf.zeros_like(y) + float("nan") for y in ys]  # nobody may read them
    back = [
        tf.convert_to_tensor(g) if isinstance(g, IndexedSlices) else g
        for g in tf.gradients(ys, xs, grad_ys=us)
    ]
    if assert_unused:
        with tf.control_dependencies([g for g in back if g is not None]):
            never = tf.Assert(False, [1], name="fwd_gradients")
        with tf.control_dependencies([never]):
            back = [None if g is None else tf.identity(g) for g in back]
    back = [tf.zeros_like(x) if g is None else g for x, g in zip(xs, back)]
    for x, g in zip(xs, back):
        g.set_shape(x.shape)
    return tf.gradients(back, us, grad_ys=grad_xs)
