"""Tables from lists of words, and what was called otherwise before."""

from __future__ import annotations

from typing import Any

from weft.framework import dtypes
from weft.framework.conversion import convert_to_tensor
from weft.framework.export import export
from weft.framework.scopes import name_scope
from weft.lookup.vocabulary import (
    FastHashSpec,
    index_table_from_file,
    table_from_words,
    words_by_position,
)


@export("contrib.lookup.index_table_from_tensor")
def index_table_from_tensor(
    mapping: Any,
    num_oov_buckets: int = 0,
    default_value: int = -1,
    hasher_spec: Any = FastHashSpec,
    dtype: Any = dtypes.string,
    name: str | None = None,
) -> Any:
    """Returns a table from the elements of a vector to their positions.

    What is not in the vector gets the default value, or one of `num_oov_buckets` further ids by its hash.
    """
    if mapping is None:
        raise ValueError("mapping must be specified.")
    return table_from_words(mapping, num_oov_buckets, default_value, hasher_spec, dtype, name)


@export("contrib.lookup.index_to_string_table_from_tensor")
def index_to_string_table_from_tensor(
    mapping: Any, default_value: Any = "UNK", name: str | None = None
) -> Any:
    """Returns a table from positions to the elements of a vector of strings."""
    if mapping is None:
        raise ValueError("mapping must be specified.")
    return words_by_position(mapping, default_value, name)


@export("contrib.lookup.string_to_index")
def string_to_index(
    tensor: Any, mapping: Any, default_value: int = -1, name: str | None = None
) -> Any:
    """Returns the positions in a vector of strings that strings have, through a table of its own."""
    return index_table_from_tensor(mapping, default_value=default_value, name=name).lookup(tensor)


@export("contrib.lookup.index_to_string")
def index_to_string(
    tensor: Any, mapping: Any, default_value: Any = "UNK", name: str | None = None
) -> Any:
    """Returns the strings at positions in a vector, through a table of its own."""
    return index_to_string_table_from_tensor(mapping, default_value, name).lookup(tensor)


@export("contrib.lookup.string_to_index_table_from_file")
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


@export("contrib.lookup.string_to_index_table_from_tensor")
def string_to_index_table_from_tensor(
    mapping: Any,
    num_oov_buckets: int = 0,
    default_value: int = -1,
    hasher_spec: Any = FastHashSpec,
    name: str | None = None,
) -> Any:
    """Returns a table from strings to their positions; `index_table_from_tensor` by its old name."""
    with name_scope(name, "string_to_index") as scope:
        mapping = convert_to_tensor(mapping)
    if mapping.dtype.base_dtype != dtypes.string:
        raise ValueError("string_to_index_table_from_tensor requires string.")
    return index_table_from_tensor(mapping, num_oov_buckets, default_value, hasher_spec, name=scope)
