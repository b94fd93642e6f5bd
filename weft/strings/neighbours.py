"""`tf.strings.ngrams`."""

from __future__ import annotations

from typing import Any

from weft.framework import dtypes
from weft.framework.export import export
from weft.framework.scopes import name_scope
from weft.ops.by_name import raw
from weft.ops.ragged.tensor import RaggedTensor, tensor_or_ragged
from weft.strings.rows import equal_rows


def _pads(pad_values: Any) -> tuple[Any, Any]:
    """What rows are padded with, left and right."""
    if pad_values is None:
        return "", ""
    pair = pad_values if isinstance(pad_values, (list, tuple)) else (pad_values, pad_values)
    if not all(isinstance(pad, (str, bytes)) for pad in pair[:2]):
        raise TypeError("pad_values must be a string, tuple of strings, or None.")
    return pair[0], pair[1]


@export("strings.ngrams")
def ngrams(
    data: Any,
    ngram_width: Any,
    separator: str = " ",
    pad_values: Any = None,
    padding_width: int | None = None,
    preserve_short_sequences: bool = False,
    name: str | None = None,
) -> Any:
    """Returns the runs of `ngram_width` neighbours (or of several widths) in each row of strings, joined.

    Rows are padded at both ends if there are `pad_values`, as far as a run reaches or by `padding_width`.
    """
    with name_scope(name, "StringNGrams", [data]):
        left, right = _pads(pad_values)
        if padding_width is not None and padding_width < 1:
            raise ValueError("padding_width must be greater than 0.")
        if padding_width is not None and pad_values is None:
            raise ValueError("pad_values must be provided if padding_width is set.")
        widths = list(ngram_width) if isinstance(ngram_width, (list, tuple)) else [ngram_width]
        if any(width < 1 for width in widths):
            raise ValueError(f"All ngram_widths must be greater than 0. Got {ngram_width}")
        if pad_values is None:
            padding_width = 0
        elif padding_width is None:
            padding_width = -1
        how = {
            "separator": separator,
            "ngram_widths": widths,
            "left_pad": left,
            "right_pad": right,
            "pad_width": padding_width,
            "preserve_short_sequences": preserve_short_sequences,
        }
        data = tensor_or_ragged(data, dtypes.string, name="data")
        if isinstance(data, RaggedTensor):
            return _of_ragged(data, how)
        if data.shape.ndims is None:
            raise ValueError("Rank of data must be known.")
        if data.shape.ndims == 0:
            raise ValueError("Data must have rank>0")
        flat, splits, rows_shape = equal_rows(data)
        found, _ = raw.StringNGrams(flat, splits, **how)
        shape = raw.ConcatV2([raw.Cast(rows_shape, DstT=dtypes.int32), [-1]], 0)
        return raw.Reshape(found, shape)


def _of_ragged(data: Any, how: dict[str, Any]) -> Any:
    if data.ragged_rank > 1:
        return data.with_values(_of_ragged(data.values, how))
    found, splits = raw.StringNGrams(data.flat_values, data.row_splits, **how)
    return RaggedTensor.from_row_splits(values=found, row_splits=splits, validate=False)
