"""simple_save: a SavedModel for serving in one call."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.framework.export import export
from weft.saved_model import words
from weft.saved_model.builder_class import SavedModelBuilder
from weft.saved_model.signatures import predict_signature_def


@export("saved_model.simple_save")
def simple_save(
    session: Any, export_dir: Any, inputs: Any, outputs: Any, legacy_init_op: Any = None
) -> None:
    """Writes the default graph and a session's variables, with one signature, as a SavedModel for serving."""
    signature = predict_signature_def(inputs, outputs)
    builder = SavedModelBuilder(export_dir)
    builder.add_meta_graph_and_variables(
        session,
        tags=[words.SERVING],
        signature_def_map={words.DEFAULT_SERVING_SIGNATURE_DEF_KEY: signature},
        assets_collection=tf.get_collection(tf.GraphKeys.ASSET_FILEPATHS),
        main_op=legacy_init_op,
        clear_devices=True,
    )
    builder.save()
