"""What `tf.estimator` has as well."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import weft as tf
from weft.estimator.canned.models import dnn_logit_fn_builder, linear_logit_fn_builder
from weft.estimator.inputs_of_model import model_inputs
from weft.estimator.more_metrics import add_metrics
from weft.estimator.receivers import build_raw_supervised_input_receiver_fn
from weft.estimator.spec import call_logit_fn
from weft.framework.export import export, export_all

export_all(
    "contrib.estimator",
    add_metrics=add_metrics,
    build_raw_supervised_input_receiver_fn=build_raw_supervised_input_receiver_fn,
    call_logit_fn=call_logit_fn,
    dnn_logit_fn_builder=dnn_logit_fn_builder,
    linear_logit_fn_builder=linear_logit_fn_builder,
)


@export("contrib.estimator.export_all_saved_models")
def export_all_saved_models(
    estimator: Any,
    export_dir_base: Any,
    input_receiver_fn_map: dict[str, Callable],
    assets_extra: dict[str, str] | None = None,
    as_text: bool = False,
    checkpoint_path: str | None = None,
) -> bytes:
    """Exports a model for several modes in one SavedModel."""
    return estimator.experimental_export_all_saved_models(
        export_dir_base, input_receiver_fn_map, assets_extra, as_text, checkpoint_path
    )


@export("contrib.estimator.export_saved_model_for_mode")
def export_saved_model_for_mode(
    estimator: Any,
    export_dir_base: Any,
    input_receiver_fn: Callable,
    assets_extra: dict[str, str] | None = None,
    as_text: bool = False,
    checkpoint_path: str | None = None,
    mode: str = "infer",
) -> bytes:
    """Exports a model for a mode as a SavedModel."""
    return estimator.export_saved_model(
        export_dir_base,
        input_receiver_fn,
        assets_extra,
        as_text,
        checkpoint_path,
        experimental_mode=mode,
    )


@export("contrib.estimator.build_supervised_input_receiver_fn_from_input_fn")
def build_supervised_input_receiver_fn_from_input_fn(
    input_fn: Callable, **input_fn_args: Any
) -> Callable:
    """A function that makes a receiver of features and labels as an input function gives them."""
    with tf.Graph().as_default():
        inputs = model_inputs(input_fn(**input_fn_args))
        return build_raw_supervised_input_receiver_fn(inputs.features, inputs.labels)
