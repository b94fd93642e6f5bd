"""What all bijectors are."""

from __future__ import annotations

import contextlib
import re
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

import weft as tf
from weft.framework.constant_value import constant_value
from weft.framework.export import export

_REMEMBERED = 64


@export("contrib.distributions.bijectors.Bijector")
class Bijector:
    """A differentiable function with an inverse.

    A subclass implements `_forward`, `_inverse` and one of `_forward_log_det_jacobian`,
    `_inverse_log_det_jacobian`; these give the Jacobian's log-determinant of events of the least number of axes
    (`forward_min_event_ndims` of inputs, `inverse_min_event_ndims` of outputs), for which sums over further axes
    are taken here. What went forward comes back as it was.
    """

    def __init__(
        self,
        graph_parents: list[Any] | None = None,
        is_constant_jacobian: bool = False,
        validate_args: bool = False,
        dtype: Any = None,
        forward_min_event_ndims: int | None = None,
        inverse_min_event_ndims: int | None = None,
        name: str | None = None,
    ):
        self._graph_parents = graph_parents or []
        if forward_min_event_ndims is None and inverse_min_event_ndims is None:
            raise ValueError(
                "Must specify at least one of `forward_min_event_ndims` and `inverse_min_event_ndims`."
            )
        if inverse_min_event_ndims is None:
            inverse_min_event_ndims = forward_min_event_ndims
        if forward_min_event_ndims is None:
            forward_min_event_ndims = inverse_min_event_ndims
        for which, n in (
            ("forward", forward_min_event_ndims),
            ("inverse", inverse_min_event_ndims),
        ):
            if not isinstance(n, int):
                raise TypeError(
                    f"Expected {which}_min_event_ndims to be of type int, got {type(n).__name__}"
                )
            if n < 0:
                raise ValueError(f"{which}_min_event_ndims must be a non-negative integer.")
        self._forward_min_event_ndims: Any = forward_min_event_ndims
        self._inverse_min_event_ndims: Any = inverse_min_event_ndims
        self._is_constant_jacobian = is_constant_jacobian
        self._validate_args = validate_args
        self._dtype = dtype
        self._inputs: OrderedDict[int, tuple] = OrderedDict()  # of outputs that were computed
        self._outputs: OrderedDict[int, tuple] = OrderedDict()  # of inputs
        self._name = name or _snake_case(type(self).__name__)
        for i, parent in enumerate(self._graph_parents):
            if parent is None or not tf.is_tensor(parent):
                raise ValueError(f"Graph parent item {i} is not a Tensor; {parent}.")

    @property
    def graph_parents(self) -> list[Any]:
        """The tensors that it is made of."""
        return self._graph_parents

    @property
    def forward_min_event_ndims(self) -> int:
        """The least number of axes of an input."""
        return self._forward_min_event_ndims

    @property
    def inverse_min_event_ndims(self) -> int:
        """The least number of axes of an output."""
        return self._inverse_min_event_ndims

    @property
    def is_constant_jacobian(self) -> bool:
        """Whether the Jacobian is the same everywhere."""
        return self._is_constant_jacobian

    @property
    def validate_args(self) -> bool:
        """Whether arguments are checked."""
        return self._validate_args

    @property
    def dtype(self) -> Any:
        """The dtype that it takes; None: any."""
        return self._dtype

    @property
    def name(self) -> str:
        """The name of its operations."""
        return self._name

    @contextlib.contextmanager
    def _name_scope(self, name: str | None = None, values: list[Any] | None = None) -> Iterator:
        with tf.name_scope(self.name):
            with tf.name_scope(name, values=(values or []) + self.graph_parents) as scope:
                yield scope

    def _as_argument(self, x: Any, name: str) -> Any:
        x = tf.convert_to_tensor(x, name=name)
        if self.dtype is not None and tf.as_dtype(self.dtype).base_dtype != x.dtype.base_dtype:
            raise TypeError(f"Input had dtype {self.dtype} but expected {x.dtype}.")
        return x

    # -- values ------------------------------------------------------------------------------------------

    def _forward(self, x: Any) -> Any:
        raise NotImplementedError("forward not implemented.")

    def _inverse(self, y: Any) -> Any:
        raise NotImplementedError("inverse not implemented")

    def _remember(self, x: Any, y: Any) -> None:
        for known, key, value in ((self._outputs, x, y), (self._inputs, y, x)):
            known[id(key)] = (key, value)  # the key is kept, so that its id stays its own
            if len(known) > _REMEMBERED:
                known.popitem(last=False)

    def forward(self, x: Any, name: str = "forward") -> Any:
        """The output for an input."""
        with self._name_scope(name, [x]):
            x = self._as_argument(x, "x")
            if id(x) not in self._outputs:
                self._remember(x, self._forward(x))
            return self._outputs[id(x)][1]

    def inverse(self, y: Any, name: str = "inverse") -> Any:
        """The input for an output."""
        with self._name_scope(name, [y]):
            y = self._as_argument(y, "y")
            if id(y) not in self._inputs:
                self._remember(self._inverse(y), y)
            return self._inputs[id(y)][1]

    # -- Jacobians -----------------------------------------------------------------------------------------

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        raise NotImplementedError("forward_log_det_jacobian not implemented.")

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        raise NotImplementedError("inverse_log_det_jacobian not implemented.")

    def forward_log_det_jacobian(
        self, x: Any, event_ndims: Any, name: str = "forward_log_det_jacobian"
    ) -> Any:
        """The logarithm of the Jacobian's determinant at an input whose events have `event_ndims` axes."""
        with self._name_scope(name, [x]):
            x = self._as_argument(x, "x")
            least = self.forward_min_event_ndims
            event_ndims = _checked_ndims(event_ndims, least)
            try:
                return _over_event(x, self._forward_log_det_jacobian(x), least, event_ndims)
            except NotImplementedError as missing:
                try:
                    y = self.forward(x)
                    inverse = self._inverse_log_det_jacobian(y)
                except NotImplementedError:
                    raise missing from None
            more = self.inverse_min_event_ndims - least
            return -_over_event(y, inverse, least + more, event_ndims + more)

    def inverse_log_det_jacobian(
        self, y: Any, event_ndims: Any, name: str = "inverse_log_det_jacobian"
    ) -> Any:
        """The logarithm of the inverse's Jacobian's determinant at an output."""
        with self._name_scope(name, [y]):
            y = self._as_argument(y, "y")
            least = self.inverse_min_event_ndims
            event_ndims = _checked_ndims(event_ndims, least)
            try:
                return _over_event(y, self._inverse_log_det_jacobian(y), least, event_ndims)
            except NotImplementedError as missing:
                try:
                    x = self.inverse(y)
                    forward = self._forward_log_det_jacobian(x)
                except NotImplementedError:
                    raise missing from None
            more = self.forward_min_event_ndims - least
            return -_over_event(x, forward, least + more, event_ndims + more)

    # -- shapes --------------------------------------------------------------------------------------------

    def _forward_event_shape_tensor(self, input_shape: Any) -> Any:
        return input_shape

    def _forward_event_shape(self, input_shape: Any) -> Any:
        return input_shape

    def _inverse_event_shape_tensor(self, output_shape: Any) -> Any:
        return output_shape

    def _inverse_event_shape(self, output_shape: Any) -> Any:
        return output_shape

    def forward_event_shape_tensor(
        self, input_shape: Any, name: str = "forward_event_shape_tensor"
    ) -> Any:
        """The shape of an output event, as a vector."""
        with self._name_scope(name, [input_shape]):
            shape = tf.convert_to_tensor(input_shape, dtype=tf.int32, name="input_shape")
            return self._forward_event_shape_tensor(shape)

    def forward_event_shape(self, input_shape: Any) -> Any:
        """The shape of an output event, as far as it is known."""
        return tf.TensorShape(self._forward_event_shape(tf.TensorShape(input_shape)))

    def inverse_event_shape_tensor(
        self, output_shape: Any, name: str = "inverse_event_shape_tensor"
    ) -> Any:
        """The shape of an input event, as a vector."""
        with self._name_scope(name, [output_shape]):
            shape = tf.convert_to_tensor(output_shape, dtype=tf.int32, name="output_shape")
            return self._inverse_event_shape_tensor(shape)

    def inverse_event_shape(self, output_shape: Any) -> Any:
        """The shape of an input event, as far as it is known."""
        return tf.TensorShape(self._inverse_event_shape(tf.TensorShape(output_shape)))


def _snake_case(name: str) -> str:
    name = re.sub("(.)([A-Z][a-z]+)", r"\1_\2", name.lstrip("_"))
    return re.sub("([a-z0-9])([A-Z])", r"\1_\2", name).lower()


def _checked_ndims(event_ndims: Any, least: int) -> Any:
    """The number of axes, as a number where it is known."""
    known = (
        event_ndims
        if isinstance(event_ndims, int)
        else constant_value(tf.convert_to_tensor(event_ndims, name="event_ndims"))
    )
    if known is None:
        return event_ndims
    if not isinstance(known, int):
        if known.dtype.kind != "i":
            raise ValueError(f"Expected integer dtype, got dtype {known.dtype}")
        if known.ndim:
            raise ValueError(f"Expected scalar event_ndims, got shape {known.shape}")
    if least > int(known):
        raise ValueError(
            f"event_ndims ({int(known)}) must be larger than min_event_ndims ({least})"
        )
    return int(known)


def _over_event(y: Any, log_det: Any, least: int, event_ndims: Any) -> Any:
    """The sum over the axes of events beyond the least number of them."""
    if isinstance(event_ndims, int) and event_ndims == least:
        return log_det
    log_det = tf.convert_to_tensor(log_det)
    rank = tf.rank(y)
    sizes = tf.shape(y)[rank - event_ndims : rank - least]
    full = tf.ones(sizes, log_det.dtype.base_dtype) * log_det
    if isinstance(event_ndims, int):
        return tf.reduce_sum(full, axis=list(range(least - event_ndims, 0)))
    return tf.reduce_sum(full, axis=tf.range(least - event_ndims, 0))
