"""What input functions give: features and labels, and the hooks that their data need."""

from __future__ import annotations

from typing import Any, NamedTuple

import weft as tf
from weft.framework import nest
from weft.framework.tensor import Tensor
from weft.train.session_run_hook import SessionRunHook


class ModelInputs(NamedTuple):
    """The tensors that a model is called with, and the hooks that start where they come from."""

    features: Any
    labels: Any
    hooks: list[SessionRunHook]


class DatasetInitializerHook(SessionRunHook):
    """Starts the iterator of a Dataset in each new session."""

    def __init__(self, iterator: Any):
        self._iterator = iterator
        self._initializer: Any = None

    def begin(self) -> None:
        self._initializer = self._iterator.initializer

    def after_create_session(self, session: Any, coord: Any) -> None:
        session.run(self._initializer)


def model_inputs(given: Any) -> ModelInputs:
    """Features and labels of what an input function gave: tensors, a pair of them, or a Dataset of either."""
    hooks: list[SessionRunHook] = []
    if hasattr(given, "make_initializable_iterator"):
        iterator = given.make_initializable_iterator()
        hooks.append(DatasetInitializerHook(iterator))
        given = iterator.get_next()
    if not isinstance(given, (list, tuple)):
        return ModelInputs(given, None, hooks)
    if len(given) != 2:
        raise ValueError("input_fn should return (features, labels) as a len 2 tuple.")
    return ModelInputs(given[0], given[1], hooks)


def may_end(inputs: Any) -> bool:
    """Whether the input can run out: it comes from an iterator, or from a queue that is filled."""
    tensors = [x for x in nest.flatten(inputs) if isinstance(x, Tensor)]
    return any(t.op.type == "IteratorGetNext" for t in tensors) or bool(
        tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
    )
