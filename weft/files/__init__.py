"""Files as programs use them: `tf.gfile` and `tf.io.gfile`."""

import weft.files.file
import weft.files.functions  # noqa: F401
