"""Lookup tables: `tf.lookup`, `tf.tables_initializer`, and what `tf.contrib.lookup` has."""

import weft.lookup.dense_table
import weft.lookup.mutable_table
import weft.lookup.static_table
import weft.lookup.vocabulary  # noqa: F401
from weft.framework import export as _export

_export.as_namespace(__name__)
