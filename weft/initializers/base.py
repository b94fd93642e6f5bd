"""Initializer: an object that makes a variable's initial value, and says how it was configured."""

from __future__ import annotations

from typing import Any

from weft.framework import dtypes
from weft.framework.export import export
from weft.framework.tensor_shape import TensorShape


@export("keras.initializers.Initializer")
class Initializer:
    """Makes initial values; subclasses define `__call__(shape, dtype, partition_info)` and `get_config`.

    `partition_info` tells, for a part of a partitioned variable, what the whole is.
    """

    dtype: Any = None

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not say what values it makes.")

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal initializer, as values that JSON can hold."""
        return {}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Initializer:
        """Makes an initializer from what `get_config` gave."""
        return cls(**config)


class Configured(Initializer):
    """An initializer whose configuration is its attributes of these names."""

    config_names: tuple[str, ...] = ()

    def get_config(self) -> dict[str, Any]:
        config = {name: getattr(self, name) for name in self.config_names}
        config["dtype"] = self.dtype.name
        return config

    def _dtype(self, dtype: Any) -> Any:
        return self.dtype if dtype is None else dtype


def floating(dtype: Any) -> dtypes.DType:
    """The dtype, which must be a floating point one."""
    dtype = dtypes.as_dtype(dtype)
    if not dtype.is_floating:
        raise ValueError(f"Expected floating point type, got {dtype}.")
    return dtype


def sizes(shape: Any) -> list[int]:
    """A fully known shape as plain sizes."""
    if isinstance(shape, TensorShape):
        return shape.as_list()
    return [int(d) for d in shape]


def full_sizes(shape: Any, partition_info: Any) -> list[int]:
    """The sizes of the whole that a part belongs to."""
    return sizes(shape if partition_info is None else partition_info.full_shape)
