"""The families of ops that few programs use: imported when one of their ops or names is first asked for."""

import weft.ops.flow.optional
import weft.ops.image.boxes
import weft.ops.image.colors
import weft.ops.image.resize
import weft.ops.image.scale_translate
import weft.ops.image.suppression
import weft.ops.ragged  # noqa: F401
