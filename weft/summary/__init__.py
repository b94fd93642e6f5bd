"""Summaries in event files: `tf.summary`."""

import weft.summary.file_writer
import weft.summary.functions
import weft.summary.plugin_asset
import weft.summary.recording
import weft.summary.writer_cache
import weft.summary.writers
import weft.summary.written  # noqa: F401
from weft.framework.export import public

__getattr__, __dir__ = public("summary")
