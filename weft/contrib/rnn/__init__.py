"""`tf.contrib.rnn`: the cells and networks of `tf.nn`, and those that never left contrib."""

import weft.contrib.rnn.fused
import weft.contrib.rnn.normalized
import weft.contrib.rnn.projections
import weft.contrib.rnn.stacked
import weft.nn.recurrent
import weft.nn.rnn_cell  # noqa: F401
from weft.framework.export import public as _public

__getattr__, __dir__ = _public("contrib.rnn")
