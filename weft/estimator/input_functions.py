"""`tf.estimator.inputs`: input functions over arrays and data frames, which threads put into a queue."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weft.estimator.feeding import enqueue_columns
from weft.framework.export import export


def _check_shuffle(shuffle: Any) -> None:
    if not isinstance(shuffle, bool):
        raise ValueError(
            "shuffle must be provided and explicitly set as boolean (it is recommended to set it as True for "
            f"training); got {shuffle}"
        )


def _columns(x: Any) -> dict[Any, np.ndarray]:
    """The arrays of the features by name, in order."""
    if isinstance(x, dict):
        if not x:
            raise ValueError("x cannot be an empty dict")
        return dict(sorted(x.items()))
    if isinstance(x, np.ndarray):
        if x.size == 0:
            raise ValueError("x cannot be an empty array")
        return {"__direct_np_input__": x}
    raise TypeError(f"x must be a dict or array; got {type(x).__name__}")


def _targets(y: Any, features: dict[Any, np.ndarray]) -> dict[Any, np.ndarray]:
    """The arrays of the labels by name, in order; one alone under a name that no feature has."""
    if y is None:
        return {}
    if not isinstance(y, dict):
        name = "__target_key__"
        while name in features:
            name += "_n"
        return {name: y}
    if not y:
        raise ValueError("y cannot be empty dict, use None instead.")
    both = set(features) & set(y)
    if both:
        raise ValueError(f"{len(both)} duplicate keys are found in both x and y: {both}")
    return dict(sorted(y.items()))


@export("estimator.inputs.numpy_input_fn")
def numpy_input_fn(
    x: Any,
    y: Any = None,
    batch_size: int = 128,
    num_epochs: int | None = 1,
    shuffle: bool | None = None,
    queue_capacity: int = 1000,
    num_threads: int = 1,
) -> Callable[[], Any]:
    """An input function that gives arrays, or dicts of them, in batches; it has to be said whether shuffled."""
    _check_shuffle(shuffle)

    def input_fn() -> Any:
        features = _columns(x)
        targets = _targets(y, features)
        columns = {**features, **targets}
        if len({v.shape[0] for v in columns.values()}) != 1:
            shapes_x = {k: v.shape for k, v in features.items()}
            shapes_y: Any = {k: v.shape for k, v in targets.items()}
            if not isinstance(y, dict):
                shapes_y = None if y is None else y.shape
            raise ValueError(
                "Length of tensors in x and y is mismatched. All elements in x and y must have the same length.\n"
                f"Shapes in x: {shapes_x}\nShapes in y: {shapes_y}\n"
            )
        queue = enqueue_columns(
            list(columns.values()),
            capacity=queue_capacity,
            shuffle=bool(shuffle),
            min_after_dequeue=None,
            num_threads=num_threads,
            batch_size=batch_size,
            num_epochs=num_epochs,
        )
        batch = _dequeue(queue, batch_size, num_epochs)
        fed = dict(zip(features, batch, strict=False))
        inputs = batch[0] if isinstance(x, np.ndarray) else fed
        if y is None:
            return inputs
        labels = batch[len(features) :]
        return inputs, (
            dict(zip(targets, labels, strict=True)) if isinstance(y, dict) else labels[0]
        )

    return input_fn


def _dequeue(queue: Any, batch_size: int, num_epochs: int | None) -> list[Any]:
    """A batch without its index; the last of several epochs may be smaller."""
    take = queue.dequeue_many if num_epochs is None else queue.dequeue_up_to
    return list(take(batch_size))[1:]


@export("estimator.inputs.pandas_input_fn")
def pandas_input_fn(
    x: Any,
    y: Any = None,
    batch_size: int = 128,
    num_epochs: int | None = 1,
    shuffle: bool | None = None,
    queue_capacity: int = 1000,
    num_threads: int = 1,
    target_column: str = "target",
) -> Callable[[], Any]:
    """An input function that gives the columns of a data frame in batches; it has to be said whether shuffled.

    The labels are a series or a data frame of the same index.
    """
    try:
        import pandas  # type: ignore[import-untyped]  # noqa: F401
    except ImportError:
        raise TypeError(
            "pandas_input_fn should not be called without pandas installed: pip install weft[pandas]"
        ) from None
    _check_shuffle(shuffle)
    if not isinstance(target_column, str):
        raise TypeError("target_column must be a string type")
    if y is not None:
        if target_column in x:
            raise ValueError(
                f"Cannot use name {target_column} for target column: DataFrame already has a column with that name: "
                f"{x.columns}"
            )
        if not np.array_equal(x.index, y.index):
            raise ValueError(
                f"Index for x and y are mismatched.\nIndex for x: {x.index}\nIndex for y: {y.index}\n"
            )
    if queue_capacity is None:
        queue_capacity = 4 * len(x) if shuffle else len(x)
    index = np.asarray(x.index)
    features = {name: np.asarray(x[name]) for name in x.columns}
    several = y is not None and y.ndim == 2
    targets: dict[Any, np.ndarray] = {}
    if y is not None:
        targets = (
            {name: np.asarray(y[name]) for name in y} if several else {target_column: np.asarray(y)}
        )

    def input_fn() -> Any:
        queue = enqueue_columns(
            [*features.values(), *targets.values()],
            capacity=queue_capacity,
            shuffle=bool(shuffle),
            min_after_dequeue=int(max(queue_capacity / 4, 1)),
            num_threads=num_threads,
            batch_size=batch_size,
            num_epochs=num_epochs,
            index=index,
        )
        batch = _dequeue(queue, batch_size, num_epochs)
        inputs = dict(zip(features, batch, strict=False))
        if y is None:
            return inputs
        labels = batch[len(features) :]
        return inputs, (dict(zip(targets, labels, strict=True)) if several else labels[0])

    return input_fn
