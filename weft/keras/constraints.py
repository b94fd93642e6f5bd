"""What weights are brought back to after each update: `tf.keras.constraints`."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.framework.export import export, public
from weft.keras.backend import epsilon
from weft.keras.named import Named


def _norms(w: Any, axis: Any) -> Any:
    return tf.sqrt(tf.reduce_sum(tf.square(w), axis=axis, keepdims=True))


@export("keras.constraints.Constraint")
class Constraint:
    """Gives the value that a weight is replaced by."""

    def __call__(self, w: Any) -> Any:
        return w

    def get_config(self) -> dict[str, Any]:
        return {}


@export("keras.constraints.MaxNorm", "keras.constraints.max_norm")
class MaxNorm(Constraint):
    """Scales down what has a norm along `axis` above `max_value`."""

    def __init__(self, max_value: float = 2, axis: Any = 0):
        self.max_value, self.axis = max_value, axis

    def __call__(self, w: Any) -> Any:
        norms = _norms(w, self.axis)
        return w * (tf.clip_by_value(norms, 0.0, float(self.max_value)) / (epsilon() + norms))

    def get_config(self) -> dict[str, Any]:
        return {"max_value": self.max_value, "axis": self.axis}


@export("keras.constraints.NonNeg", "keras.constraints.non_neg")
class NonNeg(Constraint):
    """Replaces negative numbers by zero."""

    def __call__(self, w: Any) -> Any:
        return w * tf.cast(tf.greater_equal(w, 0.0), w.dtype.base_dtype)


@export("keras.constraints.UnitNorm", "keras.constraints.unit_norm")
class UnitNorm(Constraint):
    """Scales to norm 1 along `axis`."""

    def __init__(self, axis: Any = 0):
        self.axis = axis

    def __call__(self, w: Any) -> Any:
        return w / (epsilon() + _norms(w, self.axis))

    def get_config(self) -> dict[str, Any]:
        return {"axis": self.axis}


@export("keras.constraints.MinMaxNorm", "keras.constraints.min_max_norm")
class MinMaxNorm(Constraint):
    """Moves norms along `axis` between two bounds, by the part `rate` of the way."""

    def __init__(
        self, min_value: float = 0.0, max_value: float = 1.0, rate: float = 1.0, axis: Any = 0
    ):
        self.min_value, self.max_value = min_value, max_value
        self.rate, self.axis = rate, axis

    def __call__(self, w: Any) -> Any:
        norms = _norms(w, self.axis)
        bounded = tf.clip_by_value(norms, float(self.min_value), float(self.max_value))
        desired = self.rate * bounded + (1 - self.rate) * norms
        return w * (desired / (epsilon() + norms))

    def get_config(self) -> dict[str, Any]:
        return {
            "min_value": self.min_value,
            "max_value": self.max_value,
            "rate": self.rate,
            "axis": self.axis,
        }


@export("keras.constraints.RadialConstraint", "keras.constraints.radial_constraint")
class RadialConstraint(Constraint):
    """Makes the kernels of a 2-D convolution the same all around their middle; the values are those on the
    diagonal."""

    def __call__(self, w: Any) -> Any:
        if w.shape.rank != 4:
            raise ValueError(f"The weight tensor must be of rank 4, but is of shape: {w.shape}")
        size = int(w.shape[0])
        half, odd = divmod(size, 2)
        # Where on the diagonal the value of a ring stands: beside the middle first, then beyond it.
        diagonal = [half - 1, *range(half if odd else half + 1, 2 * half)]
        ring = [abs(2 * i - size + 1) // 2 for i in range(size)]
        index = [[[diagonal[max(a, b)]] * 2 for b in ring] for a in ring]
        return tf.gather_nd(tf.convert_to_tensor(w), index)


_named = Named(
    "constraint",
    {
        "Constraint": Constraint,
        "MaxNorm": MaxNorm,
        "max_norm": MaxNorm,
        "maxnorm": MaxNorm,
        "NonNeg": NonNeg,
        "non_neg": NonNeg,
        "nonneg": NonNeg,
        "UnitNorm": UnitNorm,
        "unit_norm": UnitNorm,
        "unitnorm": UnitNorm,
        "MinMaxNorm": MinMaxNorm,
        "min_max_norm": MinMaxNorm,
        "RadialConstraint": RadialConstraint,
        "radial_constraint": RadialConstraint,
    },
)
serialize = export("keras.constraints.serialize")(_named.serialize)

deserialize = export("keras.constraints.deserialize")(_named.deserialize)


@export("keras.constraints.get")
def get(identifier: Any) -> Any:
    """The constraint that a name, a configuration, or itself stands for."""
    if identifier is None or callable(identifier):
        return identifier
    if isinstance(identifier, (str, dict)):
        return deserialize(identifier)
    raise ValueError(f"Could not interpret constraint identifier: {identifier}")


__getattr__, __dir__ = public("keras.constraints")
