"""Models of estimators as SavedModels."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from typing import Any

import weft as tf
from weft.estimator.export_outputs import outputs_of, signatures_of
from weft.estimator.modes import ModeKeys
from weft.framework.compat_text import as_bytes, as_text
from weft.train.scaffold import Scaffold

_TAGS = {ModeKeys.PREDICT: ["serve"], ModeKeys.TRAIN: ["train"], ModeKeys.EVAL: ["eval"]}
_TRAIN_OP_KEY = "saved_model_train_op"
_ATTEMPTS = 10


def new_folder(base: Any) -> str:
    """A folder beneath a base that does not exist yet and is called after the time, in seconds."""
    for attempt in range(1, _ATTEMPTS + 1):
        folder = os.path.join(as_text(base), str(int(time.time())))
        if not tf.gfile.Exists(folder):
            return folder
        time.sleep(1)
        tf.logging.warning(
            "Directory %s already exists; retrying (attempt %d/%d)", folder, attempt, _ATTEMPTS
        )
    raise RuntimeError(
        f"Failed to obtain a unique export directory name after {_ATTEMPTS} attempts."
    )


def export(
    estimator: Any,
    base: Any,
    receivers: dict[str, Callable],
    assets_extra: dict[str, str] | None,
    write_text: bool,
    checkpoint_path: str,
    strip_default_attrs: bool,
) -> bytes:
    """Writes a SavedModel with a graph for each mode; under another name first, so that nobody serves half a model."""
    modes = [m for m in (ModeKeys.TRAIN, ModeKeys.EVAL, ModeKeys.PREDICT) if receivers.get(m)]
    if not modes:
        raise ValueError(f"No valid modes for exporting found. Got {receivers.keys()}.")
    folder = new_folder(base)
    parent, name = os.path.split(folder)
    unfinished = os.path.join(parent, f"temp-{name}")
    try:
        builder = tf.saved_model.Builder(unfinished)
        for mode in modes:
            with tf.Graph().as_default():
                _add_mode(
                    estimator,
                    builder,
                    mode,
                    receivers[mode],
                    checkpoint_path,
                    mode == modes[0],
                    strip_default_attrs,
                )
        builder.save(write_text)
        for destination, source in (assets_extra or {}).items():
            target = os.path.join(unfinished, "assets.extra", destination)
            tf.gfile.MakeDirs(os.path.dirname(target))
            tf.gfile.Copy(source, target)
        tf.gfile.Rename(unfinished, folder)
    except BaseException:
        with contextlib.suppress(tf.errors.OpError):
            tf.gfile.DeleteRecursively(unfinished)
        raise
    return as_bytes(folder)


def _add_mode(
    estimator: Any,
    builder: Any,
    mode: str,
    receiver_fn: Callable,
    checkpoint_path: str,
    with_variables: bool,
    strip_default_attrs: bool,
) -> None:
    """Builds the model for a mode in the default graph and adds it to the SavedModel."""
    estimator._create_and_assert_global_step(tf.get_default_graph())
    tf.set_random_seed(estimator._config.tf_random_seed)
    receiver = receiver_fn()
    spec = estimator._call_model_fn_to_export(
        receiver.features, getattr(receiver, "labels", None), mode, estimator.config
    )
    signatures = signatures_of(
        receiver.receiver_tensors,
        outputs_of(spec),
        getattr(receiver, "receiver_tensors_alternatives", None),
        serving_only=mode == ModeKeys.PREDICT,
    )
    with tf.Session(config=estimator._session_config) as session:
        local_init = spec.scaffold.local_init_op
        if local_init is None:
            local_init = Scaffold.default_local_init_op()
        saver = spec.scaffold.saver or tf.train.Saver(sharded=True)
        try:
            saver.restore(session, checkpoint_path)
        except tf.errors.NotFoundError as e:
            raise ValueError(
                "Could not load all requested variables from checkpoint. Please make sure your model_fn does not "
                f"expect variables that were not saved in the checkpoint.\n\nMode `{mode}`, checkpoint "
                f"`{checkpoint_path}`: {e}"
            ) from e
        if spec.train_op is not None:
            tf.add_to_collection(_TRAIN_OP_KEY, spec.train_op)
        rest: dict[str, Any] = {
            "tags": _TAGS[mode],
            "signature_def_map": signatures,
            "assets_collection": tf.get_collection(tf.GraphKeys.ASSET_FILEPATHS),
            "main_op": local_init,
            "saver": saver,
            "strip_default_attrs": strip_default_attrs,
        }
        if with_variables:
            builder.add_meta_graph_and_variables(session, **rest)
        else:
            builder.add_meta_graph(**rest)
