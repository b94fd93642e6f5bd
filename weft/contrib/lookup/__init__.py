"""`tf.contrib.lookup`: the tables of `tf.lookup` by their old names, and those from lists of words."""

from __future__ import annotations

from typing import Any

import weft.lookup  # noqa: F401
from weft.framework import dtypes as _dtypes
from weft.framework import export as _export
from weft.framework.conversion import convert_to_tensor as _convert_to_tensor
from weft.framework.scopes import name_scope as _name_scope
from weft.lookup.vocabulary import (
    FastHashSpec,
    index_table_from_file,
    table_from_words,
    words_by_position,
)

_export.as_namespace(__name__)


def index_table_from_tensor(
    mapping: Any,
    num_oov_buckets: int = 0,
    default_value: int = -1,
    hasher_spec: Any = FastHashSpec,
    dtype: Any = _dtypes.string,
    name: str | None = None,
) -> Any:
    """Returns a table from the elements of a vector to their positions.

    What is not in the vector gets the default value, or one of `num_oov_buckets` further ids by its hash.
    """
    if mapping is None:
        raise ValueError("mapping must be specified.")
    return table_from_words(mapping, num_oov_buckets, default_value, hasher_spec, dtype, name)


def index_to_string_table_from_tensor(
    mapping: Any, default_value: Any = "UNK", name: str | None = None
) -> Any:
    """Returns a table from positions to the elements of a vector of strings."""
    if mapping is None:
        raise ValueError("mapping must be specified.")
    return words_by_position(mapping, default_value, name)


def string_to_index(
    tensor: Any, mapping: Any, default_value: int = -1, name: str | None = None
) -> Any:
    """Returns the positions in a vector of strings that strings have, through a table of its own."""
    return index_table_from_tensor(mapping, default_value=default_value, name=name).lookup(tensor)


def index_to_string(
    tensor: Any, mapping: Any, default_value: Any = "UNK", name: str | None = None
) -> Any:
    """Returns the strings at positions in a vector, through a table of its own."""
    return index_to_string_table_from_tensor(mapping, default_value, name).lookup(tensor)


def string_to_index_table_from_file(
    vocabulary_file: Any = None,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: int = -1,
    hasher_spec: Any = FastHashSpec,
    name: str | None = None,
) -> Any:
    """Returns a table from the lines of a file to their numbers; `index_table_from_file` by its old name."""
    return index_table_from_file(
        vocabulary_file, num_oov_buckets, vocab_size, default_value, hasher_spec, name=name
    )


def string_to_index_table_from_tensor(
    mapping: Any,
    num_oov_buckets: int = 0,
    default_value: int = -1,
    hasher_spec: Any = FastHashSpec,
    name: str | None = None,
) -> Any:
    """Returns a table from strings to their positions; `index_table_from_tensor` by its old name."""
    with _name_scope(name, "string_to_index") as scope:
        mapping = _convert_to_tensor(mapping)
    if mapping.dtype.base_dtype != _dtypes.string:
        raise ValueError("string_to_index_table_from_tensor requires string.")
    return index_table_from_tensor(mapping, num_oov_buckets, default_value, hasher_spec, name=scope)
