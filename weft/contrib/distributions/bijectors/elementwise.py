"""Bijectors that act on each element."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.contrib.distributions.bijectors.base import Bijector
from weft.distributions.arguments import with_checks
from weft.framework.export import export

_SPACE = "contrib.distributions.bijectors."


@export(_SPACE + "Identity")
class Identity(Bijector):
    """y = x."""

    def __init__(self, validate_args: bool = False, name: str = "identity"):
        super().__init__(
            forward_min_event_ndims=0,
            is_constant_jacobian=True,
            validate_args=validate_args,
            name=name,
        )

    def _forward(self, x):
        return x

    def _inverse(self, y):
        return y

    def _forward_log_det_jacobian(self, x):
        return tf.constant(0.0, dtype=x.dtype.base_dtype)


@export(_SPACE + "PowerTransform")
class PowerTransform(Bijector):
    """y = (1 + x * power) ** (1 / power); with power 0, y = exp(x)."""

    def __init__(
        self, power: float = 0.0, validate_args: bool = False, name: str = "power_transform"
    ):
        power = tf.get_static_value(tf.convert_to_tensor(power))
        if power is None or power < 0:
            raise ValueError("`power` must be a non-negative TF constant.")
        self._power = float(power)
        super().__init__(forward_min_event_ndims=0, validate_args=validate_args, name=name)

    @property
    def power(self) -> float:
        """How far from exp it is."""
        return self._power

    def _checked(self, ok: Any, x: Any) -> Any:
        if not self.validate_args:
            return x
        return with_checks([tf.assert_non_negative(ok, message="Argument out of range.")], x)

    def _forward(self, x):
        if not self.power:
            return tf.exp(x)
        x = self._checked(1.0 + x * self.power, x)
        return tf.exp(tf.log1p(x * self.power) / self.power)

    def _inverse(self, y):
        y = self._checked(y, y)
        if not self.power:
            return tf.log(y)
        return tf.expm1(tf.log(y) * self.power) / self.power

    def _inverse_log_det_jacobian(self, y):
        return (self.power - 1.0) * tf.log(self._checked(y, y))

    def _forward_log_det_jacobian(self, x):
        if not self.power:
            return x
        x = self._checked(1.0 + x * self.power, x)
        return (1.0 / self.power - 1.0) * tf.log1p(x * self.power)


@export(_SPACE + "Exp")
class Exp(PowerTransform):
    """y = exp(x)."""

    def __init__(self, validate_args: bool = False, name: str = "exp"):
        super().__init__(validate_args=validate_args, name=name)


@export(_SPACE + "AffineScalar")
class AffineScalar(Bijector):
    """y = x * scale + shift, each for itself."""

    def __init__(
        self,
        shift: Any = None,
        scale: Any = None,
        validate_args: bool = False,
        name: str = "affine_scalar",
    ):
        with tf.name_scope(name, values=[shift, scale]):
            self._shift = None if shift is None else tf.convert_to_tensor(shift, name="shift")
            self._scale = None if scale is None else tf.convert_to_tensor(scale, name="scale")
            if self._scale is not None and validate_args:
                zero = tf.zeros_like(self._scale)
                message = "Argument scale was 0"
                check = tf.assert_none_equal(self._scale, zero, message=message)
                self._scale = with_checks([check], self._scale)
        super().__init__(
            forward_min_event_ndims=0,
            is_constant_jacobian=True,
            validate_args=validate_args,
            name=name,
        )

    @property
    def shift(self) -> Any:
        """What is added."""
        return self._shift

    @property
    def scale(self) -> Any:
        """What is multiplied by."""
        return self._scale

    def _forward(self, x):
        y = x if self.scale is None else x * self.scale
        return tf.identity(y) if self.shift is None else y + self.shift

    def _inverse(self, y):
        x = y if self.shift is None else y - self.shift
        return tf.identity(x) if self.scale is None else x / self.scale

    def _forward_log_det_jacobian(self, x):
        if self.scale is None:
            return tf.constant(0.0, dtype=x.dtype.base_dtype)
        return tf.log(tf.abs(self.scale))


@export(_SPACE + "Sigmoid")
class Sigmoid(Bijector):
    """y = 1 / (1 + exp(-x))."""

    def __init__(self, validate_args: bool = False, name: str = "sigmoid"):
        super().__init__(forward_min_event_ndims=0, validate_args=validate_args, name=name)

    def _forward(self, x):
        return tf.sigmoid(x)

    def _inverse(self, y):
        return tf.log(y) - tf.log1p(-y)

    def _inverse_log_det_jacobian(self, y):
        return -tf.log(y) - tf.log1p(-y)

    def _forward_log_det_jacobian(self, x):
        return -tf.nn.softplus(-x) - tf.nn.softplus(x)


def softplus_inverse(x: Any, name: str | None = None) -> Any:
    """The y for which softplus(y) is x, also where one of them is near 0 or large."""
    with tf.name_scope(name, "softplus_inverse", values=[x]):
        x = tf.convert_to_tensor(x, name="x")
        edge = tf.log(tf.constant(_EPSILON[x.dtype.base_dtype.name], x.dtype.base_dtype)) + 2.0
        small, large = x < tf.exp(edge), x > -edge
        # What is not chosen gets an argument at which its gradient is finite.
        safe = tf.where_v2(tf.logical_or(small, large), tf.ones_like(x), x)
        y = safe + tf.log(-tf.expm1(-safe))
        return tf.where_v2(small, tf.log(x), tf.where_v2(large, x, y))


_EPSILON = {"float16": 2.0**-10, "float32": 2.0**-23, "float64": 2.0**-52}
export("contrib.distributions.softplus_inverse")(softplus_inverse)


@export(_SPACE + "Softplus")
class Softplus(Bijector):
    """y = log(1 + exp(x)), or of x / hinge_softness, times that."""

    def __init__(
        self,
        hinge_softness: Any = None,
        validate_args: bool = False,
        name: str = "softplus",
    ):
        with tf.name_scope(name, values=[hinge_softness]):
            softness = hinge_softness
            if softness is not None:
                softness = tf.convert_to_tensor(softness, name="hinge_softness")
                if validate_args:
                    zero = tf.zeros([], softness.dtype.base_dtype)
                    message = "hinge_softness must be non-zero"
                    check = tf.assert_none_equal(zero, softness, message=message)
                    softness = with_checks([check], softness)
            self._hinge_softness = softness
        super().__init__(forward_min_event_ndims=0, validate_args=validate_args, name=name)

    @property
    def hinge_softness(self) -> Any:
        """How wide the bend is."""
        return self._hinge_softness

    def _forward(self, x):
        if self.hinge_softness is None:
            return tf.nn.softplus(x)
        return self.hinge_softness * tf.nn.softplus(x / self.hinge_softness)

    def _inverse(self, y):
        if self.hinge_softness is None:
            return softplus_inverse(y)
        return self.hinge_softness * softplus_inverse(y / self.hinge_softness)

    def _inverse_log_det_jacobian(self, y):
        y = y if self.hinge_softness is None else y / self.hinge_softness
        return -tf.log(-tf.expm1(-y))

    def _forward_log_det_jacobian(self, x):
        x = x if self.hinge_softness is None else x / self.hinge_softness
        return -tf.nn.softplus(-x)


@export(_SPACE + "Softsign")
class Softsign(Bijector):
    """y = x / (1 + |x|)."""

    def __init__(self, validate_args: bool = False, name: str = "softsign"):
        super().__init__(forward_min_event_ndims=0, validate_args=validate_args, name=name)

    def _checked(self, y: Any) -> Any:
        if not self.validate_args:
            return y
        one = tf.ones([], dtype=y.dtype.base_dtype)
        message = "Inverse transformation input must be between -1 and 1."
        return with_checks(
            [tf.assert_less(tf.abs(y), one, message=message)],
            y,
        )

    def _forward(self, x):
        return x / (1.0 + tf.abs(x))

    def _inverse(self, y):
        y = self._checked(y)
        return y / (1.0 - tf.abs(y))

    def _forward_log_det_jacobian(self, x):
        return -2.0 * tf.log1p(tf.abs(x))

    def _inverse_log_det_jacobian(self, y):
        return -2.0 * tf.log1p(-tf.abs(self._checked(y)))


@export(_SPACE + "Square")
class Square(Bijector):
    """y = x ** 2, of numbers that are not negative."""

    def __init__(self, validate_args: bool = False, name: str = "square"):
        super().__init__(forward_min_event_ndims=0, validate_args=validate_args, name=name)

    def _checked(self, x: Any) -> Any:
        if not self.validate_args:
            return x
        message = "All elements must be non-negative."
        return with_checks([tf.assert_non_negative(x, message=message)], x)

    def _forward(self, x):
        return tf.square(self._checked(x))

    def _inverse(self, y):
        return tf.sqrt(self._checked(y))

    def _forward_log_det_jacobian(self, x):
        return tf.log(2.0 * self._checked(x))


@export(_SPACE + "Gumbel")
class Gumbel(Bijector):
    """y = exp(-exp(-(x - loc) / scale)): Gumbel's distribution function."""

    def __init__(
        self,
        loc: Any = 0.0,
        scale: Any = 1.0,
        validate_args: bool = False,
        name: str = "gumbel",
    ):
        with tf.name_scope(name, values=[loc, scale]):
            self._loc = tf.convert_to_tensor(loc, name="loc")
            self._scale = tf.convert_to_tensor(scale, name="scale")
            if validate_args:
                message = "Argument scale was not positive"
                self._scale = with_checks(
                    [tf.assert_positive(self._scale, message=message)], self._scale
                )
        super().__init__(forward_min_event_ndims=0, validate_args=validate_args, name=name)

    @property
    def loc(self) -> Any:
        """Where the density is greatest."""
        return self._loc

    @property
    def scale(self) -> Any:
        """How wide it is."""
        return self._scale

    def _forward(self, x):
        return tf.exp(-tf.exp(-(x - self.loc) / self.scale))

    def _inverse(self, y):
        return self.loc - self.scale * tf.log(-tf.log(y))

    def _inverse_log_det_jacobian(self, y):
        return tf.log(self.scale / (-tf.log(y) * y))

    def _forward_log_det_jacobian(self, x):
        z = (x - self.loc) / self.scale
        return -z - tf.exp(-z) - tf.log(self.scale)
