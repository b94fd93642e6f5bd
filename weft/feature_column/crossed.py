"""Columns of combinations of categories."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import weft as tf
from weft.feature_column.base import CategoricalColumn
from weft.feature_column.categorical import HashedCategoricalColumn
from weft.framework.export import export


class CrossedColumn(
    CategoricalColumn, namedtuple("CrossedColumn", ["keys", "hash_bucket_size", "hash_key"])
):
    """Combinations of the categories of several columns, by hash."""

    @property
    def leaves(self) -> list[Any]:
        """The keys and columns that are crossed, those of crossed columns in their place."""
        found: list[Any] = []
        for key in self.keys:
            found += key.leaves if isinstance(key, CrossedColumn) else [key]
        return found

    @property
    def name(self) -> str:
        return "_X_".join(sorted(key if isinstance(key, str) else key.name for key in self.leaves))

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        spec: dict[str, Any] = {}
        for key in self.keys:
            if isinstance(key, str):
                spec[key] = tf.io.VarLenFeature(tf.string)
            else:
                spec.update(key.parse_example_spec)
        return spec

    @property
    def parents(self) -> list[Any]:
        return list(self.keys)

    @property
    def num_buckets(self) -> int:
        return self.hash_bucket_size

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> Any:
        tensors = []
        for key in self.leaves:
            if isinstance(key, str):
                tensors.append(transformation_cache.get(key, state_manager))
                continue
            pair = key.get_sparse_tensors(transformation_cache, state_manager)
            if pair.weight_tensor is not None:
                raise ValueError(
                    "crossed_column does not support weight_tensor, but the given column populates "
                    f"weight_tensor. Given column: {key.name}"
                )
            tensors.append(pair.id_tensor)
        return tf.sparse.cross_hashed(
            inputs=tensors, num_buckets=self.hash_bucket_size, hash_key=self.hash_key
        )


@export("feature_column.crossed_column")
def crossed_column(keys: Any, hash_bucket_size: int, hash_key: int | None = None) -> CrossedColumn:
    """Returns a column of the combinations of features (of strings, by key) and categorical columns."""
    if not hash_bucket_size or hash_bucket_size < 1:
        raise ValueError(f"hash_bucket_size must be > 1. hash_bucket_size: {hash_bucket_size}")
    if not keys or len(keys) < 2:
        raise ValueError(f"keys must be a list with length > 1. Given: {keys}")
    for key in keys:
        if not isinstance(key, (str, CategoricalColumn)):
            raise ValueError(
                "Unsupported key type. All keys must be either string, or categorical column except "
                f"HashedCategoricalColumn. Given: {key}"
            )
        if isinstance(key, HashedCategoricalColumn):
            raise ValueError(
                "categorical_column_with_hash_bucket is not supported for crossing: what is hashed before "
                f"collides more often. Use the feature's name as a string instead. Given: {key}"
            )
    return CrossedColumn(tuple(keys), hash_bucket_size, hash_key)
