"""Normalization by batches, layers, instances and groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import weft as tf
from weft.contrib.layers import utils
from weft.contrib.layers.layer import (
    collect_variable,
    finished,
    keras_format,
    layer,
    parameter,
    rank_of,
    variable_getter,
)
from weft.framework import nest
from weft.framework.graph_keys import GraphKeys
from weft.layers.normalization import BatchNormalization
from weft.train.moving_averages import assign_moving_average

_INITIALIZERS = {
    "beta": tf.zeros_initializer(),
    "gamma": tf.ones_initializer(),
    "moving_mean": tf.zeros_initializer(),
    "moving_variance": tf.ones_initializer(),
}


@layer("batch_norm")
def batch_norm(
    inputs: Any,
    decay: float = 0.999,
    center: bool = True,
    scale: bool = False,
    epsilon: float = 0.001,
    activation_fn: Callable | None = None,
    param_initializers: dict[str, Any] | None = None,
    param_regularizers: dict[str, Any] | None = None,
    updates_collections: Any = GraphKeys.UPDATE_OPS,
    is_training: Any = True,
    reuse: bool | None = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    batch_weights: Any = None,
    fused: bool | None = None,
    data_format: str = "NHWC",
    zero_debias_moving_mean: bool = False,
    scope: Any = None,
    renorm: bool = False,
    renorm_clipping: dict[str, Any] | None = None,
    renorm_decay: float = 0.99,
    adjustment: Callable | None = None,
) -> Any:
    """Batch normalization. Its updates join a collection, or happen with the outputs where that is None."""
    form = keras_format(data_format, "NCHW", "NHWC")
    inputs = tf.convert_to_tensor(inputs)
    rank = inputs.get_shape().ndims
    fused = fused is None or fused
    can_fuse = batch_weights is None and not renorm and rank in (2, 4) and adjustment is None
    plain = updates_collections is GraphKeys.UPDATE_OPS and not zero_debias_moving_mean
    initializers = {**_INITIALIZERS, **(param_initializers or {})}
    regularizers = param_regularizers or {}
    by_layer = plain and batch_weights is None and not (fused and can_fuse and rank == 2)
    if not by_layer:
        if renorm:
            raise ValueError(
                "renorm is not supported with batch_weights, updates_collections or zero_debias_moving_mean"
            )
        with tf.variable_scope(scope, "BatchNorm", [inputs], reuse=reuse) as sc:
            own = _OwnBatchNorm(
                inputs, initializers, regularizers, variables_collections, form, trainable
            )
            own.fused = fused and can_fuse
            own.decay, own.epsilon, own.debias = decay, epsilon, zero_debias_moving_mean
            outputs = own.normalize(center, scale, batch_weights, is_training, updates_collections)
            return finished(outputs, sc.name, outputs_collections, activation_fn)
    with tf.variable_scope(
        scope, "BatchNorm", [inputs], reuse=reuse, custom_getter=variable_getter()
    ) as sc:
        made = BatchNormalization(
            axis=1 if form == "channels_first" else -1,
            momentum=decay,
            epsilon=epsilon,
            center=center,
            scale=scale,
            **{f"{name}_initializer": value for name, value in initializers.items()},
            beta_regularizer=regularizers.get("beta"),
            gamma_regularizer=regularizers.get("gamma"),
            trainable=trainable,
            renorm=renorm,
            renorm_clipping=renorm_clipping,
            renorm_momentum=renorm_decay,
            adjustment=adjustment,
            name=sc.name,
            _scope=sc,
            _reuse=reuse,
            fused=fused,
        )
        outputs = made(inputs, training=is_training)
        for name in _INITIALIZERS:
            collect_variable(getattr(made, name), variables_collections, name)
        return finished(outputs, sc.name, outputs_collections, activation_fn)


class _OwnBatchNorm:
    """Batch normalization with what the layer has not: weights of the batch, updates in other places, moving
    means that are corrected for their beginning at zero."""

    fused: bool
    decay: float
    epsilon: float
    debias: bool

    def __init__(
        self,
        inputs: Any,
        initializers: Any,
        regularizers: Any,
        variables_collections: Any,
        form: str,
        trainable: bool,
    ):
        self._inputs, self._first = inputs, form == "channels_first"
        self._rank = rank_of(inputs)
        shape = inputs.get_shape()
        self._channels = shape[1:2] if self._first else shape[-1:]
        if not self._channels.is_fully_defined():
            raise ValueError(
                f"Inputs {inputs.name} has undefined channels dimension {self._channels}."
            )
        self._initializers, self._regularizers = initializers, regularizers
        self._collections, self._trainable = variables_collections, trainable

    def _parameter(self, name: str) -> Any:
        learned = name in ("beta", "gamma")
        dtype = tf.float32 if self.fused else self._inputs.dtype.base_dtype
        return parameter(
            name,
            self._channels,
            dtype,
            self._initializers[name],
            self._collections,
            self._regularizers.get(name) if learned else None,
            self._trainable if learned else False,
        )

    def normalize(
        self, center: bool, scale: bool, batch_weights: Any, training: Any, collections: Any
    ) -> Any:
        beta = self._parameter("beta") if center else None
        gamma = self._parameter("gamma") if scale else None
        # The moving averages stay whole, whatever partitioner the scope has.
        with tf.variable_scope(tf.get_variable_scope()) as scope:
            scope.set_partitioner(None)
            self._averages = self._parameter("moving_mean"), self._parameter("moving_variance")
        normalize = self._by_one_op if self.fused else self._by_moments
        outputs = normalize(beta, gamma, batch_weights, training, collections)
        outputs.set_shape(self._inputs.get_shape())
        return outputs

    def _updated(self, mean: Any, variance: Any) -> tuple[Any, Any]:
        moving_mean, moving_variance = self._averages
        return (
            assign_moving_average(moving_mean, mean, self.decay, zero_debias=self.debias),
            assign_moving_average(moving_variance, variance, self.decay, zero_debias=False),
        )

    def _with_updates(
        self, values: list, mean: Any, variance: Any, training: Any, collections: Any
    ) -> list:
        """The values, with the updates of the averages before them or in a collection."""
        if collections is None:

            def after_updates() -> Any:
                with tf.control_dependencies(self._updated(mean, variance)):
                    return [tf.identity(v) for v in values]

            return nest.flatten(utils.smart_cond(training, after_updates, lambda: values))
        updates = utils.smart_cond(
            training,
            lambda: self._updated(mean, variance),
            lambda: tuple(tf.convert_to_tensor(a) for a in self._averages),
        )
        for update in updates:
            tf.add_to_collections(collections, update)
        return values

    def _by_one_op(
        self, beta: Any, gamma: Any, weights: Any, training: Any, collections: Any
    ) -> Any:
        inputs, size = self._inputs, self._channels
        if self._rank == 2:
            channels = size.as_list()[0]
            shape = [-1, channels, 1, 1] if self._first else [-1, 1, 1, channels]
            inputs = tf.reshape(inputs, shape)
        beta = tf.constant(0.0, tf.float32, size) if beta is None else beta
        gamma = tf.constant(1.0, tf.float32, size) if gamma is None else gamma
        data_format = "NCHW" if self._first else "NHWC"
        outputs, mean, variance = utils.smart_cond(
            training,
            lambda: tf.nn.fused_batch_norm(
                inputs, gamma, beta, epsilon=self.epsilon, data_format=data_format
            ),
            lambda: tf.nn.fused_batch_norm(
                inputs,
                gamma,
                beta,
                mean=self._averages[0],
                variance=self._averages[1],
                epsilon=self.epsilon,
                is_training=False,
                data_format=data_format,
            ),
        )
        if utils.constant_value(training) in (None, True):
            (outputs,) = self._with_updates([outputs], mean, variance, training, collections)
        return tf.reshape(outputs, tf.shape(self._inputs)) if self._rank == 2 else outputs

    def _by_moments(
        self, beta: Any, gamma: Any, weights: Any, training: Any, collections: Any
    ) -> Any:
        inputs, rank = self._inputs, self._rank
        channel = 1 if self._first else rank - 1
        axes = [i for i in range(rank) if i != channel]
        averages = [tf.convert_to_tensor(a) for a in self._averages]
        mean, variance = averages
        if utils.constant_value(training) in (None, True):
            if weights is None:
                mean, variance = tf.nn.moments(inputs, axes)
            else:
                weights = tf.convert_to_tensor(weights)
                inputs.get_shape()[0:1].assert_is_compatible_with(weights.get_shape())
                weights = tf.reshape(weights, [-1] + [1] * (rank - 1))
                mean, variance = tf.nn.weighted_moments(inputs, axes, weights)
            of_batch = self._with_updates([mean, variance], mean, variance, training, collections)
            mean, variance = utils.smart_cond(training, lambda: of_batch, lambda: averages)
        if self._first:
            wide = [1, *self._channels.as_list(), *[1] * (rank - 2)]
            mean, variance, beta, gamma = (
                None if v is None else tf.reshape(v, wide) for v in (mean, variance, beta, gamma)
            )
        return tf.nn.batch_normalization(inputs, mean, variance, beta, gamma, self.epsilon)


@layer("layer_norm")
def layer_norm(
    inputs: Any,
    center: bool = True,
    scale: bool = True,
    activation_fn: Callable | None = None,
    reuse: bool | None = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    begin_norm_axis: int = 1,
    begin_params_axis: int = -1,
    scope: Any = None,
) -> Any:
    """Makes mean 0 and variance 1 of each example, over all axes from `begin_norm_axis` on."""
    with tf.variable_scope(scope, "LayerNorm", [inputs], reuse=reuse) as sc:
        inputs = tf.convert_to_tensor(inputs)
        shape, rank = inputs.shape, rank_of(inputs)
        begin = begin_norm_axis + rank if begin_norm_axis < 0 else begin_norm_axis
        if begin_params_axis >= rank or begin >= rank:
            raise ValueError(
                f"begin_params_axis ({begin_params_axis}) and begin_norm_axis ({begin}) must be < rank(inputs) "
                f"({rank})"
            )
        size = shape[begin_params_axis:]
        if not size.is_fully_defined():
            raise ValueError(
                f"Inputs {inputs.name}: shape(inputs)[{begin_params_axis}:] is not fully defined: {shape}"
            )
        beta, gamma = _learned(size, inputs, center, scale, variables_collections, trainable)
        mean, variance = tf.nn.moments(inputs, list(range(begin, rank)), keep_dims=True)
        outputs = tf.nn.batch_normalization(
            inputs,
            mean,
            variance,
            offset=beta,
            scale=gamma,
            variance_epsilon=1e-3 if inputs.dtype == tf.float16 else 1e-12,
        )
        outputs.set_shape(shape)
        return finished(outputs, sc.name, outputs_collections, activation_fn)


def _learned(
    size: Any,
    inputs: Any,
    center: bool,
    scale: bool,
    collections: Any,
    trainable: bool,
    initializers: dict[str, Any] | None = None,
) -> tuple[Any, Any]:
    """Offset and scale, where they are wanted."""
    initializers = {**_INITIALIZERS, **(initializers or {})}
    beta, gamma = (
        parameter(
            name,
            size,
            inputs.dtype.base_dtype,
            initializers[name],
            collections,
            trainable=trainable,
        )
        if wanted
        else None
        for name, wanted in (("beta", center), ("gamma", scale))
    )
    return beta, gamma


@layer("instance_norm")
def instance_norm(
    inputs: Any,
    center: bool = True,
    scale: bool = True,
    epsilon: float = 1e-6,
    activation_fn: Callable | None = None,
    param_initializers: dict[str, Any] | None = None,
    reuse: bool | None = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    data_format: str = "NHWC",
    scope: Any = None,
) -> Any:
    """Makes mean 0 and variance 1 of each channel of each example."""
    inputs = tf.convert_to_tensor(inputs)
    rank = rank_of(inputs)
    first = keras_format(data_format, "NCHW", "NHWC") == "channels_first"
    with tf.variable_scope(scope, "InstanceNorm", [inputs], reuse=reuse) as sc:
        channel = 1 if first else rank - 1
        size = inputs.shape[channel : channel + 1]
        if not size.is_fully_defined():
            raise ValueError(f"Inputs {inputs.name} has undefined channels dimension {size}.")
        learned: tuple = _learned(
            size, inputs, center, scale, variables_collections, trainable, param_initializers
        )
        if first:
            wide = [1, *size.as_list(), *[1] * (rank - 2)]
            learned = tuple(None if v is None else tf.reshape(v, wide) for v in learned)
        axes = [i for i in range(1, rank) if i != channel]
        mean, variance = tf.nn.moments(inputs, axes, keep_dims=True)
        outputs = tf.nn.batch_normalization(
            inputs, mean, variance, *learned, epsilon, name="instancenorm"
        )
        return finished(outputs, sc.name, outputs_collections, activation_fn)


@layer("group_norm")
def group_norm(
    inputs: Any,
    groups: int = 32,
    channels_axis: int = -1,
    reduction_axes: Any = (-3, -2),
    center: bool = True,
    scale: bool = True,
    epsilon: float = 1e-6,
    activation_fn: Callable | None = None,
    param_initializers: dict[str, Any] | None = None,
    reuse: bool | None = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
    mean_close_to_zero: bool = False,
) -> Any:
    """Makes mean 0 and variance 1 of each group of channels of each example."""
    inputs = tf.convert_to_tensor(inputs)
    rank = rank_of(inputs)
    sizes = inputs.shape.as_list()
    if channels_axis > rank - 1:
        raise ValueError("Axis is out of bounds.")
    axis = channels_axis + rank if channels_axis < 0 else channels_axis
    channels = sizes[axis]
    if channels is None:
        raise ValueError(f"Inputs {inputs.name} has undefined channel dimension: {axis}.")
    reduced = [a + rank if a < 0 else a for a in reduction_axes]
    for a in reduced:
        if a >= rank:
            raise ValueError("Axis is out of bounds.")
        if sizes[a] is None:
            raise ValueError(f"Inputs {inputs.name} has undefined dimensions {a}.")
        if a == axis:
            raise ValueError("reduction_axis must be mutually exclusive with channels_axis")
    if groups > channels:
        raise ValueError(f"Invalid groups {groups} for {channels} channels.")
    if channels % groups:
        raise ValueError(f"{channels} channels is not commensurate with {groups} groups.")
    full = [tf.shape(inputs)[i] if s is None else s for i, s in enumerate(sizes)]
    split = [groups, channels // groups]
    grouped = tf.reshape(inputs, [*full[:axis], *split, *full[axis + 1 :]])
    axes = [axis + 1, *(a + 1 if a > axis else a for a in reduced)]
    with tf.variable_scope(scope, "GroupNorm", [inputs], reuse=reuse) as sc:
        wide = [1] * axis + split + [1] * (rank - axis - 1)
        beta, gamma = (
            None if v is None else tf.reshape(v, wide)
            for v in _learned(
                [channels],
                inputs,
                center,
                scale,
                variables_collections,
                trainable,
                param_initializers,
            )
        )
        if mean_close_to_zero:  # one pass over the inputs is exact enough then
            counts, mean_sum, variance_sum, _ = tf.nn.sufficient_statistics(
                grouped, axes, keep_dims=True
            )
            mean, variance = tf.nn.normalize_moments(counts, mean_sum, variance_sum, shift=None)
        else:
            mean, variance = tf.nn.moments(grouped, axes, keep_dims=True)
        gain = tf.rsqrt(variance + epsilon)
        offset = -mean * gain
        if gamma is not None:
            gain, offset = gain * gamma, offset * gamma
        if beta is not None:
            offset += beta
        outputs = tf.reshape(grouped * gain + offset, full)
        return finished(outputs, sc.name, outputs_collections, activation_fn)
