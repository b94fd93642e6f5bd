"""Conversion between dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import conversion, dtypes, errors
from weft.framework.export import export
from weft.framework.registry import op
from weft.framework.scopes import name_scope
from weft.framework.shape_rules import same
from weft.framework.tensor import Tensor
from weft.ops.by_name import raw

# Bits of the mantissa that a narrower float lacks: (from, to) -> number of low bits to clear.
_LOST_BITS = {
    ("float32", "bfloat16"): 16,
    ("float32", "float16"): 13,
    ("float64", "bfloat16"): 45,
    ("float64", "float16"): 42,
    ("float64", "float32"): 29,
    ("float16", "bfloat16"): 3,
}


@op("Cast", "x: SrcT -> y: DstT", "SrcT: type; DstT: type; Truncate: bool = false")
def cast_op(xp, x, *, SrcT, DstT, Truncate):
    """Converts to another dtype; floats are cut off to integers, and complex numbers lose their imaginary part."""
    if SrcT is DstT:
        return x
    if SrcT.np is None or DstT.np is None or object in (SrcT.np, DstT.np):
        raise errors.UnimplementedError(
            None, None, f"Cast {SrcT.name} to {DstT.name} is not supported"
        )
    if SrcT.is_complex and not DstT.is_complex:
        x = x != 0 if DstT.is_bool else xp.real(x)
    if Truncate:
        x = _truncated(xp, x, DstT)
    if DstT.is_integer and x.dtype.kind in "fV":
        return _float_to_integer(xp, x, DstT)
    return x.astype(DstT.np)


cast_op.shape(same)

_FLOATING = frozenset((*dtypes.floats, *dtypes.complexes))


@cast_op.gradient
def _(op, grad):
    source = op.inputs[0].dtype.base_dtype
    if source in _FLOATING and grad.dtype.base_dtype in _FLOATING:
        return cast(grad, source)
    return None


def _truncated(xp: Any, x: Any, to: dtypes.DType) -> Any:
    """The number with those bits cleared that `to` has no room for, so that it is not rounded."""
    if x.dtype.kind == "c":
        re, im = (_truncated(xp, part, to.real_dtype) for part in (xp.real(x), xp.imag(x)))
        return (re + 1j * im).astype(x.dtype)
    lost = _LOST_BITS.get((x.dtype.name, to.real_dtype.base_dtype.name))
    if lost is None:
        return x
    bits = f"int{x.dtype.itemsize * 8}"
    mask = np.array(-1 << lost, bits)
    return xp.bitcast(xp.bitcast(x, bits) & mask, x.dtype)


def _float_to_integer(xp: Any, x: Any, to: dtypes.DType) -> Any:
    """Cuts off the fraction. What does not fit becomes what x86 processors make of it, in both tiers: narrow
    types keep the low bits of the 32-bit value, others their least value."""
    if to.np.itemsize < 4:
        return _float_to_integer(xp, x, dtypes.int32).astype(to.np)
    if to is dtypes.uint32:
        return _float_to_integer(xp, x, dtypes.int64).astype(to.np)
    if xp.is_numpy:
        return x.astype(to.np)
    if x.dtype.kind == "V" or x.dtype.itemsize == 2:
        x = x.astype(np.float32)
    if to is dtypes.uint64:
        signed = _float_to_integer(xp, x, dtypes.int64)
        return xp.where(x >= 2.0**63, x.astype(to.np), signed.astype(to.np))
    bound = np.array(2.0 ** (to.np.itemsize * 8 - 1), x.dtype)
    fits = (x >= -bound) & (x < bound)
    return xp.where(fits, x.astype(to.np), np.array(np.iinfo(to.np).min, to.np))


@export("cast", "dtypes.cast")
def cast(x: Any, dtype: Any, name: str | None = None) -> Any:
    """Converts a Tensor, SparseTensor or IndexedSlices to another dtype."""
    to = dtypes.as_dtype(dtype).base_dtype
    if isinstance(x, Tensor) and x._dtype.base_dtype is to:
        return x
    if hasattr(x, "_handle") and x.dtype is to:
        return x  # a resource variable: whoever takes it reads it
    with name_scope(name, "Cast", [x]) as name:
        if getattr(x, "_is_indexed_slices", False):
            return type(x)(cast(x.values, to, name=name), x.indices, x.dense_shape)
        if getattr(x, "_is_sparse_tensor", False):
            return type(x)(x.indices, cast(x.values, to, name=name), x.dense_shape)
        x = conversion.convert_to_tensor(x, name="x")
        if x.dtype.base_dtype is not to:
            x = cast_op(x, DstT=to, name=name)
        return x


@export("saturate_cast", "dtypes.saturate_cast")
def saturate_cast(value: Any, dtype: Any, name: str | None = None) -> Any:
    """Converts to another dtype; values that it cannot hold become its least or greatest one."""
    with name_scope(name, "saturate_cast", [value]) as name:
        value = conversion.convert_to_tensor(value, name="value")
        to = dtypes.as_dtype(dtype).base_dtype
        own = value.dtype.base_dtype
        if own.min < to.min:
            value = raw.Maximum(value, conversion.convert_to_tensor(to.min, dtype=own, name="min"))
        if own.max > to.max:
            value = raw.Minimum(value, conversion.convert_to_tensor(to.max, dtype=own, name="max"))
        return cast(value, to, name=name)


def _to(dtype: dtypes.DType, public: str, default: str) -> None:
    def function(x: Any, name: str = default) -> Any:
        return cast(x, dtype, name=name)

    function.__name__ = function.__qualname__ = public
    function.__doc__ = f"Deprecated: casts to {dtype.name}; use `tf.cast`."
    export(public)(function)


_to(dtypes.float32, "to_float", "ToFloat")
_to(dtypes.float64, "to_double", "ToDouble")
_to(dtypes.int32, "to_int32", "ToInt32")
_to(dtypes.int64, "to_int64", "ToInt64")
_to(dtypes.bfloat16, "to_bfloat16", "ToBFloat16")
_to(dtypes.complex64, "to_complex64", "ToComplex64")
_to(dtypes.complex128, "to_complex128", "ToComplex128")
