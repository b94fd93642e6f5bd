"""Layers that depend on a condition."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.contrib.layers.dense import fully_connected
from weft.contrib.layers.shapes import flatten
from weft.framework.export import export


@export("contrib.gan.features.condition_tensor")
def condition_tensor(tensor: Any, conditioning: Any) -> Any:
    """The tensor, and a linear function of the condition added to it."""
    tensor.shape[1:].assert_is_fully_defined()
    if conditioning.shape.ndims < 2:
        raise ValueError(f"conditioning must be at least 2D, but saw shape: {conditioning.shape}")
    features = tensor.shape[1:].num_elements()
    mapped = fully_connected(flatten(conditioning), features, activation_fn=None)
    if not mapped.shape.is_compatible_with(tensor.shape):
        mapped = tf.reshape(mapped, tf.shape(tensor))
    return tensor + mapped


@export("contrib.gan.features.condition_tensor_from_onehot")
def condition_tensor_from_onehot(
    tensor: Any, one_hot_labels: Any, embedding_size: int = 256
) -> Any:
    """The tensor, and a linear function of a label's vector added to it."""
    one_hot_labels.shape.assert_has_rank(2)
    one_hot_labels.shape[1:].assert_is_fully_defined()
    tokens = one_hot_labels.shape.as_list()[1]
    embedding = tf.get_variable("embedding", [tokens, embedding_size])
    ids = tf.argmax(one_hot_labels, axis=1)
    found = tf.nn.embedding_lookup(embedding, ids, name="token_to_embedding")
    return condition_tensor(tensor, found)
