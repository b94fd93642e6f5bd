"""What checkpoints of objects hold: the objects that are found from one of them, and the keys of their values."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

import weft as tf
from weft import proto
from weft.train.saveable import SaveableObject, SaveSpec, names_of, saveables_of

OBJECT_GRAPH_KEY = "_CHECKPOINTABLE_OBJECT_GRAPH"
VARIABLE_VALUE = "VARIABLE_VALUE"


class ConstantSaveable(SaveableObject):
    """A tensor that checkpoints hold and that nothing is restored from."""

    def __init__(self, tensor: Any, name: str):
        super().__init__(
            tensor, [SaveSpec(tensor, "", name, dtype=tf.string, device="/cpu:0")], name
        )

    def restore(self, restored_tensors: list[Any], restored_shapes: list[Any] | None) -> Any:
        return tf.no_op()


class PythonStateSaveable(SaveableObject):
    """State of a Python object, as a string that two functions give and take."""

    def __init__(self, name: str, state_callback: Any, restore_callback: Any = None):
        self._state_callback, self._restore_callback = state_callback, restore_callback
        with tf.init_scope(), tf.device("/cpu:0"):
            self._text = tf.constant("", dtype=tf.string)
        super().__init__(self._text, [SaveSpec(self._text, "", name, dtype=tf.string)], name)

    @property
    def optional_restore(self) -> bool:
        return self._restore_callback is None

    def state(self) -> Any:
        """The state now."""
        with tf.init_scope():
            return self._state_callback()

    def feed_dict_additions(self) -> dict[Any, Any]:
        """What is fed where the checkpoint is written by a session."""
        return {self._text: self.state()}

    def freeze(self) -> SaveableObject:
        """The state as it is now, as a constant."""
        return ConstantSaveable(
            lambda: tf.constant(self.state(), dtype=tf.string), self.specs[0].name
        )

    def python_restore(self, content: Any) -> None:
        """Gives the object the state that was read."""
        if self._restore_callback is not None:
            self._restore_callback(content)

    def restore(self, restored_tensors: list[Any], restored_shapes: list[Any] | None) -> Any:
        return tf.no_op()


def attribute_saveables(trackable: Any) -> dict[str, Any]:
    """For each attribute of an object what is to be saved, or the function that makes it for a name."""
    return trackable._gather_saveables_for_checkpoint()


def made_for(item: Any, key: str) -> tuple[list[SaveableObject], str]:
    """The saveables of one attribute under a key of a checkpoint, and the name that it has without objects."""
    made = item(name=key) if callable(item) else item
    if isinstance(made, SaveableObject):
        return [made], ""
    (full_name,) = names_of([made])
    return list(saveables_of(made, key)), full_name


def _escaped(name: str) -> str:
    return name.replace(".", "..").replace("/", ".S")


class ObjectGraph:
    """All objects that are found from a root, the nearest first, with the key of each."""

    def __init__(self, root: Any):
        self.objects: list[Any] = []
        self._keys: list[str] = []
        self._ids: dict[int, int] = {}
        self._slots: list[list[Any]] = []
        self._walk(root)
        for place in range(len(self.objects)):
            self._add_slots(place, self._plain)

    def _walk(self, root: Any) -> None:
        waiting = deque([(root, "")])
        self._ids[id(root)] = 0
        while waiting:
            found, key = waiting.popleft()
            self.objects.append(found)
            self._keys.append(key)
            self._slots.append([])
            for name, dependency in found._checkpoint_dependencies:
                if id(dependency) not in self._ids:
                    self._ids[id(dependency)] = len(self._ids)
                    waiting.append(
                        (dependency, f"{key}/{_escaped(name)}" if key else _escaped(name))
                    )
        self._plain = len(self.objects)

    def _add_slots(self, place: int, plain: int) -> None:
        """Adds what an optimizer keeps for variables that are found: each is saved beside its variable."""
        optimizer = self.objects[place]
        if not hasattr(optimizer, "_create_or_restore_slot_variable"):
            return
        for slot_name in optimizer.get_slot_names():
            for original in range(plain):
                try:
                    slot = optimizer.get_slot(self.objects[original], slot_name)
                except (AttributeError, KeyError):
                    continue
                if slot is None:
                    continue
                if id(slot) in self._ids:
                    raise NotImplementedError(
                        f"The slot {slot!r} is a dependency of another object too; a checkpoint can hold it once."
                    )
                number = self._ids[id(slot)] = len(self.objects)
                self.objects.append(slot)
                self._keys.append(
                    f"{self._keys[original]}/.OPTIMIZER_SLOT/{self._keys[place]}/{_escaped(slot_name)}"
                )
                self._slots.append([])
                self._slots[place].append(
                    proto.TrackableObjectGraph.TrackableObject.SlotVariableReference(
                        slot_name=slot_name,
                        original_variable_node_id=original,
                        slot_variable_node_id=number,
                    )
                )

    def serialized(self, cache: dict[Any, Any] | None) -> tuple[Any, list[SaveableObject], dict]:
        """The message of the graph, what is to be saved, and what is to be fed for that.

        `cache` has the saveables of earlier calls by object and key, so that a graph does not get them again.
        """
        message = proto.TrackableObjectGraph()
        found: list[SaveableObject] = []
        feeds: dict[Any, Any] = {}
        for trackable, key, slots in zip(self.objects, self._keys, self._slots):
            node = message.nodes.add()
            node.slot_variables.extend(slots)
            for name, dependency in trackable._checkpoint_dependencies:
                node.children.add(local_name=name, node_id=self._ids[id(dependency)])
            for name, item in attribute_saveables(trackable).items():
                full_key = f"{key}/.ATTRIBUTES/{_escaped(name)}"
                attribute = node.attributes.add(name=name, checkpoint_key=full_key)
                made, attribute.full_name = _cached(cache, trackable, full_key, item)
                attribute.optional_restore = bool(made) and all(s.optional_restore for s in made)
                for saveable in made:
                    if isinstance(saveable, PythonStateSaveable):
                        if cache is None:
                            saveable = saveable.freeze()
                        else:
                            feeds.update(saveable.feed_dict_additions())
                    found.append(saveable)
        return message, found, feeds


def _cached(cache: Any, trackable: Any, key: str, item: Any) -> tuple[list[SaveableObject], str]:
    if cache is None:
        return made_for(item, key)
    # The object is kept with its saveables, so that no other one can have its id.
    place = (id(trackable), key)
    if place not in cache:
        cache[place] = (trackable, made_for(item, key))
    return cache[place][1]


def frozen_saveables(root: Any) -> list[SaveableObject]:
    """What a Saver saves so that it is a checkpoint of objects, as they are related now."""
    message, found, _ = ObjectGraph(root).serialized(None)
    with tf.device("/cpu:0"):
        content = tf.constant(message.SerializeToString(), dtype=tf.string)
    return [*found, ConstantSaveable(content, OBJECT_GRAPH_KEY)]


def list_objects(root: Any) -> list[Any]:
    """All objects that are found from a root, slots of optimizers among them."""
    return ObjectGraph(root).objects


def node_names(message: Any) -> dict[int, str]:
    """What to call the objects of a checkpoint: by the ways that lead to them."""
    names = {0: "(root)"}
    waiting = deque([0])
    while waiting:
        node = waiting.popleft()
        for child in message.nodes[node].children:
            if child.node_id not in names:
                names[child.node_id] = f"{names[node]}.{child.local_name}"
                waiting.append(child.node_id)
    for node, slot in _slots_of(message):
        of = names.get(slot.original_variable_node_id, "")
        names[slot.slot_variable_node_id] = (
            f"{names.get(node, '')}'s state '{slot.slot_name}' for {of}"
        )
    return names


def _slots_of(message: Any) -> Iterator[tuple[int, Any]]:
    for number, node in enumerate(message.nodes):
        for slot in node.slot_variables:
            yield number, slot
