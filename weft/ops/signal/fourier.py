"""Fourier transforms over the last one, two or three axes, of complex and of real signals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weft.framework.export import export
from weft.framework.registry import OpDecl, op
from weft.framework.shape_rules import Shape, ShapeError, merge_dim, rank, rank_at_least
from weft.ops.array.concat import concat
from weft.ops.array.shape_of import shape as shape_of
from weft.ops.by_name import raw
from weft.ops.linalg.matrices import legacy
from weft.ops.math.cast import cast

_COMPLEX = "Tcomplex: type in {complex64, complex128} = complex64"


def _size(x: Any, axes: int) -> Any:
    """How many points are transformed together, in the real type of a complex tensor or of a real one."""
    count = raw.Prod(shape_of(x)[-axes:], np.array([0], np.int32))
    return cast(count, x.dtype.real_dtype.base_dtype)


# -- complex signals


def _complex_transform(name: str, axes: int, forward: bool) -> OpDecl:
    which = tuple(range(-axes, 0))

    @op(name, "input: Tcomplex -> output: Tcomplex", _COMPLEX)
    def transform(xp, input):
        """The discrete Fourier transform, or its inverse, over the last axes."""
        if input.ndim < axes:
            raise ShapeError(f"Input must have rank of at least {axes} but got: {input.shape}")
        if not input.size:
            return input
        function = xp.fft.fftn if forward else xp.fft.ifftn
        return function(input, axes=which).astype(input.dtype)

    @transform.shape
    def _(input):
        return rank_at_least(input, axes)

    @transform.gradient
    def _(op, grad):
        inverse = getattr(raw, _NAMES[axes][not forward])
        size = _size(grad, axes)
        scale = size if forward else raw.Reciprocal(size)
        return inverse(grad) * cast(scale, grad.dtype)

    return transform


_NAMES = {1: ("IFFT", "FFT"), 2: ("IFFT2D", "FFT2D"), 3: ("IFFT3D", "FFT3D")}
_decls: dict[str, OpDecl] = {}
for _axes, (_inverse, _forward) in _NAMES.items():
    for _name in (_inverse, _forward):
        _decl = _decls[_name] = _complex_transform(_name, _axes, _name == _forward)
        legacy(_decl, "", "input: complex64 -> output: complex64")


# -- real signals, of whose spectra one half tells the other


def _real_shape(input: Shape, fft_length: Shape, length: Any, axes: int, forward: bool) -> Shape:
    rank_at_least(input, axes)
    merge_dim(rank(fft_length, 1)[0], axes, f"fft_length must have shape [{axes}]")
    if input is None:
        return None
    if length is None:
        return (*input[:-axes], *(None,) * axes)
    return (*input[:-axes], *_result_sizes(length, forward))


def _result_sizes(length: Any, forward: bool) -> tuple[int, ...]:
    *outer, last = (int(n) for n in length)
    return (*outer, last // 2 + 1 if forward and last else last)


def _used(input: Any, length: Any, axes: int, forward: bool) -> tuple[Any, ...]:
    """The part of the input that is transformed; it may be longer."""
    sizes = [int(n) for n in length]
    if not forward:
        sizes[-1] = sizes[-1] // 2 + 1
    first = input.ndim - axes
    for i, (own, needed) in enumerate(zip(input.shape[first:], sizes)):
        if own and own < needed:
            raise ShapeError(
                f"Input dimension {first + i} must have length of at least {needed} but got: {own}"
            )
    return (..., *(slice(n) for n in sizes))


def _real_transform(name: str, axes: int) -> OpDecl:
    which = tuple(range(-axes, 0))

    @op(name, "input: float, fft_length: int32 -> output: complex64", static=("fft_length",))
    def transform(xp, input, fft_length):
        """The half of the Fourier transform of a real signal that has no negative frequencies."""
        used = input[_used(input, fft_length, axes, True)]
        if not used.size:
            sizes = _result_sizes(fft_length, True)
            return xp.zeros((*input.shape[:-axes], *sizes), np.complex64)
        return xp.fft.rfftn(used, axes=which).astype(np.complex64)

    @transform.shape
    def _(input, fft_length, *, const):
        return _real_shape(input, fft_length, const("fft_length"), axes, True)

    @transform.gradient
    def _(op, grad):
        input, length = op.inputs
        # The adjoint: frequencies that were left out count as zero.
        full = _padded(grad, concat([shape_of(input)[:-axes], length], 0))
        back = getattr(raw, _NAMES[axes][0])(full)
        found = raw.Real(back) * _size(full, axes)
        return _padded(found, shape_of(input)), None

    return transform


def _inverse_transform(name: str, axes: int, forward_name: str) -> OpDecl:
    which = tuple(range(-axes, 0))

    @op(name, "input: complex64, fft_length: int32 -> output: float", static=("fft_length",))
    def transform(xp, input, fft_length):
        """The real signal whose transform has these values at frequencies that are not negative."""
        used = input[_used(input, fft_length, axes, False)]
        sizes = _result_sizes(fft_length, False)
        if not used.size or 0 in sizes:
            return xp.zeros((*input.shape[:-axes], *sizes), np.float32)
        return xp.fft.irfftn(used, sizes, axes=which).astype(np.float32)

    @transform.shape
    def _(input, fft_length, *, const):
        return _real_shape(input, fft_length, const("fft_length"), axes, False)

    @transform.gradient
    def _(op, grad):
        input, length = op.inputs
        spectrum = getattr(raw, forward_name)(grad, length)
        # Frequencies count twice, for themselves and for the negative ones, but for zero and for the
        # highest one of an even length.
        last = length[-1]
        count = last // 2 + 1
        number = raw.Range(np.int32(0), count, np.int32(1))
        alone = raw.LogicalOr(
            raw.Equal(number, np.int32(0)), raw.Equal(number * 2, raw.Fill([count], last))
        )
        weight = np.float32(2) - cast(alone, grad.dtype)
        found = spectrum * cast(weight / _size(grad, axes), spectrum.dtype)
        return _padded(found, shape_of(input)), None

    return transform


def _padded(x: Any, size: Any) -> Any:
    """The tensor with zeros behind, up to a size."""
    after = raw.Sub(size, shape_of(x))
    return raw.Pad(x, raw.Pack([raw.ZerosLike(after), after], axis=1))


for _axes in _NAMES:
    _end = "" if _axes == 1 else f"{_axes}D"
    _real_transform(f"RFFT{_end}", _axes)
    _inverse_transform(f"IRFFT{_end}", _axes, f"RFFT{_end}")


def _public(decl: OpDecl) -> Callable[..., Any]:
    def function(input: Any, name: str | None = None) -> Any:
        return decl(input, name=name)

    leaf = decl.name.lower()
    function.__name__ = function.__qualname__ = leaf
    function.__doc__ = decl.__doc__
    return export(leaf, f"signal.{leaf}", f"spectral.{leaf}")(function)


for _decl in _decls.values():
    _public(_decl)
