"""`tf.distribute`: a program that is written for one device runs on several."""

import weft.distribute.central_storage
import weft.distribute.context
import weft.distribute.cross_device
import weft.distribute.default_strategy
import weft.distribute.mirrored
import weft.distribute.multi_worker
import weft.distribute.one_device
import weft.distribute.parameter_server
import weft.distribute.strategy  # noqa: F401
from weft.framework import export as _export

_export.as_namespace(__name__)
