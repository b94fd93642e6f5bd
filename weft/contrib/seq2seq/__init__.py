"""`tf.contrib.seq2seq`: decoders, attention, beam search, and losses of sequences."""

import weft.contrib.seq2seq.attention_mechanisms
import weft.contrib.seq2seq.attention_wrapper
import weft.contrib.seq2seq.basic_decoder
import weft.contrib.seq2seq.beam_search_decoder
import weft.contrib.seq2seq.decoder
import weft.contrib.seq2seq.helper
import weft.contrib.seq2seq.loss
import weft.contrib.seq2seq.scheduled_sampling
import weft.ops.nn.gather_tree  # noqa: F401
from weft.framework.export import public as _public

__getattr__, __dir__ = _public("contrib.seq2seq")
