"""`tf.contrib.legacy_seq2seq`: unrolled networks from sequences to sequences, with lists of steps."""

import weft.contrib.legacy_seq2seq.attention
import weft.contrib.legacy_seq2seq.decoders
import weft.contrib.legacy_seq2seq.losses  # noqa: F401
from weft.framework.export import public as _public

__getattr__, __dir__ = _public("contrib.legacy_seq2seq")
