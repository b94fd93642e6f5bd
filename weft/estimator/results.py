"""The results of an evaluation, as events beside the model."""

from __future__ import annotations

from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

import weft as tf
from weft import proto


def write_results(
    folder: str, results: dict[str, Any], step: Any, checkpoint_path: str | None
) -> None:
    """Writes metrics, and which checkpoint they are of, into the event file of a folder."""
    tf.logging.info(
        "Saving dict for global step %d: %s",
        step,
        ", ".join(f"{k} = {v}" for k, v in sorted(results.items()) if not isinstance(v, bytes)),
    )
    writer = tf.summary.FileWriterCache.get(folder)
    summary = proto.Summary()
    for name, value in results.items():
        if value is not None and name != "global_step":
            _add(summary, name, value)
    writer.add_summary(summary, step)
    if checkpoint_path:
        tf.logging.info(
            "Saving 'checkpoint_path' summary for global step %d: %s", step, checkpoint_path
        )
        path = tf.make_tensor_proto(checkpoint_path, dtype=tf.string)
        of = proto.Summary(value=[proto.Summary.Value(tag="checkpoint_path", tensor=path)])
        writer.add_summary(of, step)
    writer.flush()


def _add(summary: Any, name: str, value: Any) -> None:
    if isinstance(value, (float, int, np.float32, np.int32, np.int64)):
        summary.value.add(tag=name, simple_value=float(value))
    elif isinstance(value, bytes):
        try:
            parts = proto.Summary.FromString(value).value
        except DecodeError:
            tf.logging.warning("Skipping summary for %s, cannot parse string to Summary.", name)
            return
        for i, part in enumerate(parts):
            part.tag = f"{name}/{i}"
        summary.value.extend(parts)
    elif isinstance(value, np.ndarray):
        summary.value.add(tag=name, node_name=name, tensor=tf.make_tensor_proto(value))
        tf.logging.info("Summary for np.ndarray %s is shown by TensorBoard's plugins only.", name)
    else:
        tf.logging.warning(
            "Skipping summary for %s, must be a float, np.float32, np.int64, np.int32 or int or np.ndarray or a "
            "serialized string of Summary.",
            name,
        )
