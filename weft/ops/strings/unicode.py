"""UnicodeTranscode, UnicodeDecode (WithOffsets), UnicodeEncode, UnicodeScript."""

from __future__ import annotations

import functools
from importlib import resources
from typing import Any

import numpy as np

from weft.framework import shape_rules
from weft.framework.export import export
from weft.framework.registry import op
from weft.framework.shape_rules import num_elements, rank
from weft.ops.strings import encodings
from weft.ops.strings.elements import invalid, of

_LAST = 0x10FFFF
_POLICY = (
    "errors: string in {strict, replace, ignore} = 'replace'; replacement_char: int = 65533; "
    "replace_control_characters: bool = false"
)
_SPLITS = "Tsplits: type in {int32, int64} = int64"


def _check_replacement(replacement_char: int) -> None:
    if not 0 <= replacement_char <= _LAST:
        raise invalid("replacement_char out of unicode codepoint range")


def _decoded(
    input: np.ndarray,
    encoding: str,
    errors: str,
    replacement_char: int,
    replace_control_characters: bool,
    strict_controls: bool,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The code points of all strings, how many each has, and the bytes that they begin at."""
    _check_replacement(replacement_char)
    values, wrong, counts, starts = encodings.decode(input.ravel().tolist(), encoding)
    replaced = wrong | (values <= 0x1F) if replace_control_characters else wrong
    if errors == "strict" and (replaced if strict_controls else wrong).any():
        raise invalid("Invalid formatting on input string")
    if not replaced.any():
        return values, counts, starts
    if errors == "ignore":
        rows = np.repeat(np.arange(len(counts)), counts)
        counts = np.bincount(rows[~replaced], minlength=len(counts)).astype(np.int64)
        return values[~replaced], counts, starts[~replaced]
    return np.where(replaced, np.int32(replacement_char), values), counts, starts


@op(
    "UnicodeTranscode",
    "input: string -> output: string",
    f"input_encoding: string; output_encoding: {encodings.OUTPUT_ENCODINGS}; {_POLICY}",
    host=True,
)
def unicode_transcode_op(
    xp,
    input,
    *,
    input_encoding,
    output_encoding,
    errors,
    replacement_char,
    replace_control_characters,
):
    """The strings in another encoding."""
    values, counts, _ = _decoded(
        input, input_encoding, errors, replacement_char, replace_control_characters, True
    )
    return of(encodings.encode(values, counts, output_encoding), input.shape)


unicode_transcode_op.shape(shape_rules.same)


@op(
    "UnicodeDecode",
    "input: string -> row_splits: Tsplits, char_values: int32",
    f"input_encoding: string; {_POLICY}; {_SPLITS}",
    host=True,
)
def unicode_decode_op(
    xp, input, *, input_encoding, errors, replacement_char, replace_control_characters, Tsplits
):
    """The code points of strings, and where those of each string end."""
    values, counts, _ = _decoded(
        input, input_encoding, errors, replacement_char, replace_control_characters, False
    )
    return _splits(counts, Tsplits), values


@op(
    "UnicodeDecodeWithOffsets",
    "input: string -> row_splits: Tsplits, char_values: int32, char_to_byte_starts: int64",
    f"input_encoding: string; {_POLICY}; {_SPLITS}",
    host=True,
)
def unicode_decode_with_offsets_op(
    xp, input, *, input_encoding, errors, replacement_char, replace_control_characters, Tsplits
):
    """The code points of strings, where those of each string end, and the bytes that they begin at."""
    values, counts, starts = _decoded(
        input, input_encoding, errors, replacement_char, replace_control_characters, False
    )
    return _splits(counts, Tsplits), values, starts


def _splits(counts: np.ndarray, dtype: Any) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(counts)]).astype(dtype.np)


def _rows(input: Any) -> tuple:
    count = num_elements(input)
    return (None if count is None else count + 1,)


@unicode_decode_op.shape
def _(input):
    return _rows(input), (None,)


@unicode_decode_with_offsets_op.shape
def _(input):
    return _rows(input), (None,), (None,)


@op(
    "UnicodeEncode",
    "input_values: int32, input_splits: Tsplits -> output: string",
    f"errors: string in {{ignore, replace, strict}} = 'replace'; output_encoding: "
    f"{encodings.OUTPUT_ENCODINGS}; replacement_char: int = 65533; {_SPLITS}",
    host=True,
)
def unicode_encode_op(xp, input_values, input_splits, *, errors, output_encoding, replacement_char):
    """Strings of code points."""
    _check_replacement(replacement_char)
    if not input_splits.size:
        raise invalid("Input_splits should contain elements, but given input_values has 0 elements")
    ends = input_splits[1:].astype(np.int64)
    counts = np.diff(ends, prepend=0)
    if (counts < 0).any() or ends.max(initial=0) > input_values.size:
        raise invalid(
            f"Splits must not decrease, nor end behind the {input_values.size} values: {input_splits}"
        )
    values = input_values[: int(ends[-1])] if ends.size else input_values[:0]
    wrong = (values < 0) | (values > _LAST)
    if wrong.any():
        if errors == "strict":
            raise invalid("Code point value out of valid Unicode range.")
        if errors == "replace":
            values = np.where(wrong, np.int32(replacement_char), values)
        else:
            rows = np.repeat(np.arange(len(counts)), counts)
            counts = np.bincount(rows[~wrong], minlength=len(counts))
            values = values[~wrong]
    return of(encodings.encode(values, counts, output_encoding), (len(counts),))


@unicode_encode_op.shape
def _(input_values, input_splits):
    rank(input_values, 1)
    (splits,) = rank(input_splits, 1)
    return (None if splits is None else max(splits - 1, 0),)


@op("UnicodeScript", "input: int32 -> output: int32", host=True)
def unicode_script_op(xp, input):
    """ICU's number of the script that code points belong to; -1 where there is no such code point."""
    firsts, scripts = _script_table()
    return scripts[np.searchsorted(firsts, input, side="right") - 1]


unicode_script_op.shape(shape_rules.same)


@functools.cache
def _script_table() -> tuple[np.ndarray, np.ndarray]:
    """The code points at which another script begins, and which."""
    text = resources.files(__package__).joinpath("scripts.txt").read_text()
    rows = [line.split() for line in text.splitlines() if not line.startswith("#")]
    firsts = np.array([int(first, 16) for first, _ in rows], np.int64)
    firsts = np.concatenate([[-(2**31)], firsts, [_LAST + 1]])
    scripts = np.array([-1, *(int(script) for _, script in rows), -1], np.int32)
    return firsts, scripts


for _op in (
    unicode_transcode_op,
    unicode_decode_op,
    unicode_decode_with_offsets_op,
    unicode_encode_op,
    unicode_script_op,
):
    _op.not_differentiable()


@export("strings.unicode_transcode")
def unicode_transcode(
    input: Any,
    input_encoding: str,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Any:
    """Returns strings in another encoding.

    What is malformed (and, if wanted, control characters) is replaced, left out, or an error.
    """
    return unicode_transcode_op(
        input,
        input_encoding=input_encoding,
        output_encoding=output_encoding,
        errors=errors,
        replacement_char=replacement_char,
        replace_control_characters=replace_control_characters,
        name=name,
    )


@export("strings.unicode_script")
def unicode_script(input: Any, name: str | None = None) -> Any:
    """Returns ICU's number of the script that each code point belongs to, -1 where there is none."""
    return unicode_script_op(input, name=name)
