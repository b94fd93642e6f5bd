"""`tf.nn.with_space_to_batch`: a dilated operation as an undilated one on blocks of the input."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from weft.framework import dtypes
from weft.framework.constant_value import constant_value
from weft.framework.conversion import convert_to_tensor
from weft.framework.export import export, find
from weft.ops.by_name import raw


@export("nn.with_space_to_batch")
def with_space_to_batch(
    input: Any,
    dilation_rate: Any,
    padding: Any,
    op: Callable,
    filter_shape: Any = None,
    spatial_dims: Any = None,
    data_format: str | None = None,
) -> Any:
    """Performs `op(input, num_spatial_dims, padding)` as if it were dilated."""
    input = convert_to_tensor(input, name="input")

    def build(n: int, padding: Any) -> Callable:
        return lambda blocks, _: op(blocks, n, padding)

    apply = WithSpaceToBatch(
        input.shape,
        dilation_rate,
        padding,
        build,
        filter_shape=filter_shape,
        spatial_dims=spatial_dims,
        data_format=data_format,
    )
    return apply(input, None)


class WithSpaceToBatch:
    """`with_space_to_batch` prepared for inputs of a static shape."""

    def __init__(
        self,
        input_shape: Any,
        dilation_rate: Any,
        padding: Any,
        build: Callable[[int, Any], Callable],
        filter_shape: Any = None,
        spatial_dims: Iterable[int] | None = None,
        data_format: str | None = None,
    ):
        rate = convert_to_tensor(dilation_rate, dtypes.int32, "dilation_rate")
        if rate.shape.ndims not in (None, 1):
            raise ValueError("rate must be rank 1")
        if not rate.shape.is_fully_defined():
            raise ValueError("rate must have known shape")
        n = rate.shape.as_list()[0]
        channels_first = data_format is not None and data_format.startswith("NC")
        if spatial_dims is None:
            first = 2 if channels_first else 1
            spatial_dims = range(first, first + n)
        self._spatial = _ascending(spatial_dims)
        least = self._spatial[-1] + (0 if channels_first else 1)
        if input_shape.ndims is not None and input_shape.ndims < least:
            raise ValueError(f"input tensor must have rank {least} at least")
        known = constant_value(rate)
        self._plain: Callable | None = None
        if known is not None:
            if (known < 1).any():
                raise ValueError("dilation_rate must be positive")
            if (known == 1).all():
                self._plain = build(n, padding)
                return
        self._base_paddings = self._paddings_of(
            padding, filter_shape, n, rate if known is None else known
        )
        self._rate, self._input_shape, self._data_format = rate, input_shape, data_format
        self._op = build(n, "VALID")

    def _paddings_of(self, padding: Any, filter_shape: Any, n: int, rate: Any) -> Any:
        if padding == "VALID":
            return np.zeros((n, 2), np.int32)
        if padding != "SAME":
            raise ValueError(f"Invalid padding method {padding!r}")
        if filter_shape is None:
            raise ValueError("filter_shape must be specified for SAME padding")
        if hasattr(filter_shape, "as_list") and not filter_shape.is_fully_defined():
            return lambda filter: _base_paddings(raw.Shape(filter), n, rate)
        sizes = convert_to_tensor(filter_shape, name="filter_shape")
        known = constant_value(sizes)
        return _base_paddings(sizes if known is None else known, n, rate)

    def __call__(self, input: Any, filter: Any) -> Any:
        if self._plain is not None:
            return self._plain(input, filter)
        sizes: Any = None
        if self._input_shape.ndims is not None:
            sizes = [self._input_shape.as_list()[i] for i in self._spatial]
        if sizes is None or None in sizes:
            shape = raw.Shape(input)
            sizes = find("", "stack", "tf")([shape[i] for i in self._spatial])
        base = self._base_paddings(filter) if callable(self._base_paddings) else self._base_paddings
        required = find("", "required_space_to_batch_paddings", "tf")
        paddings, crops = required(sizes, self._rate, base_paddings=base)
        rate = _for_axes_before(self._rate, 1, self._spatial)
        paddings = _for_axes_before(paddings, 0, self._spatial)
        crops = _for_axes_before(crops, 0, self._spatial)
        blocks = raw.SpaceToBatchND(input, rate, paddings)
        result = raw.BatchToSpaceND(self._op(blocks, filter), rate, crops)
        if (self._data_format or "").startswith("NC") and filter is not None:
            dims = result.shape.as_list() if result.shape.ndims is not None else None
            if dims is not None and dims[1] is None:
                dims[1] = filter.shape.as_list()[-1]
                result.set_shape(dims)
        return result


def _ascending(spatial_dims: Iterable[int]) -> list[int]:
    given = [int(d) for d in spatial_dims]
    if given != sorted(set(given)) or any(d < 1 for d in given):
        raise ValueError(
            "spatial_dims must be a montonically increasing sequence of positive integers"
        )
    return given


def _base_paddings(filter_shape: Any, n: int, rate: Any) -> Any:
    """What SAME padding adds for a dilated filter, without a stride: [n, 2]."""
    if isinstance(filter_shape, np.ndarray) and isinstance(rate, np.ndarray):
        extra = (filter_shape[:n].astype(np.int32) - 1) * rate
        return np.stack([extra // 2, extra - extra // 2], 1)
    extra = (filter_shape[:n] - 1) * rate
    low = extra // 2
    return find("", "stack", "tf")([low, extra - low], axis=1)


def _for_axes_before(values: Any, fill: int, spatial: list[int]) -> Any:
    """`values`, one row for each spatial axis, with rows of `fill` for the axes between them."""
    known = constant_value(values) if hasattr(values, "op") or hasattr(values, "numpy") else values
    rows = values if known is None else np.asarray(known)
    parts, before = [], 0
    for i, axis in enumerate(spatial):
        if axis - 1 > before:
            width = list(np.shape(rows)[1:]) if known is not None else values.shape.as_list()[1:]
            parts.append(np.full([axis - 1 - before, *width], fill, np.int32))
        parts.append(rows[i : i + 1])
        before = axis
    if known is not None:
        return np.concatenate(parts)
    return raw.ConcatV2(parts, np.int32(0))
