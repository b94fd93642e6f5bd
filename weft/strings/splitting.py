"""`tf.string_split`, `tf.strings.split`, `tf.strings.bytes_split`."""

from __future__ import annotations

from typing import Any

from weft.framework import dtypes
from weft.framework.export import export
from weft.framework.scopes import name_scope
from weft.framework.sparse_tensor import SparseTensor
from weft.ops.by_name import raw
from weft.ops.math.reduce_functions import chosen
from weft.ops.ragged.tensor import RaggedTensor, tensor_or_ragged
from weft.ops.strings.split import split_on_bytes, split_on_text

_KINDS = "result_type must be 'RaggedTensor' or 'SparseTensor'."


def _as_ragged(parts: SparseTensor) -> Any:
    """The rows of a sparse matrix without the empty places behind them."""
    rows = raw.StridedSlice(
        parts.indices, [0, 0], [0, 1], [1, 1], begin_mask=1, end_mask=1, shrink_axis_mask=2
    )
    count = raw.StridedSlice(parts.dense_shape, [0], [1], [1], shrink_axis_mask=1)
    return RaggedTensor.from_value_rowids(
        values=parts.values, value_rowids=rows, nrows=count, validate=False
    )


def _rows(input: Any, split: Any) -> Any:
    """What a function of vectors gives for strings of any rank: one more dimension, ragged."""
    if isinstance(input, RaggedTensor):
        return input.with_flat_values(_rows(input.flat_values, split))
    rank = None if input.dims is None else len(input.dims)
    if rank == 0:
        return split(raw.Pack([input])).values
    if rank == 1 or rank is None:
        return _as_ragged(split(input))
    return _rows(RaggedTensor.from_tensor(input), split)


@export("string_split")
def string_split(
    source: Any,
    sep: Any = None,
    skip_empty: bool = True,
    delimiter: Any = None,
    result_type: str = "SparseTensor",
    name: str | None = None,
) -> Any:
    """Returns the parts of strings between any of the bytes of `sep` (a blank if none is given).

    With an empty `sep` every byte is a part. Empty parts are left out, unless `skip_empty` is False.
    """
    with name_scope(name, "StringSplit", [source]):
        parts = split_on_bytes(source, chosen("delimiter", delimiter, "sep", sep), skip_empty)
        if result_type == "SparseTensor":
            return parts
        if result_type == "RaggedTensor":
            return _as_ragged(parts)
        raise ValueError(_KINDS)


@export("strings.split")
def split(
    input: Any = None,
    sep: Any = None,
    maxsplit: int = -1,
    result_type: str = "SparseTensor",
    source: Any = None,
    name: str | None = None,
) -> Any:
    """Returns the parts of strings between separators (white space if none is given), as `str.split` does."""
    input = chosen("source", source, "input", input)
    if result_type not in ("SparseTensor", "RaggedTensor"):
        raise ValueError(_KINDS)
    with name_scope(name, "StringSplit", [input]):
        input = tensor_or_ragged(input, dtypes.string, name="input")
        rank = None if isinstance(input, RaggedTensor) or input.dims is None else len(input.dims)
        if result_type == "SparseTensor" and rank == 1:
            return split_on_text(input, sep, maxsplit)
        ragged = _rows(input, lambda strings: split_on_text(strings, sep, maxsplit))
        return ragged.to_sparse() if result_type == "SparseTensor" else ragged


@export("compat.v2.strings.split")
def split_v2(input: Any, sep: Any = None, maxsplit: int = -1, name: str | None = None) -> Any:
    """Returns the parts of strings between separators (white space if none is given), ragged."""
    return split(input, sep, maxsplit, result_type="RaggedTensor", name=name)


@export("strings.bytes_split")
def bytes_split(input: Any, name: str | None = None) -> Any:
    """Returns the bytes of strings, each as a string, ragged."""
    with name_scope(name, "StringsByteSplit", [input]):
        input = tensor_or_ragged(input, name="input")
        if not isinstance(input, RaggedTensor) and input.dims is None:
            raise ValueError("input must have a statically-known rank.")
        return _rows(input, lambda strings: split_on_bytes(strings, "", False))
