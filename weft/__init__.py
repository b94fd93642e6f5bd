"""weft: TensorFlow's programming model on NumPy and XLA. `import weft as tf`."""

from __future__ import annotations

import sys as _sys

__version__ = "0.1.0"

import weft.engine.namespace as _namespace  # noqa: F401
import weft.initializers as _initializers  # noqa: F401
import weft.ops as _ops  # noqa: F401
import weft.variables as _variables  # noqa: F401
from weft import public as _public  # noqa: F401
from weft.compatibility import install_as_tensorflow as install_as_tensorflow
from weft.framework import errors as errors
from weft.framework import export as _export
from weft.framework.dtypes import DType as DType


# Not annotated: in the cycle of imports mypy would take the annotation before it knows what it names.
def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    value = globals()[name] = _export.find("", name, "weft")
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_export.exported("")})


compat = _export.namespace("compat")
vars(compat)["v1"] = _sys.modules["weft.compat.v1"] = _sys.modules[__name__]
