"""What a thread writes summaries with: its writer, its step, and whether it records at all."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from weft.framework import context
from weft.framework.export import export, find


class _Current(threading.local):
    writer: Any = None
    condition: Any = None  # a bool, a tensor, a function that gives one, or None for what is usual
    step: Any = None


current = _Current()


def should_record(default: bool) -> Any:
    """Whether summaries are to be written; a bool or a tensor."""
    condition = current.condition
    if callable(condition):
        condition = condition()
    return default if condition is None else condition


@export("contrib.summary.should_record_summaries")
def should_record_summaries() -> Any:
    """Returns whether summaries are written here; not, unless somebody says so."""
    return should_record(default=False)


@export("compat.v2.summary.record_if")
@contextlib.contextmanager
def record_if(condition: Any) -> Iterator[None]:
    """Has summaries in the block written if a condition holds: a bool, a tensor, or a function that gives one."""
    before = current.condition
    current.condition = condition
    try:
        yield
    finally:
        current.condition = before


@export("contrib.summary.always_record_summaries")
def always_record_summaries() -> Any:
    """Has all summaries in a `with` block written."""
    return record_if(True)


@export("contrib.summary.never_record_summaries")
def never_record_summaries() -> Any:
    """Has no summaries in a `with` block written."""
    return record_if(False)


@export("contrib.summary.record_summaries_every_n_global_steps")
def record_summaries_every_n_global_steps(n: int, global_step: Any = None) -> Any:
    """Has summaries in a `with` block written in every n-th step."""
    if global_step is None:
        global_step = find("train", "get_or_create_global_step", "weft")()
    equal = find("", "equal", "weft")

    def should() -> Any:
        return equal(global_step % n, 0)

    return record_if(should if context.executing_eagerly() else should())


@export("compat.v2.summary.experimental.get_step")
def get_step() -> Any:
    """Returns the step that `set_step` has set, or None."""
    return current.step


@export("compat.v2.summary.experimental.set_step")
def set_step(step: Any) -> None:
    """Sets the step for summaries that are not given one."""
    current.step = step
