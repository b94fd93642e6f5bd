"""The families of ops that few programs use: imported when one of their ops or names is first asked for."""

import weft.ops.flow.optional
import weft.ops.image.boxes
import weft.ops.image.colors
import weft.ops.image.resize
import weft.ops.image.scale_translate
import weft.ops.image.suppression
import weft.ops.io.decode
import weft.ops.io.files
import weft.ops.io.parsing
import weft.ops.io.tensors
import weft.ops.io.wav
import weft.ops.summary.media
import weft.ops.summary.values
import weft.ops.summary.writers  # noqa: F401
