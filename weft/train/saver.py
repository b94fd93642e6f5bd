"""Saver: checkpoints of a session's variables, written, counted and read back."""

from __future__ import annotations

import math
import numbers
import os
import time
from typing import Any

import weft as tf
from weft import proto
from weft.framework import context, errors, file_system, meta_graph
from weft.framework.checkpoint_files import open_checkpoint
from weft.framework.export import export
from weft.framework.graph_keys import GraphKeys
from weft.framework.scope_names import prepend_name_scope, strip_name_scope
from weft.train import checkpoint_state
from weft.train.restored_shapes import RestoredShapes
from weft.train.saveable import all_saveables, saveables
from weft.train.saver_builder import V2, BulkSaverBuilder
from weft.train.steps import global_step as value_of_step

_OBJECT_GRAPH_KEY = "_CHECKPOINTABLE_OBJECT_GRAPH"


@export("train.Saver")
class Saver:
    """Saves variables to checkpoints and restores them; keeps the newest and removes older ones.

    Args:
      var_list: what is saved, a list or a dict by the names in the checkpoint; by default every global variable
        and saveable object of the graph.
      reshape: restore also where the shapes differ, if the numbers of elements agree.
      sharded: one file for each device.
      max_to_keep: how many checkpoints stay; None or 0 keeps all.
      keep_checkpoint_every_n_hours: besides these, one for so many hours stays for good.
      saver_def: the operations of a graph that has them already, in place of new ones.
      defer_build: `build()` is called later, when the graph is complete.
      allow_empty: a graph without variables is no error; nothing is saved then.
    """

    def __init__(
        self,
        var_list: Any = None,
        reshape: bool = False,
        sharded: bool = False,
        max_to_keep: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000.0,
        name: str | None = None,
        restore_sequentially: bool = False,
        saver_def: Any = None,
        builder: Any = None,
        defer_build: bool = False,
        allow_empty: bool = False,
        write_version: int = V2,
        pad_step_number: bool = False,
        save_relative_paths: bool = False,
        filename: str | None = None,
    ):
        if defer_build and var_list:
            raise ValueError(
                "If `var_list` is provided then build cannot be deferred. Either set defer_build=False or "
                "var_list=None."
            )
        eager = context.executing_eagerly()
        if eager:
            tf.logging.warning(
                "Saver finds variables by their names, which need not be unique under eager execution; "
                "tf.train.Checkpoint finds them by the objects that hold them."
            )
            if var_list is None:
                raise RuntimeError(
                    "When eager execution is enabled, `var_list` must specify a list or dict of variables to save"
                )
        self._var_list = var_list
        self._reshape = reshape
        self._sharded = sharded
        self._max_to_keep = max_to_keep
        self._keep_checkpoint_every_n_hours = keep_checkpoint_every_n_hours
        self._name = name
        self._restore_sequentially = restore_sequentially
        self.saver_def = saver_def
        self._builder = builder
        self._is_built = False
        self._allow_empty = allow_empty
        self._is_empty: bool | None = None
        self._write_version = write_version
        self._pad_step_number = pad_step_number
        self._filename = filename
        self._save_relative_paths = save_relative_paths
        self._last_checkpoints: list[tuple[str, float]] = []
        self._checkpoints_to_be_deleted: list[tuple[str, float]] = []
        self._object_restore_saver: Saver | None = None
        self._restored_shapes: RestoredShapes | None = None
        self._next_checkpoint_time = time.time() + keep_checkpoint_every_n_hours * 3600
        if not eager and not defer_build:
            self.build()
        if self.saver_def:
            self._check_saver_def()
            self._write_version = self.saver_def.version

    # -- building ------------------------------------------------------------------------------------

    def build(self) -> None:
        """Adds the operations of saving and restoring to the graph, where they are not there yet."""
        if context.executing_eagerly():
            raise RuntimeError("Use save/restore instead of build in eager mode.")
        self._build(self._filename, build_save=True, build_restore=True)

    def _build(self, checkpoint_path: str | None, build_save: bool, build_restore: bool) -> None:
        eager = context.executing_eagerly()
        if self._is_built and not eager:
            return
        self._is_built = True
        if not self.saver_def or eager:
            if self._builder is None:
                self._builder = BulkSaverBuilder(self._write_version)
            if self._var_list is None:
                self._var_list = all_saveables()
            self._is_empty = not self._var_list
            if self._is_empty:
                if self._allow_empty:
                    return
                raise ValueError("No variables to save")
            self.saver_def = self._builder._build_internal(
                self._var_list,
                reshape=self._reshape,
                sharded=self._sharded,
                max_to_keep=self._max_to_keep,
                keep_checkpoint_every_n_hours=self._keep_checkpoint_every_n_hours,
                name=self._name,
                restore_sequentially=self._restore_sequentially,
                filename=checkpoint_path,
                build_save=build_save,
                build_restore=build_restore,
            )
        elif self._name:
            definition = proto.SaverDef()
            definition.CopyFrom(self.saver_def)
            for field in _NAMES:
                setattr(
                    definition, field, prepend_name_scope(getattr(definition, field), self._name)
                )
            self.saver_def = definition
        self._check_saver_def()
        if not eager:
            hours = self.saver_def.keep_checkpoint_every_n_hours
            self._next_checkpoint_time = time.time() + hours * 3600

    def _check_saver_def(self) -> None:
        if not isinstance(self.saver_def, proto.SaverDef):
            raise ValueError(f"saver_def must be a saver_pb2.SaverDef: {self.saver_def}")
        if context.executing_eagerly():
            return
        for field in ("save_tensor_name", "restore_op_name"):
            if not getattr(self.saver_def, field):
                raise ValueError(f"saver_def must specify the {field}: {self.saver_def}")

    # -- messages ------------------------------------------------------------------------------------

    def as_saver_def(self) -> Any:
        """The message that names the operations."""
        return self.saver_def

    def to_proto(self, export_scope: str | None = None) -> Any:
        """The message, with names within a scope; None where the operations are outside of it."""
        if export_scope is None:
            return self.saver_def
        if not all(getattr(self.saver_def, field).startswith(export_scope) for field in _NAMES):
            return None
        definition = proto.SaverDef()
        definition.CopyFrom(self.saver_def)
        for field in _NAMES:
            setattr(definition, field, strip_name_scope(getattr(definition, field), export_scope))
        return definition

    @staticmethod
    def from_proto(saver_def: Any, import_scope: str | None = None) -> Saver:
        """A saver by the operations that a message names."""
        return Saver(saver_def=saver_def, name=import_scope)

    # -- which checkpoints there are -----------------------------------------------------------------

    @property
    def last_checkpoints(self) -> list[str]:
        """The prefixes of the checkpoints that were kept, the oldest first."""
        return [path for path, _ in self._last_checkpoints]

    def set_last_checkpoints(self, last_checkpoints: list[str]) -> None:
        """Says which checkpoints there are, by their prefixes."""
        assert isinstance(last_checkpoints, list)
        self._last_checkpoints = [(path, math.inf) for path in last_checkpoints]

    def set_last_checkpoints_with_time(
        self, last_checkpoints_with_time: list[tuple[str, float]]
    ) -> None:
        """Says which checkpoints there are, and when they were written."""
        assert isinstance(last_checkpoints_with_time, list)
        self._last_checkpoints = last_checkpoints_with_time

    def recover_last_checkpoints(self, checkpoint_paths: list[str]) -> None:
        """Takes up the checkpoints of an earlier process, those that are there still."""
        found = [(p, checkpoint_state.get_checkpoint_mtimes([p])) for p in checkpoint_paths]
        self.set_last_checkpoints_with_time([(p, times[0]) for p, times in found if times])

    def _record(self, path: str) -> None:
        if not self.saver_def.max_to_keep:
            return
        self._last_checkpoints = [c for c in self._last_checkpoints if c[0] != path]
        self._last_checkpoints.append((path, time.time()))
        if len(self._last_checkpoints) > self.saver_def.max_to_keep:
            self._checkpoints_to_be_deleted.append(self._last_checkpoints.pop(0))

    def _remove_old(self, meta_graph_suffix: str) -> None:
        if not self._checkpoints_to_be_deleted:
            return
        path, written = self._checkpoints_to_be_deleted.pop(0)
        if written > self._next_checkpoint_time:  # this one stays for good
            hours = self.saver_def.keep_checkpoint_every_n_hours
            self._next_checkpoint_time += hours * 3600
            return
        try:
            checkpoint_state.remove_checkpoint(path, self.saver_def.version, meta_graph_suffix)
        except Exception as e:  # what cannot be removed must not end the training
            tf.logging.warning("Ignoring: %s", str(e))

    # -- saving --------------------------------------------------------------------------------------

    def save(
        self,
        sess: Any,
        save_path: str,
        global_step: Any = None,
        latest_filename: str | None = None,
        meta_graph_suffix: str = "meta",
        write_meta_graph: bool = True,
        write_state: bool = True,
        strip_default_attrs: bool = False,
        save_debug_info: bool = False,
    ) -> str | None:
        """Writes a checkpoint and its meta graph; returns the prefix by which it is restored."""
        eager = context.executing_eagerly()
        if not self._is_built and not eager:
            raise RuntimeError("`build()` should be called before save if defer_build==True")
        latest_filename = "checkpoint" if latest_filename is None else latest_filename
        save_path = file_system.path_text(save_path)
        if os.path.split(latest_filename)[0]:
            raise ValueError("'latest_filename' must not contain path components")
        prefix = self._prefix(sess, save_path, global_step)
        if global_step is None and os.path.basename(save_path) == latest_filename:
            if not self._sharded:
                raise ValueError(
                    f"'latest_filename' collides with 'save_path': '{latest_filename}' and '{save_path}'"
                )
        if not eager and not _is_session(sess):
            raise TypeError(f"'sess' must be a Session; {sess}")
        written = None if self._is_empty else self._write(sess, prefix, save_path)
        if (
            write_meta_graph and not eager
        ):  # first: what is told of as the latest has its meta graph
            with sess.graph.as_default():
                self.export_meta_graph(
                    checkpoint_state.meta_graph_file(prefix, meta_graph_suffix),
                    strip_default_attrs=strip_default_attrs,
                    save_debug_info=save_debug_info,
                )
        if written is not None and write_state:
            self._record(written)
            checkpoint_state.write_state(
                os.path.dirname(save_path),
                written,
                self.last_checkpoints,
                latest_filename,
                self._save_relative_paths,
            )
            self._remove_old(meta_graph_suffix)
        return written

    def _prefix(self, sess: Any, save_path: str, global_step: Any) -> str:
        if global_step is None:
            return save_path
        if not isinstance(global_step, numbers.Integral):
            global_step = value_of_step(sess, global_step)
        step = f"{global_step:08d}" if self._pad_step_number else f"{global_step:d}"
        return f"{save_path}-{step}"

    def _write(self, sess: Any, prefix: str, save_path: str) -> str:
        try:
            if context.executing_eagerly():
                self._build(prefix, build_save=True, build_restore=False)
                return self.saver_def.save_tensor_name
            written = sess.run(
                self.saver_def.save_tensor_name, {self.saver_def.filename_tensor_name: prefix}
            )
        except (errors.FailedPreconditionError, errors.NotFoundError):
            folder = os.path.dirname(save_path)
            if folder and not file_system.is_directory(folder):
                raise ValueError(
                    f"Parent directory of {save_path} doesn't exist, can't save."
                ) from None
            raise
        return written.decode() if isinstance(written, bytes) else str(written)

    def export_meta_graph(
        self,
        filename: str | None = None,
        collection_list: list[str] | None = None,
        as_text: bool = False,
        export_scope: str | None = None,
        clear_devices: bool = False,
        clear_extraneous_savers: bool = False,
        strip_default_attrs: bool = False,
        save_debug_info: bool = False,
    ) -> Any:
        """Returns, and writes to a file, the default graph with this saver."""
        return meta_graph.export_meta_graph(
            filename=filename,
            graph_def=tf.get_default_graph().as_graph_def(add_shapes=True),
            saver_def=self.saver_def,
            collection_list=collection_list,
            as_text=as_text,
            export_scope=export_scope,
            clear_devices=clear_devices,
            clear_extraneous_savers=clear_extraneous_savers,
            strip_default_attrs=strip_default_attrs,
            save_debug_info=save_debug_info,
        )

    # -- restoring -----------------------------------------------------------------------------------

    def restore(self, sess: Any, save_path: str | None) -> None:
        """Gives the variables the values that a checkpoint has; they need not be initialised before."""
        if self._is_empty:
            return
        if save_path is None:
            raise ValueError("Can't load save_path when it is None.")
        prefix = file_system.path_text(save_path)
        if not checkpoint_state.checkpoint_exists(prefix):
            raise ValueError(f"The passed save_path is not a valid checkpoint: {prefix}")
        tf.logging.info("Restoring parameters from %s", prefix)
        try:
            if context.executing_eagerly():
                self._build(prefix, build_save=False, build_restore=True)
            else:
                self._check_shapes(sess.graph, prefix)
                sess.run(
                    self.saver_def.restore_op_name, {self.saver_def.filename_tensor_name: prefix}
                )
        except errors.NotFoundError as e:
            keys = object_graph_keys(prefix)
            if keys is None:
                raise _explained(e, "a Variable name or other graph key that is missing") from None
            tf.logging.warning(
                "Restoring an object-based checkpoint using a name-based saver: variables are found by the names "
                "that they had when it was written. tf.train.Checkpoint finds them by their objects."
            )
            self._restore_by_keys(sess, prefix, keys)
        except errors.InvalidArgumentError as e:
            raise _explained(e, "a mismatch between the current graph and the graph") from None

    def _check_shapes(self, graph: Any, prefix: str) -> None:
        """Raises where shapes differ, before anything is assigned; handles would take values of any shape."""
        if self._restored_shapes is None:
            restore_op = graph.get_operation_by_name(self.saver_def.restore_op_name)
            self._restored_shapes = RestoredShapes(restore_op)
        if differences := self._restored_shapes.differences(prefix):
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Assign requires shapes of both tensors to match: {'; '.join(differences)}",
            )

    def _restore_by_keys(self, sess: Any, prefix: str, keys: dict[str, str]) -> None:
        items = self._var_list if self._var_list is not None else all_saveables()
        found = saveables(items)
        missing = sorted({spec.name for s in found for spec in s.specs} - set(keys))
        if missing:
            extra = sorted(set(keys) - {spec.name for s in found for spec in s.specs})
            raise errors.NotFoundError(
                None,
                None,
                f"\n\nExisting variables not in the checkpoint: {', '.join(missing)}\n\nVariables names when this "
                f"checkpoint was written which don't exist now: {', '.join(extra)}\n\n({len(keys) - len(extra)} "
                "variable name(s) did match)\n\nCould not find some variables in the checkpoint (see names above). "
                "A Saver with only the variables of the checkpoint, or a dict from its names, can restore them.",
            )
        for s in found:
            for spec in s.specs:
                spec.name = keys[spec.name]
        if self._object_restore_saver is None:
            self._object_restore_saver = Saver(found)
        self._object_restore_saver.restore(sess, prefix)


_NAMES = ("filename_tensor_name", "save_tensor_name", "restore_op_name")


def _is_session(sess: Any) -> bool:
    return hasattr(sess, "run") and hasattr(sess, "graph")


def _explained(e: errors.OpError, why: str) -> errors.OpError:
    return type(e)(
        e.node_def,
        e.op,
        f"Restoring from checkpoint failed. This is most likely due to {why} from the checkpoint. Please ensure "
        f"that you have not altered the graph expected based on the checkpoint. Original error:\n\n{e.message}",
    )


def object_graph_keys(prefix: str) -> dict[str, str] | None:
    """For a checkpoint of `tf.train.Checkpoint`: the keys of its tensors, by the variables' names."""
    reader = open_checkpoint(prefix)
    try:
        if _OBJECT_GRAPH_KEY not in reader:
            return None
        graph = proto.TrackableObjectGraph.FromString(reader.read(_OBJECT_GRAPH_KEY).item())
    finally:
        reader.close()
    return {a.full_name: a.checkpoint_key for node in graph.nodes for a in node.attributes}


meta_graph.register_proto_function(
    GraphKeys.SAVERS,
    proto_type=lambda: proto.SaverDef,
    to_proto=Saver.to_proto,
    from_proto=Saver.from_proto,
)
