"""What comes into a served model: `tf.estimator.export.ServingInputReceiver` and functions that make them."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

import weft as tf
from weft.framework.export import export
from weft.framework.sparse_tensor import SparseTensor
from weft.framework.tensor import Tensor

FEATURE, INPUT, LABEL = "feature", "input", "label"


def _stands_for_tensor(value: Any) -> bool:
    """Whether this is a class of its own around a tensor, as tensors with named axes are."""
    if not hasattr(value, "tensor"):
        return False
    try:
        tf.convert_to_tensor(value)
    except TypeError:
        return False
    return True


def _checked_tensor(tensor: Any, name: Any, what: str) -> None:
    if not isinstance(tensor, (Tensor, SparseTensor)) and not _stands_for_tensor(tensor):
        shown = f" {name}" if name else ""
        raise ValueError(f"{what}{shown} must be a Tensor or SparseTensor.")


def _named(tensors: Any, what: str, default_name: str, also_numbers: bool = False) -> dict:
    """Tensors by name, checked; one alone gets the default name."""
    if tensors is None:
        raise ValueError(f"{what}s must be defined.")
    named = tensors if isinstance(tensors, dict) else {default_name: tensors}
    for name, tensor in named.items():
        if not isinstance(name, (str, int) if also_numbers else str):
            kinds = "strings or ints" if also_numbers else "strings"
            raise ValueError(f"{what} keys must be {kinds}: {name}.")
        _checked_tensor(tensor, name, what)
    return named


@export("estimator.export.ServingInputReceiver")
class ServingInputReceiver(
    collections.namedtuple(
        "_ServingInputReceiver", ["features", "receiver_tensors", "receiver_tensors_alternatives"]
    )
):
    """The tensors that requests feed, and the features that are made of them."""

    __slots__ = ()

    def __new__(
        cls, features: Any, receiver_tensors: Any, receiver_tensors_alternatives: Any = None
    ) -> ServingInputReceiver:
        features = _named(features, "feature", FEATURE, also_numbers=True)
        receiver_tensors = _named(receiver_tensors, "receiver_tensor", INPUT)
        alternatives = receiver_tensors_alternatives
        if alternatives is not None:
            if not isinstance(alternatives, dict):
                raise ValueError(f"receiver_tensors_alternatives must be a dict: {alternatives}.")
            alternatives = {
                name: _named(tensors, "receiver_tensors_alternative", INPUT)
                for name, tensors in alternatives.items()
            }
        return super().__new__(cls, features, receiver_tensors, alternatives)


@export("estimator.export.TensorServingInputReceiver")
class TensorServingInputReceiver(
    collections.namedtuple(
        "_TensorServingInputReceiver",
        ["features", "receiver_tensors", "receiver_tensors_alternatives"],
    )
):
    """The same for a model whose features are one tensor, which its function gets as such."""

    __slots__ = ()

    def __new__(
        cls, features: Any, receiver_tensors: Any, receiver_tensors_alternatives: Any = None
    ) -> TensorServingInputReceiver:
        if features is None:
            raise ValueError("features must be defined.")
        _checked_tensor(features, None, "feature")
        whole = ServingInputReceiver(features, receiver_tensors, receiver_tensors_alternatives)
        return super().__new__(
            cls,
            whole.features[FEATURE],
            whole.receiver_tensors,
            whole.receiver_tensors_alternatives,
        )


class UnsupervisedInputReceiver(ServingInputReceiver):
    """What comes into a model that is trained without labels."""

    __slots__ = ()

    def __new__(cls, features: Any, receiver_tensors: Any) -> UnsupervisedInputReceiver:
        return super().__new__(cls, features, receiver_tensors)  # type: ignore[return-value]


class SupervisedInputReceiver(
    collections.namedtuple("_SupervisedInputReceiver", ["features", "labels", "receiver_tensors"])
):
    """What comes into an exported model that is trained or evaluated."""

    __slots__ = ()

    def __new__(cls, features: Any, labels: Any, receiver_tensors: Any) -> SupervisedInputReceiver:
        _named(features, "feature", FEATURE, also_numbers=True)
        _named(labels, "label", LABEL, also_numbers=True)
        tensors = _named(receiver_tensors, "receiver_tensor", INPUT)
        return super().__new__(cls, features, labels, tensors)


@export("estimator.export.build_parsing_serving_input_receiver_fn")
def build_parsing_serving_input_receiver_fn(
    feature_spec: dict[str, Any], default_batch_size: int | None = None
) -> Callable[[], ServingInputReceiver]:
    """A function that makes a receiver of serialized `tf.train.Example` messages."""

    def serving_input_receiver_fn() -> ServingInputReceiver:
        examples = tf.placeholder(
            tf.string, shape=[default_batch_size], name="input_example_tensor"
        )
        features = tf.parse_example(examples, feature_spec)
        return ServingInputReceiver(features, {"examples": examples})

    return serving_input_receiver_fn


def _placeholder_like(tensor: Any, batch_size: int | None) -> Any:
    shape = tf.TensorShape([batch_size]).concatenate(tensor.get_shape()[1:])
    op = getattr(tensor, "op", None)  # eager tensors have none
    return tf.placeholder(tensor.dtype, shape=shape, name=op.name if op is not None else None)


def _placeholders_like(tensors: dict[Any, Any], batch_size: int | None) -> dict[Any, Any]:
    return {name: _placeholder_like(t, batch_size) for name, t in tensors.items()}


@export("estimator.export.build_raw_serving_input_receiver_fn")
def build_raw_serving_input_receiver_fn(
    features: dict[str, Any], default_batch_size: int | None = None
) -> Callable[[], ServingInputReceiver]:
    """A function that makes a receiver of the features themselves, of the kinds and shapes given."""

    def serving_input_receiver_fn() -> ServingInputReceiver:
        tensors = _placeholders_like(features, default_batch_size)
        return ServingInputReceiver(tensors, tensors)

    return serving_input_receiver_fn


@export("estimator.experimental.build_raw_supervised_input_receiver_fn")
def build_raw_supervised_input_receiver_fn(
    features: Any, labels: Any, default_batch_size: int | None = None
) -> Callable[[], SupervisedInputReceiver]:
    """A function that makes a receiver of features and labels, of the kinds and shapes given."""
    named_features = features if isinstance(features, dict) else {INPUT: features}
    named_labels = labels if isinstance(labels, dict) else {LABEL: labels}
    overlap = set(named_features) & set(named_labels)
    if overlap:
        raise ValueError(
            f"Features and labels must have distinct keys. Found overlapping keys: {overlap}"
        )

    def supervised_input_receiver_fn() -> SupervisedInputReceiver:
        fed_features = _placeholders_like(named_features, default_batch_size)
        fed_labels = _placeholders_like(named_labels, default_batch_size)
        return SupervisedInputReceiver(
            fed_features if isinstance(features, dict) else fed_features[INPUT],
            fed_labels if isinstance(labels, dict) else fed_labels[LABEL],
            {**fed_features, **fed_labels},
        )

    return supervised_input_receiver_fn
