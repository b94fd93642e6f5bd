"""Makers of elementwise ops and of their public functions: three lines an op."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.framework.export import export
from weft.framework.registry import OpDecl, op
from weft.framework.shape_rules import broadcasting, same
from weft.ops.by_name import raw
from weft.ops.math.broadcasting import Partial, elementwise_gradient


def unary(
    name: str,
    types: str,
    kernel: Callable,
    doc: str,
    gradient: Callable | None = None,
    *,
    args: str = "x: T -> y: T",
    **flags: Any,
) -> OpDecl:
    """Declares an op of one tensor whose kernel is `(xp, x)` and whose gradient rule is `(op, grad)`."""
    decl = op(name, args, f"T: {types}", **flags)(kernel)
    decl.__doc__ = doc
    decl.shape(same)
    if gradient is not None:
        decl.gradient(gradient)
    return decl


def binary(
    name: str,
    types: str,
    kernel: Callable,
    doc: str,
    gradient: tuple[Partial | None, Partial | None] | Partial | None = None,
    *,
    args: str = "x: T, y: T -> z: T",
    **flags: Any,
) -> OpDecl:
    """Declares an op of two tensors that broadcasts; the gradient is given by its parts (see
    `elementwise_gradient`)."""
    decl = op(name, args, f"T: {types}" if types else "", **flags)(kernel)
    decl.__doc__ = doc
    decl.shape(broadcasting)
    if gradient is not None:
        decl.gradient(elementwise_gradient(gradient))
    return decl


def public_unary(decl: OpDecl, *names: str) -> Callable:
    """Exports the function `(x, name=None)` that is exactly the op."""

    def function(x, name=None):
        return decl(x, name=name)

    return _named(function, decl, names)


def public_binary(decl: OpDecl, *names: str) -> Callable:
    """Exports the function `(x, y, name=None)` that is exactly the op."""

    def function(x, y, name=None):
        return decl(x, y, name=name)

    return _named(function, decl, names)


def _named(function: Callable, decl: OpDecl, names: tuple[str, ...]) -> Callable:
    function.__name__ = function.__qualname__ = names[0].rpartition(".")[2]
    function.__doc__ = decl.__doc__
    function.__module__ = "weft.ops.math"
    return export(*names)(function)


def conjugate(x: Any) -> Any:
    """The complex conjugate; a real tensor as it is."""
    return raw.Conj(x) if x.dtype.is_complex else x
