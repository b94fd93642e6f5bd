"""EncodeBase64 and DecodeBase64, in the alphabet that is safe in URLs."""

from __future__ import annotations

import binascii
import re
from typing import Any

from weft.framework import shape_rules
from weft.framework.export import export
from weft.framework.registry import op
from weft.ops.strings.elements import each, invalid

_WELL_FORMED = re.compile(rb"(?:[A-Za-z0-9_-]{4})*(?:[A-Za-z0-9_-]{2}(?:==)?|[A-Za-z0-9_-]{3}=?)?")
_FOR_URLS, _FROM_URLS = bytes.maketrans(b"+/", b"-_"), bytes.maketrans(b"-_", b"+/")


def _decoded(text: bytes) -> bytes:
    if not _WELL_FORMED.fullmatch(text):
        if len(text) % 4 == 1:
            raise invalid("Base64 string length cannot be 1 modulo 4.")
        raise invalid("Invalid character found in base64.")
    return binascii.a2b_base64(text.rstrip(b"=").translate(_FROM_URLS) + b"==")


def _encoded(data: bytes) -> bytes:
    return binascii.b2a_base64(data, newline=False).translate(_FOR_URLS)


@op("EncodeBase64", "input: string -> output: string", "pad: bool = false", host=True)
def encode_base64_op(xp, input, *, pad):
    """The strings in Base64."""
    if pad:
        return each(_encoded, input)
    return each(lambda data: _encoded(data).rstrip(b"="), input)


@op("DecodeBase64", "input: string -> output: string", host=True)
def decode_base64_op(xp, input):
    """The strings that others in Base64, with or without padding, stand for."""
    return each(_decoded, input)


for _op in (encode_base64_op, decode_base64_op):
    _op.shape(shape_rules.same)
    _op.elementwise("input").not_differentiable()


@export("encode_base64", "io.encode_base64")
def encode_base64(input: Any, pad: bool = False, name: str | None = None) -> Any:
    """Returns strings in Base64, in the alphabet that is safe in URLs."""
    return encode_base64_op(input, pad=pad, name=name)


@export("decode_base64", "io.decode_base64")
def decode_base64(input: Any, name: str | None = None) -> Any:
    """Returns what strings in Base64, in the alphabet that is safe in URLs, stand for."""
    return decode_base64_op(input, name=name)
