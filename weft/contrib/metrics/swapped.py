"""The functions of `tf.metrics` under the names that they had before, with predictions before labels."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from weft.framework.export import export, export_lazily, find
from weft.framework.scopes import name_scope
from weft.metrics import at_k, means
from weft.metrics.confusion_matrix import confusion_matrix
from weft.ops.math.cast import cast
from weft.ops.nn.top_k import in_top_k

# The names under tf.metrics, where they are not what follows `streaming_`.
_SWAPPED = {
    "sparse_average_precision_at_k": "average_precision_at_k",
    "sparse_precision_at_k": "precision_at_k",
    "sparse_recall_at_k": "recall_at_k",
    **{
        name: name
        for name in (
            "accuracy auc false_negatives false_positives mean_absolute_error mean_iou mean_relative_error "
            "mean_squared_error mean_cosine_distance precision precision_at_thresholds recall "
            "recall_at_thresholds root_mean_squared_error sensitivity_at_specificity "
            "specificity_at_sensitivity true_negatives true_positives"
        ).split()
    },
}
_SAME = {"mean": "mean", "mean_tensor": "mean_tensor", "percentage_less": "percentage_below"}
_NEWER = ("summation_method", "thresholds")  # arguments of auc only


def _swapped(name: str, function: Callable) -> Callable:
    old = inspect.signature(function)
    labels, predictions, *rest = old.parameters.values()
    if name == "auc":
        rest = [p for p in rest if p.name not in _NEWER]
    new = old.replace(parameters=[predictions, labels, *rest])

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(**new.bind(*args, **kwargs).arguments)

    wrapper.__signature__ = new  # type: ignore[attr-defined]
    return _streaming(name, wrapper)


def _streaming(name: str, function: Callable) -> Callable:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    wrapper.__name__ = wrapper.__qualname__ = f"streaming_{name}"
    return export(f"contrib.metrics.streaming_{name}")(wrapper)


for _name, _function in _SWAPPED.items():
    _swapped(_name, find("metrics", _function, "tf.metrics"))
for _name, _function in _SAME.items():
    _streaming(_name, find("metrics", _function, "tf.metrics"))
export("contrib.metrics.confusion_matrix")(confusion_matrix)
for _name in ("set_difference", "set_intersection", "set_size", "set_union"):
    export_lazily("contrib.metrics", _name, functools.partial(find, "sets", _name, "tf.sets"))


@export("contrib.metrics.streaming_recall_at_k")
def streaming_recall_at_k(
    predictions: Any,
    labels: Any,
    k: int,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Returns how often the label so far was among the k best predictions, and the update."""
    found = cast(in_top_k(predictions, labels, k), "float32")
    rest = metrics_collections, updates_collections, name or at_k.at_k_name("recall", k)
    return means.mean(found, weights, *rest)


@export("contrib.metrics.streaming_sparse_precision_at_top_k")
def streaming_sparse_precision_at_top_k(
    top_k_predictions: Any,
    labels: Any,
    class_id: int | None = None,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """As `tf.metrics.precision_at_top_k`."""
    default = at_k.at_k_name("precision", None, class_id)
    with name_scope(name, default, (top_k_predictions, weights)) as scope:
        rest = weights, metrics_collections, updates_collections, scope
        return at_k.precision_at_top_k(labels, top_k_predictions, None, class_id, *rest)


@export("contrib.metrics.sparse_recall_at_top_k")
def sparse_recall_at_top_k(
    labels: Any,
    top_k_predictions: Any,
    class_id: int | None = None,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """As `tf.metrics.recall_at_top_k`."""
    default = at_k.at_k_name("recall", None, class_id)
    with name_scope(name, default, (top_k_predictions, weights)) as scope:
        rest = weights, metrics_collections, updates_collections, scope
        return at_k.recall_at_top_k(labels, top_k_predictions, None, class_id, *rest)


@export("contrib.metrics.streaming_sparse_average_precision_at_top_k")
def streaming_sparse_average_precision_at_top_k(
    top_k_predictions: Any,
    labels: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """As `tf.metrics.average_precision_at_k`, of predictions that are sorted out already."""
    rest = weights, metrics_collections, updates_collections, name
    return at_k.average_precision_at_top_k(labels, top_k_predictions, *rest)
