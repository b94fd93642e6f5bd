"""Files as programs use them: `tf.gfile`, `tf.io.gfile` and record files (`tf.python_io`)."""

import weft.files.file
import weft.files.functions
import weft.files.records  # noqa: F401
