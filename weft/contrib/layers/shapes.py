"""Layers without weights: shapes, classes and norms."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.contrib.layers import utils
from weft.contrib.layers.layer import finished, keras_format, layer, parameter
from weft.framework import context
from weft.layers import core


@layer("flatten")
def flatten(inputs: Any, outputs_collections: Any = None, scope: Any = None) -> Any:
    """Joins all axes after the first."""
    with tf.name_scope(scope, "Flatten", [inputs]) as sc:
        return finished(core.flatten(tf.convert_to_tensor(inputs)), sc, outputs_collections)


@layer("one_hot_encoding")
def one_hot_encoding(
    labels: Any,
    num_classes: int,
    on_value: float = 1.0,
    off_value: float = 0.0,
    outputs_collections: Any = None,
    scope: Any = None,
) -> Any:
    """A row for each label, with `on_value` at the label."""
    with tf.name_scope(scope, "OneHotEncoding", [labels, num_classes]) as sc:
        labels = tf.convert_to_tensor(labels)
        if labels.dtype == tf.int32:
            labels = tf.cast(labels, tf.int64)
        outputs = tf.one_hot(labels, num_classes, on_value=on_value, off_value=off_value)
        return finished(outputs, sc, outputs_collections)


@layer("softmax")
def softmax(logits: Any, scope: Any = None) -> Any:
    """Exponentials that add up to 1 along the last axis."""
    with tf.variable_scope(scope, "softmax", [logits]):
        classes = utils.last_dimension(logits.get_shape(), min_rank=2)
        predictions = tf.nn.softmax(tf.reshape(logits, [-1, classes]))
        predictions = tf.reshape(predictions, tf.shape(logits))
        if not context.executing_eagerly():
            predictions.set_shape(logits.get_shape())
        return predictions


@layer("spatial_softmax")
def spatial_softmax(
    features: Any,
    temperature: float | None = None,
    name: str | None = None,
    variables_collections: Any = None,
    trainable: bool = True,
    data_format: str = "NHWC",
) -> Any:
    """Where each channel is large: the mean place, from -1 to 1, under a softmax over all places."""
    first = keras_format(data_format, "NCHW", "NHWC") == "channels_first"
    with tf.variable_scope(name, "spatial_softmax"):
        sizes = tf.shape(features)
        channels = features.shape.as_list()[1 if first else 3]
        height, width = (sizes[2], sizes[3]) if first else (sizes[1], sizes[2])
        if channels is None:
            raise ValueError(
                "The num_channels dimension of the inputs to `spatial_softmax` should be defined. Found `None`."
            )
        with tf.name_scope("spatial_softmax_op", "spatial_softmax_op", [features]):
            rows, columns = tf.meshgrid(
                tf.lin_space(-1.0, 1.0, num=height),
                tf.lin_space(-1.0, 1.0, num=width),
                indexing="ij",
            )
            initial = 1.0 if temperature is None else temperature
            warmth = parameter(
                "temperature",
                (),
                tf.float32,
                tf.constant_initializer(initial),
                variables_collections if trainable else None,
                trainable=trainable,
            )
            features = features if first else tf.transpose(features, [0, 3, 1, 2])
            weights = tf.nn.softmax(tf.reshape(features, [-1, height * width]) / warmth)
            places = [
                tf.reduce_sum(tf.reshape(axis, [-1]) * weights, [1], keepdims=True)
                for axis in (rows, columns)
            ]
            keypoints = tf.reshape(tf.concat(places, 1), [-1, channels * 2])
            keypoints.set_shape([None, channels * 2])
    return keypoints


@layer("unit_norm")
def unit_norm(inputs: Any, dim: int, epsilon: float = 1e-7, scope: Any = None) -> Any:
    """Scales to length 1 along an axis."""
    with tf.variable_scope(scope, "UnitNorm", [inputs]):
        rank = inputs.get_shape().ndims
        if not rank:
            raise ValueError("The input rank must be known.")
        if not 0 <= dim < rank:
            raise ValueError("dim must be positive but smaller than the input rank.")
        return tf.div(
            inputs, tf.sqrt(epsilon + tf.reduce_sum(tf.square(inputs), dim, keepdims=True))
        )


@layer("maxout")
def maxout(inputs: Any, num_units: int, axis: int = -1, scope: Any = None) -> Any:
    """The largest of each group of features."""
    with tf.variable_scope(scope, "MaxOut", [inputs]):
        inputs = tf.convert_to_tensor(inputs)
        sizes = inputs.get_shape().as_list()
        features = sizes[axis]
        if features % num_units:
            raise ValueError(
                f"number of features({features}) is not a multiple of num_units({num_units})"
            )
        sizes[axis] = num_units
        sizes = [tf.shape(inputs)[i] if s is None else s for i, s in enumerate(sizes)]
        return tf.reduce_max(tf.reshape(inputs, [*sizes, features // num_units]), -1)


@layer("dense_to_sparse")
def dense_to_sparse(
    tensor: Any, eos_token: Any = 0, outputs_collections: Any = None, scope: Any = None
) -> Any:
    """What differs from `eos_token`, as a SparseTensor."""
    with tf.variable_scope(scope, "dense_to_sparse", [tensor]) as sc:
        tensor = tf.convert_to_tensor(tensor)
        indices = tf.where(tf.not_equal(tensor, tf.constant(eos_token, tensor.dtype)))
        values = tf.gather_nd(tensor, indices)
        outputs = tf.SparseTensor(indices, values, tf.shape(tensor, out_type=tf.int64))
        return finished(outputs, sc.name, outputs_collections)


@layer("images_to_sequence")
def images_to_sequence(
    inputs: Any, data_format: str = "NHWC", outputs_collections: Any = None, scope: Any = None
) -> Any:
    """Images as sequences of columns, by time."""
    first = keras_format(data_format, "NCHW", "NHWC") == "channels_first"
    with tf.name_scope(scope, "ImagesToSequence", [inputs]) as sc:
        inputs = tf.convert_to_tensor(inputs)
        if first:
            inputs = tf.transpose(inputs, [0, 2, 3, 1])
        _, _, width, depth = inputs.get_shape().as_list()
        sizes = tf.shape(inputs)
        columns = tf.transpose(inputs, [2, 0, 1, 3])
        outputs = tf.reshape(columns, [width, sizes[0] * sizes[1], depth])
        return finished(outputs, sc, outputs_collections)


@layer("sequence_to_images")
def sequence_to_images(
    inputs: Any,
    height: int,
    output_data_format: str = "channels_last",
    outputs_collections: Any = None,
    scope: Any = None,
) -> Any:
    """Sequences of columns, by time, as images."""
    with tf.name_scope(scope, "SequenceToImages", [inputs]) as sc:
        inputs = tf.convert_to_tensor(inputs)
        width, rows, depth = inputs.get_shape().as_list()
        images = tf.reshape(inputs, [width, -1 if rows is None else rows // height, height, depth])
        order = [1, 3, 2, 0] if output_data_format == "channels_first" else [1, 2, 0, 3]
        return finished(tf.transpose(images, order), sc, outputs_collections)


@layer("scale_gradient")
def scale_gradient(inputs: Any, gradient_multiplier: Any) -> Any:
    """The inputs, whose gradient is multiplied."""

    @tf.custom_gradient
    def same(x: Any, factor: Any) -> Any:
        return tf.identity(x), lambda grad: (grad * factor, None)

    return same(inputs, gradient_multiplier)
