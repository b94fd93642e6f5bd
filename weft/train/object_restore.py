"""Restoring objects from a checkpoint: those that are there now, and those that come later.

A restore begins at the root and follows the names of dependencies through the checkpoint's graph of objects. What an
object lacks yet waits with that object; a slot waits until its optimizer and its variable are known.
"""

from __future__ import annotations

import sys
import weakref
from collections import defaultdict, deque
from typing import Any

import weft as tf
from weft.framework import context, errors
from weft.framework.trackable import uids
from weft.train.checkpoint_reader import CheckpointReader
from weft.train.object_graph import (
    VARIABLE_VALUE,
    PythonStateSaveable,
    attribute_saveables,
    made_for,
    node_names,
)
from weft.train.saveable import SaveableObject, names_of, on_cpu, saveables_of


class ObjectRestore:
    """One checkpoint on its way into objects."""

    def __init__(self, message: Any, prefix: str, prefix_tensor: Any, cache: dict[str, Any]):
        self.message = message
        self.prefix = prefix
        self.prefix_tensor = prefix_tensor
        self.restore_uid = next(uids)
        self.reader = CheckpointReader(prefix)
        # By node of the checkpoint; an object that nobody needs any more is let go.
        self.objects: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
        self.matched: set[int] = set()
        self.seen: dict[int, weakref.ref] = {}
        self.unused_attributes: dict[int, list[str]] = {}
        self.restore_ops: list[Any] = []
        self._cache = cache  # the operations of earlier restores, by the names of saveables
        self._graph = None if context.executing_eagerly() else tf.get_default_graph()
        self._wanted = _Wanted(message, self.matched, self.unused_attributes)
        # variable -> slots that it is to have; optimizer -> slots whose variables are known already
        self.slots: dict[int, list[tuple[int, Any]]] = defaultdict(list)
        self._slots_of_optimizer: dict[int, list[tuple[Any, Any]]] = defaultdict(list)
        for number, node in enumerate(message.nodes):
            for slot in node.slot_variables:
                self.slots[slot.original_variable_node_id].append((number, slot))

    def expect_partial(self) -> None:
        """Lets the checkpoint go without a word on what was not used of it."""
        self._wanted.silent = True

    def see(self, trackable: Any) -> None:
        self.seen[id(trackable)] = weakref.ref(trackable)

    def all_seen(self) -> list[Any]:
        """The objects that were to be restored and are still there."""
        return [found for ref in self.seen.values() if (found := ref()) is not None]

    # -- matching ------------------------------------------------------------------------------------

    def bind(self, node: int, trackable: Any) -> bool:
        """Takes an object as that of a node; False if the node has one already."""
        self.see(trackable)
        self.matched.add(node)
        current = self.objects.get(node)
        if current is not None:
            if current is not trackable:
                tf.logging.warning(
                    "Inconsistent references when loading the checkpoint into this object graph. Either the "
                    "Trackable object references in the Python program have changed in an incompatible way, or the "
                    "checkpoint was generated in an incompatible program.\n\nTwo checkpoint references resolved to "
                    "different objects (%s and %s).",
                    current,
                    trackable,
                )
            return False
        self.objects[node] = trackable
        for slot, variable in self._slots_of_optimizer.pop(node, ()):
            self._restore_slot(trackable, variable, slot)
        for optimizer_node, slot in self.slots.pop(node, ()):
            optimizer = self.objects.get(optimizer_node)
            if optimizer is None:
                self._slots_of_optimizer[optimizer_node].append((slot, trackable))
            else:
                self._restore_slot(optimizer, trackable, slot)
        return True

    def _restore_slot(self, optimizer: Any, variable: Any, slot: Any) -> None:
        optimizer._create_or_restore_slot_variable(
            slot_variable_position=Position(self, slot.slot_variable_node_id),
            variable=variable,
            slot_name=slot.slot_name,
        )

    def restore(self, node: int, trackable: Any) -> None:
        """Restores an object and all that is found from it."""
        with tf.init_scope():
            if not self.bind(node, trackable):
                return
            found: dict[str, SaveableObject] = {}
            waiting = deque([node])
            while waiting:
                current = waiting.popleft()
                owner = self.objects[current]
                if self.restore_uid > owner._update_uid:
                    found.update(self._saveables(current, owner))
                    owner._update_uid = self.restore_uid
                for child in self.message.nodes[current].children:
                    dependency = owner._lookup_dependency(child.local_name)
                    if dependency is None:
                        owner._deferred_dependencies.setdefault(child.local_name, []).append(
                            Position(self, child.node_id)
                        )
                    elif self.bind(child.node_id, dependency):
                        waiting.append(child.node_id)
            self._assign(found)

    # -- values --------------------------------------------------------------------------------------

    def _saveables(self, node: int, owner: Any) -> dict[str, SaveableObject]:
        """What takes the values of an object that are in the checkpoint, by key."""
        found: dict[str, SaveableObject] = {}
        own = attribute_saveables(owner)
        for attribute in self.message.nodes[node].attributes:
            key = attribute.checkpoint_key
            if self._graph is not None and key in self._cache:
                self.restore_ops.append(self._cache[key])
                continue
            item = own.get(attribute.name)
            if item is None:
                if not attribute.optional_restore:
                    self.unused_attributes.setdefault(node, []).append(attribute.name)
                continue
            (saveable,) = made_for(item, key)[0]
            if isinstance(saveable, PythonStateSaveable):
                saveable.python_restore(self.reader.get_tensor(saveable.specs[0].name))
            else:
                found[key] = saveable
        return found

    def _assign(self, found: dict[str, SaveableObject]) -> None:
        ops = restore_all(list(found.values()), self.prefix_tensor)
        if self._graph is None:
            return
        self._cache.update(zip(found, ops))
        self.restore_ops.extend(ops)

    def value(self, node: int) -> Any:
        """The value of a variable that does not exist yet."""
        (attribute,) = self.message.nodes[node].attributes
        with tf.init_scope(), tf.device("/cpu:0"):
            return tf.constant(self.reader.get_tensor(attribute.checkpoint_key))


def restore_all(found: list[SaveableObject], prefix: Any) -> list[Any]:
    """Reads and assigns what saveables take, with one operation for each machine that reads; gives those that
    assign, in the order of the saveables."""
    groups: dict[str, list[SaveableObject]] = defaultdict(list)
    for saveable in found:
        groups[on_cpu(saveable.device)].append(saveable)
    ops: dict[int, Any] = {}
    for device, group in sorted(groups.items()):
        specs = [spec for saveable in group for spec in saveable.specs]
        with tf.device(device):
            tensors = tf.raw_ops.RestoreV2(
                prefix=prefix,
                tensor_names=[spec.name for spec in specs],
                shape_and_slices=[spec.slice_spec for spec in specs],
                dtypes=[spec.dtype.base_dtype for spec in specs],
            )
        at = 0
        for saveable in group:
            end = at + len(saveable.specs)
            ops[id(saveable)] = saveable.restore(list(tensors[at:end]), None)
            at = end
    return [ops[id(saveable)] for saveable in found]


class Position:
    """An object of a checkpoint that something waits for."""

    def __init__(self, checkpoint: ObjectRestore, node: int):
        self.checkpoint, self.node = checkpoint, node

    @property
    def restore_uid(self) -> int:
        return self.checkpoint.restore_uid

    def restore(self, trackable: Any) -> None:
        """Restores the object that has come."""
        self.checkpoint.restore(self.node, trackable)

    def is_simple_variable(self) -> bool:
        """Whether the value is all that there is of it."""
        node = self.checkpoint.message.nodes[self.node]
        return [a.name for a in node.attributes] == [VARIABLE_VALUE] and not node.children

    def value(self) -> Any:
        """The value, to begin with."""
        return self.checkpoint.value(self.node)


class _Wanted:
    """Says, when a restore is let go, what nobody has taken. Apart from it, so that it can be told at that time."""

    def __init__(self, message: Any, matched: set[int], unused: dict[int, list[str]]):
        self._message, self._matched, self._unused = message, matched, unused
        self.silent = False

    def __del__(self) -> None:
        if self.silent or sys.is_finalizing():
            return
        names = node_names(self._message)
        lines = [
            f"Unresolved object in checkpoint: {names.get(number, number)}"
            for number in range(len(self._message.nodes))
            if number not in self._matched
        ]
        lines += [
            f"Unused attribute in object {names.get(number, number)}: {attributes}"
            for number, attributes in self._unused.items()
        ]
        for line in lines:
            tf.logging.warning(line)
        if lines:
            tf.logging.warning(
                "A checkpoint was restored, but not all of its values were used: see above. expect_partial() of "
                "what restore() gives silences these warnings, and assert_consumed() makes the check explicit."
            )


class NameRestore:
    """A checkpoint of a Saver on its way into objects, by the names of variables."""

    def __init__(self, prefix: str):
        self.prefix = prefix
        self.restore_uid = next(uids)
        self.reader = CheckpointReader(prefix)
        self.unused_attributes: dict[int, tuple[Any, list[str]]] = {}

    def saveables(self, trackable: Any) -> list[SaveableObject]:
        """What takes the values of an object, by global names."""
        found: list[SaveableObject] = []
        for attribute, item in attribute_saveables(trackable).items():
            if callable(item):
                try:
                    item = item()
                except TypeError:  # it has no name of its own
                    self._unused(trackable, attribute)
                    continue
            for name, part in names_of([item]).items():
                found.extend(saveables_of(part, name))
        return found

    def _unused(self, trackable: Any, attribute: str) -> None:
        self.unused_attributes.setdefault(id(trackable), (trackable, []))[1].append(attribute)

    def eager_restore(self, trackable: Any) -> None:
        """Gives an object its values now."""
        for saveable in self.saveables(trackable):
            if all(self.reader.has_tensor(spec.name) for spec in saveable.specs):
                restore_all([saveable], tf.constant(self.prefix))
            else:
                self._unused(trackable, saveable.name)


def object_graph_of(prefix: str, key: str, message: Any) -> bool:
    """Reads the graph of objects that a checkpoint has; False where it has none."""
    from google.protobuf.message import DecodeError

    reader = CheckpointReader(prefix)
    if not reader.has_tensor(key):
        return False
    try:
        message.ParseFromString(reader.get_tensor(key))
    except DecodeError as e:
        raise errors.DataLossError(None, None, f"{prefix}: {key} is damaged: {e}") from None
    _check(message, prefix)
    return True


def _check(message: Any, prefix: str) -> None:
    """DataLossError where a graph of objects speaks of objects that are not in it."""
    count, why = len(message.nodes), ""
    for number, node in enumerate(message.nodes):
        numbers = [child.node_id for child in node.children]
        for slot in node.slot_variables:
            numbers += [slot.original_variable_node_id, slot.slot_variable_node_id]
        if not all(0 <= other < count for other in numbers):
            why = f"object {number} refers to {numbers} of {count} objects"
    if not count:
        why = "there is no object in it"
    if why:
        raise errors.DataLossError(None, None, f"{prefix}: the graph of objects is damaged: {why}")
