"""tf.metrics: measures of how good predictions are, kept in local variables that each batch updates."""

from weft.framework import export as _export

_export.as_namespace(__name__)
