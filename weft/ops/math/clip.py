"""Clipping, by value and by norm."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from weft.framework import conversion, dtypes
from weft.framework.export import export
from weft.framework.graph import colocate_with
from weft.framework.registry import op
from weft.framework.scopes import name_scope
from weft.framework.shape_rules import ShapeError, compatible, merge
from weft.ops.by_name import raw
from weft.ops.math.broadcasting import sum_to_inputs
from weft.ops.math.dtype_sets import NUMBERS
from weft.ops.math.reduce_functions import reduce_sum


@op(
    "ClipByValue",
    "t: T, clip_value_min: T, clip_value_max: T -> output: T",
    f"T: {NUMBERS}",
)
def clip_by_value_op(xp, t, clip_value_min, clip_value_max):
    """Values below the minimum become the minimum, those above the maximum the maximum."""
    return xp.maximum(xp.minimum(t, clip_value_max), clip_value_min)


@clip_by_value_op.shape
def _(t, clip_value_min, clip_value_max):
    for bound in (clip_value_min, clip_value_max):
        if bound != () and not compatible(t, bound):
            raise ShapeError(
                "clip_value_min and clip_value_max must be either of the same shape as input, or a scalar"
            )
    return t


@clip_by_value_op.gradient
def _(op, grad):
    x, low, high = op.inputs
    below, above = raw.Less(x, low), raw.Greater(x, high)
    zeros = raw.ZerosLike(grad)
    gx = raw.Select(raw.LogicalOr(below, above), zeros, grad)
    _, glow = sum_to_inputs(x, low, None, raw.Select(below, grad, zeros))
    _, ghigh = sum_to_inputs(x, high, None, raw.Select(above, grad, zeros))
    return gx, glow, ghigh


def _is_slices(t: Any) -> bool:
    return getattr(t, "_is_indexed_slices", False)


def _values(t: Any, name: str) -> Any:
    return conversion.convert_to_tensor(t.values if _is_slices(t) else t, name=name)


def _like(t: Any, values: Any) -> Any:
    """The clipped values in the form of what was clipped."""
    return type(t)(values, t.indices, t.dense_shape) if _is_slices(t) else values


@export("clip_by_value")
def clip_by_value(t: Any, clip_value_min: Any, clip_value_max: Any, name: str | None = None) -> Any:
    """Values below the minimum become the minimum, those above the maximum the maximum."""
    with name_scope(name, "clip_by_value", [t, clip_value_min, clip_value_max]) as name:
        values = _values(t, "t")
        below = raw.Minimum(values, clip_value_max)
        merge(values.dims, below.dims, "Shapes are not compatible")
        clipped = raw.Maximum(below, clip_value_min, name=name)
        merge(values.dims, clipped.dims, "Shapes are not compatible")
        return _like(t, clipped)


@export("clip_by_norm")
def clip_by_norm(t: Any, clip_norm: Any, axes: Any = None, name: str | None = None) -> Any:
    """Scales down to a greatest L2 norm, taken over `axes` (all of them by default)."""
    with name_scope(name, "clip_by_norm", [t, clip_norm]) as name:
        values = _values(t, "t")
        squares = reduce_sum(values * values, axes, keepdims=True)
        positive = squares > 0
        # The square root has no gradient at 0.
        safe = raw.Select(positive, squares, raw.OnesLike(squares, name="ones_like"))
        norm = raw.Select(positive, raw.Sqrt(safe), squares)
        scaled = values * clip_norm
        merge(values.dims, scaled.dims, "Shapes are not compatible")
        return _like(t, raw.Identity(scaled / raw.Maximum(norm, clip_norm), name=name))


def _checked_list(t_list: Any) -> list[Any]:
    if not isinstance(t_list, Sequence) or isinstance(t_list, str):
        raise TypeError("t_list should be a sequence")
    return list(t_list)


@export("global_norm", "linalg.global_norm")
def global_norm(t_list: Any, name: str | None = None) -> Any:
    """The L2 norm of all elements of several tensors together; None among them counts for nothing."""
    t_list = _checked_list(t_list)
    with name_scope(name, "global_norm", t_list) as name:
        halves = []
        for i, t in enumerate(t_list):
            if t is not None:
                value = _values(t, f"t_{i}")
                with colocate_with(value):
                    halves.append(raw.L2Loss(value))
        half = reduce_sum(raw.Pack(halves, name="stack"))
        two = np.array(2, half.dtype.base_dtype.np)
        return raw.Sqrt(half * two, name="global_norm")


@export("clip_by_global_norm")
def clip_by_global_norm(
    t_list: Any, clip_norm: Any, use_norm: Any = None, name: str | None = None
) -> Any:
    """Scales several tensors down together, so that their global norm is at most `clip_norm`; gives the
    clipped ones and the norm as it was. If that is not finite, all elements become NaN."""
    t_list = _checked_list(t_list)
    if use_norm is None:
        use_norm = global_norm(t_list, name)
    with name_scope(name, "clip_by_global_norm", [*t_list, clip_norm]) as name:
        use_norm = conversion.convert_to_tensor(use_norm)
        one = conversion.convert_to_tensor(1.0, dtype=use_norm.dtype)
        finite = clip_norm * raw.Minimum(1.0 / use_norm, one / clip_norm)
        not_a_number = conversion.convert_to_tensor(float("nan"), dtype=use_norm.dtype)
        scale = raw.Select(raw.IsFinite(use_norm), finite, not_a_number)
        clipped: list[Any] = []
        for i, t in enumerate(t_list):
            if t is None:
                clipped.append(None)
                continue
            value = _values(t, f"t_{i}")
            with colocate_with(value):
                clipped.append(_like(t, raw.Identity(value * scale, name=f"{name}_{i}")))
    return clipped, use_norm


@export("clip_by_average_norm")
def clip_by_average_norm(t: Any, clip_norm: Any, name: str | None = None) -> Any:
    """Deprecated: scales down to a greatest average L2 norm: that of all elements over their number."""
    with name_scope(name, "clip_by_average_norm", [t, clip_norm]) as name:
        t = conversion.convert_to_tensor(t, name="t")
        count = raw.Cast(raw.Size(t), DstT=dtypes.float32)
        inverse = raw.Rsqrt(reduce_sum(t * t))
        one = conversion.convert_to_tensor(1.0)
        return raw.Identity(
            t * clip_norm * raw.Minimum(inverse * count, one / clip_norm), name=name
        )
