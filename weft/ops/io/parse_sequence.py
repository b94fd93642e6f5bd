"""ParseSequenceExample and ParseSingleSequenceExample: what holds for a whole sequence, and lists of features."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import dtypes, errors
from weft.framework.registry import op
from weft.framework.shape_rules import concatenate, fail, rank, text
from weft.ops.io.feature_columns import (
    NAMES,
    Column,
    Mismatch,
    Unreadable,
    columns,
    sequence_examples,
)
from weft.ops.io.parse_example import (
    by_kind,
    count,
    dense_output,
    invalid,
    key_text,
    raw_columns,
    sparse_outputs,
)

_TYPES = (
    "context_sparse_types: list(type) in {float, int64, string} >= 0 = []; "
    "Tcontext_dense: list(type) in {float, int64, string} >= 0 = []; "
    "feature_list_dense_types: list(type) in {float, int64, string} >= 0 = []; "
    "context_dense_shapes: list(shape) >= 0 = []; "
    "feature_list_sparse_types: list(type) in {float, int64, string} >= 0 = []; "
    "feature_list_dense_shapes: list(shape) >= 0 = []"
)
_COUNTS = (
    "Ncontext_sparse: int >= 0 = 0; Ncontext_dense: int >= 0 = 0; Nfeature_list_sparse: int >= 0 = 0; "
    "Nfeature_list_dense: int >= 0 = 0"
)
_OUTPUTS = (
    "context_sparse_indices: Ncontext_sparse*int64, context_sparse_values: context_sparse_types, "
    "context_sparse_shapes: Ncontext_sparse*int64, context_dense_values: Tcontext_dense, "
    "feature_list_sparse_indices: Nfeature_list_sparse*int64, "
    "feature_list_sparse_values: feature_list_sparse_types, "
    "feature_list_sparse_shapes: Nfeature_list_sparse*int64, "
    "feature_list_dense_values: feature_list_dense_types"
)


class Sequences:
    """Some SequenceExamples; errors name the one that they are about."""

    def __init__(self, serialized: list[bytes], names: list[bytes]):
        self.n, self.names = len(serialized), names
        try:
            self.messages = sequence_examples(serialized)
        except Unreadable as e:
            raise invalid(
                f"Could not parse example input of {self.name(e.row)}, value: '{e.why}'"
            ) from None

    def name(self, row: int) -> str:
        return self.names[row].decode(errors="replace") if self.names else "<unknown>"

    def context(
        self,
        keys: list[str],
        sparse: int,
        kinds: list[dtypes.DType],
        shapes: list[tuple],
        defaults: list[np.ndarray],
    ) -> tuple[list[Column], list[np.ndarray]]:
        """The columns of the sparse features, the first `sparse` keys, and the values of the dense ones."""
        maps = [m.context.feature for m in self.messages]
        try:
            found = by_kind(kinds, raw_columns(maps, keys))
        except Unreadable as e:
            raise invalid(
                f"Name: {self.name(e.row)}, Context feature: {keys[e.feature]}.  {e.why}"
            ) from None
        dense = []
        for i, (key, shape, default) in enumerate(zip(keys[sparse:], shapes, defaults)):
            kind = kinds[sparse + i]
            if default.size and default.shape != shape:
                raise invalid(
                    f"def_value[{i}].shape() == {text(default.shape)} != context_dense_shapes_[{i}] == {text(shape)}"
                )

            def fails(
                row: int, why: str | None, key: str = key, kind: Any = kind
            ) -> errors.OpError:
                if why is None:
                    return invalid(
                        f"Name: {self.name(row)}, Context feature '{key}' (data type: {NAMES[kind]}) is required but "
                        "could not be found."
                    )
                return invalid(f"Name: {self.name(row)}, Key: {key}.  {why}")

            dense.append(dense_output(found[sparse + i], self.n, kind, shape, default, fails))
        return found[:sparse], dense

    def lists(self, key: str, kind: dtypes.DType) -> tuple[Column, np.ndarray, np.ndarray]:
        """The column of all features in the lists of a key, how many each sequence has, and which have the list."""
        lists, has = [], []
        for message in self.messages:
            found = message.feature_lists.feature_list
            has.append(key in found)
            lists.append(list(found[key].feature) if has[-1] else [])
        lengths = np.fromiter(map(len, lists), np.int64, self.n)
        try:
            (column,) = columns([[raw for one in lists for raw in one]], kind)
        except Unreadable as e:
            row, index = self._place(lengths, e.row)
            why = e.of_list() if isinstance(e, Mismatch) else e.why
            raise invalid(
                f"Name: {self.name(row)}, Feature list: {key}, Index: {index}.  {why}"
            ) from None
        return column, lengths, np.array(has, bool)

    @staticmethod
    def _place(lengths: np.ndarray, at: int) -> tuple[int, int]:
        """The sequence that feature `at` of all belongs to, and its number there."""
        ends = np.cumsum(lengths)
        row = int(np.searchsorted(ends, at, "right"))
        return row, at - int(ends[row] - lengths[row])

    def dense_lists(
        self, key: str, kind: dtypes.DType, shape: tuple, may_miss: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """The features of a key as one array, padded to the longest list; and the lengths of the lists."""
        column, lengths, has = self.lists(key, kind)
        if not may_miss and not has.all():
            raise invalid(
                f"Name: {self.name(int(np.argmin(has)))}, Feature list '{key}' is required but could not be found.  "
                "Did you mean to include it in feature_list_dense_missing_assumed_empty or "
                "feature_list_dense_defaults?"
            )
        size = count(shape)
        wrong = column.counts != size
        if column.present is not None:
            wrong |= ~column.present
        if wrong.any():
            row, index = self._place(lengths, int(np.argmax(wrong)))
            found = int(column.counts[wrong][0])
            raise invalid(
                f"Name: {self.name(row)}, Key: {key}, Index: {index}.  Number of {NAMES[kind]} values != expected.  "
                f"values size: {found} but output shape: {text(shape)}"
            )
        most = int(lengths.max()) if self.n else 0
        out = np.full((self.n, most, *shape), b"" if kind is dtypes.string else 0, kind.np)
        out[np.arange(most) < lengths[:, None]] = column.values.reshape(-1, *shape)
        return out, lengths

    def sparse_lists(self, key: str, kind: dtypes.DType) -> tuple[np.ndarray, Any, np.ndarray]:
        """Indices (sequence, feature, element), values, and the shape of a box around them."""
        column, lengths, _ = self.lists(key, kind)
        (inner,), (values,), (box,) = sparse_outputs([column], len(column.counts))
        features = inner[:, 0]
        rows = np.repeat(np.arange(self.n), lengths)
        first = np.cumsum(lengths) - lengths
        indices = np.stack([rows[features], features - first[rows[features]], inner[:, 1]], axis=1)
        most = lengths.max() if self.n else 0
        return indices, values, np.array([self.n, most, box[1]], np.int64)


def _transposed(items: list[tuple], parts: int) -> list[list]:
    return [list(part) for part in zip(*items)] or [[] for _ in range(parts)]


def _check_keys(*given: tuple[str, list, list, list | None]) -> None:
    for what, keys, kinds, shapes in given:
        if len(keys) != len(kinds) or shapes is not None and len(keys) != len(shapes):
            fail(
                f"num_{what} ({len(keys)}) must match the size of {what}_types ({len(kinds)})"
                + ("" if shapes is None else f" and {what}_shapes ({len(shapes)})")
            )


@op(
    "ParseSequenceExample",
    "serialized: string, debug_name: string, context_dense_defaults: Tcontext_dense -> "
    f"{_OUTPUTS}, feature_list_dense_lengths: Nfeature_list_dense*int64",
    "feature_list_dense_missing_assumed_empty: list(string) >= 0; context_sparse_keys: list(string) >= 0; "
    "context_dense_keys: list(string) >= 0; feature_list_sparse_keys: list(string) >= 0; "
    f"feature_list_dense_keys: list(string) >= 0; {_COUNTS}; {_TYPES}",
    host=True,
)
def parse_sequence_example_op(
    xp,
    serialized,
    debug_name,
    context_dense_defaults,
    *,
    feature_list_dense_missing_assumed_empty,
    context_sparse_keys,
    context_dense_keys,
    feature_list_sparse_keys,
    feature_list_dense_keys,
    context_sparse_types,
    Tcontext_dense,
    feature_list_dense_types,
    context_dense_shapes,
    feature_list_sparse_types,
    feature_list_dense_shapes,
):
    """The features of a batch of SequenceExamples; lists are padded to the longest."""
    if debug_name.size and debug_name.size != len(serialized):
        raise invalid("example_names must be empty or have the correct number of elements")
    batch = Sequences(serialized.tolist(), debug_name.tolist())
    sparse, dense = batch.context(
        [*context_sparse_keys, *context_dense_keys],
        len(context_sparse_keys),
        [*context_sparse_types, *Tcontext_dense],
        context_dense_shapes,
        context_dense_defaults,
    )
    of_lists = [
        batch.sparse_lists(*given)
        for given in zip(feature_list_sparse_keys, feature_list_sparse_types)
    ]
    dense_lists = [
        batch.dense_lists(key, kind, shape, key in feature_list_dense_missing_assumed_empty)
        for key, kind, shape in zip(
            feature_list_dense_keys, feature_list_dense_types, feature_list_dense_shapes
        )
    ]
    values, lengths = _transposed(dense_lists, 2)
    return (
        *sparse_outputs(sparse, batch.n),
        dense,
        *_transposed(of_lists, 3),
        values,
        lengths,
    )


@parse_sequence_example_op.shape
def _(
    serialized,
    debug_name,
    context_dense_defaults,
    *,
    context_sparse_keys,
    context_dense_keys,
    feature_list_sparse_keys,
    feature_list_dense_keys,
    context_sparse_types,
    Tcontext_dense,
    feature_list_dense_types,
    context_dense_shapes,
    feature_list_sparse_types,
    feature_list_dense_shapes,
):
    (n,) = rank(serialized, 1)
    rank(debug_name, 1)
    _check_keys(
        ("context_sparse", context_sparse_keys, context_sparse_types, None),
        ("context_dense", context_dense_keys, Tcontext_dense, context_dense_shapes),
        ("feature_list_sparse", feature_list_sparse_keys, feature_list_sparse_types, None),
        (
            "feature_list_dense",
            feature_list_dense_keys,
            feature_list_dense_types,
            feature_list_dense_shapes,
        ),
    )
    context, lists = len(context_sparse_keys), len(feature_list_sparse_keys)
    return (
        [(None, 2)] * context,
        [(None,)] * context,
        [(2,)] * context,
        [concatenate((n,), shape) for shape in context_dense_shapes],
        [(None, 3)] * lists,
        [(None,)] * lists,
        [(3,)] * lists,
        [concatenate((n, None), shape) for shape in feature_list_dense_shapes],
        [(n,)] * len(feature_list_dense_keys),
    )


parse_sequence_example_op.not_differentiable()


@op(
    "ParseSingleSequenceExample",
    "serialized: string, feature_list_dense_missing_assumed_empty: string, "
    "context_sparse_keys: Ncontext_sparse*string, context_dense_keys: Ncontext_dense*string, "
    "feature_list_sparse_keys: Nfeature_list_sparse*string, "
    "feature_list_dense_keys: Nfeature_list_dense*string, context_dense_defaults: Tcontext_dense, "
    f"debug_name: string -> {_OUTPUTS}",
    f"{_COUNTS}; {_TYPES}",
    host=True,
)
def parse_single_sequence_example_op(
    xp,
    serialized,
    feature_list_dense_missing_assumed_empty,
    context_sparse_keys,
    context_dense_keys,
    feature_list_sparse_keys,
    feature_list_dense_keys,
    context_dense_defaults,
    debug_name,
    *,
    context_sparse_types,
    Tcontext_dense,
    feature_list_dense_types,
    context_dense_shapes,
    feature_list_sparse_types,
    feature_list_dense_shapes,
):
    """The features of one SequenceExample."""
    context_keys, sparse_keys, dense_keys = (
        [_key(key) for key in keys]
        for keys in (
            [*context_sparse_keys, *context_dense_keys],
            feature_list_sparse_keys,
            feature_list_dense_keys,
        )
    )
    names = [name for name in debug_name.reshape(-1).tolist() if name]
    one = Sequences([serialized[()]], names)
    sparse, dense = one.context(
        context_keys,
        len(context_sparse_keys),
        [*context_sparse_types, *Tcontext_dense],
        context_dense_shapes,
        context_dense_defaults,
    )
    indices, values, shapes = sparse_outputs(sparse, 1)
    may_miss = [_key(key) for key in feature_list_dense_missing_assumed_empty]
    of_lists = [one.sparse_lists(*given) for given in zip(sparse_keys, feature_list_sparse_types)]
    list_indices, list_values, list_shapes = _transposed(of_lists, 3)
    dense_lists = [
        one.dense_lists(key, kind, shape, key in may_miss)[0][0]
        for key, kind, shape in zip(dense_keys, feature_list_dense_types, feature_list_dense_shapes)
    ]
    return (
        [at[:, 1:] for at in indices],
        values,
        [shape[1:] for shape in shapes],
        [np.asarray(x[0], kind.np) for x, kind in zip(dense, Tcontext_dense)],
        [at[:, 1:] for at in list_indices],
        list_values,
        [shape[1:] for shape in list_shapes],
        dense_lists,
    )


def _key(key: Any) -> str:
    if isinstance(key, np.ndarray):
        if key.ndim:
            raise invalid(f"Expected keys to be scalars, got shape: {list(key.shape)}")
        key = key.item()
    return key_text(key)


@parse_single_sequence_example_op.shape
def _(
    serialized,
    feature_list_dense_missing_assumed_empty,
    context_sparse_keys,
    context_dense_keys,
    feature_list_sparse_keys,
    feature_list_dense_keys,
    context_dense_defaults,
    debug_name,
    *,
    context_sparse_types,
    Tcontext_dense,
    feature_list_dense_types,
    context_dense_shapes,
    feature_list_sparse_types,
    feature_list_dense_shapes,
):
    rank(serialized, 0)
    rank(feature_list_dense_missing_assumed_empty, 1)
    _check_keys(
        ("context_sparse", context_sparse_keys, context_sparse_types, None),
        ("context_dense", context_dense_keys, Tcontext_dense, context_dense_shapes),
        ("feature_list_sparse", feature_list_sparse_keys, feature_list_sparse_types, None),
        (
            "feature_list_dense",
            feature_list_dense_keys,
            feature_list_dense_types,
            feature_list_dense_shapes,
        ),
    )
    context, lists = len(context_sparse_keys), len(feature_list_sparse_keys)
    return (
        [(None, 1)] * context,
        [(None,)] * context,
        [(1,)] * context,
        list(context_dense_shapes),
        [(None, 2)] * lists,
        [(None,)] * lists,
        [(2,)] * lists,
        [concatenate((None,), shape) for shape in feature_list_dense_shapes],
    )


parse_single_sequence_example_op.not_differentiable()
