"""`tf.contrib.summary`: summaries that operations write into event files as the step runs."""

import weft.summary.writers
import weft.summary.written  # noqa: F401
from weft.framework import export as _export

_export.as_namespace(__name__)
