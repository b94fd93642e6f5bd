"""`tfgan.losses`: losses of models; `losses.wargs` has the same with tensors for arguments."""

import weft.contrib.gan.losses.arguments
import weft.contrib.gan.losses.of_models
import weft.contrib.gan.losses.penalties  # noqa: F401
from weft.framework.export import namespace as _namespace
from weft.framework.export import public as _public

wargs = _namespace("contrib.gan.losses.wargs")
__getattr__, __dir__ = _public("contrib.gan.losses")
