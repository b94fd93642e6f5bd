"""Handles of shared state, in both forms: resources, and references to strings, as older graphs have them.

In either form the value that travels in a step is the shared object itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from weft.framework import errors
from weft.framework.registry import OpDecl, op

T = TypeVar("T")


def held(handle: Any, kind: type[T]) -> T:
    """What a handle refers to; a handle that was picked from a stack of handles comes in an array."""
    if type(handle) is np.ndarray and handle.size == 1:
        handle = handle.item()
    if not isinstance(handle, kind):
        raise errors.InvalidArgumentError(
            None,
            None,
            f"The handle is not one of a {kind.__name__}, but of {type(handle).__name__}.",
        )
    return handle


def both_handles(
    old: str, new: str, args: str, attrs: str = "", stateful: bool = False, **flags: Any
) -> Callable[[Callable], tuple[OpDecl, OpDecl]]:
    """Declares an op twice: `@handle` in its arguments is a reference in the old one, a resource in the new."""

    def declare(kernel: Callable) -> tuple[OpDecl, OpDecl]:
        makers = (
            op(
                old,
                args.replace("@handle", "ref handle: string"),
                attrs,
                host=True,
                stateful=stateful,
                **flags,
            ),
            op(
                new,
                args.replace("@handle", "handle: resource"),
                attrs,
                host=True,
                stateful=True,
                **flags,
            ),
        )
        first, second = (make(kernel).not_differentiable() for make in makers)
        return first, second

    return declare


def shapes_of(decls: tuple[OpDecl, ...], rule: Callable) -> None:
    """Gives several declarations one shape rule."""
    for decl in decls:
        decl.shape(rule)


def kept(ctx: Any, value: Any) -> Any:
    """A value that may be kept beyond the step: a fed array is its owner's to change."""
    if type(value) is not np.ndarray or ctx.adopts and value.base is None:
        return value
    return value.copy()
