"""What an exported model gives: outputs that know the signature they have in a SavedModel."""

from __future__ import annotations

import abc
from typing import Any

import weft as tf
from weft.estimator.modes import ModeKeys
from weft.framework.export import export
from weft.framework.operation import Operation
from weft.framework.tensor import Tensor

DEFAULT_SIGNATURE = "serving_default"


@export("estimator.export.ExportOutput")
class ExportOutput(abc.ABC):
    """The outputs of a model, which with its inputs make a signature."""

    @abc.abstractmethod
    def as_signature_def(self, receiver_tensors: dict[str, Any]) -> Any:
        """The signature with these inputs."""


def _only_string(receiver_tensors: dict[str, Any], what: str) -> Any:
    """The one input of a signature that takes serialized examples."""
    values = list(receiver_tensors.values())
    if len(values) != 1 or values[0].dtype.base_dtype != tf.string:
        raise ValueError(f"{what} input must be a single string Tensor; got {receiver_tensors}")
    return values[0]


def _is_floating(value: Any) -> bool:
    return isinstance(value, Tensor) and value.dtype.is_floating


def _named_tensors(outputs: Any, default_name: str, what: str) -> dict[str, Tensor]:
    """Outputs by name; parts of a name that is a tuple are joined."""
    named = outputs if isinstance(outputs, dict) else {default_name: outputs}
    checked = {}
    for key, value in named.items():
        key = "/".join(key) if isinstance(key, tuple) else key
        if not isinstance(key, str):
            raise ValueError(f"{what} output key must be a string; got {key}.")
        if not isinstance(value, Tensor):
            raise ValueError(f"{what} output value must be a Tensor; got {value}.")
        checked[key] = value
    return checked


@export("estimator.export.ClassificationOutput")
class ClassificationOutput(ExportOutput):
    """Classes, their scores, or both."""

    def __init__(self, scores: Any = None, classes: Any = None):
        if scores is not None and not _is_floating(scores):
            raise ValueError(f"Classification scores must be a float32 Tensor; got {scores}")
        if classes is not None and not (
            isinstance(classes, Tensor) and classes.dtype.base_dtype == tf.string
        ):
            raise ValueError(f"Classification classes must be a string Tensor; got {classes}")
        if scores is None and classes is None:
            raise ValueError("At least one of scores and classes must be set.")
        self._scores, self._classes = scores, classes

    @property
    def scores(self) -> Any:
        """How likely each class is."""
        return self._scores

    @property
    def classes(self) -> Any:
        """What the classes are called."""
        return self._classes

    def as_signature_def(self, receiver_tensors: dict[str, Any]) -> Any:
        return tf.saved_model.classification_signature_def(
            _only_string(receiver_tensors, "Classification"), self.classes, self.scores
        )


@export("estimator.export.RegressionOutput")
class RegressionOutput(ExportOutput):
    """A number for each example."""

    def __init__(self, value: Any):
        if not _is_floating(value):
            raise ValueError(f"Regression output value must be a float32 Tensor; got {value}")
        self._value = value

    @property
    def value(self) -> Any:
        """The numbers."""
        return self._value

    def as_signature_def(self, receiver_tensors: dict[str, Any]) -> Any:
        return tf.saved_model.regression_signature_def(
            _only_string(receiver_tensors, "Regression"), self.value
        )


@export("estimator.export.PredictOutput")
class PredictOutput(ExportOutput):
    """Any tensors, by name."""

    _SINGLE_OUTPUT_DEFAULT_NAME = "output"

    def __init__(self, outputs: Any):
        self._outputs = _named_tensors(outputs, self._SINGLE_OUTPUT_DEFAULT_NAME, "Prediction")

    @property
    def outputs(self) -> dict[str, Any]:
        """The tensors by name."""
        return self._outputs

    def as_signature_def(self, receiver_tensors: dict[str, Any]) -> Any:
        return tf.saved_model.predict_signature_def(receiver_tensors, self.outputs)


class SupervisedOutput(ExportOutput):
    """Loss, predictions and metrics of a model that is exported to be trained or evaluated on."""

    def __init__(self, method_name: str, loss: Any, predictions: Any, metrics: Any):
        self._method_name = method_name
        outputs: dict[str, Any] = {}
        if loss is not None:
            outputs.update(_prefixed(_named_tensors(loss, "loss", "loss"), "loss"))
        if predictions is not None:
            named = _named_tensors(predictions, "predictions", "predictions")
            outputs.update(_prefixed(named, "predictions"))
        for key, (value, update) in _prefixed(metrics or {}, "metrics").items():
            if isinstance(update, Operation):
                with tf.control_dependencies([update]):
                    update = tf.constant([], name="metric_op_wrapper")
            outputs[f"{key}/value"] = value
            outputs[f"{key}/update_op"] = update
        self.outputs = outputs

    def as_signature_def(self, receiver_tensors: dict[str, Any]) -> Any:
        info = tf.saved_model.build_tensor_info
        return tf.saved_model.build_signature_def(
            {name: info(tensor) for name, tensor in receiver_tensors.items()},
            {name: info(tensor) for name, tensor in self.outputs.items()},
            self._method_name,
        )


def _prefixed(outputs: dict[Any, Any], prefix: str) -> dict[str, Any]:
    """Outputs whose names begin with what they are."""
    names = {key: "/".join(key) if isinstance(key, tuple) else key for key in outputs}
    return {
        name if name.startswith(prefix) else f"{prefix}/{name}": outputs[key]
        for key, name in names.items()
    }


def serving_outputs(export_outputs: Any, predictions: Any) -> dict[str, ExportOutput]:
    """The outputs of a served model by signature: what was given, or its predictions; one is the default."""
    if export_outputs is None:
        return {DEFAULT_SIGNATURE: PredictOutput(predictions)}
    if not isinstance(export_outputs, dict):
        raise TypeError(f"export_outputs must be dict, given: {export_outputs}")
    for value in export_outputs.values():
        if not isinstance(value, ExportOutput):
            raise TypeError(
                f"Values in export_outputs must be ExportOutput objects. Given: {export_outputs}"
            )
    if len(export_outputs) == 1:  # whose dictionary it is, finds the default in it too
        export_outputs.setdefault(DEFAULT_SIGNATURE, next(iter(export_outputs.values())))
    elif export_outputs and DEFAULT_SIGNATURE not in export_outputs:
        raise ValueError(
            "Multiple export_outputs were provided, but none of them is specified as the default.  Do this by naming "
            "one of them with signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY."
        )
    return export_outputs


def outputs_of(spec: Any) -> dict[str, ExportOutput]:
    """What a model gives that is exported in the mode of its specification."""
    if spec.mode == ModeKeys.PREDICT:
        return serving_outputs(spec.export_outputs, spec.predictions)
    name, method = {
        ModeKeys.TRAIN: ("train", "tensorflow/supervised/training"),
        ModeKeys.EVAL: ("eval", "tensorflow/supervised/eval"),
    }[spec.mode]
    return {name: SupervisedOutput(method, spec.loss, spec.predictions, spec.eval_metric_ops)}


def signatures_of(
    receiver_tensors: dict[str, Any],
    outputs: dict[str, ExportOutput],
    alternatives: dict[str, Any] | None,
    serving_only: bool,
) -> dict[str, Any]:
    """The signatures of each output with the inputs, and with each alternative of the inputs.

    An output that cannot have a signature with some inputs is left out, and the log says so.
    """
    inputs = {"": receiver_tensors, **(alternatives or {})}
    signatures, left_out = {}, {}
    for receiver, tensors in inputs.items():
        for output, made in outputs.items():
            name = f"{receiver}:{output}" if receiver else f"{output or 'None'}"
            try:
                signatures[name] = made.as_signature_def(tensors)
            except ValueError as e:
                left_out[name] = str(e)
    for name, signature in signatures.items():
        tf.logging.info("Signature in export: %s (%s)", name, signature.method_name)
    for name, why in left_out.items():
        tf.logging.info("Signature left out of export: %s (%s)", name, why)
    if not signatures:
        tf.logging.warning("Export includes no signatures!")
    elif DEFAULT_SIGNATURE not in signatures:
        tf.logging.warning("Export includes no default signature!")
    if serving_only:
        valid = tf.saved_model.is_valid_signature
        signatures = {name: s for name, s in signatures.items() if valid(s)}
    return signatures
