"""Regular expressions, in RE2's syntax and by RE2: RegexReplace, RegexFullMatch and their static forms."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import re2

from weft.framework import shape_rules
from weft.framework.export import export
from weft.framework.registry import op
from weft.framework.shape_rules import scalar
from weft.ops.strings.elements import as_bytes, each, invalid, scalar_text, shown

_OPTIONS = re2.Options()
_OPTIONS.log_errors = False


def _compiled(pattern: bytes) -> Any:
    try:
        return re2.compile(pattern, _OPTIONS)
    except re2.error as e:
        reason = e.args[0] if e.args else ""
        reason = shown(reason) if isinstance(reason, bytes) else str(reason)
        raise invalid(f"Invalid pattern: {shown(pattern)}, error: {reason}") from None


class _Rewrite:
    """What a match becomes: text, and groups by their number, as in `a\\1b`."""

    def __init__(self, template: bytes):
        self.parts: list[bytes | int] = []
        self.is_whole = True  # else the template ends before a backslash that says nothing
        text, rest = b"", template
        while rest:
            before, backslash, rest = rest.partition(b"\\")
            text += before
            if not backslash:
                break
            what = rest[:1]
            if what.isdigit():
                self.parts += [text, int(what)]
                text = b""
            elif what == b"\\":
                text += b"\\"
            else:
                self.is_whole = False
                break
            rest = rest[1:]
        self.parts.append(text)

    def __call__(self, match: Any) -> bytes:
        groups = match.re.groups
        return b"".join(
            part
            if isinstance(part, bytes)
            else (match[part] if part <= groups else None) or b""  # a group may be missing
            for part in self.parts
        )


def _replaced(input: np.ndarray, pattern: bytes, rewrite: bytes, everywhere: bool) -> np.ndarray:
    expression, becomes = _compiled(pattern), _Rewrite(rewrite)
    if not (becomes.is_whole or everywhere):
        return input

    def replace(text: bytes) -> bytes:
        out: list[bytes] = []
        end = 0
        last = -1  # where the last match ended: an empty one is none there
        for match in expression.finditer(text):
            start, stop = match.span()
            if start == stop and (start == last or _is_inside_character(text, start)):
                continue
            out += (text[end:start], becomes(match))
            end = last = stop
            if not everywhere:
                break
        return b"".join(out) + text[end:] if out else text

    return each(replace, input)


def _is_inside_character(text: bytes, at: int) -> bool:
    return at < len(text) and text[at] & 0xC0 == 0x80


@op(
    "RegexReplace",
    "input: string, pattern: string, rewrite: string -> output: string",
    "replace_global: bool = true",
    host=True,
)
def regex_replace_op(xp, input, pattern, rewrite, *, replace_global):
    """The strings with what matches a pattern rewritten."""
    pattern = scalar_text(pattern, "Pattern")
    return _replaced(input, pattern, scalar_text(rewrite, "Rewrite"), replace_global)


@regex_replace_op.shape
def _(input, pattern, rewrite):
    scalar(pattern)
    scalar(rewrite)
    return input


@op(
    "StaticRegexReplace",
    "input: string -> output: string",
    "pattern: string; rewrite: string; replace_global: bool = true",
    host=True,
)
def static_regex_replace_op(xp, input, *, pattern, rewrite, replace_global):
    """The strings with what matches a pattern rewritten."""
    return _replaced(input, as_bytes(pattern), as_bytes(rewrite), replace_global)


static_regex_replace_op.shape(shape_rules.same)


@functools.lru_cache(maxsize=128)
def _matcher(pattern: bytes) -> Callable[[bytes], Any]:
    """Whether a pattern matches all of a text: a set of one pattern tells it without where the groups are."""
    compiled = _compiled(pattern)
    one = re2.Set.FullMatchSet(_OPTIONS)
    try:
        one.Add(pattern)
        one.Compile()
    except re2.error:  # it is too large for a set
        return compiled.fullmatch
    return one.Match


def _full_matches(input: np.ndarray, pattern: bytes) -> np.ndarray:
    return each(_matcher(pattern), input).astype(bool)


@op("RegexFullMatch", "input: string, pattern: string -> output: bool", host=True)
def regex_full_match_op(xp, input, pattern):
    """Whether strings match a pattern from their first byte to their last."""
    return _full_matches(input, scalar_text(pattern, "Pattern"))


@regex_full_match_op.shape
def _(input, pattern):
    scalar(pattern)
    return input


@op("StaticRegexFullMatch", "input: string -> output: bool", "pattern: string", host=True)
def static_regex_full_match_op(xp, input, *, pattern):
    """Whether strings match a pattern from their first byte to their last."""
    return _full_matches(input, as_bytes(pattern))


static_regex_full_match_op.shape(shape_rules.same)

for _op in (
    regex_replace_op,
    static_regex_replace_op,
    regex_full_match_op,
    static_regex_full_match_op,
):
    _op.elementwise("input").not_differentiable()


def _is_text(*values: Any) -> bool:
    return all(isinstance(value, (str, bytes)) for value in values)


@export("regex_replace", "strings.regex_replace")
def regex_replace(
    input: Any, pattern: Any, rewrite: Any, replace_global: bool = True, name: str | None = None
) -> Any:
    r"""Returns strings in which every match of a regular expression (or the first one) is rewritten.

    In `rewrite`, `\1` to `\9` stand for groups of the match and `\0` for all of it.
    """
    if _is_text(pattern, rewrite):
        return static_regex_replace_op(
            input, pattern=pattern, rewrite=rewrite, replace_global=replace_global, name=name
        )
    return regex_replace_op(input, pattern, rewrite, replace_global=replace_global, name=name)


@export("strings.regex_full_match")
def regex_full_match(input: Any, pattern: Any, name: str | None = None) -> Any:
    """Returns whether strings match a regular expression as a whole."""
    if _is_text(pattern):
        return static_regex_full_match_op(input, pattern=pattern, name=name)
    return regex_full_match_op(input, pattern, name=name)
