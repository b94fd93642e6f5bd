"""`tf.strings.unicode_decode`, `unicode_encode`, `unicode_split`: strings as ragged rows of characters."""

from __future__ import annotations

from typing import Any

from weft.framework.export import export
from weft.framework.scopes import name_scope
from weft.ops.by_name import raw
from weft.ops.ragged.tensor import RaggedTensor, tensor_or_ragged
from weft.strings.rows import equal_rows


@export("strings.unicode_encode")
def unicode_encode(
    input: Any,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    name: str | None = None,
) -> Any:
    """Returns a string for each row (along the last dimension) of code points."""
    how: dict[str, Any] = {
        "output_encoding": output_encoding,
        "errors": errors,
        "replacement_char": replacement_char,
    }
    with name_scope(name, "UnicodeEncode", [input]):
        input = tensor_or_ragged(input)
        if input.shape.ndims is None:
            raise ValueError("Rank of input_tensor must be statically known.")
        if isinstance(input, RaggedTensor):
            if len(input.flat_values.dims or ()) > 1:
                return input.with_flat_values(unicode_encode(input.flat_values, **how))
            if input.ragged_rank > 1:
                return input.with_values(unicode_encode(input.values, **how))
            return raw.UnicodeEncode(input.values, input.row_splits, **how)
        if input.shape.ndims == 0:
            raise ValueError("input_tensor's rank must be at least 1.")
        flat, splits, rows_shape = equal_rows(input)
        encoded = raw.UnicodeEncode(flat, splits, **how)
        result = raw.Reshape(encoded, rows_shape)
        result.set_shape(input.shape[:-1])
        return result


def _decoded(
    input: Any,
    input_encoding: str,
    errors: str,
    replacement_char: int,
    replace_control_characters: bool,
    with_offsets: bool,
) -> Any:
    """The code points of strings, with the bytes they begin at if wanted: one more dimension, ragged."""
    input = tensor_or_ragged(input, name="input")
    rank = input.shape.ndims
    if rank is None:
        raise ValueError("Rank of `input` must be statically known.")
    if rank > 1:
        if not isinstance(input, RaggedTensor):
            input = RaggedTensor.from_tensor(input, ragged_rank=rank - 1)
        elif input.ragged_rank < rank - 1:
            inner = rank - input.ragged_rank + 1
            input = input.with_flat_values(
                RaggedTensor.from_tensor(input.flat_values, ragged_rank=inner)
            )
    flat = raw.Reshape(input.flat_values if isinstance(input, RaggedTensor) else input, [-1])
    decode = raw.UnicodeDecodeWithOffsets if with_offsets else raw.UnicodeDecode
    splits, *parts = decode(
        flat,
        input_encoding=input_encoding,
        errors=errors,
        replacement_char=replacement_char,
        replace_control_characters=replace_control_characters,
    )
    if rank:
        parts = [RaggedTensor.from_row_splits(p, splits, validate=False) for p in parts]
    if rank > 1:
        parts = [input.with_flat_values(p) for p in parts]
    return tuple(parts) if with_offsets else parts[0]


@export("strings.unicode_decode")
def unicode_decode(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 0xFFFD,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Any:
    """Returns the code points of each string, ragged."""
    with name_scope(name, "UnicodeDecode", [input]):
        return _decoded(
            input, input_encoding, errors, replacement_char, replace_control_characters, False
        )


@export("strings.unicode_decode_with_offsets")
def unicode_decode_with_offsets(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 0xFFFD,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Any:
    """Returns the code points of each string, ragged, and likewise the bytes that they begin at."""
    with name_scope(name, "UnicodeDecodeWithOffsets", [input]):
        return _decoded(
            input, input_encoding, errors, replacement_char, replace_control_characters, True
        )


def _each_alone(characters: Any, encoding: str, errors: str, replacement_char: int) -> Any:
    """Every code point as a string of its own."""
    if isinstance(characters, RaggedTensor):
        flat = characters.flat_values
        alone = unicode_encode(raw.ExpandDims(flat, -1), encoding, errors, replacement_char)
        return characters.with_flat_values(alone)
    return unicode_encode(raw.ExpandDims(characters, -1), encoding, errors, replacement_char)


@export("strings.unicode_split")
def unicode_split(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 0xFFFD,
    name: str | None = None,
) -> Any:
    """Returns the characters of each string, as strings in the same encoding, ragged."""
    with name_scope(name, "UnicodeSplit", [input]):
        characters = _decoded(input, input_encoding, errors, replacement_char, False, False)
        return _each_alone(characters, input_encoding, errors, replacement_char)


@export("strings.unicode_split_with_offsets")
def unicode_split_with_offsets(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 0xFFFD,
    name: str | None = None,
) -> Any:
    """Returns the characters of each string, as strings, ragged, and likewise the bytes that they begin at."""
    with name_scope(name, "UnicodeSplitWithOffsets", [input]):
        characters, starts = _decoded(input, input_encoding, errors, replacement_char, False, True)
        return _each_alone(characters, input_encoding, errors, replacement_char), starts
