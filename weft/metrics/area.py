"""auc: the area under the curve of the outcomes at all thresholds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.metrics.streaming import metric
from weft.metrics.thresholds import Outcomes, evenly
from weft.ops.array.select import where
from weft.ops.by_name import raw
from weft.ops.math.division import div_no_nan
from weft.ops.math.reduce_functions import reduce_sum
from weft.platform import tf_logging
from weft.variables.scope import variable_scope

_EPSILON = 1e-6
# How high the area is between two points of the curve.
_HEIGHTS: dict[str, Callable] = {
    "trapezoidal": lambda a, b: (a + b) / 2.0,
    "careful_interpolation": lambda a, b: (a + b) / 2.0,
    "minoring": raw.Minimum,
    "majoring": raw.Maximum,
}


@metric
def auc(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    curve: str = "ROC",
    name: str | None = None,
    summation_method: str = "trapezoidal",
    thresholds: Any = None,
) -> tuple[Any, Any]:
    """Returns the area under the ROC or PR curve so far, and the operation that adds a batch.

    The curve is known at `num_thresholds` points, or at `thresholds`; `summation_method` says what it does
    between them: `trapezoidal`, `careful_interpolation` (for PR), `minoring` or `majoring`.
    """
    with variable_scope(name, "auc", (labels, predictions, weights)):
        if curve not in ("ROC", "PR"):
            raise ValueError(f"curve must be either ROC or PR, {curve} unknown")
        if summation_method not in _HEIGHTS:
            raise ValueError(f"Invalid summation_method: {summation_method}")
        if thresholds is None:
            bounds = evenly(num_thresholds)
        else:
            ends = evenly(2)
            bounds = [ends[0], *sorted(thresholds), ends[1]]
        if curve == "PR" and summation_method == "trapezoidal":
            tf_logging.warning(
                "Trapezoidal rule is known to produce incorrect PR-AUCs; please switch to "
                '"careful_interpolation" instead.'
            )
        careful = curve == "PR" and summation_method == "careful_interpolation"

        def compute(name: str, tp: Any, fn: Any, tn: Any, fp: Any) -> Any:
            tp, fn, tn, fp = (raw.Identity(x) for x in (tp, fn, tn, fp))
            if careful:
                return _interpolated(tp, fp, fn)
            recall = raw.RealDiv(tp + _EPSILON, tp + fn + _EPSILON)
            if curve == "ROC":
                x, y = raw.RealDiv(fp, fp + tn + _EPSILON), recall
            else:
                x, y = recall, raw.RealDiv(tp + _EPSILON, tp + fp + _EPSILON)
            height = _HEIGHTS[summation_method](y[:-1], y[1:])
            return reduce_sum((x[:-1] - x[1:]) * height, name=name)

        outcomes = Outcomes(labels, predictions, bounds, weights)
        return outcomes.measured(compute, metrics_collections, updates_collections)


def _interpolated(tp: Any, fp: Any, fn: Any) -> Any:
    """The area under a PR curve on which true and false positives grow linearly between two points.

    With p = tp + fp, tp = intercept + slope * p between them, so that the precision is slope + intercept / p,
    whose integral over tp has a logarithm.
    """
    more = tp[:-1] - tp[1:]
    p = tp + fp
    slope = div_no_nan(more, raw.Maximum(p[:-1] - p[1:], 0.0), name="prec_slope")
    intercept = tp[1:] - slope * p[1:]
    ratio = where(
        raw.LogicalAnd(p[:-1] > 0, p[1:] > 0),
        div_no_nan(p[:-1], raw.Maximum(p[1:], 0.0), name="recall_relative_ratio"),
        raw.OnesLike(p[1:]),
    )
    areas = slope * (more + intercept * raw.Log(ratio))
    parts = div_no_nan(areas, raw.Maximum(tp[1:] + fn[1:], 0.0), name="pr_auc_increment")
    return reduce_sum(parts, name="interpolate_pr_auc")
