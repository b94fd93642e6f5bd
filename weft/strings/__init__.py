"""What `tf.strings` has besides the ops themselves: functions whose results are sparse or ragged."""

import weft.strings.characters
import weft.strings.neighbours
import weft.strings.splitting  # noqa: F401
from weft.framework import export as _export

_export.as_namespace(__name__)
