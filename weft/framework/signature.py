"""The signature of an op: what it takes, what it gives, and its attributes, parsed from one line each.

Inputs and outputs read `name: type`, where type is a dtype, an attribute of kind `type` (`T`), a
repetition (`N*T`), or an attribute of kind `list(type)`; `ref name: T` is a reference. Attributes read
`name: kind`, with an optional constraint (`in {a, b}`, `>= 1`) and default (`= value`); a named set of
dtypes (`T: numbers`) stands for `T: type in {...}`.
"""

from __future__ import annotations

import ast
import functools
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.framework import dtypes

REQUIRED = object()

_ARG = re.compile(r"^(ref )?(\w+)\s*:\s*(?:(\w+)\*)?(\w+)$")
_ATTR = re.compile(
    r"^(\w+)\s*:\s*(list\(\w+\)|\w+)\s*(?:in\s*\{([^}]*)\})?\s*(?:>=\s*(-?\d+))?\s*(?:=\s*(.*))?$",
    re.DOTALL,
)
_KINDS = ("int", "float", "bool", "string", "type", "shape", "tensor", "func")
_DTYPE_NAMES = {"half": "float16", "float": "float32", "double": "float64"}


def dtype_of(name: str) -> dtypes.DType:
    return dtypes.as_dtype(_DTYPE_NAMES.get(name, name))


@dataclass(frozen=True, slots=True)
class Arg:
    """One input or output of an op; it stands for several tensors if it is a list."""

    name: str
    is_ref: bool
    dtype: dtypes.DType | None  # a fixed dtype
    type_attr: str | None  # the attribute that gives the dtype
    number_attr: str | None  # the attribute that gives the count of a homogeneous list
    type_list_attr: str | None  # the attribute that gives the dtypes of a heterogeneous list

    @property
    def is_list(self) -> bool:
        return self.number_attr is not None or self.type_list_attr is not None


@dataclass(frozen=True, slots=True)
class Attr:
    """One attribute of an op."""

    name: str
    kind: str  # "int", "list(type)", ...
    allowed: tuple | None
    minimum: int | None
    default: Any  # REQUIRED where there is none

    @property
    def is_list(self) -> bool:
        return self.kind.startswith("list(")

    @property
    def element_kind(self) -> str:
        return self.kind[5:-1] if self.is_list else self.kind


@dataclass(frozen=True, slots=True)
class Signature:
    inputs: tuple[Arg, ...]
    outputs: tuple[Arg, ...]
    attrs: dict[str, Attr]
    inferred: frozenset[str]  # attributes that the inputs determine

    @property
    def explicit_attrs(self) -> list[Attr]:
        """The attributes that a caller gives, required ones first, as TensorFlow orders them."""
        given = [a for a in self.attrs.values() if a.name not in self.inferred]
        return sorted(given, key=lambda a: a.default is not REQUIRED)


def _split(text: str, separator: str) -> list[str]:
    """Splits at separators outside of brackets and quotes."""
    parts, depth, quote, start = [], 0, "", 0
    for i, c in enumerate(text):
        if quote:
            quote = "" if c == quote else quote
        elif c in "\"'":
            quote = c
        elif c in "{[(":
            depth += 1
        elif c in "}])":
            depth -= 1
        elif c == separator and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    parts.append(text[start:])
    return [p.strip() for p in parts if p.strip()]


def _parse_attr(text: str) -> Attr:
    match = _ATTR.match(text)
    if match is None:
        raise ValueError(
            f"Attribute {text!r} does not read as 'name: kind [in {{...}}] [>= n] [= default]'."
        )
    name, kind, allowed_text, minimum, default_text = match.groups()
    allowed: tuple | None = None
    base = kind[5:-1] if kind.startswith("list(") else kind
    if base not in _KINDS:  # a named set of dtypes
        allowed = tuple(getattr(dtypes, base))
        kind, base = kind.replace(base, "type"), "type"
    elif allowed_text is not None:
        words = [w.strip().strip("\"'") for w in allowed_text.split(",")]
        allowed = tuple(dtype_of(w) for w in words) if base == "type" else tuple(words)
    default = REQUIRED if default_text is None else _parse_default(default_text.strip(), kind)
    return Attr(name, kind, allowed, None if minimum is None else int(minimum), default)


def _parse_default(text: str, kind: str) -> Any:
    if kind.startswith("list("):
        inner = kind[5:-1]
        return [_parse_default(w, inner) for w in _split(text.strip("[]"), ",")]
    if kind == "type":
        return dtype_of(text)
    if kind == "bool":
        return text.lower() == "true"
    if kind == "int":
        return int(text)
    if kind == "float":
        return float(text)
    if kind == "string":
        value = ast.literal_eval(text) if text[:1] in "\"'" else text
        return value.encode() if isinstance(value, str) else value
    if kind == "shape":
        if text in ("unknown", "None"):
            return None
        return tuple(
            None if d in ("?", "-1", "None") else int(d) for d in _split(text.strip("[]()"), ",")
        )
    if kind == "func":
        return text
    if kind == "tensor":  # dtype[elements]
        dtype, _, elements = text.partition("[")
        return np.array(ast.literal_eval("[" + elements), dtype_of(dtype).np)
    raise ValueError(f"An attribute of kind {kind} cannot have the default {text!r}.")


def _parse_args(text: str, attrs: dict[str, Attr]) -> tuple[Arg, ...]:
    args = []
    for part in _split(text, ","):
        match = _ARG.match(part)
        if match is None:
            raise ValueError(f"Argument {part!r} does not read as '[ref ]name: [N*]type'.")
        ref, name, number, kind = match.groups()
        fixed = type_attr = type_list = None
        if kind in attrs:
            if attrs[kind].kind == "list(type)":
                type_list = kind
            else:
                type_attr = kind
        else:
            fixed = dtype_of(kind)
        args.append(Arg(name, bool(ref), fixed, type_attr, number, type_list))
    return tuple(args)


@functools.cache
def parse(args_text: str, attrs_text: str) -> Signature:
    """The signature that the two texts of a declaration describe."""
    attrs = {a.name: a for a in map(_parse_attr, _split(attrs_text, ";"))}
    inputs_text, _, outputs_text = args_text.partition("->")
    inputs, outputs = _parse_args(inputs_text, attrs), _parse_args(outputs_text, attrs)
    inferred = {n for a in inputs for n in (a.type_attr, a.number_attr, a.type_list_attr) if n}
    return Signature(inputs, outputs, attrs, frozenset(inferred))
