"""RaggedTensorToVariant and RaggedTensorFromVariant: ragged tensors as elements of a tensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import conversion, dtypes
from weft.framework.registry import op
from weft.framework.scopes import name_scope
from weft.framework.shape_rules import rank, rank_at_least, text, vector
from weft.ops.flow.list_value import invalid
from weft.ops.ragged.sparse import check_splits


class EncodedRagged:
    """The splits and values of one ragged tensor."""

    __slots__ = ("splits", "values")

    def __init__(self, splits: list[np.ndarray], values: np.ndarray):
        self.splits, self.values = splits, values

    def __repr__(self) -> str:
        return f"<ragged with {len(self.splits)} splits, values {text(self.values.shape)}>"


@op(
    "RaggedTensorToVariant",
    "rt_nested_splits: RAGGED_RANK*Tsplits, rt_dense_values: Tvalues -> encoded_ragged: variant",
    "RAGGED_RANK: int >= 1; Tvalues: type; Tsplits: type in {int32, int64}; batched_input: bool",
    host=True,
)
def ragged_tensor_to_variant(xp, rt_nested_splits, rt_dense_values, *, batched_input):
    """A ragged tensor as one element, or each of its rows as an element of a vector."""
    splits, values = list(rt_nested_splits), rt_dense_values
    if not batched_input:
        return EncodedRagged(splits, values)
    check_splits(splits, len(values))
    out = np.empty(splits[0].size - 1, object)
    for i in range(out.size):
        out[i] = _row(splits, values, i)
    return out


def _row(splits: list[np.ndarray], values: np.ndarray, i: int) -> EncodedRagged:
    start, limit = splits[0][i], splits[0][i + 1]
    parts = []
    for inner in splits[1:]:
        part = inner[start : limit + 1]
        start, limit = part[0], part[-1]
        parts.append(part - start)
    return EncodedRagged(parts, values[start:limit])


@ragged_tensor_to_variant.shape
def _(rt_nested_splits, rt_dense_values, *, batched_input):
    rank_at_least(rt_dense_values, 1, "rt_dense_values")
    first = [vector(splits, "rt_nested_splits") for splits in rt_nested_splits][0]
    if not batched_input:
        return ()
    return (None if first[0] is None else first[0] - 1,)


ragged_tensor_to_variant.not_differentiable()


@op(
    "RaggedTensorFromVariant",
    "encoded_ragged: variant "
    "-> output_nested_splits: output_ragged_rank*Tsplits, output_dense_values: Tvalues",
    "input_ragged_rank: int >= -1; output_ragged_rank: int >= 1; Tvalues: type; "
    "Tsplits: type in {int32, int64}",
    host=True,
)
def ragged_tensor_from_variant(
    xp, encoded_ragged, *, input_ragged_rank, output_ragged_rank, Tvalues, Tsplits
):
    """The ragged tensor of one element, or of a tensor of them, which becomes its outer dimensions."""
    elements = encoded_ragged
    if not isinstance(elements, np.ndarray):
        elements = np.empty((), object)
        elements[()] = encoded_ragged
    inner = input_ragged_rank
    if inner == -1:
        inner = output_ragged_rank - elements.ndim
        if inner < 0:
            raise invalid(
                "Inferred input_ragged_rank (output_ragged_rank - encoded_variant.dims()) must be >= 0, found "
                f"output_ragged_rank: {output_ragged_rank}, encoded_variant.dims(): {elements.ndim}, inferred "
                f"input_ragged_rank: {inner}"
            )
    if output_ragged_rank != elements.ndim + inner:
        raise invalid(
            "output_ragged_rank must be equal to input_ragged_rank + encoded_ragged.dims(); "
            f"output_ragged_rank: {output_ragged_rank}, input_ragged_rank: {inner}, "
            f"encoded_variant.dims(): {elements.ndim}."
        )
    items = [_checked(i, e, inner, Tvalues, Tsplits) for i, e in enumerate(elements.ravel())]
    if not elements.ndim:
        return items[0].splits, items[0].values
    if not items:
        raise invalid("There is no element that could tell the shape of the values.")
    return _stacked(items, elements.shape, inner, Tsplits.np)


def _checked(i: int, item: Any, inner: int, values: Any, splits: Any) -> EncodedRagged:
    if not isinstance(item, EncodedRagged):
        raise invalid(f"Input Variant element at index {i} doesn't hold a Tensor: {item!r}")
    if len(item.splits) not in (inner, 0):
        raise invalid(
            "Encoded input Variant must hold either input_ragged_rank + 1 Tensors or an empty Tensor (zero "
            f"splits Tensors, 1 values Tensor), input_ragged_rank: {inner}, encoded input Variant: {item!r}"
        )
    for part in item.splits:
        if part.dtype != splits.np:
            raise invalid(f"Expected splits Tensor dtype: {splits.name}, found: {part.dtype.name}")
    if item.values.dtype != values.np:
        found = dtypes.as_dtype(item.values.dtype).name
        raise invalid(f"Expected values Tensor dtype: {values.name}, found: {found}")
    return item


def _stacked(items: list[EncodedRagged], dims: tuple, inner: int, dtype: Any) -> tuple:
    shapes = {item.values.shape[1:] for item in items}
    if len(shapes) > 1:
        raise invalid(
            f"All flat_values must have compatible shapes, but have {sorted(map(text, shapes))}."
        )
    splits = [np.arange(n + 1, dtype=dtype) * size for n, size in zip(_counts(dims), dims[1:])]
    lengths = [len(item.values) if not inner else _count_rows(item) for item in items]
    splits.append(_ends(np.array(lengths, dtype), dtype))
    for level in range(inner):
        parts = [np.diff(item.splits[level]) for item in items if item.splits]
        splits.append(_ends(np.concatenate(parts), dtype))
    return splits, np.concatenate([item.values for item in items])


def _counts(dims: tuple) -> np.ndarray:
    return np.cumprod(dims[:-1], dtype=np.int64) if len(dims) > 1 else np.zeros(0, np.int64)


def _count_rows(item: EncodedRagged) -> int:
    return item.splits[0].size - 1 if item.splits else len(item.values)


def _ends(lengths: np.ndarray, dtype: Any) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(dtype)


@ragged_tensor_from_variant.shape
def _(encoded_ragged, *, input_ragged_rank, output_ragged_rank):
    if encoded_ragged is not None and input_ragged_rank >= 0:
        rank(encoded_ragged, output_ragged_rank - input_ragged_rank, "encoded_ragged")
    return [(None,)] * output_ragged_rank, None


ragged_tensor_from_variant.not_differentiable()


def to_variant(ragged: Any, batched: bool, name: str | None) -> Any:
    with name_scope(name, "RaggedToVariant", [ragged.flat_values]):
        return ragged_tensor_to_variant(
            list(ragged.nested_row_splits), ragged.flat_values, batched_input=batched, name=name
        )


def from_variant(
    kind: Any,
    encoded: Any,
    dtype: Any,
    output_ragged_rank: int,
    input_ragged_rank: int | None,
    name: str | None,
) -> Any:
    encoded = conversion.convert_to_tensor(encoded, dtypes.variant, "variant")
    outer = encoded.shape.rank
    if outer is not None and input_ragged_rank is not None:
        if output_ragged_rank != input_ragged_rank + outer:
            raise ValueError(
                "output_ragged_rank must be equal to input_ragged_rank +variant.shape.ndims, found "
                f"variant.shape.ndims: {outer}, input_ragged_rank: {input_ragged_rank}, "
                f"output_ragged_rank: {output_ragged_rank}"
            )
    with name_scope(name, "RaggedFromVariant", [encoded]):
        result = ragged_tensor_from_variant(
            encoded,
            input_ragged_rank=-1 if input_ragged_rank is None else input_ragged_rank,
            output_ragged_rank=output_ragged_rank,
            Tvalues=dtype,
            Tsplits=dtypes.int64,
            name=name,
        )
        return kind.from_nested_row_splits(
            result.output_dense_values, result.output_nested_splits, validate=False
        )
