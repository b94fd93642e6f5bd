"""Divergence between distributions: a table of formulas by pairs of classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import weft as tf
from weft.framework.export import export

_formulas: dict[tuple[type, type], Callable] = {}


def _formula(a: type, b: type) -> Callable | None:
    """The formula of the nearest pair of base classes."""
    pairs = [
        (i + j, i, (x, y))
        for i, x in enumerate(a.__mro__)
        for j, y in enumerate(b.__mro__)
        if (x, y) in _formulas
    ]
    return _formulas[min(pairs, key=lambda pair: pair[:2])[2]] if pairs else None


@export("distributions.kl_divergence", "contrib.distributions.kl_divergence")
def kl_divergence(
    distribution_a: Any,
    distribution_b: Any,
    allow_nan_stats: bool = True,
    name: str | None = None,
) -> Any:
    """The Kullback-Leibler divergence KL(a || b), by the formula registered for the two classes."""
    formula = _formula(type(distribution_a), type(distribution_b))
    if formula is None:
        raise NotImplementedError(
            "No KL(distribution_a || distribution_b) registered for distribution_a type "
            f"{type(distribution_a).__name__} and distribution_b type {type(distribution_b).__name__}"
        )
    with tf.name_scope("KullbackLeibler"):
        divergence = formula(distribution_a, distribution_b, name=name)
        if allow_nan_stats:
            return divergence
        divergence = tf.identity(divergence, name="kl")
        is_number = tf.logical_not(tf.reduce_any(tf.is_nan(divergence)))
        message = (
            f"KL calculation between {distribution_a.name} and {distribution_b.name} returned NaN values "
            "(and was called with allow_nan_stats=False). Values:"
        )
        check = tf.Assert(is_number, [message, divergence])
        with tf.control_dependencies([] if check is None else [check]):
            return tf.identity(divergence, name="checked_kl")


def cross_entropy(
    ref: Any, other: Any, allow_nan_stats: bool = True, name: str | None = None
) -> Any:
    """H(ref, other) = H(ref) + KL(ref || other)."""
    with tf.name_scope(name, "cross_entropy"):
        return ref.entropy() + kl_divergence(ref, other, allow_nan_stats=allow_nan_stats)


@export("distributions.RegisterKL", "contrib.distributions.RegisterKL")
class RegisterKL:
    """Decorates the function `(a, b, name=None)` that gives KL(a || b) for two classes."""

    def __init__(self, dist_cls_a: type, dist_cls_b: type):
        self._key = (dist_cls_a, dist_cls_b)

    def __call__(self, kl_fn: Callable) -> Callable:
        if not callable(kl_fn):
            raise TypeError(f"kl_fn must be callable, received: {kl_fn}")
        if self._key in _formulas:
            a, b = (cls.__name__ for cls in self._key)
            raise ValueError(
                f"KL({a} || {b}) has already been registered to: {_formulas[self._key]}"
            )
        _formulas[self._key] = kl_fn
        return kl_fn
