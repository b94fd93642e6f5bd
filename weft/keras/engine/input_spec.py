"""What a layer requires of its inputs."""

from __future__ import annotations

from typing import Any

from weft.framework import dtypes, nest
from weft.framework.export import export


@export("keras.layers.InputSpec", "layers.InputSpec")
class InputSpec:
    """Rank, type and sizes that an input must have; what is None may be anything."""

    def __init__(
        self,
        dtype: Any = None,
        shape: Any = None,
        ndim: int | None = None,
        max_ndim: int | None = None,
        min_ndim: int | None = None,
        axes: dict[int, Any] | None = None,
    ):
        self.dtype = dtypes.as_dtype(dtype).name if dtype is not None else None
        self.shape = shape
        self.ndim = ndim if shape is None else len(shape)
        self.max_ndim, self.min_ndim = max_ndim, min_ndim
        try:
            self.axes = {int(axis): size for axis, size in (axes or {}).items()}
        except (ValueError, TypeError):
            raise TypeError("The keys in axes must be integers.") from None
        if self.axes and (self.ndim is not None or self.max_ndim is not None):
            last = (self.ndim or self.max_ndim or 0) - 1
            if max(self.axes) > last:
                raise ValueError(
                    f"Axis {max(self.axes)} is greater than the maximum allowed value: {last}"
                )

    def __repr__(self) -> str:
        names = ("dtype", "shape", "ndim", "max_ndim", "min_ndim", "axes")
        given = (f"{name}={getattr(self, name)}" for name in names if getattr(self, name))
        return f"InputSpec({', '.join(given)})"

    def get_config(self) -> dict[str, Any]:
        names = ("dtype", "shape", "ndim", "max_ndim", "min_ndim", "axes")
        return {name: getattr(self, name) for name in names}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> InputSpec:
        return cls(**config)


def assert_input_compatibility(input_spec: Any, inputs: Any, layer_name: str) -> None:
    """ValueError where inputs are not what the specification of a layer requires."""
    if not input_spec:
        return
    flat, specs = nest.flatten(inputs), nest.flatten(input_spec)
    if len(flat) != len(specs):
        raise ValueError(
            f"Layer {layer_name} expects {len(specs)} inputs, but it received {len(flat)} input tensors. "
            f"Inputs received: {flat}"
        )
    for i, (x, spec) in enumerate(zip(flat, specs)):
        fault = None if spec is None else _fault(x, spec)
        if fault is not None:
            raise ValueError(
                f"Input {i} of layer {layer_name} is incompatible with the layer: {fault}"
            )


def _fault(x: Any, spec: InputSpec) -> str | None:
    rank = x.shape.ndims
    received = f". Full shape received: {x.shape}"
    if rank is None:
        if (spec.ndim, spec.min_ndim, spec.max_ndim) != (None, None, None):
            return "its rank is undefined, but the layer requires a defined rank."
    elif spec.ndim is not None and rank != spec.ndim:
        return f"expected ndim={spec.ndim}, found ndim={rank}{received}"
    elif spec.max_ndim is not None and rank > spec.max_ndim:
        return f"expected max_ndim={spec.max_ndim}, found ndim={rank}"
    elif spec.min_ndim is not None and rank < spec.min_ndim:
        return f": expected min_ndim={spec.min_ndim}, found ndim={rank}{received}"
    if spec.dtype is not None and x.dtype != spec.dtype:
        return f"expected dtype={spec.dtype}, found dtype={x.dtype}"
    if rank is None:
        return None
    sizes = x.shape.as_list()
    for axis, size in spec.axes.items():
        size = getattr(size, "value", size)
        if size is not None and sizes[axis] not in (size, None):
            return (
                f"expected axis {axis} of input shape to have value {size} but received input with shape "
                f"{sizes}"
            )
    for wanted, size in zip(spec.shape or (), sizes):
        if None not in (wanted, size) and wanted != size:
            return f"expected shape={spec.shape}, found shape={sizes}"
    return None
