"""Penalties on weights: `tf.keras.regularizers`."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.framework.export import export
from weft.keras.named import Named


@export("keras.regularizers.Regularizer")
class Regularizer:
    """Gives a penalty for a variable, a scalar that is added to the loss."""

    def __call__(self, x: Any) -> Any:
        return 0.0

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """A regularizer with the configuration that `get_config` gave."""
        return cls(**config)


@export("keras.regularizers.L1L2")
class L1L2(Regularizer):
    """`l1` times the sum of magnitudes, plus `l2` times the sum of squares."""

    def __init__(self, l1: float = 0.0, l2: float = 0.0):
        self.l1, self.l2 = float(l1), float(l2)

    def __call__(self, x: Any) -> Any:
        if not self.l1 and not self.l2:
            return tf.constant(0.0)
        penalty: Any = 0.0
        if self.l1:
            penalty += self.l1 * tf.reduce_sum(tf.abs(x))
        if self.l2:
            penalty += self.l2 * tf.reduce_sum(tf.square(x))
        return penalty

    def get_config(self) -> dict[str, Any]:
        return {"l1": self.l1, "l2": self.l2}


@export("keras.regularizers.l1")
def l1(l: float = 0.01) -> L1L2:  # noqa: E741  its public name
    """A regularizer by the sum of magnitudes."""
    return L1L2(l1=l)


@export("keras.regularizers.l2")
def l2(l: float = 0.01) -> L1L2:  # noqa: E741  its public name
    """A regularizer by the sum of squares."""
    return L1L2(l2=l)


@export("keras.regularizers.l1_l2")
def l1_l2(l1: float = 0.01, l2: float = 0.01) -> L1L2:
    """A regularizer by the sums of magnitudes and of squares."""
    return L1L2(l1=l1, l2=l2)


_named = Named(
    "regularizer", {"L1L2": L1L2, "Regularizer": Regularizer, "l1": l1, "l2": l2, "l1_l2": l1_l2}
)
serialize = export("keras.regularizers.serialize")(_named.serialize)
deserialize = export("keras.regularizers.deserialize")(_named.deserialize)


@export("keras.regularizers.get")
def get(identifier: Any) -> Any:
    """The regularizer that a name, a configuration, or itself stands for."""
    if identifier is None or callable(identifier):
        return identifier
    if identifier in ("l1", "l2", "l1_l2"):  # functions that make regularizers, with their defaults
        return deserialize({"class_name": identifier, "config": {}})
    if isinstance(identifier, (str, dict)):
        return deserialize(identifier)
    raise ValueError("Could not interpret regularizer identifier:", identifier)
