"""Batch normalization, and with it renormalization, virtual batches and adjustment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import weft as tf
from weft.framework import dtypes
from weft.framework.export import export
from weft.framework.tensor_shape import TensorShape
from weft.initializers import by_name as initializers
from weft.keras import backend, constraints, regularizers
from weft.keras.engine.base_layer import Layer
from weft.keras.engine.input_spec import InputSpec
from weft.ops.flow.cond import smart_cond, smart_constant_value
from weft.variables.modes import VariableAggregation, VariableSynchronization


def _scaled(scale: Any, offset: Any, then_scale: Any, then_offset: Any) -> tuple[Any, Any]:
    """One scale and offset for two, one after the other."""
    if then_scale is not None:
        scale, offset = scale * then_scale, offset * then_scale
    return scale, offset if then_offset is None else offset + then_offset


@export("keras.layers.BatchNormalization")
class BatchNormalization(Layer):
    """Makes mean 0 and variance 1 of each channel: those of the batch while training, else their moving averages."""

    def __init__(
        self,
        axis: Any = -1,
        momentum: float = 0.99,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        moving_mean_initializer: Any = "zeros",
        moving_variance_initializer: Any = "ones",
        beta_regularizer: Any = None,
        gamma_regularizer: Any = None,
        beta_constraint: Any = None,
        gamma_constraint: Any = None,
        renorm: bool = False,
        renorm_clipping: dict[str, Any] | None = None,
        renorm_momentum: float = 0.99,
        fused: bool | None = None,
        trainable: bool = True,
        virtual_batch_size: int | None = None,
        adjustment: Callable | None = None,
        name: str | None = None,
        **kwargs: Any,
    ):
        super().__init__(name=name, trainable=trainable, **kwargs)
        if isinstance(axis, list):
            axis = list(axis)
        elif not isinstance(axis, int):
            raise TypeError(f"axis must be int or list, type given: {type(axis)}")
        self.axis = axis
        self.momentum, self.epsilon = momentum, epsilon
        self.center, self.scale = center, scale
        self.beta_initializer = initializers.get(beta_initializer)
        self.gamma_initializer = initializers.get(gamma_initializer)
        self.moving_mean_initializer = initializers.get(moving_mean_initializer)
        self.moving_variance_initializer = initializers.get(moving_variance_initializer)
        self.beta_regularizer = regularizers.get(beta_regularizer)
        self.gamma_regularizer = regularizers.get(gamma_regularizer)
        self.beta_constraint = constraints.get(beta_constraint)
        self.gamma_constraint = constraints.get(gamma_constraint)
        self.renorm = renorm
        self.virtual_batch_size, self.adjustment = virtual_batch_size, adjustment
        self.fused = True if fused is None else fused
        self._bessels_correction_test_only = True
        self.supports_masking = True
        if renorm:
            unknown = set(renorm_clipping or {}) - {"rmax", "rmin", "dmax"}
            if unknown:
                raise ValueError(
                    f"renorm_clipping {renorm_clipping} contains keys not in ['rmax', 'rmin', 'dmax']"
                )
            self.renorm_clipping = renorm_clipping or {}
            self.renorm_momentum = renorm_momentum

    def _fused_can_be_used(self) -> bool:
        special = self.renorm or self.virtual_batch_size is not None or self.adjustment is not None
        return not special and len(self.axis) == 1

    @property
    def _param_dtype(self) -> Any:
        dtype = dtypes.as_dtype(self.dtype or "float32")
        return dtypes.float32 if dtype in (dtypes.float16, dtypes.bfloat16) else dtype

    # -- weights -------------------------------------------------------------------------------------

    def build(self, input_shape: Any) -> None:
        shape = TensorShape(input_shape)
        if not shape.ndims:
            raise ValueError("Input has undefined rank:", shape)
        sizes, rank = shape.as_list(), shape.ndims
        axes = [self.axis] if isinstance(self.axis, int) else self.axis
        self.axis = [a + rank if a < 0 else a for a in axes]
        for a in self.axis:
            if not 0 <= a < rank:
                raise ValueError(f"Invalid axis: {a}")
        if len(set(self.axis)) != len(self.axis):
            raise ValueError(f"Duplicate axis: {self.axis}")
        self._check_virtual_batch()
        self.fused = self.fused and self._fused_can_be_used()
        kept = {a: sizes[a] for a in self.axis}
        if None in kept.values():
            raise ValueError("Input has undefined `axis` dimension. Input shape: ", shape)
        self.input_spec = InputSpec(ndim=rank, axes=kept)
        if len(kept) == 1 and self.virtual_batch_size is None:
            param_shape = list(kept.values())
        else:
            param_shape = [kept.get(i, 1) for i in range(rank)]
            if self.virtual_batch_size is not None:
                param_shape.insert(1, 1)
                self.axis = [a + 1 for a in self.axis]  # behind the axis of virtual batches
        self._make_weights(param_shape)
        self.built = True

    def _check_virtual_batch(self) -> None:
        if self.virtual_batch_size is None:
            return
        if self.virtual_batch_size <= 0:
            raise ValueError(
                "virtual_batch_size must be a positive integer that divides the true batch size of the input "
                "Tensor"
            )
        if 0 in self.axis:
            raise ValueError(
                "When using virtual_batch_size, the batch dimension must be 0 and thus axis cannot include 0"
            )
        if self.adjustment is not None:
            raise ValueError("When using virtual_batch_size, adjustment cannot be specified")

    def _make_weights(self, shape: list) -> None:
        self.gamma = self.beta = None
        if self.scale:
            self.gamma = self.add_weight(
                name="gamma",
                shape=shape,
                dtype=self._param_dtype,
                initializer=self.gamma_initializer,
                regularizer=self.gamma_regularizer,
                constraint=self.gamma_constraint,
                trainable=True,
            )
        if self.center:
            self.beta = self.add_weight(
                name="beta",
                shape=shape,
                dtype=self._param_dtype,
                initializer=self.beta_initializer,
                regularizer=self.beta_regularizer,
                constraint=self.beta_constraint,
                trainable=True,
            )
        scope: Any = getattr(self, "_scope", None)
        partitioner = scope.partitioner if scope else None
        if partitioner:  # the moving averages stay whole
            scope.set_partitioner(None)
        try:
            self._make_averages(shape)
        finally:
            if partitioner:
                scope.set_partitioner(partitioner)

    def _make_averages(self, shape: list) -> None:
        def average(name: str, initializer: Any) -> Any:
            return self.add_weight(
                name=name,
                shape=shape,
                dtype=self._param_dtype,
                initializer=initializer,
                synchronization=VariableSynchronization.ON_READ,
                trainable=False,
                aggregation=VariableAggregation.MEAN,
            )

        self.moving_mean = average("moving_mean", self.moving_mean_initializer)
        self.moving_variance = average("moving_variance", self.moving_variance_initializer)
        if self.renorm:
            variances = self.moving_variance_initializer

            def deviations(*args: Any, **kwargs: Any) -> Any:
                return tf.sqrt(variances(*args, **kwargs))

            self.moving_stddev = average("moving_stddev", deviations)
            self.renorm_mean = average("renorm_mean", self.moving_mean_initializer)
            self.renorm_stddev = average("renorm_stddev", deviations)

    # -- moving averages -----------------------------------------------------------------------------

    def _assign_moving_average(self, variable: Any, value: Any, momentum: Any) -> Any:
        with tf.name_scope("AssignMovingAvg") as scope, tf.colocate_with(variable):
            decay = tf.convert_to_tensor(1.0 - momentum, name="decay")
            decay = tf.cast(decay, variable.dtype.base_dtype)
            delta = (variable - tf.cast(value, variable.dtype.base_dtype)) * decay
            return tf.assign_sub(variable, delta, name=scope)

    def _assign_new_value(self, variable: Any, value: Any) -> Any:
        with tf.name_scope("AssignNewValue") as scope, tf.colocate_with(variable):
            return tf.assign(variable, value, name=scope)

    # -- calls ---------------------------------------------------------------------------------------

    def call(self, inputs: Any, training: Any = None) -> Any:
        if training is None:
            training = backend.learning_phase()
        if self.virtual_batch_size is None:
            return self._normalized(inputs, training)
        original = [-1, *inputs.shape.as_list()[1:]]
        batches = tf.reshape(inputs, [self.virtual_batch_size, -1, *original[1:]])
        return tf.reshape(self._normalized(batches, training), original)

    def _normalized(self, inputs: Any, training: Any) -> Any:
        normalize = self._fused_batch_norm if self.fused else self._batch_norm
        return normalize(inputs, training)

    def _fused_batch_norm(self, inputs: Any, training: Any) -> Any:
        """By one operation, on inputs seen as images."""
        shape, axis, rank = None, self.axis[0], inputs.shape.ndims
        if axis not in (1, rank - 1) or rank not in (4, 5):
            shape = tf.shape(inputs)
            inputs, axis = _as_image(inputs, shape, axis)
            rank = 4
        first = axis == 1
        data_format = ("NCDHW" if first else "NDHWC") if rank == 5 else "NCHW" if first else "NHWC"
        size = self.moving_mean.shape.as_list()
        gamma = self.gamma if self.scale else tf.constant(1.0, self._param_dtype, size)
        beta = self.beta if self.center else tf.constant(0.0, self._param_dtype, size)

        def of_batch() -> Any:
            return tf.nn.fused_batch_norm(
                inputs, gamma, beta, epsilon=self.epsilon, data_format=data_format
            )

        def of_averages() -> Any:
            return tf.nn.fused_batch_norm(
                inputs,
                gamma,
                beta,
                mean=self.moving_mean,
                variance=self.moving_variance,
                epsilon=self.epsilon,
                is_training=False,
                data_format=data_format,
            )

        output, mean, variance = smart_cond(training, of_batch, of_averages)
        if not self._bessels_correction_test_only:
            count = tf.cast(tf.size(inputs) / tf.size(variance), variance.dtype)
            variance *= (count - 1.0) / count
        if shape is not None:
            output = tf.reshape(output, shape)
        known = smart_constant_value(training)
        if known is None:
            momentum = smart_cond(training, lambda: self.momentum, lambda: 1.0)
        else:
            momentum = tf.convert_to_tensor(self.momentum)
        if known is not False:
            self.add_update(lambda: self._assign_moving_average(self.moving_mean, mean, momentum))
            self.add_update(
                lambda: self._assign_moving_average(self.moving_variance, variance, momentum)
            )
        return output

    def _batch_norm(self, inputs: Any, training: Any) -> Any:
        """By elementary operations."""
        rank = inputs.shape.ndims
        reduced = [i for i in range(rank) if i not in self.axis]
        if self.virtual_batch_size is not None:
            del reduced[1]  # virtual batches are normalized one by one
        wide = [1] * rank
        wide[self.axis[0]] = inputs.shape.as_list()[self.axis[0]]

        def broadcast(v: Any) -> Any:
            if v is None or v.shape.ndims == rank or reduced == list(range(rank - 1)):
                return v
            return tf.reshape(v, wide)

        scale, offset = broadcast(self.gamma), broadcast(self.beta)
        mean, variance = self.moving_mean, self.moving_variance
        if smart_constant_value(training) is not False:
            if self.adjustment:
                adjust_scale, adjust_offset = self.adjustment(tf.shape(inputs))
                adjust_scale = smart_cond(
                    training, lambda: adjust_scale, lambda: tf.ones_like(adjust_scale)
                )
                adjust_offset = smart_cond(
                    training, lambda: adjust_offset, lambda: tf.zeros_like(adjust_offset)
                )
                scale, offset = _scaled(adjust_scale, adjust_offset, scale, offset)
            keep = self.virtual_batch_size is not None or len(self.axis) > 1
            of_batch = tf.nn.moments(tf.cast(inputs, self._param_dtype), reduced, keep_dims=keep)
            mean, variance = (
                smart_cond(training, lambda b=b: b, lambda a=a: tf.convert_to_tensor(a))
                for b, a in zip(of_batch, (mean, variance))
            )
            new_mean, new_variance = mean, variance
            if self.virtual_batch_size is not None:
                new_mean = tf.reduce_mean(mean, axis=1, keepdims=True)
                new_variance = tf.reduce_mean(variance, axis=1, keepdims=True)
            if self.renorm:
                r, d, new_mean, new_variance = self._renorm_correction(
                    new_mean, new_variance, training
                )
                r = broadcast(tf.stop_gradient(r, name="renorm_r"))
                d = broadcast(tf.stop_gradient(d, name="renorm_d"))
                scale, offset = _scaled(r, d, scale, offset)
            self._update_averages(new_mean, new_variance, training)
        mean, variance, offset, scale = (
            None if v is None else tf.cast(v, inputs.dtype) for v in (mean, variance, offset, scale)
        )
        outputs = tf.nn.batch_normalization(
            inputs, broadcast(mean), broadcast(variance), offset, scale, self.epsilon
        )
        outputs.set_shape(inputs.shape)
        return outputs

    def _update_averages(self, mean: Any, variance: Any, training: Any) -> None:
        def new_variance() -> Any:
            if not self.renorm:
                return self._assign_moving_average(self.moving_variance, variance, self.momentum)
            stddev = self._assign_moving_average(
                self.moving_stddev, tf.sqrt(variance + self.epsilon), self.momentum
            )
            return self._assign_new_value(
                self.moving_variance, tf.nn.relu(stddev * stddev - self.epsilon)
            )

        self.add_update(
            lambda: smart_cond(
                training,
                lambda: self._assign_moving_average(self.moving_mean, mean, self.momentum),
                lambda: self.moving_mean,
            )
        )
        self.add_update(lambda: smart_cond(training, new_variance, lambda: self.moving_variance))

    def _renorm_correction(self, mean: Any, variance: Any, training: Any) -> tuple:
        """Factor and offset that bring what the batch's moments normalize to what their averages would, and the
        moments, once the averages are updated."""
        stddev = tf.sqrt(variance + self.epsilon)
        average = tf.maximum(self.renorm_stddev, tf.sqrt(tf.cast(self.epsilon, stddev.dtype)))
        r = stddev / average
        d = (mean - self.renorm_mean) / average
        with tf.control_dependencies([r, d]):  # the averages are read before they are updated
            mean, stddev = tf.identity(mean), tf.identity(stddev)
        clipping = self.renorm_clipping
        if clipping.get("rmin") is not None:
            r = tf.maximum(r, clipping["rmin"])
        if clipping.get("rmax") is not None:
            r = tf.minimum(r, clipping["rmax"])
        if clipping.get("dmax") is not None:
            d = tf.minimum(tf.maximum(d, -clipping["dmax"]), clipping["dmax"])
        r = smart_cond(training, lambda: r, lambda: tf.ones_like(r))
        d = smart_cond(training, lambda: d, lambda: tf.zeros_like(d))

        def updated(variable: Any, value: Any) -> Any:
            value = tf.identity(value)
            return smart_cond(
                training,
                lambda: self._assign_moving_average(variable, value, self.renorm_momentum),
                lambda: tf.identity(variable),
            )

        updates = [updated(self.renorm_mean, mean), updated(self.renorm_stddev, stddev)]
        with tf.control_dependencies(updates):
            return r, d, tf.identity(mean), tf.identity(variance)

    def compute_output_shape(self, input_shape: Any) -> Any:
        return input_shape

    def get_config(self) -> dict[str, Any]:
        config = {
            **super().get_config(),
            "axis": self.axis,
            "momentum": self.momentum,
            "epsilon": self.epsilon,
            "center": self.center,
            "scale": self.scale,
            "beta_initializer": initializers.serialize(self.beta_initializer),
            "gamma_initializer": initializers.serialize(self.gamma_initializer),
            "moving_mean_initializer": initializers.serialize(self.moving_mean_initializer),
            "moving_variance_initializer": initializers.serialize(self.moving_variance_initializer),
            "beta_regularizer": regularizers.serialize(self.beta_regularizer),
            "gamma_regularizer": regularizers.serialize(self.gamma_regularizer),
            "beta_constraint": constraints.serialize(self.beta_constraint),
            "gamma_constraint": constraints.serialize(self.gamma_constraint),
        }
        if self.virtual_batch_size is not None:
            config["virtual_batch_size"] = self.virtual_batch_size
        if self.renorm:
            config["renorm"] = True
            config["renorm_clipping"] = self.renorm_clipping
            config["renorm_momentum"] = self.renorm_momentum
        return config


def _as_image(inputs: Any, shape: Any, axis: int) -> tuple[Any, int]:
    """The inputs with four axes of which the second or last are the channels, and which of the two."""
    rank = inputs.shape.ndims
    before = tf.reduce_prod(shape[:axis], keepdims=True)
    if axis == rank - 1 and axis > 0:
        one = tf.constant([1])
        return tf.reshape(inputs, tf.concat([before, one, one, shape[axis:]], 0)), 3
    after = tf.reduce_prod(shape[axis + 1 :], keepdims=True)
    return tf.reshape(
        inputs, tf.concat([before, shape[axis : axis + 1], after, tf.constant([1])], 0)
    ), 1
