"""The families of ops that few programs use: imported when one of their ops or names is first asked for."""

import weft.ops.audio.features
import weft.ops.flow.optional
import weft.ops.image.boxes
import weft.ops.image.codecs
import weft.ops.image.colors
import weft.ops.image.combined_suppression
import weft.ops.image.distorted_box
import weft.ops.image.glimpse
import weft.ops.image.resize
import weft.ops.image.scale_translate
import weft.ops.image.suppression
import weft.ops.queues.accumulator_classes
import weft.ops.queues.accumulators
import weft.ops.queues.critical_section
import weft.ops.queues.queue_base
import weft.ops.queues.queue_ops
import weft.ops.queues.session_handles  # noqa: F401
