"""What a server bears with. Who may use a server is told by its credentials; this is about how much of it."""

from __future__ import annotations

import dataclasses
import os

from weft.framework import errors


@dataclasses.dataclass(frozen=True)
class Limits:
    """How much a server takes from its clients together. What is not given comes from the environment.

    Args:
      message_bytes: the size of a message (WEFT_MAX_MESSAGE_BYTES), which protobuf lets grow to 2 GiB.
      sessions: sessions that are open (WEFT_MAX_SESSIONS).
      graphs: graphs, and parts of graphs, that are kept for them (WEFT_MAX_GRAPHS).
    """

    message_bytes: int = 0
    sessions: int = 0
    graphs: int = 0

    def __post_init__(self) -> None:
        for name, (variable, default) in _DEFAULTS.items():
            value = getattr(self, name) or _number(variable, default)
            if not isinstance(value, int) or value <= 0:
                raise ValueError(
                    f"The limit {name} of a server is a positive integer, not {value!r}."
                )
            object.__setattr__(self, name, value)


_DEFAULTS = {
    "message_bytes": ("WEFT_MAX_MESSAGE_BYTES", 2**31 - 1),
    "sessions": ("WEFT_MAX_SESSIONS", 10_000),
    "graphs": ("WEFT_MAX_GRAPHS", 100_000),
}


def _number(variable: str, default: int) -> int:
    text = os.environ.get(variable)
    if not text:
        return default
    if not text.isdigit():
        raise ValueError(f"{variable} is a number, not {text!r}.")
    return int(text)


def hold(limit: str, most: int, present: int) -> None:
    """Raises ResourceExhaustedError where one more would be too many."""
    if present >= most:
        variable = _DEFAULTS[limit][0]
        raise errors.ResourceExhaustedError(
            None,
            None,
            f"The server has {present} {limit} already, and takes no more: close some, or set {variable} or the "
            "server's limits.",
        )
