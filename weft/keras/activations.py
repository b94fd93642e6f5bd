"""Functions that layers end with: `tf.keras.activations`."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.framework.export import export
from weft.keras.named import Named


@export("keras.activations.softmax")
def softmax(x: Any, axis: int = -1) -> Any:
    """Exponentials that add up to 1 along an axis."""
    if x.shape.ndims == 1:
        raise ValueError(f"Cannot apply softmax to a tensor that is 1D. Received input: {x}")
    return tf.nn.softmax(x, axis=axis)


@export("keras.activations.elu")
def elu(x: Any, alpha: float = 1.0) -> Any:
    """x where it is positive, else `alpha * (exp(x) - 1)`."""
    y = tf.nn.elu(x)
    return y if alpha == 1 else tf.where(x > 0, y, alpha * y)


@export("keras.activations.selu")
def selu(x: Any) -> Any:
    """`elu`, scaled such that mean and variance stay as they are from layer to layer."""
    return 1.0507009873554804934193349852946 * elu(x, 1.6732632423543772848170429916717)


@export("keras.activations.softplus")
def softplus(x: Any) -> Any:
    """`log(exp(x) + 1)`."""
    return tf.nn.softplus(x)


@export("keras.activations.softsign")
def softsign(x: Any) -> Any:
    """`x / (abs(x) + 1)`."""
    return tf.nn.softsign(x)


@export("keras.activations.relu")
def relu(x: Any, alpha: float = 0.0, max_value: float | None = None, threshold: float = 0) -> Any:
    """x from `threshold` to `max_value`; below, `alpha` times the distance to the threshold."""
    if not alpha and not threshold and max_value is None:
        return tf.nn.relu(x)
    x = tf.convert_to_tensor(x)
    kept = tf.where(x > threshold, x, tf.zeros_like(x)) if threshold else tf.nn.relu(x)
    if max_value is not None:
        kept = tf.clip_by_value(kept, 0.0, float(max_value))
    return kept - alpha * tf.nn.relu(threshold - x) if alpha else kept


@export("keras.activations.tanh")
def tanh(x: Any) -> Any:
    """The hyperbolic tangent."""
    return tf.nn.tanh(x)


@export("keras.activations.sigmoid")
def sigmoid(x: Any) -> Any:
    """`1 / (1 + exp(-x))`."""
    return tf.nn.sigmoid(x)


@export("keras.activations.exponential")
def exponential(x: Any) -> Any:
    """`exp(x)`."""
    return tf.exp(x)


@export("keras.activations.hard_sigmoid")
def hard_sigmoid(x: Any) -> Any:
    """A line from 0 at -2.5 to 1 at 2.5."""
    return tf.clip_by_value(0.2 * x + 0.5, 0.0, 1.0)


@export("keras.activations.linear")
def linear(x: Any) -> Any:
    """x as it is."""
    return x


_named = Named(
    "activation function",
    {
        f.__name__: f
        for f in (
            softmax,
            elu,
            selu,
            softplus,
            softsign,
            relu,
            tanh,
            sigmoid,
            exponential,
            hard_sigmoid,
            linear,
        )
    },
)
serialize = export("keras.activations.serialize")(_named.serialize)


@export("keras.activations.deserialize")
def deserialize(name: Any, custom_objects: dict[str, Any] | None = None) -> Any:
    """The activation of a name."""
    return _named.deserialize(name, custom_objects)


@export("keras.activations.get")
def get(identifier: Any) -> Any:
    """The activation that a name or itself stands for; None is `linear`."""
    if identifier is None:
        return linear
    if callable(identifier):
        return identifier
    if isinstance(identifier, (str, dict)):
        return deserialize(identifier)
    raise TypeError(f"Could not interpret activation function identifier: {identifier!r}")
