"""Keras: `tf.keras`. What is here: the base of layers, the layers that `tf.layers` is made of, regularizers,
constraints and activations."""

from weft.framework.export import public as _public

__getattr__, __dir__ = _public("keras")
