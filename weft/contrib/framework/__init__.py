"""`tf.contrib.framework`: scopes of arguments, variables of models, small checks."""

import weft.contrib.framework.arguments
import weft.contrib.framework.assignment
import weft.contrib.framework.checks
import weft.contrib.framework.deprecation
import weft.contrib.framework.remapping
import weft.contrib.framework.variables  # noqa: F401
from weft.framework.export import public as _public

__getattr__, __dir__ = _public("contrib.framework")
