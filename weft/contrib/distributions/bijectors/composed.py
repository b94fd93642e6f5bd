"""Bijectors made of others, and of functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.contrib.distributions.bijectors.base import Bijector
from weft.framework.export import export

_SPACE = "contrib.distributions.bijectors."


@export(_SPACE + "Invert")
class Invert(Bijector):
    """The inverse of a bijector."""

    def __init__(self, bijector: Bijector, validate_args: bool = False, name: str | None = None):
        self._bijector = bijector
        super().__init__(
            graph_parents=bijector.graph_parents,
            forward_min_event_ndims=bijector.inverse_min_event_ndims,
            inverse_min_event_ndims=bijector.forward_min_event_ndims,
            is_constant_jacobian=bijector.is_constant_jacobian,
            validate_args=validate_args,
            dtype=bijector.dtype,
            name=name or "_".join(["invert", bijector.name]),
        )

    @property
    def bijector(self) -> Bijector:
        """The one whose inverse it is."""
        return self._bijector

    def _forward(self, x):
        return self.bijector.inverse(x)

    def _inverse(self, y):
        return self.bijector.forward(y)

    def _forward_log_det_jacobian(self, x):
        return self.bijector.inverse_log_det_jacobian(x, self.forward_min_event_ndims)

    def _inverse_log_det_jacobian(self, y):
        return self.bijector.forward_log_det_jacobian(y, self.inverse_min_event_ndims)

    def _forward_event_shape(self, shape):
        return self.bijector.inverse_event_shape(shape)

    def _forward_event_shape_tensor(self, shape):
        return self.bijector.inverse_event_shape_tensor(shape)

    def _inverse_event_shape(self, shape):
        return self.bijector.forward_event_shape(shape)

    def _inverse_event_shape_tensor(self, shape):
        return self.bijector.forward_event_shape_tensor(shape)


def _least_axes(needs: list[tuple[int, int]]) -> tuple[int, int]:
    """The axes that what goes in must have at least, and those that then come out, of (in, out) pairs."""
    more, least = 0, 0
    for before, after in needs:
        least = max(least, before - more)
        more += after - before
    return least, least + more


@export(_SPACE + "Chain")
class Chain(Bijector):
    """The last bijector first: Chain([f, g]).forward(x) is f(g(x))."""

    def __init__(
        self,
        bijectors: list[Bijector] | None = None,
        validate_args: bool = False,
        name: str | None = None,
    ):
        bijectors = list(bijectors or ())
        self._bijectors = bijectors
        for b in bijectors:
            if not isinstance(b, Bijector):
                raise TypeError(f"A chain is made of bijectors, not of {b}.")
        dtypes = {b.dtype for b in bijectors if b.dtype is not None}
        if len(dtypes) > 1:
            raise ValueError(f"incompatible dtypes: {sorted(map(str, dtypes))}")
        least, out = _least_axes(
            [(b.forward_min_event_ndims, b.inverse_min_event_ndims) for b in reversed(bijectors)]
        )
        if name is None:
            name = (
                "identity"
                if not bijectors
                else "_of_".join(["chain"] + [b.name for b in bijectors])
            )
            name = name.replace("/", "")
        super().__init__(
            graph_parents=[parent for b in bijectors for parent in b.graph_parents],
            is_constant_jacobian=all(b.is_constant_jacobian for b in bijectors),
            validate_args=validate_args,
            forward_min_event_ndims=least,
            inverse_min_event_ndims=out,
            dtype=next(iter(dtypes), None),
            name=name,
        )

    @property
    def bijectors(self) -> list[Bijector]:
        """Those that it is made of, the last to be applied first."""
        return self._bijectors

    def _forward(self, x):
        for b in reversed(self.bijectors):
            x = b.forward(x)
        return x

    def _inverse(self, y):
        for b in self.bijectors:
            y = b.inverse(y)
        return y

    def _forward_log_det_jacobian(self, x):
        total: Any = 0.0
        ndims = self.forward_min_event_ndims
        for b in reversed(self.bijectors):
            total += b.forward_log_det_jacobian(x, ndims)
            ndims += b.inverse_min_event_ndims - b.forward_min_event_ndims
            x = b.forward(x)
        return total

    def _inverse_log_det_jacobian(self, y):
        total: Any = 0.0
        ndims = self.inverse_min_event_ndims
        for b in self.bijectors:
            total += b.inverse_log_det_jacobian(y, ndims)
            ndims += b.forward_min_event_ndims - b.inverse_min_event_ndims
            y = b.inverse(y)
        return total

    def _forward_event_shape(self, shape):
        for b in reversed(self.bijectors):
            shape = b.forward_event_shape(shape)
        return shape

    def _forward_event_shape_tensor(self, shape):
        for b in reversed(self.bijectors):
            shape = b.forward_event_shape_tensor(shape)
        return shape

    def _inverse_event_shape(self, shape):
        for b in self.bijectors:
            shape = b.inverse_event_shape(shape)
        return shape

    def _inverse_event_shape_tensor(self, shape):
        for b in self.bijectors:
            shape = b.inverse_event_shape_tensor(shape)
        return shape


@export(_SPACE + "Inline")
class Inline(Bijector):
    """A bijector of given functions."""

    def __init__(
        self,
        forward_fn: Callable | None = None,
        inverse_fn: Callable | None = None,
        inverse_log_det_jacobian_fn: Callable | None = None,
        forward_log_det_jacobian_fn: Callable | None = None,
        forward_event_shape_fn: Callable | None = None,
        forward_event_shape_tensor_fn: Callable | None = None,
        inverse_event_shape_fn: Callable | None = None,
        inverse_event_shape_tensor_fn: Callable | None = None,
        is_constant_jacobian: bool = False,
        validate_args: bool = False,
        forward_min_event_ndims: int | None = None,
        inverse_min_event_ndims: int | None = None,
        name: str = "inline",
    ):
        super().__init__(
            forward_min_event_ndims=forward_min_event_ndims,
            inverse_min_event_ndims=inverse_min_event_ndims,
            is_constant_jacobian=is_constant_jacobian,
            validate_args=validate_args,
            name=name,
        )
        given: dict[str, Callable | None] = {
            "_forward": forward_fn,
            "_inverse": inverse_fn,
            "_inverse_log_det_jacobian": inverse_log_det_jacobian_fn,
            "_forward_log_det_jacobian": forward_log_det_jacobian_fn,
            "_forward_event_shape": forward_event_shape_fn,
            "_forward_event_shape_tensor": forward_event_shape_tensor_fn,
            "_inverse_event_shape": inverse_event_shape_fn,
            "_inverse_event_shape_tensor": inverse_event_shape_tensor_fn,
        }
        for method, function in given.items():
            if function is not None:
                setattr(self, method, function)
