"""`tf.compat.v2.estimator`: the estimator without the older name of its export."""

from __future__ import annotations

from typing import Any

from weft.estimator.estimator import Estimator as OlderEstimator
from weft.framework.export import export


class _Gone:
    """A name that is not there any more."""

    def __get__(self, instance: Any, owner: type) -> Any:
        raise AttributeError(
            "`Estimator.export_savedmodel` has been deprecated. Please use `export_saved_model` instead."
        )


@export("compat.v2.estimator.Estimator")
class Estimator(OlderEstimator):
    __doc__ = OlderEstimator.__doc__

    _may_be_overridden = OlderEstimator._may_be_overridden | {"export_savedmodel"}
    export_savedmodel = _Gone()  # type: ignore[assignment]
