"""Layers that connect everything: `fully_connected`, and layers one after the other."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import weft as tf
from weft.contrib.layers.initializers import xavier_initializer
from weft.contrib.layers.layer import (
    collect_variable,
    exported,
    finished,
    keras_format,
    layer,
    parameter,
    variable_getter,
)
from weft.framework.graph_keys import GraphKeys
from weft.layers.core import Dense, Dropout

XAVIER, ZEROS = xavier_initializer(), tf.zeros_initializer()


@layer("fully_connected")
def fully_connected(
    inputs: Any,
    num_outputs: int,
    activation_fn: Callable | None = tf.nn.relu,
    normalizer_fn: Callable | None = None,
    normalizer_params: dict[str, Any] | None = None,
    weights_initializer: Any = XAVIER,
    weights_regularizer: Any = None,
    biases_initializer: Any = ZEROS,
    biases_regularizer: Any = None,
    reuse: bool | None = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> Any:
    """`inputs @ weights`, normalized or with biases, and activated."""
    if isinstance(num_outputs, bool) or not isinstance(num_outputs, int):
        raise ValueError(f"num_outputs type should be one of [int], got {type(num_outputs)}.")
    getter = variable_getter(bias="biases", kernel="weights")
    with tf.variable_scope(
        scope, "fully_connected", [inputs], reuse=reuse, custom_getter=getter
    ) as sc:
        inputs = tf.convert_to_tensor(inputs)
        made = Dense(
            units=num_outputs,
            use_bias=not normalizer_fn and biases_initializer is not None,
            kernel_initializer=weights_initializer,
            bias_initializer=biases_initializer,
            kernel_regularizer=weights_regularizer,
            bias_regularizer=biases_regularizer,
            trainable=trainable,
            name=sc.name,
            dtype=inputs.dtype.base_dtype,
            _scope=sc,
            _reuse=reuse,
        )
        outputs = made(inputs)
        collect_variable(made.kernel, variables_collections, "weights")
        collect_variable(made.bias, variables_collections, "biases")
        return finished(
            outputs, sc.name, outputs_collections, activation_fn, normalizer_fn, normalizer_params
        )


@layer("bias_add")
def bias_add(
    inputs: Any,
    activation_fn: Callable | None = None,
    initializer: Any = ZEROS,
    regularizer: Any = None,
    reuse: bool | None = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    data_format: str = "NHWC",
    scope: Any = None,
) -> Any:
    """Adds a bias to each channel."""
    first = keras_format(data_format, "NCHW", "NHWC") == "channels_first"
    with tf.variable_scope(scope, "BiasAdd", [inputs], reuse=reuse) as sc:
        inputs = tf.convert_to_tensor(inputs)
        rank = inputs.get_shape().ndims
        if rank is None:
            raise ValueError("Dims of shape must be known but is None")
        if rank != 4 and first:
            raise ValueError("Data format NCHW only supports 4D Tensor")
        channels = inputs.get_shape().as_list()[1 if first else -1]
        if channels is None:
            raise ValueError("`C` dimension must be known but is None")
        biases = parameter(
            "biases",
            [channels],
            inputs.dtype.base_dtype,
            initializer,
            variables_collections,
            regularizer,
            trainable,
        )
        outputs = tf.nn.bias_add(inputs, biases, data_format=data_format)
        return finished(outputs, sc.name, outputs_collections, activation_fn)


@layer("dropout")
def dropout(
    inputs: Any,
    keep_prob: Any = 0.5,
    noise_shape: Any = None,
    is_training: Any = True,
    outputs_collections: Any = None,
    scope: Any = None,
    seed: int | None = None,
) -> Any:
    """Keeps a part of the inputs while training, scaled up."""
    with tf.variable_scope(scope, "Dropout", [inputs], custom_getter=variable_getter()) as sc:
        inputs = tf.convert_to_tensor(inputs)
        made = Dropout(
            rate=1 - keep_prob, noise_shape=noise_shape, seed=seed, name=sc.name, _scope=sc
        )
        return finished(made(inputs, training=is_training), sc.name, outputs_collections)


# -- layers one after the other ------------------------------------------------------------------------


def _name_of(layer: Any, default: str) -> str:
    named = layer if hasattr(layer, "__name__") else getattr(layer, "func", None)
    return getattr(named, "__name__", default)


@exported("repeat")
def repeat(inputs: Any, repetitions: int, layer: Callable, *args: Any, **kwargs: Any) -> Any:
    """A layer several times, each time on what came before."""
    scope = kwargs.pop("scope", None)
    with tf.variable_scope(scope, "Repeat", [inputs]):
        outputs = tf.convert_to_tensor(inputs)
        name = _name_of(layer, "repeat") if scope is None else scope
        for i in range(repetitions):
            outputs = layer(outputs, *args, **{**kwargs, "scope": f"{name}_{i + 1}"})
        return outputs


@exported("stack")
def stack(inputs: Any, layer: Callable, stack_args: Any, **kwargs: Any) -> Any:
    """A layer once for each of the arguments, each time on what came before."""
    scope = kwargs.pop("scope", None)
    if not isinstance(stack_args, (list, tuple)):
        raise ValueError("stack_args need to be a list or tuple")
    with tf.variable_scope(scope, "Stack", [inputs]):
        outputs = tf.convert_to_tensor(inputs)
        name = _name_of(layer, "stack") if scope is None else scope
        for i, given in enumerate(stack_args):
            given = given if isinstance(given, (list, tuple)) else [given]
            outputs = layer(outputs, *given, **{**kwargs, "scope": f"{name}_{i + 1}"})
        return outputs


# -- as it was before ----------------------------------------------------------------------------------


@exported("legacy_fully_connected")
def legacy_fully_connected(
    x: Any,
    num_output_units: int,
    activation_fn: Callable | None = None,
    weight_init: Any = XAVIER,
    bias_init: Any = ZEROS,
    name: str | None = None,
    weight_collections: Any = (GraphKeys.WEIGHTS,),
    bias_collections: Any = (GraphKeys.BIASES,),
    output_collections: Any = (GraphKeys.ACTIVATIONS,),
    trainable: bool = True,
    weight_regularizer: Any = None,
    bias_regularizer: Any = None,
) -> Any:
    """`fully_connected` with the variables `weights` and `bias`, which join other collections."""
    with tf.variable_scope(name, "fully_connected", [x]):
        x = tf.convert_to_tensor(x)
        shape = x.get_shape()
        if shape.ndims is None:
            raise ValueError("dims of x must be known but is None")
        if shape.ndims < 2:
            raise ValueError(f"rank of x must be at least 2 not: {shape.ndims}")
        width = shape.as_list()[-1]
        if width is None:
            raise ValueError("last dimension of x must be known but is None")

        def variable(
            name: str, size: list[int], init: Any, collections: Any, regularizer: Any
        ) -> Any:
            return tf.get_variable(
                name,
                shape=size,
                dtype=x.dtype.base_dtype,
                initializer=init,
                collections={*(collections or ()), GraphKeys.GLOBAL_VARIABLES},
                regularizer=regularizer,
                trainable=trainable,
            )

        w = variable(
            "weights",
            [width, num_output_units],
            weight_init,
            weight_collections,
            weight_regularizer,
        )
        y = tf.matmul(x if shape.ndims == 2 else tf.reshape(x, [-1, width]), w)
        if bias_init is not None:
            b = variable("bias", [num_output_units], bias_init, bias_collections, bias_regularizer)
            y = tf.nn.bias_add(y, b)
        if shape.ndims > 2:
            y = tf.reshape(y, tf.concat([tf.shape(x)[:-1], [num_output_units]], 0))
            y.set_shape([*shape.as_list()[:-1], num_output_units])
        if activation_fn is not None:
            y = activation_fn(y)
        tf.add_to_collections([*(output_collections or ()), GraphKeys.ACTIVATIONS], y)
        return y


relu = exported("relu")(functools.partial(fully_connected, activation_fn=tf.nn.relu))
relu6 = exported("relu6")(functools.partial(fully_connected, activation_fn=tf.nn.relu6))
elu = exported("elu")(functools.partial(fully_connected, activation_fn=tf.nn.elu))
linear = exported("linear")(functools.partial(fully_connected, activation_fn=None))
legacy_relu = exported("legacy_relu")(
    functools.partial(legacy_fully_connected, activation_fn=tf.nn.relu)
)
legacy_linear = exported("legacy_linear")(
    functools.partial(legacy_fully_connected, activation_fn=None)
)
