"""tf.losses: losses that add up in a collection, weighted and reduced in one way."""

import weft.losses.classification
import weft.losses.collected
import weft.losses.regression  # noqa: F401
from weft.framework import export as _export

_export.as_namespace(__name__)
