"""`tf.feature_column`: what a feature is, told apart from the data; layers of input are made of such columns."""

import weft.feature_column.categorical
import weft.feature_column.crossed
import weft.feature_column.dense_input
import weft.feature_column.embedding
import weft.feature_column.linear
import weft.feature_column.numeric
import weft.feature_column.sequence
import weft.feature_column.shared  # noqa: F401
from weft.framework.export import public as _public

__getattr__, __dir__ = _public("feature_column")
