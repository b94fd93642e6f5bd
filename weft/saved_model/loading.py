"""Loading SavedModels into sessions."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft import proto
from weft.framework import file_system, meta_graph
from weft.framework.export import export
from weft.saved_model import words
from weft.saved_model.assets import asset_paths
from weft.saved_model.places import model_file, variables_path
from weft.saved_model.signatures import load_op_from_signature_def
from weft.train.saveable import all_saveables


@export(
    "saved_model.contains_saved_model",
    "saved_model.maybe_saved_model_directory",
    "saved_model.loader.maybe_saved_model_directory",
)
def maybe_saved_model_directory(export_dir: Any) -> bool:
    """Whether there is a file of a SavedModel in a directory."""
    return any(file_system.exists(model_file(export_dir, text)) for text in (True, False))


def parse_saved_model(export_dir: Any) -> Any:
    """The message of the SavedModel in a directory."""
    from google.protobuf import message, text_format

    model = proto.SavedModel()
    for text in (False, True):
        path = model_file(export_dir, text)
        if not file_system.exists(path):
            continue
        content = file_system.read_file(path)
        try:
            if text:
                text_format.Merge(content.decode(), model)
            else:
                model.ParseFromString(content)
        except (message.DecodeError, text_format.ParseError, UnicodeDecodeError) as e:
            raise OSError(f"Cannot parse file {path}: {e}.") from None
        return model
    raise OSError(
        f"SavedModel file does not exist at: {file_system.path_text(export_dir)}/"
        f"{{{words.SAVED_MODEL_FILENAME_PBTXT}|{words.SAVED_MODEL_FILENAME_PB}}}"
    )


def init_op_of(meta: Any, import_scope: str | None = None) -> Any:
    """What runs when a graph that is in the default graph now has got its variables; None where nothing does."""
    key = words.INIT_OP_SIGNATURE_KEY
    if key in meta.signature_def:
        return load_op_from_signature_def(meta.signature_def[key], key, import_scope)
    for key in (words.MAIN_OP_KEY, words.LEGACY_INIT_OP_KEY):
        if key in meta.collection_def:
            names = meta.collection_def[key].node_list.value
            if len(names) != 1:
                raise RuntimeError(f"Expected exactly one SavedModel init op. Found: {names}")
            return tf.get_collection(key)[0]
    return None


class SavedModelLoader:
    """Loads graphs of a SavedModel, and what their variables have."""

    def __init__(self, export_dir: Any):
        self._export_dir = export_dir
        self._variables_path = variables_path(export_dir)
        self._saved_model = parse_saved_model(export_dir)

    @property
    def export_dir(self) -> Any:
        """The directory of the model."""
        return self._export_dir

    @property
    def variables_path(self) -> str:
        """The prefix of the checkpoint."""
        return self._variables_path

    @property
    def saved_model(self) -> Any:
        """The message of the model."""
        return self._saved_model

    def get_meta_graph_def_from_tags(self, tags: Any) -> Any:
        """The graph that has these tags and no others."""
        available = []
        for meta in self._saved_model.meta_graphs:
            available.append(set(meta.meta_info_def.tags))
            if available[-1] == set(tags):
                return meta
        raise RuntimeError(
            f"MetaGraphDef associated with tags {str(tags).strip('[]')} could not be found in SavedModel. It has "
            f"graphs with these tags:\navailable_tags: {available}"
        )

    def load_graph(
        self, graph: tf.Graph, tags: Any, import_scope: str | None = None, **saver_kwargs: Any
    ) -> tuple[Any, Any]:
        """Adds the graph of some tags to a graph; gives its saver and the elements that were asked for."""
        meta = self.get_meta_graph_def_from_tags(tags)
        with graph.as_default():
            return meta_graph.import_meta_graph_with_return_elements(
                meta, import_scope=import_scope, **saver_kwargs
            )

    def restore_variables(self, sess: Any, saver: Any, import_scope: str | None = None) -> None:
        """Gives variables the values that the model has for them."""
        with sess.graph.as_default():
            if saver is None and not all_saveables(import_scope):
                tf.logging.info(
                    "The specified SavedModel has no variables; no checkpoints were restored."
                )
            elif isinstance(saver, tf.train.Saver):
                saver.restore(sess, self._variables_path)
            else:
                raise ValueError(
                    "No tf.train.Saver object was passed to the function SavedModelLoader.restore_variables. Since "
                    "there are variables in the graph, a saver is required."
                )

    def run_init_ops(self, sess: Any, tags: Any, import_scope: str | None = None) -> None:
        """Runs what the model says is to run when it has been loaded, with the paths of its assets."""
        meta = self.get_meta_graph_def_from_tags(tags)
        with sess.graph.as_default():
            paths = asset_paths(self._export_dir, meta, import_scope)
            op = init_op_of(meta, import_scope)
            if op is not None:
                sess.run([op], feed_dict=paths)

    def load(
        self, sess: Any, tags: Any, import_scope: str | None = None, **saver_kwargs: Any
    ) -> Any:
        """Adds the graph of some tags to a session's graph, restores it and runs its init op; gives its message."""
        with sess.graph.as_default():
            saver, _ = self.load_graph(sess.graph, tags, import_scope, **saver_kwargs)
            self.restore_variables(sess, saver, import_scope)
            self.run_init_ops(sess, tags, import_scope)
        return self.get_meta_graph_def_from_tags(tags)


@export("saved_model.load", "saved_model.loader.load")
def load(
    sess: Any, tags: Any, export_dir: Any, import_scope: str | None = None, **saver_kwargs: Any
) -> Any:
    """Loads the graph of some tags of a SavedModel into a session, ready to run; gives its MetaGraphDef.

    `import_scope` is put before all names; `saver_kwargs` go to `tf.train.import_meta_graph`.
    """
    return SavedModelLoader(export_dir).load(sess, tags, import_scope, **saver_kwargs)
