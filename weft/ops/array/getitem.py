"""`tensor[...]`: integers, slices, `...`, `tf.newaxis`, tensors as bounds, and boolean masks."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from weft.framework import context, dtypes
from weft.framework.export import export
from weft.framework.registry import get
from weft.framework.scopes import name_scope
from weft.framework.tensor import Tensor, override_operator
from weft.framework.tensor_shape import Dimension
from weft.ops.array import constant
from weft.ops.array.concat import stack
from weft.ops.array.strided_slice import strided_slice

newaxis = None
export("newaxis")(newaxis)

_WHAT = (
    "Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar tf.int32/tf.int64 tensors are "
    "valid indices"
)


def _check_index(index: Any) -> None:
    if isinstance(index, (int, Dimension)) and not isinstance(index, bool):
        return
    if isinstance(index, bool):
        return
    dtype = getattr(index, "dtype", None)
    if dtype is not None:
        dtype = dtypes.as_dtype(dtype).base_dtype
        if dtype in (dtypes.int32, dtypes.int64) and len(index.shape or ()) != 1:
            return
        if isinstance(index, np.integer):
            return
    raise TypeError(f"{_WHAT}, got {index!r}")


def _is_mask(spec: Any) -> bool:
    if isinstance(spec, bool):
        return True
    if isinstance(spec, Tensor):
        return spec.dtype.base_dtype is dtypes.bool
    return isinstance(spec, np.ndarray) and spec.dtype == bool


def _given(bound: Any) -> bool:
    return bound is not None and (isinstance(bound, Tensor) or bound != sys.maxsize)


def get_item(tensor: Any, spec: Any, var: Any = None) -> Any:
    """The part of a tensor that Python's indexing means; of a variable `var`, it can be assigned to."""
    if _is_mask(spec):
        from weft.ops.array.select import boolean_mask

        return boolean_mask(tensor=tensor, mask=spec)
    if not isinstance(spec, (list, tuple)):
        spec = (spec,)
    begin: list[Any] = []
    end: list[Any] = []
    strides: list[Any] = []
    begin_mask = end_mask = ellipsis_mask = new_axis_mask = shrink_axis_mask = 0
    plain = True
    for i, s in enumerate(spec):
        first: Any = 0
        last: Any = 0
        step: Any = 1
        if isinstance(s, slice):
            if _given(s.start):
                _check_index(s.start)
                first = s.start
            else:
                begin_mask |= 1 << i
            if _given(s.stop):
                _check_index(s.stop)
                last = s.stop
            else:
                end_mask |= 1 << i
            if s.step is not None:
                _check_index(s.step)
                step = s.step
        elif s is Ellipsis:
            ellipsis_mask |= 1 << i
        elif s is None:
            new_axis_mask |= 1 << i
        else:
            _check_index(s)
            first, last = s, s + 1
            shrink_axis_mask |= 1 << i
        plain = plain and type(first) is int and type(last) is int and type(step) is int
        begin.append(first)
        end.append(last)
        strides.append(step)
    with name_scope(None, "strided_slice", [tensor, *begin, *end, *strides]) as name:
        bounds = _plain_bounds if plain else _packed_bounds
        first, last, step = bounds(begin, end, strides)
        return strided_slice(
            tensor,
            first,
            last,
            step,
            begin_mask=begin_mask,
            end_mask=end_mask,
            shrink_axis_mask=shrink_axis_mask,
            new_axis_mask=new_axis_mask,
            ellipsis_mask=ellipsis_mask,
            var=var,
            name=name,
        )


def _plain_bounds(*bounds: list[int]) -> list[Any]:
    if not bounds[0]:
        nothing = constant.from_array(np.zeros(0, np.int32), dtypes.int32, "Const")
        return [nothing] * 3
    wide = any(not -(2**31) <= b < 2**31 for bound in bounds for b in bound)
    dtype = dtypes.int64 if wide else dtypes.int32
    arrays = [np.array(bound, dtype.np) for bound in bounds]
    if context.current.eager:
        return arrays
    return [constant.from_array(a, dtype, "stack") for a in arrays]


def _packed_bounds(*bounds: list[Any]) -> list[Any]:
    packed = [stack(bound) for bound in bounds]
    if any(p.dtype.base_dtype is dtypes.int64 for p in packed):
        cast = get("Cast")
        packed = [
            p if p.dtype.base_dtype is dtypes.int64 else cast(p, DstT=dtypes.int64) for p in packed
        ]
    return packed


def _get_item(self: Any, spec: Any) -> Any:
    """Returns the part of the tensor that Python's indexing means."""
    return get_item(self, spec)


override_operator("__getitem__", _get_item)
