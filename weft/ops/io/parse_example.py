"""ParseExample and ParseSingleExample: the features of Examples as tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from weft.framework import dtypes, errors
from weft.framework.registry import op
from weft.framework.shape_rules import concatenate, fail, rank, text
from weft.ops.io.feature_columns import NAMES, Column, Unreadable, columns, examples


def invalid(message: str) -> errors.OpError:
    return errors.InvalidArgumentError(None, None, message)


def by_kind(kinds: Sequence[dtypes.DType], raws: Sequence[Sequence[bytes]]) -> list[Column]:
    """The columns of features of several kinds; `Unreadable` tells the feature by its position."""
    found: list[Any] = [None] * len(kinds)
    for kind in (dtypes.int64, dtypes.float32, dtypes.string):
        at = [i for i, k in enumerate(kinds) if k is kind]
        if at:
            try:
                for i, column in zip(at, columns([raws[i] for i in at], kind)):
                    found[i] = column
            except Unreadable as e:
                e.feature = at[e.feature]
                raise
    return found


def key_text(key: bytes) -> str:
    """The name of a feature as protobuf has it."""
    try:
        return key.decode()
    except UnicodeDecodeError:
        raise invalid(f"The key of a feature is no text in UTF-8: {key!r}") from None


class Wanted:
    """What to find in Examples: the keys, kinds and shapes of features, and what stands in for dense ones."""

    def __init__(
        self,
        sparse_keys: list[str],
        sparse_types: list[dtypes.DType],
        dense_keys: list[str],
        dense_types: list[dtypes.DType],
        dense_shapes: list[tuple],
        dense_defaults: list[np.ndarray],
    ):
        check_lengths(sparse_keys, sparse_types, dense_keys, dense_types, dense_shapes)
        self.keys = [*sparse_keys, *dense_keys]
        self.kinds = [*sparse_types, *dense_types]
        self.sparse = len(sparse_keys)
        self.dense = list(zip(dense_keys, dense_types, dense_shapes, dense_defaults))
        for i, (_, _, shape, default) in enumerate(self.dense):
            _check_default(i, shape, default)

    def columns(self, maps: list[Any]) -> list[Column]:
        """The columns of the features, given mappings from names to bytes."""
        return by_kind(self.kinds, raw_columns(maps, self.keys))


def raw_columns(maps: list[Any], keys: list[str]) -> list[Sequence[bytes]]:
    """The bytes of features, of each in all Examples."""
    if not maps or len(keys) < 2:
        return [[m[key] for m in maps] for key in keys]
    return list(zip(*map(itemgetter(*keys), maps)))


def check_lengths(sparse_keys, sparse_types, dense_keys, dense_types, dense_shapes) -> None:
    if len(sparse_keys) != len(sparse_types):
        raise invalid("len(sparse_keys) != len(sparse_types)")
    if len(dense_keys) != len(dense_types):
        raise invalid("len(dense_keys) != len(dense_types)")
    if len(dense_keys) != len(dense_shapes):
        raise invalid("len(dense_keys) != len(dense_shapes)")


def is_ragged(shape: tuple) -> bool:
    """Whether an Example has any number of elements of a dense feature."""
    return bool(shape) and shape[0] is None


def _check_default(i: int, shape: tuple, default: np.ndarray) -> None:
    if is_ragged(shape):
        if default.size != 1:
            raise invalid(
                f"dense_shape[{i}] is a variable length shape: {text(shape)}, therefore def_value[{i}] must "
                "contain a single element (the padding element).  But its shape is: "
                f"{text(default.shape)}"
            )
    elif default.size and default.shape != shape:
        raise invalid(
            f"def_value[{i}].shape() == {text(default.shape)} is not compatible with dense_shapes_[{i}] == "
            f"{text(shape)}"
        )


def count(shape: Sequence[int]) -> int:
    return math.prod(shape)


def sparse_outputs(found: list[Column], n: int) -> tuple[list, list, list]:
    """Indices, values and shapes of features that have a row in each Example."""
    if not found:
        return [], [], []
    counts = np.stack([column.counts for column in found])
    totals = np.cumsum(counts.reshape(-1))
    stops = totals.reshape(len(found), n)[:, -1].tolist() if n else [0] * len(found)
    every = counts.reshape(-1)
    at = np.empty((stops[-1], 2), np.int64)
    at[:, 0] = np.repeat(np.tile(np.arange(n), len(found)), every)
    at[:, 1] = np.arange(stops[-1])
    at[:, 1] -= np.repeat(totals - every, every)
    most = counts.max(axis=1) if n else [0] * len(found)
    return (
        [at[start:stop] for start, stop in zip([0, *stops], stops)],
        [column.values for column in found],
        [np.array([n, m], np.int64) for m in most],
    )


_MANY = {dtypes.int64: "int64", dtypes.float32: "float", dtypes.string: "bytes"}


def dense_output(
    column: Column, n: int, kind: dtypes.DType, shape: tuple, default: np.ndarray, fails: Any
) -> np.ndarray:
    """A feature that has a fixed number of elements in each Example; `fails(row, why)` gives the error."""
    size = count(shape)
    if column.each == size:
        return column.values.reshape(n, *shape)
    present = column.present
    counts = column.counts if present is None else column.counts[present]
    wrong = counts != size
    if wrong.any():
        rows = np.flatnonzero(wrong) if present is None else np.flatnonzero(present)[wrong]
        row = int(rows[0])
        raise fails(
            row,
            f"Number of {_MANY[kind]} values != expected.  Values size: {column.counts[row]} but output "
            f"shape: {text(shape)}",
        )
    if present is None:
        return column.values.reshape(n, *shape)
    if not default.size:
        raise fails(int(np.argmin(present)), None)
    out = np.empty((n, *shape), kind.np)
    out[present] = column.values.reshape(-1, *shape)
    out[~present] = default
    return out


def ragged_output(
    column: Column, n: int, kind: dtypes.DType, shape: tuple, default: np.ndarray, fails: Any
) -> np.ndarray:
    """A feature with any number of elements in each Example, padded to the most that one has."""
    stride = count(shape[1:])
    counts = column.counts
    odd = np.flatnonzero(counts % stride) if stride else np.flatnonzero(counts)
    if len(odd):
        row = int(odd[0])
        raise fails(
            row,
            f"Number of {_MANY[kind]} values is not a multiple of stride length. Saw {counts[row]} values but "
            f"output shape is: {text(shape)}",
        )
    most = int(counts.max()) if n else 0
    out = np.empty((n, most), kind.np)
    out[...] = default.reshape(())
    out[np.arange(most) < counts[:, None]] = column.values
    return out.reshape(n, most // stride if stride else 0, *shape[1:])


@op(
    "ParseExample",
    "serialized: string, names: string, sparse_keys: Nsparse*string, dense_keys: Ndense*string, "
    "dense_defaults: Tdense -> sparse_indices: Nsparse*int64, sparse_values: sparse_types, "
    "sparse_shapes: Nsparse*int64, dense_values: Tdense",
    "Nsparse: int >= 0; Ndense: int >= 0; sparse_types: list(type) in {float, int64, string} >= 0; "
    "Tdense: list(type) in {float, int64, string} >= 0; dense_shapes: list(shape) >= 0",
    host=True,
)
def parse_example_op(
    xp,
    serialized,
    names,
    sparse_keys,
    dense_keys,
    dense_defaults,
    *,
    sparse_types,
    Tdense,
    dense_shapes,
):
    """The features of a batch of Examples: sparse ones as indices, values and shape, dense ones as they are."""
    wanted = Wanted(
        [key_text(key[()]) for key in sparse_keys],
        sparse_types,
        [key_text(key[()]) for key in dense_keys],
        Tdense,
        dense_shapes,
        dense_defaults,
    )
    n = len(serialized)
    if names.size and names.size != n:
        raise invalid(f"Expected len(names) == len(serialized), but got: {names.size} vs. {n}")

    def name(row: int) -> str:
        return names[row].decode(errors="replace") if names.size else "<unknown>"

    try:
        maps = examples(serialized.tolist())
    except Unreadable as e:
        raise invalid(
            f"Name: {name(e.row)}, Index: {e.row}.  Could not parse example input, value: '{e.why}'"
        ) from None
    try:
        found = wanted.columns(maps)
    except Unreadable as e:
        raise invalid(
            f"Name: {name(e.row)}, Key: {wanted.keys[e.feature]}, Index: {e.row}.  {e.why}"
        ) from None
    dense = []
    for column, (key, kind, shape, default) in zip(found[wanted.sparse :], wanted.dense):

        def fails(row: int, why: str | None, key: str = key, kind: Any = kind) -> errors.OpError:
            if why is None:
                return invalid(
                    f"Name: {name(row)}, Feature: {key} (data type: {NAMES[kind]}) is required but could not "
                    "be found."
                )
            return invalid(f"Name: {name(row)}, Key: {key}, Index: {row}.  {why}")

        make = ragged_output if is_ragged(shape) else dense_output
        dense.append(make(column, n, kind, shape, default, fails))
    return *sparse_outputs(found[: wanted.sparse], n), dense


@parse_example_op.shape
def _(
    serialized,
    names,
    sparse_keys,
    dense_keys,
    dense_defaults,
    *,
    sparse_types,
    Tdense,
    dense_shapes,
):
    batch = rank(serialized, 1)
    rank(names, 1)
    check_attributes(sparse_keys, sparse_types, dense_keys, Tdense, dense_shapes)
    n = len(sparse_keys)
    return (
        [(None, 2)] * n,
        [(None,)] * n,
        [(2,)] * n,
        [concatenate(batch, shape) for shape in dense_shapes],
    )


def check_attributes(sparse_keys, sparse_types, dense_keys, dense_types, dense_shapes) -> None:
    """Fails where the attributes of a parsing op do not fit each other."""
    try:
        check_lengths(sparse_keys, sparse_types, dense_keys, dense_types, dense_shapes)
    except errors.InvalidArgumentError as e:
        fail(e.message)
    for shape in dense_shapes:
        if shape is None or None in shape[1:]:
            fail(
                f"dense_shapes has a shape of which more than the first size is unknown: {text(shape)}"
            )


parse_example_op.not_differentiable()


@op(
    "ParseSingleExample",
    "serialized: string, dense_defaults: Tdense -> sparse_indices: num_sparse*int64, "
    "sparse_values: sparse_types, sparse_shapes: num_sparse*int64, dense_values: Tdense",
    "num_sparse: int >= 0; sparse_keys: list(string) >= 0; dense_keys: list(string) >= 0; "
    "sparse_types: list(type) in {float, int64, string} >= 0; "
    "Tdense: list(type) in {float, int64, string} >= 0; dense_shapes: list(shape) >= 0",
    host=True,
)
def parse_single_example_op(
    xp, serialized, dense_defaults, *, sparse_keys, dense_keys, sparse_types, Tdense, dense_shapes
):
    """The features of one Example."""
    wanted = Wanted(sparse_keys, sparse_types, dense_keys, Tdense, dense_shapes, dense_defaults)
    try:
        maps = examples([serialized[()]])
    except Unreadable as e:
        raise invalid(f"Could not parse example input, value: '{e.why}'") from None
    try:
        found = wanted.columns(maps)
    except Unreadable as e:
        raise invalid(f"Key: {wanted.keys[e.feature]}.  {e.why}") from None
    dense = []
    for column, (key, kind, shape, default) in zip(found[wanted.sparse :], wanted.dense):

        def fails(row: int, why: str | None, key: str = key, kind: Any = kind) -> errors.OpError:
            if why is None:
                return invalid(
                    f"Feature: {key} (data type: {NAMES[kind]}) is required but could not be found."
                )
            return invalid(f"Key: {key}.  Can't parse serialized Example: {why}")

        make = ragged_output if is_ragged(shape) else dense_output
        dense.append(make(column, 1, kind, shape, default, fails)[0])
    sparse = [column.values for column in found[: wanted.sparse]]
    return (
        [np.arange(len(values)).reshape(-1, 1) for values in sparse],
        sparse,
        [np.array([len(values)], np.int64) for values in sparse],
        [x if isinstance(x, np.ndarray) else np.array(x, k.np) for x, k in zip(dense, Tdense)],
    )


@parse_single_example_op.shape
def _(serialized, dense_defaults, *, sparse_keys, dense_keys, sparse_types, Tdense, dense_shapes):
    rank(serialized, 0)
    check_attributes(sparse_keys, sparse_types, dense_keys, Tdense, dense_shapes)
    n = len(sparse_keys)
    return [(None, 1)] * n, [(None,)] * n, [(1,)] * n, list(dense_shapes)


@parse_single_example_op.rows("serialized")
def _(
    xp, serialized, dense_defaults, *, sparse_keys, dense_keys, sparse_types, Tdense, dense_shapes
):
    wanted = Wanted(sparse_keys, sparse_types, dense_keys, Tdense, dense_shapes, dense_defaults)
    n = len(serialized)
    found = wanted.columns(examples(serialized.tolist()))
    dense: list[Any] = []
    for column, (_, kind, shape, default) in zip(found[wanted.sparse :], wanted.dense):
        if is_ragged(shape):
            dense.append([part.reshape(-1, *shape[1:]) for part in _parts(column)])
        else:
            dense.append(
                dense_output(column, n, kind, shape, default, lambda row, why: invalid(""))
            )
    sparse = found[: wanted.sparse]
    counts = [column.counts for column in sparse]
    return (
        [[np.arange(count).reshape(-1, 1) for count in each.tolist()] for each in counts],
        [_parts(column) for column in sparse],
        [each.astype(np.int64).reshape(-1, 1) for each in counts],
        dense,
    )


def _parts(column: Column) -> list[np.ndarray]:
    """The values of each Example."""
    return np.split(column.values, np.cumsum(column.counts)[:-1])


parse_single_example_op.not_differentiable()
