"""tf.train.Checkpoint: objects saved and restored by the names that they have for each other."""

from __future__ import annotations

import os
import weakref
from typing import Any

import weft as tf
from weft import proto
from weft.framework import context, file_system, function_tracing
from weft.framework.export import export
from weft.framework.tensor import Tensor
from weft.framework.trackable import Trackable, uids
from weft.framework.tracked_structures import AutoTrackable, NoDependency
from weft.train import checkpoint_state
from weft.train.load_status import (
    CheckpointLoadStatus,
    InitializationOnlyStatus,
    LoadStatus,
    NameBasedSaverStatus,
    session_or_default,
)
from weft.train.object_graph import (
    OBJECT_GRAPH_KEY,
    ConstantSaveable,
    ObjectGraph,
    frozen_saveables,
    list_objects,
)
from weft.train.object_restore import NameRestore, ObjectRestore, object_graph_of
from weft.train.saver_builder import BaseSaverBuilder
from weft.variables.base import VariableV1


def _inside_function() -> bool:
    return not context.executing_eagerly() and function_tracing.in_function(
        context.get_default_graph()
    )


class ObjectSaver:
    """Saves and restores an object with all that is found from it."""

    def __init__(self, root: Any):
        self._root_reference = weakref.ref(root)
        # In a graph operations are made once: those that save for as long as the objects are the same.
        self._saveables: dict[Any, Any] | None = None if context.executing_eagerly() else {}
        self._restore_ops: dict[str, Any] = {}
        self._prefix_tensor: Any = None
        self._content_tensor: Any = None
        self._restored_prefix: Any = None
        self._saved_graph: Any = None
        self._save_op: Any = None

    @property
    def root(self) -> Any:
        root = self._root_reference()
        assert root is not None
        return root

    def save(self, prefix: Any, session: Any = None) -> Any:
        """Writes a checkpoint; gives the prefix, in a function that is traced a tensor of it."""
        by_session = not context.executing_eagerly() and not _inside_function()
        if not isinstance(prefix, Tensor):
            prefix = file_system.path_text(prefix)
            folder = os.path.dirname(prefix)
            if folder:
                file_system.make_directories(folder)
        message, found, feeds = ObjectGraph(self.root).serialized(
            self._saveables if by_session else None
        )
        content = message.SerializeToString()
        if not by_session:
            with tf.device("/cpu:0"):
                written = tf.constant(content, dtype=tf.string)
                name = tf.convert_to_tensor(prefix, dtype=tf.string)
            return _written(name, [*found, ConstantSaveable(written, OBJECT_GRAPH_KEY)])
        if self._content_tensor is None:
            with tf.device("/cpu:0"):
                self._content_tensor = tf.constant("", dtype=tf.string)
                self._prefix_tensor = tf.constant("", dtype=tf.string)
        if self._saved_graph != message:
            saveable = ConstantSaveable(self._content_tensor, OBJECT_GRAPH_KEY)
            self._save_op = _written(self._prefix_tensor, [*found, saveable])
            self._saved_graph = message
        feeds = {**feeds, self._prefix_tensor: prefix, self._content_tensor: content}
        return session_or_default(session).run(self._save_op, feed_dict=feeds)

    def restore(self, save_path: Any) -> LoadStatus:
        """Restores what is there, lets what comes later wait for it, and says what became of it."""
        if save_path is None:
            return InitializationOnlyStatus(self.root, next(uids))
        prefix = file_system.path_text(save_path)
        message = proto.TrackableObjectGraph()
        if not object_graph_of(prefix, OBJECT_GRAPH_KEY, message):
            by_names = NameRestore(prefix)
            if context.executing_eagerly():
                for item in list_objects(self.root):
                    item._name_based_attribute_restore(by_names)
            return NameBasedSaverStatus(by_names, self.root)
        feeds = None
        with tf.device("/cpu:0"):
            if context.executing_eagerly():
                tensor = tf.constant(prefix)
            else:
                if self._restored_prefix is None:
                    self._restored_prefix = tf.constant("model")
                tensor = self._restored_prefix
                feeds = {tensor: prefix}
        checkpoint = ObjectRestore(message, prefix, tensor, self._restore_ops)
        checkpoint.restore(0, self.root)
        return CheckpointLoadStatus(checkpoint, self.root, feeds)


def _written(prefix: Any, found: list[Any]) -> Any:
    """Adds what writes a checkpoint: each device its part, which then become one. Gives the prefix."""
    builder = BaseSaverBuilder()
    if context.executing_eagerly():  # all is here
        return builder._AddSaveOps(prefix, found)
    return builder._AddShardedSaveOps(prefix, builder._GroupByDevices(found))


@export("train.Checkpoint")
class Checkpoint(AutoTrackable):
    """Objects that are saved and restored together, each by its name here and by its attributes' names.

    The arguments are trackable objects: variables, layers, optimizers, modules, tables, other Checkpoints, and
    lists and dicts of them. In a graph the status that `restore` gives runs the operations.
    """

    _save_counter: Any
    _save_assign_op: Any

    def __init__(self, **kwargs: Any):
        for name, value in sorted(kwargs.items()):
            if not isinstance(value, Trackable) and not hasattr(value, "get_concrete_function"):
                raise ValueError(
                    "`Checkpoint` was expecting a trackable object (an object derived from `TrackableBase`), got "
                    f"{value}. If you believe this object should be trackable (i.e. it is part of the TensorFlow "
                    "Python API and manages state), please open an issue."
                )
            setattr(self, name, value)
        self._save_counter = None  # made when it is asked for, so that it may be restored then
        self._save_assign_op = None
        self._saver = ObjectSaver(self)

    @property
    def save_counter(self) -> Any:
        """A variable that counts how often `save` has been called, and numbers checkpoints."""
        if self._save_counter is None:
            with tf.init_scope(), tf.device("/cpu:0"):
                counter = VariableV1(
                    tf.constant(0, dtype=tf.int64),
                    name="save_counter",
                    trainable=False,
                    use_resource=True,
                )
            self._save_counter = NoDependency(counter)
            self._track_trackable(counter, "save_counter")
        return self._save_counter

    def write(self, file_prefix: Any, session: Any = None) -> Any:
        """Writes a checkpoint under a prefix, without a number and without telling `latest_checkpoint`."""
        written = self._saver.save(file_prefix, session)
        if isinstance(written, Tensor):
            if not context.executing_eagerly():
                return written
            written = written.numpy()
        return file_system.path_text(written)

    def save(self, file_prefix: Any, session: Any = None) -> str:
        """Writes a checkpoint under a prefix and the number of calls so far; `latest_checkpoint` finds it."""
        if context.executing_eagerly():
            number = self.save_counter.assign_add(1).numpy()
        else:
            if _inside_function():
                raise NotImplementedError(
                    "Calling tf.train.Checkpoint.save() from a function is not supported, as save() modifies saving "
                    "metadata in ways not supported by TensorFlow Operations. tf.train.Checkpoint.write() can be "
                    "called, and tells nobody of the checkpoint."
                )
            session = session_or_default(session)
            if self._save_counter is None:
                session.run(self.save_counter.initializer)
            if self._save_assign_op is None:
                with tf.colocate_with(self.save_counter):
                    self._save_assign_op = NoDependency(self.save_counter.assign_add(1))
            number = session.run(self._save_assign_op)
        prefix = file_system.path_text(file_prefix)
        path = self.write(f"{prefix}-{number:d}", session=session)
        checkpoint_state.write_state(
            os.path.dirname(prefix), path, [path], save_relative_paths=True
        )
        return path

    def restore(self, save_path: Any) -> LoadStatus:
        """Restores the objects from a checkpoint, those that come later when they come; gives a status.

        A checkpoint of a Saver is restored by the names of variables; None initialises.
        """
        status = self._saver.restore(save_path)
        # Made now, so that it is restored too.
        assert self.save_counter is not None
        return status

    def _frozen_saveables(self) -> list[Any]:
        """What a Saver saves so that its checkpoints are those of these objects, as they are now."""
        return frozen_saveables(self)
