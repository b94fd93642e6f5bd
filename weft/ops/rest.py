"""The families of ops that few programs use: imported when one of their ops or names is first asked for."""

import weft.ops.flow.optional
import weft.ops.image.boxes
import weft.ops.image.colors
import weft.ops.image.resize
import weft.ops.image.scale_translate
import weft.ops.image.suppression
import weft.ops.queues.queue_base
import weft.ops.queues.queue_ops
import weft.ops.strings.base64_text
import weft.ops.strings.case
import weft.ops.strings.hashing
import weft.ops.strings.join
import weft.ops.strings.ngrams
import weft.ops.strings.numbers
import weft.ops.strings.regex
import weft.ops.strings.split
import weft.ops.strings.substring
import weft.ops.strings.unicode  # noqa: F401
