"""What tests of weft, and of programs on weft, need: execution modes and tiers in mid-process."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from weft.framework import context


@contextlib.contextmanager
def eager_mode() -> Iterator[None]:
    """Turns eager execution on inside of a `with` block."""
    import weft.eager  # noqa: F401  installs the executor

    with context.outermost(0, eager=True):
        yield


@contextlib.contextmanager
def tier(which: str) -> Iterator[None]:
    """Forces the tier that sessions run on: "interpret", "compile", or "auto" for the usual rule."""
    if which not in ("interpret", "compile", "auto"):
        raise ValueError(f'A tier is "interpret", "compile" or "auto", not {which!r}.')
    from weft.runtime import segment

    before, segment.forced_tier = segment.forced_tier, None if which == "auto" else which
    try:
        yield
    finally:
        segment.forced_tier = before


def compilations() -> int:
    """Returns how many times a program was traced for XLA in this process."""
    from weft.engine import compiler

    return compiler.compilations
