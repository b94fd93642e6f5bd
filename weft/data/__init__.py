"""Input pipelines: `tf.data`, a library in the public vocabulary over the ops of datasets and iterators."""

import weft.data.dataset
import weft.data.experimental
import weft.data.iterator
import weft.data.optional
import weft.data.options  # noqa: F401
