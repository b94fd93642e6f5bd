"""Optimizers as users of estimators say them."""

from __future__ import annotations

from typing import Any

import weft as tf

_NAMED = {
    "Adagrad": "AdagradOptimizer",
    "Adam": "AdamOptimizer",
    "Ftrl": "FtrlOptimizer",
    "RMSProp": "RMSPropOptimizer",
    "SGD": "GradientDescentOptimizer",
}


def optimizer_of(given: Any, learning_rate: float) -> Any:
    """An optimizer: that of a name, with a learning rate; what a function gives; or what is given."""
    if isinstance(given, str):
        if given not in _NAMED:
            raise ValueError(
                f"Unsupported optimizer name: {given}. Supported names are: {tuple(sorted(_NAMED))}"
            )
        return getattr(tf.train, _NAMED[given])(learning_rate=learning_rate)
    if callable(given):
        given = given()
    if not isinstance(given, tf.train.Optimizer):
        raise ValueError(f"The given object is not an Optimizer instance. Given: {given}")
    return given
