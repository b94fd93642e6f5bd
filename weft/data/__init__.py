"""Input pipelines: `tf.data`, a library in the public vocabulary over the ops of datasets and iterators."""

import weft.data.checkpointing
import weft.data.dataset
import weft.data.files
import weft.data.iterator
import weft.data.optional
import weft.data.options
import weft.data.readers
import weft.data.statistics
import weft.data.transformations  # noqa: F401
from weft.framework.export import as_namespace

as_namespace(__name__)
