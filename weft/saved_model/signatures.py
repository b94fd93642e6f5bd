"""Signatures: which tensors a served model takes and gives, and what the request is called."""

from __future__ import annotations

from typing import Any

from weft import proto
from weft.framework import errors
from weft.framework.export import export
from weft.framework.tensor import Tensor
from weft.saved_model import words
from weft.saved_model.tensor_infos import (
    build_tensor_info,
    element_from_tensor_info,
    tensor_info_of_op,
)

_FORMS = {"string": proto.DT_STRING, "float": proto.DT_FLOAT}


def _named(name: str) -> Any:
    return export(f"saved_model.{name}", f"saved_model.signature_def_utils.{name}")


@_named("build_signature_def")
def build_signature_def(inputs: Any = None, outputs: Any = None, method_name: Any = None) -> Any:
    """The signature with these TensorInfos, by what they are called in requests."""
    signature = proto.SignatureDef()
    for infos, field in ((inputs, signature.inputs), (outputs, signature.outputs)):
        for key in infos or ():
            field[key].CopyFrom(infos[key])
    if method_name is not None:
        signature.method_name = method_name
    return signature


def _info(tensor: Any, what: str, form: str) -> Any:
    info = build_tensor_info(tensor)
    if info.dtype != _FORMS[form]:
        raise ValueError(f"{what} must be a {form} Tensor.")
    return info


def _examples(examples: Any, kind: str) -> Any:
    what = f"{kind} examples"
    if examples is None:
        raise ValueError(f"{what} cannot be None.")
    if not isinstance(examples, Tensor):
        raise ValueError(f"{what} must be a string Tensor.")
    return _info(examples, what, "string")


@_named("regression_signature_def")
def regression_signature_def(examples: Any, predictions: Any) -> Any:
    """The signature of a model that gives a number for each serialized Example."""
    inputs = {words.REGRESS_INPUTS: _examples(examples, "Regression")}
    if predictions is None:
        raise ValueError("Regression predictions cannot be None.")
    outputs = {words.REGRESS_OUTPUTS: _info(predictions, "Regression output", "float")}
    return build_signature_def(inputs, outputs, words.REGRESS_METHOD_NAME)


@_named("classification_signature_def")
def classification_signature_def(examples: Any, classes: Any, scores: Any) -> Any:
    """The signature of a model that gives names of classes, or their scores, or both, for each serialized Example."""
    inputs = {words.CLASSIFY_INPUTS: _examples(examples, "Classification")}
    if classes is None and scores is None:
        raise ValueError("Classification classes and scores cannot both be None.")
    outputs = {}
    if classes is not None:
        outputs[words.CLASSIFY_OUTPUT_CLASSES] = _info(classes, "Classification classes", "string")
    if scores is not None:
        outputs[words.CLASSIFY_OUTPUT_SCORES] = _info(scores, "Classification scores", "float")
    return build_signature_def(inputs, outputs, words.CLASSIFY_METHOD_NAME)


@_named("predict_signature_def")
def predict_signature_def(inputs: Any, outputs: Any) -> Any:
    """The signature of a model that takes and gives whatever tensors there are."""
    if not inputs:
        raise ValueError("Prediction inputs cannot be None or empty.")
    if not outputs:
        raise ValueError("Prediction outputs cannot be None or empty.")
    return build_signature_def(
        {key: build_tensor_info(tensor) for key, tensor in inputs.items()},
        {key: build_tensor_info(tensor) for key, tensor in outputs.items()},
        words.PREDICT_METHOD_NAME,
    )


@_named("is_valid_signature")
def is_valid_signature(signature_def: Any) -> bool:
    """Whether TensorFlow Serving can serve a signature."""
    if signature_def is None:
        return False
    inputs = {key: info.dtype for key, info in signature_def.inputs.items()}
    outputs = {key: info.dtype for key, info in signature_def.outputs.items()}
    method = signature_def.method_name
    if method == words.PREDICT_METHOD_NAME:
        return bool(inputs and outputs)
    if method == words.REGRESS_METHOD_NAME:
        return inputs == {words.REGRESS_INPUTS: proto.DT_STRING} and outputs == {
            words.REGRESS_OUTPUTS: proto.DT_FLOAT
        }
    if method == words.CLASSIFY_METHOD_NAME:
        known = {
            words.CLASSIFY_OUTPUT_CLASSES: proto.DT_STRING,
            words.CLASSIFY_OUTPUT_SCORES: proto.DT_FLOAT,
        }
        return (
            inputs == {words.CLASSIFY_INPUTS: proto.DT_STRING}
            and bool(outputs)
            and outputs.items() <= known.items()
        )
    return False


def op_signature_def(op: Any, key: str) -> Any:
    """The signature that stands for one operation, or tensor, by its name."""
    return build_signature_def(outputs={key: tensor_info_of_op(op)})


def load_op_from_signature_def(
    signature_def: Any, key: str, import_scope: str | None = None
) -> Any:
    """The operation, or tensor, that a signature of `op_signature_def` stands for."""
    try:
        return element_from_tensor_info(signature_def.outputs[key], import_scope=import_scope)
    except KeyError:
        raise errors.NotFoundError(
            None,
            None,
            f"The {key} could not be found in the graph. A signature of this key is taken for one operation: a "
            "model's own signatures have to have other keys.",
        ) from None
