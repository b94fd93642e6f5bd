"""`tf.contrib.lookup`: the tables of `tf.lookup` by their old names, and those from lists of words."""

import weft.contrib.lookup.words
import weft.lookup  # noqa: F401
from weft.framework import export as _export

_export.as_namespace(__name__)
