"""What became of a restore: whether all was matched, and the operations that are still to be run."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.framework import context
from weft.framework.tracked_structures import TrackedStructure
from weft.train.object_graph import list_objects, node_names
from weft.train.object_restore import NameRestore, ObjectRestore
from weft.train.saver import Saver


def session_or_default(session: Any) -> Any:
    """The session that is meant: the one given, the default one, or that of Keras."""
    return session or tf.get_default_session() or tf.keras.backend.get_session()


def initializers(objects: list[Any], before: int) -> list[Any]:
    """What initialises objects, but for those that a restore from `before` on gives values."""
    found = []
    for item in objects:
        initializer = getattr(item, "initializer", None)
        if initializer is not None and item._update_uid < before:
            found.append(initializer)
    return found


class LoadStatus:
    """What `restore` gives; the checks give the status itself."""

    def assert_consumed(self) -> Any:
        """AssertionError unless everything in the checkpoint and every object was matched."""
        raise NotImplementedError

    def assert_existing_objects_matched(self) -> Any:
        """AssertionError unless every object that is there has got values."""
        raise NotImplementedError

    def assert_nontrivial_match(self) -> Any:
        """AssertionError unless something was matched besides the root."""
        raise NotImplementedError

    def run_restore_ops(self, session: Any = None) -> None:
        """Runs the operations that restore; eagerly they have run."""
        raise NotImplementedError

    def initialize_or_restore(self, session: Any = None) -> None:
        """Restores what is in the checkpoint and initialises the rest."""
        raise NotImplementedError

    def expect_partial(self) -> Any:
        """Silences the warnings on what was not used."""
        return self


class CheckpointLoadStatus(LoadStatus):
    """The status of a checkpoint of objects."""

    def __init__(self, checkpoint: ObjectRestore, root: Any, feed_dict: Any):
        self._checkpoint, self._root, self._feed_dict = checkpoint, root, feed_dict

    def assert_consumed(self) -> CheckpointLoadStatus:
        self.assert_existing_objects_matched()
        checkpoint = self._checkpoint
        names = node_names(checkpoint.message)
        for number, node in enumerate(checkpoint.message.nodes):
            if checkpoint.objects.get(number) is None:
                raise AssertionError(
                    f"Unresolved object in checkpoint {names.get(number, number)}: {node}"
                )
        if checkpoint.slots:
            raise AssertionError(f"Unresolved slot restorations: {dict(checkpoint.slots)}")
        if checkpoint.unused_attributes:
            lines = [
                f"{names.get(number, number)} ({checkpoint.objects.get(number)}): {attributes}"
                for number, attributes in checkpoint.unused_attributes.items()
            ]
            raise AssertionError(
                "Unused attributes in these objects (the attributes exist in the checkpoint but were not restored):\n"
                + "\n".join(lines)
            )
        return self

    def assert_existing_objects_matched(self) -> CheckpointLoadStatus:
        checkpoint = self._checkpoint
        for number, node in enumerate(checkpoint.message.nodes):
            found = checkpoint.objects.get(number)
            if found is not None and found._update_uid < checkpoint.restore_uid:
                raise AssertionError(f"Object not assigned a value from checkpoint: {node}")
        for item in list_objects(self._root):
            if not (isinstance(item, TrackedStructure) and not item._checkpoint_dependencies):
                checkpoint.see(item)
        unmatched = self._unmatched()
        if unmatched:
            raise AssertionError(
                "Some Python objects were not bound to checkpointed values, likely due to changes in the Python "
                f"program: {unmatched}"
            )
        return self

    def _unmatched(self) -> list[Any]:
        bound = set(map(id, self._checkpoint.objects.values()))
        return [item for item in self._checkpoint.all_seen() if id(item) not in bound]

    def assert_nontrivial_match(self) -> CheckpointLoadStatus:
        for item in list_objects(self._root):
            self._checkpoint.see(item)
        if len(self._checkpoint.objects) <= 1:
            unmatched = self._unmatched()
            if unmatched:
                raise AssertionError(
                    "Nothing except the root object matched a checkpointed value. Typically this means that the "
                    "checkpoint does not match the Python program. The following objects have no matching "
                    f"checkpointed value: {unmatched}"
                )
            raise AssertionError(
                f"Nothing to load. No dependencies have been added to {self._root} yet."
            )
        return self

    def run_restore_ops(self, session: Any = None) -> None:
        if context.executing_eagerly():
            return
        session_or_default(session).run(self._checkpoint.restore_ops, feed_dict=self._feed_dict)

    def initialize_or_restore(self, session: Any = None) -> None:
        if context.executing_eagerly():
            return
        session = session_or_default(session)
        bound = set(map(id, self._checkpoint.objects.values()))
        rest = [item for item in list_objects(self._root) if id(item) not in bound]
        self.run_restore_ops(session)
        session.run(initializers(rest, self._checkpoint.restore_uid))

    def expect_partial(self) -> CheckpointLoadStatus:
        self._checkpoint.expect_partial()
        return self


class InitializationOnlyStatus(LoadStatus):
    """The status where there was no checkpoint."""

    def __init__(self, root: Any, restore_uid: int):
        self._root, self._restore_uid = root, restore_uid

    def _none(self) -> Any:
        raise AssertionError("No checkpoint specified (save_path=None); nothing is being restored.")

    assert_consumed = assert_existing_objects_matched = assert_nontrivial_match = _none

    def run_restore_ops(self, session: Any = None) -> None:
        raise AssertionError(
            "No checkpoint specified, so no restore ops are available (save_path=None to Saver.restore)."
        )

    def initialize_or_restore(self, session: Any = None) -> None:
        if context.executing_eagerly():
            return
        objects = list_objects(self._root)
        session_or_default(session).run(initializers(objects, self._restore_uid))


class NameBasedSaverStatus(LoadStatus):
    """The status of a checkpoint of a Saver, whose values are found by names."""

    def __init__(self, checkpoint: NameRestore, root: Any):
        tf.logging.warning(
            "Restoring a name-based tf.train.Saver checkpoint using the object-based restore API: variables are "
            "found by their names, which others may have too. A checkpoint of tf.train.Checkpoint does without."
        )
        self._checkpoint, self._root = checkpoint, root

    def assert_consumed(self) -> NameBasedSaverStatus:
        unused = self._checkpoint.unused_attributes.values()
        if unused:
            lines = [f"\n    {item}: {attributes}" for item, attributes in unused]
            raise AssertionError(
                f"Some objects had attributes which were not restored:{''.join(lines)}"
            )
        for item in list_objects(self._root):
            if item._update_uid < self._checkpoint.restore_uid:
                raise AssertionError(f"Object not restored: {item}")
        return self

    assert_existing_objects_matched = assert_nontrivial_match = assert_consumed

    def _saveables(self) -> list[Any]:
        objects = list_objects(self._root)
        found = []
        for item in objects:
            if item._update_uid < self._checkpoint.restore_uid:
                found.extend(self._checkpoint.saveables(item))
                item._update_uid = self._checkpoint.restore_uid
        return found

    def run_restore_ops(self, session: Any = None) -> None:
        if context.executing_eagerly():
            return
        session = session_or_default(session)
        with session.graph.as_default():
            saver = Saver(self._saveables())
        saver.restore(session, self._checkpoint.prefix)

    def initialize_or_restore(self, session: Any = None) -> None:
        self.run_restore_ops(session)
