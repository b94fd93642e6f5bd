"""map_fn over the rows of ragged tensors, or with ragged results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.framework import conversion, dtypes, nest
from weft.framework.scopes import name_scope
from weft.framework.sparse_tensor import SparseTensor
from weft.ops.array.reshape import expand_dims
from weft.ops.flow.tensor_array import TensorArray
from weft.ops.flow.while_loop import while_loop
from weft.ops.ragged.spec import RaggedTensorType
from weft.ops.ragged.splits import lengths_of
from weft.ops.ragged.tensor import (
    RaggedTensor,
    is_ragged,
    rows_of,
    tensor_or_ragged,
    with_same_splits_dtype,
)


def takes(args: tuple, kwargs: dict[str, Any]) -> bool:
    """Whether a call has ragged rows, or says that its results are ragged."""
    elems = args[1] if len(args) > 1 else kwargs.get("elems")
    dtype = args[2] if len(args) > 2 else kwargs.get("dtype")
    return any(map(is_ragged, nest.flatten(elems))) or any(
        isinstance(d, RaggedTensorType) for d in nest.flatten(dtype)
    )


class _Dense:
    """Collects results that are tensors of one shape."""

    def __init__(self, dtype: Any, count: Any, infer_shape: bool):
        make = [TensorArray(dtype=dtype, size=count, infer_shape=infer_shape)]
        self.arrays = make

    def parts(self, value: Any) -> list[Any]:
        return [value]

    def result(self, arrays: list[Any]) -> Any:
        return arrays[0].stack()


class _Ragged:
    """Collects results that are rows of a ragged tensor: their values, and all their lengths."""

    def __init__(self, kind: RaggedTensorType, count: Any, infer_shape: bool):
        self.kind = kind
        lengths = [kind.row_splits_dtype] * kind.ragged_rank
        self.arrays = [
            TensorArray(dtype=t, size=count, infer_shape=infer_shape)
            for t in [kind.dtype, *lengths]
        ]

    def parts(self, value: Any) -> list[Any]:
        kind, found = self.kind, getattr(value, "ragged_rank", 0) + 1
        if kind.ragged_rank != found:
            raise ValueError(
                f"The declared ragged rank ({kind.ragged_rank}) mismatches the result ({found})"
            )
        if kind.dtype != value.dtype:
            raise ValueError(
                f"The declared dtype ({kind.dtype!r}) mismatches the result ({value.dtype!r})"
            )
        rows = expand_dims(rows_of(value, kind.row_splits_dtype), 0)
        if not isinstance(value, RaggedTensor):
            return [value, rows]
        if value.row_splits.dtype.base_dtype is not kind.row_splits_dtype:
            raise ValueError(
                f"The declared row_splits dtype ({kind.row_splits_dtype!r}) mismatches the result "
                f"({value.row_splits.dtype!r}).  Use RaggedTensor.with_row_splits_dtype to convert it."
            )
        return [value.flat_values, rows, *map(lengths_of, value.nested_row_splits)]

    def result(self, arrays: list[Any]) -> Any:
        values, *lengths = [a.concat() for a in arrays]
        return RaggedTensor.from_nested_row_lengths(values, lengths, validate=False)


def map_fn(
    function: Callable,
    fn: Callable,
    elems: Any,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: str | None = None,
) -> Any:
    """`tf.map_fn` with ragged rows, or ragged results, whose type is a `RaggedTensorType`."""
    if not callable(fn):
        raise TypeError("fn must be callable.")
    flat = nest.flatten(elems)
    if any(isinstance(e, SparseTensor) for e in flat):
        raise TypeError("To perform a map on the values of a sparse tensor use its values.")
    with name_scope(name, "map"):
        _, rows = with_same_splits_dtype(*[tensor_or_ragged(e, name="elem") for e in flat])
        for e in rows:
            if e.shape.rank == 0:
                raise ValueError("elements in elems must be 1+ dimensional Tensors, not scalars")
        wanted = dtype if dtype is not None else _packed(elems, [e.dtype for e in rows])
        count = rows_of(rows[0], dtypes.int32)
        kept = [
            (_Ragged if isinstance(d, RaggedTensorType) else _Dense)(d, count, infer_shape)
            for d in nest.flatten(wanted)
        ]

        def body(i: Any, arrays: Any) -> Any:
            values = nest.flatten(fn(_packed(elems, [e[i] for e in rows])))
            parts = [p for k, value in zip(kept, values) for p in k.parts(value)]
            return i + 1, [a.write(i, p) for a, p in zip(arrays, parts)]

        _, arrays = while_loop(
            lambda i, _: i < count,
            body,
            (conversion.convert_to_tensor(0), [a for k in kept for a in k.arrays]),
            parallel_iterations=parallel_iterations or 10,
            back_prop=back_prop,
            swap_memory=swap_memory,
        )
        results, left = [], list(arrays)
        for k in kept:
            own, left = left[: len(k.arrays)], left[len(k.arrays) :]
            results.append(k.result(own))
        return _packed(wanted, results)


def _packed(structure: Any, flat: list[Any]) -> Any:
    return nest.pack_sequence_as(structure, flat) if nest.is_nested(structure) else flat[0]
