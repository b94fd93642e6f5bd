"""StringLower, StringUpper, StringStrip."""

from __future__ import annotations

from typing import Any

from weft.framework import shape_rules
from weft.framework.export import export
from weft.framework.registry import OpDecl, op
from weft.ops.strings.elements import each, invalid


def _changing_case(name: str, of_bytes: Any, of_text: Any) -> OpDecl:
    def of_utf8(element: bytes) -> bytes:
        return of_text(element.decode("utf-8", "replace")).encode()

    @op(name, "input: string -> output: string", "encoding: string = ''", host=True)
    def change(xp, input, *, encoding):
        """The strings with letters of one case: those of ASCII, or all of UTF-8."""
        if encoding not in ("", "utf-8"):
            raise invalid(f"only utf-8 or '' (no encoding) is supported, received {encoding}")
        return each(of_utf8 if encoding else of_bytes, input)

    change.shape(shape_rules.same)
    return change.elementwise("input").not_differentiable()


string_lower_op = _changing_case("StringLower", bytes.lower, str.lower)
string_upper_op = _changing_case("StringUpper", bytes.upper, str.upper)


@op("StringStrip", "input: string -> output: string", host=True)
def string_strip_op(xp, input):
    """The strings without the white space at both ends."""
    return each(bytes.strip, input)


string_strip_op.shape(shape_rules.same)
string_strip_op.elementwise("input").not_differentiable()


@export("strings.lower")
def lower(input: Any, encoding: str = "", name: str | None = None) -> Any:
    """Returns strings in lower case: the letters of ASCII, or with encoding "utf-8" all letters."""
    return string_lower_op(input, encoding=encoding, name=name)


@export("strings.upper")
def upper(input: Any, encoding: str = "", name: str | None = None) -> Any:
    """Returns strings in upper case: the letters of ASCII, or with encoding "utf-8" all letters."""
    return string_upper_op(input, encoding=encoding, name=name)


@export("string_strip", "strings.strip")
def strip(input: Any, name: str | None = None) -> Any:
    """Returns strings without the white space at both ends."""
    return string_strip_op(input, name=name)
