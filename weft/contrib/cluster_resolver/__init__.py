"""`tf.contrib.cluster_resolver`: `tf.distribute.cluster_resolver` under its older name."""

import weft.distribute.cluster_resolver  # noqa: F401
from weft.framework.export import public as _public

__getattr__, __dir__ = _public("contrib.cluster_resolver")
