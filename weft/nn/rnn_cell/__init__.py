"""`tf.nn.rnn_cell`: one step of a recurrent network."""

import weft.nn.rnn_cell.base
import weft.nn.rnn_cell.lstm
import weft.nn.rnn_cell.multi
import weft.nn.rnn_cell.simple
import weft.nn.rnn_cell.wrappers  # noqa: F401
from weft.framework.export import public as _public

__getattr__, __dir__ = _public("nn.rnn_cell")
