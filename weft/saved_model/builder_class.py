"""The builder of SavedModels."""

from __future__ import annotations

import os
from typing import Any

import weft as tf
from weft import proto
from weft.framework import file_system
from weft.framework.export import export
from weft.framework.operation import Operation
from weft.saved_model import words
from weft.saved_model.assets import add_assets
from weft.saved_model.places import model_file, variables_path
from weft.train.saveable import all_saveables


@export("saved_model.Builder", "saved_model.builder.SavedModelBuilder")
class SavedModelBuilder:
    """Writes a SavedModel: graphs, each with its tags and signatures, that share variables and assets.

    `add_meta_graph_and_variables` adds the first graph, `add_meta_graph` others, `save` writes the file.
    """

    def __init__(self, export_dir: Any):
        self._export_dir = file_system.path_text(export_dir)
        self._saved_model = proto.SavedModel(
            saved_model_schema_version=words.SAVED_MODEL_SCHEMA_VERSION
        )
        self._has_saved_variables = False
        if not file_system.exists(self._export_dir):
            file_system.make_directories(self._export_dir)
        elif file_system.list_directory(self._export_dir):
            raise AssertionError(
                "Export directory already exists, and isn't empty. Please choose a different export directory, or "
                f"delete all the contents of the specified directory: {export_dir}"
            )

    def add_meta_graph(
        self,
        tags: Any,
        signature_def_map: Any = None,
        assets_collection: Any = None,
        legacy_init_op: Any = None,
        clear_devices: bool = False,
        main_op: Any = None,
        strip_default_attrs: bool = False,
        saver: Any = None,
    ) -> None:
        """Adds the default graph; its variables are those that were saved with the first one."""
        if not self._has_saved_variables:
            raise AssertionError(
                "Graph state including variables and assets has not been saved yet. Please invoke "
                "`add_meta_graph_and_variables()` first."
            )
        signatures = _checked(signature_def_map)
        self._add_collections(assets_collection, main_op or legacy_init_op)
        saver = saver or _saver()
        self._add(saver, tags, signatures, clear_devices, strip_default_attrs)

    def add_meta_graph_and_variables(
        self,
        sess: Any,
        tags: Any,
        signature_def_map: Any = None,
        assets_collection: Any = None,
        legacy_init_op: Any = None,
        clear_devices: bool = False,
        main_op: Any = None,
        strip_default_attrs: bool = False,
        saver: Any = None,
    ) -> None:
        """Adds the default graph, and saves the values that its variables have in a session."""
        if self._has_saved_variables:
            raise AssertionError(
                "Graph state including variables and assets has already been saved. Please invoke "
                "`add_meta_graph()` instead."
            )
        signatures = _checked(signature_def_map)
        self._add_collections(assets_collection, main_op or legacy_init_op)
        path = variables_path(self._export_dir)
        file_system.make_directories(os.path.dirname(path))
        saver = saver or _saver()
        # The model has a graph and no list of checkpoints beside the variables.
        saver.save(sess, path, write_meta_graph=False, write_state=False)
        self._add(saver, tags, signatures, clear_devices, strip_default_attrs)
        self._has_saved_variables = True

    def save(self, as_text: bool = False) -> bytes:
        """Writes the model's message, binary or as text; gives the path of the file."""
        from google.protobuf import text_format

        path = model_file(self._export_dir, as_text)
        if as_text:
            content = text_format.MessageToString(self._saved_model).encode()
        else:
            content = self._saved_model.SerializeToString()
        file_system.make_directories(self._export_dir)
        file_system.replace_file(path, content)  # last of all: without it there is no model
        tf.logging.info("SavedModel written to: %s", path)
        return os.fsencode(path)

    def _add(
        self, saver: Any, tags: Any, signatures: dict[str, Any], clear: bool, strip: bool
    ) -> None:
        meta = saver.export_meta_graph(clear_devices=clear, strip_default_attrs=strip)
        meta.meta_info_def.tags.extend(tags)
        for key, signature in signatures.items():
            meta.signature_def[key].CopyFrom(signature)
        self._saved_model.meta_graphs.add().CopyFrom(meta)

    def _add_collections(self, assets: Any, main_op: Any) -> None:
        """Adds to the graph's collections what is to run, and which files are needed, when the model is loaded."""
        from google.protobuf.any_pb2 import Any as AnyMessage

        def add(definition: Any) -> None:
            packed = AnyMessage()
            packed.Pack(definition)
            tf.add_to_collection(words.ASSETS_KEY, packed)

        add_assets(assets, self._export_dir, add)
        if main_op is None:
            return
        if not isinstance(main_op, Operation):
            raise TypeError(f"main_op needs to be an Operation: {main_op!r}")
        for key in (words.MAIN_OP_KEY, words.LEGACY_INIT_OP_KEY):
            if tf.get_collection(key):
                raise ValueError(
                    f"Graph already contains one or more main ops under the collection {key}."
                )
        tf.add_to_collection(words.MAIN_OP_KEY, main_op)


def _saver() -> Any:
    return tf.train.Saver(all_saveables(), sharded=True, allow_empty=True)


def _checked(signatures: Any) -> dict[str, Any]:
    signatures = dict(signatures or {})
    for signature in signatures.values():
        for info in (*signature.inputs.values(), *signature.outputs.values()):
            _check(info)
    reserved = {
        words.INIT_OP_SIGNATURE_KEY: "initialization",
        words.TRAIN_OP_SIGNATURE_KEY: "the train op",
    }
    for key, what in reserved.items():
        if key in signatures:
            raise KeyError(
                f'SignatureDef map key "{key}" is reserved for {what}. Please use a different key.'
            )
    return signatures


def _check(info: Any) -> None:
    """AssertionError where a TensorInfo does not say which tensor it means and of which type that is."""
    encoding = info.WhichOneof("encoding")
    if encoding is None:
        raise AssertionError(
            "All TensorInfo protos used in the SignatureDefs must have one of the 'encoding' fields (e.g., name or "
            f"coo_sparse) set: {info}"
        )
    if encoding == "composite_tensor":
        for part in info.composite_tensor.components:
            _check(part)
    elif info.dtype == proto.DT_INVALID:
        raise AssertionError(
            f"All TensorInfo protos used in the SignatureDefs must have the dtype field set: {info}"
        )
