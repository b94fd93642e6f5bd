"""Tables from words to numbers and back, with buckets for words that are not known."""

from __future__ import annotations

import collections
import functools
import numbers
from typing import Any

from weft.framework import dtypes
from weft.framework.constant_value import constant_value
from weft.framework.conversion import convert_to_tensor
from weft.framework.export import export
from weft.framework.scopes import name_scope
from weft.framework.sparse_tensor import SparseTensor
from weft.framework.tensor import Tensor
from weft.lookup.initializers import (
    KeyValueTensorInitializer,
    TextFileIdTableInitializer,
    TextFileIndex,
    TextFileStringTableInitializer,
)
from weft.lookup.interface import LookupInterface
from weft.lookup.static_table import StaticHashTable
from weft.ops.by_name import raw
from weft.ops.flow.grouping import no_op
from weft.ops.strings import hashing
from weft.ops.strings.numbers import as_string


@export("contrib.lookup.HasherSpec")
class HasherSpec(collections.namedtuple("HasherSpec", ["hasher", "key"])):
    """Which hash chooses a bucket ("fasthash", "legacy" or "stronghash"), and the key of a strong one."""

    __slots__ = ()


FastHashSpec = HasherSpec("fasthash", None)
export("contrib.lookup.FastHashSpec")(FastHashSpec)


@export("contrib.lookup.StrongHashSpec")
class StrongHashSpec(HasherSpec):
    """A strong hash with a key of two integers."""

    __slots__ = ()

    def __new__(cls, key: Any) -> StrongHashSpec:
        if len(key) != 2:
            raise ValueError(f"key must have size 2, got {len(key)}.")
        if not all(isinstance(k, numbers.Integral) for k in key):
            raise TypeError(f"Invalid key {key}. Must be unsigned integer values.")
        return super().__new__(cls, "stronghash", key)


def _bucket_function(spec: Any) -> Any:
    if not isinstance(spec, HasherSpec):
        raise TypeError(f"hasher_spec must be of type HasherSpec {spec}")
    if spec.hasher == "fasthash":
        return hashing.to_hash_bucket_fast
    if spec.hasher == "legacy":
        return hashing.to_hash_bucket
    if spec.hasher == "stronghash":
        return functools.partial(hashing.to_hash_bucket_strong, key=spec.key)
    raise ValueError(f"Unknown hasher {spec.hasher}")


def _is_key_dtype(dtype: dtypes.DType) -> bool:
    return dtype.is_integer or dtype == dtypes.string


class _WithBuckets(LookupInterface):
    """A table of ids and behind them buckets; or, without a table, buckets alone."""

    _table: Any
    _num_oov_buckets: int
    _table_name: str | None

    def _set_up(self, source: Any, key_dtype: Any) -> dtypes.DType:
        """The dtype of keys; TypeError where a table (or what fills it) cannot have such keys."""
        if source is not None:
            key_dtype = source.key_dtype if key_dtype is None else dtypes.as_dtype(key_dtype)
            usual = (dtypes.int64, dtypes.string)
            if source.key_dtype not in usual:
                raise TypeError(
                    f"Invalid key dtype, expected one of {usual}, but got {source.key_dtype}."
                )
            if source.key_dtype.is_integer != key_dtype.is_integer:
                kind = "integer" if key_dtype.is_integer else "non-integer"
                raise TypeError(f"Invalid key dtype, expected {kind} but got {source.key_dtype}.")
            if source.value_dtype != dtypes.int64:
                raise TypeError(
                    f"Invalid value dtype, expected {dtypes.int64} but got {source.value_dtype}."
                )
        key_dtype = dtypes.string if key_dtype is None else dtypes.as_dtype(key_dtype)
        if not _is_key_dtype(key_dtype):
            raise TypeError(f"Invalid key_dtype, expected integer or string, got {key_dtype}.")
        return key_dtype

    def _create_resource(self) -> Any:
        return None if self._table is None else self._table._create_resource()

    def _initialize(self) -> Any:
        return self.initializer

    @property
    def initializer(self) -> Any:
        """The operation that fills the table."""
        if self._table is not None:
            return self._table.initializer
        with name_scope(None, "init"):
            return no_op()

    @property
    def resource_handle(self) -> Any:
        return None if self._table is None else self._table.resource_handle

    @property
    def name(self) -> Any:
        return self._table_name

    def size(self, name: str | None = None) -> Any:
        """Returns how many keys the table has, and how many buckets."""
        with name_scope(name, f"{self.name}_Size"):
            known = self._table.size() if self._table else convert_to_tensor(0, dtypes.int64)
            return known + self._num_oov_buckets

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """Returns the ids of keys, the bucket of those that are not in the table."""
        self._check_keys(keys)
        values = keys.values if isinstance(keys, SparseTensor) else keys
        if self._table and self._table.key_dtype.base_dtype == dtypes.int64:
            values = raw.Cast(values, DstT=dtypes.int64)
        ids = self._ids(values, name)
        if isinstance(keys, SparseTensor):
            return SparseTensor(keys.indices, ids, keys.dense_shape)
        return ids

    def _ids(self, values: Any, name: str | None) -> Any:
        with name_scope(name, f"{self.name}_Lookup"):
            texts = values if values.dtype.base_dtype == dtypes.string else as_string(values)
            buckets = self._buckets(texts, num_buckets=self._num_oov_buckets, name="hash_bucket")
            if not self._table:
                return buckets
            ids = self._table.lookup(values)
            buckets = raw.Add(buckets, self._table.size())
            is_known = raw.NotEqual(ids, self._table.default_value)
            return raw.SelectV2(is_known, ids, buckets)

    def _buckets(self, texts: Any, num_buckets: int, name: str) -> Any:
        return hashing.to_hash_bucket_fast(texts, num_buckets=num_buckets, name=name)


def _last_part(name: str | None) -> str | None:
    return name.split("/")[-1] if name else None


@export("contrib.lookup.IdTableWithHashBuckets")
class IdTableWithHashBuckets(_WithBuckets):
    """A table of ids in which keys that are not there get one of several further ids, by their hash."""

    def __init__(
        self,
        table: Any,
        num_oov_buckets: int,
        hasher_spec: Any = FastHashSpec,
        name: str | None = None,
        key_dtype: Any = None,
    ):
        if table is None and num_oov_buckets <= 0:
            raise ValueError("oov_buckets must be > 0 if no table is supplied.")
        key_dtype = self._set_up(table, key_dtype)
        if not isinstance(hasher_spec, HasherSpec):
            raise TypeError(f"hasher_spec must be of type HasherSpec, got {hasher_spec}")
        self._table, self._num_oov_buckets, self._hasher_spec = table, num_oov_buckets, hasher_spec
        name = name.rstrip("/") if name else None
        self._table_name = _last_part(name or ("hash_bucket" if table is None else table.name))
        super().__init__(key_dtype, dtypes.int64)

    @property
    def init(self) -> Any:
        """The operation that fills the table."""
        return self.initializer

    def _ids(self, values: Any, name: str | None) -> Any:
        if self._num_oov_buckets == 0:
            return self._table.lookup(values, name=name)
        return super()._ids(values, name)

    def _buckets(self, texts: Any, num_buckets: int, name: str) -> Any:
        return _bucket_function(self._hasher_spec)(texts, num_buckets=num_buckets, name=name)


@export("lookup.StaticVocabularyTable")
class StaticVocabularyTable(_WithBuckets):
    """A table of ids in which keys that are not there get one of several further ids, by their fingerprint."""

    def __init__(
        self,
        initializer: Any,
        num_oov_buckets: int,
        lookup_key_dtype: Any = None,
        name: str | None = None,
    ):
        if num_oov_buckets <= 0:
            raise ValueError("oov_buckets must be > 0.")
        key_dtype = self._set_up(initializer, None if initializer is None else lookup_key_dtype)
        self._num_oov_buckets = num_oov_buckets
        self._table = None if initializer is None else StaticHashTable(initializer, -1)
        name = name.rstrip("/") if name else None
        self._table_name = _last_part(
            name or ("hash_bucket" if self._table is None else self._table.name)
        )
        super().__init__(key_dtype, dtypes.int64)


# -- tables from lists and files of words ------------------------------------------------------------------------


def _with_buckets(table: Any, count: int, hasher_spec: Any, key_dtype: Any) -> Any:
    if not count:
        return table
    return IdTableWithHashBuckets(table, count, hasher_spec=hasher_spec, key_dtype=key_dtype)


def _check(num_oov_buckets: int, key_dtype: dtypes.DType) -> None:
    if num_oov_buckets < 0:
        raise ValueError(f"num_oov_buckets must be greater or equal than 0, got {num_oov_buckets}.")
    if not _is_key_dtype(key_dtype.base_dtype):
        raise TypeError("Only integer and string keys are supported.")


def _check_file(vocabulary_file: Any, vocab_size: int | None) -> None:
    if vocabulary_file is None or (
        isinstance(vocabulary_file, (str, bytes)) and not vocabulary_file
    ):
        raise ValueError("vocabulary_file must be specified and must not be empty.")
    if vocab_size is not None and vocab_size < 1:
        shown = vocabulary_file
        if isinstance(shown, Tensor):
            value = constant_value(shown)
            shown = "?" if value is None else value
        raise ValueError(
            f"vocab_size must be greater than 0, got {vocab_size}. vocabulary_file: {shown}"
        )


@export("contrib.lookup.index_table_from_file")
def index_table_from_file(
    vocabulary_file: Any = None,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: int = -1,
    hasher_spec: Any = FastHashSpec,
    key_dtype: Any = dtypes.string,
    name: str | None = None,
    key_column_index: int = TextFileIndex.WHOLE_LINE,
    value_column_index: int = TextFileIndex.LINE_NUMBER,
    delimiter: str = "\t",
) -> Any:
    """Returns a table from the lines of a file to their numbers.

    What is not in the file gets the default value, or one of `num_oov_buckets` further ids by its hash.
    """
    _check_file(vocabulary_file, vocab_size)
    _check(num_oov_buckets, key_dtype)
    with name_scope(name, "string_to_index"):
        with name_scope(None, "hash_table"):
            fill = TextFileIdTableInitializer(
                vocabulary_file,
                vocab_size=vocab_size,
                key_dtype=dtypes.int64 if key_dtype.is_integer else key_dtype,
                name="table_init",
                key_column_index=key_column_index,
                value_column_index=value_column_index,
                delimiter=delimiter,
            )
            table = StaticHashTable(fill, default_value)
        return _with_buckets(table, num_oov_buckets, hasher_spec, key_dtype)


def table_from_words(
    words: Any,
    num_oov_buckets: int,
    default_value: int,
    hasher_spec: Any,
    dtype: dtypes.DType,
    name: str | None,
) -> Any:
    """Returns a table from the elements of a vector to their positions."""
    _check(num_oov_buckets, dtype)
    with name_scope(name, "string_to_index"):
        keys = convert_to_tensor(words)
        if keys.dtype.is_integer != dtype.is_integer:
            kind = "integer" if dtype.is_integer else "non-integer"
            raise ValueError(f"Expected {kind}, got {keys.dtype}.")
        if not dtype.is_integer and keys.dtype.base_dtype != dtype:
            raise ValueError(f"Expected {dtype}, got {keys.dtype}.")
        values = _positions(keys)
        with name_scope(None, "hash_table"):
            if keys.dtype.is_integer:
                keys = raw.Cast(keys, DstT=dtypes.int64)
            fill = KeyValueTensorInitializer(
                keys, values, keys.dtype.base_dtype, dtypes.int64, name="table_init"
            )
            table = StaticHashTable(fill, default_value)
        return _with_buckets(table, num_oov_buckets, hasher_spec, dtype)


def _positions(words: Any) -> Any:
    numbers_ = raw.Range(0, raw.Size(words), 1)
    return raw.Cast(numbers_, DstT=dtypes.int64)


@export("contrib.lookup.index_to_string_table_from_file")
def index_to_string_table_from_file(
    vocabulary_file: Any,
    vocab_size: int | None = None,
    default_value: Any = "UNK",
    name: str | None = None,
    key_column_index: int = TextFileIndex.LINE_NUMBER,
    value_column_index: int = TextFileIndex.WHOLE_LINE,
    delimiter: str = "\t",
) -> Any:
    """Returns a table from numbers to the lines of a file."""
    _check_file(vocabulary_file, vocab_size)
    with name_scope(name, "index_to_string"):
        fill = TextFileStringTableInitializer(
            vocabulary_file,
            vocab_size=vocab_size,
            name="table_init",
            key_column_index=key_column_index,
            value_column_index=value_column_index,
            delimiter=delimiter,
        )
        return StaticHashTable(fill, default_value)


def words_by_position(words: Any, default_value: Any, name: str | None) -> Any:
    """Returns a table from positions to the elements of a vector of strings."""
    with name_scope(name, "index_to_string"):
        words = convert_to_tensor(words, dtypes.string)
        fill = KeyValueTensorInitializer(
            _positions(words), words, dtypes.int64, dtypes.string, name="table_init"
        )
        return StaticHashTable(fill, default_value)
