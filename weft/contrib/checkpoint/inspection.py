"""What is in a checkpoint of objects, and which objects one would have."""

from __future__ import annotations

from typing import Any

from weft import proto
from weft.framework.export import export, export_all, export_lazily
from weft.framework.trackable import Trackable
from weft.train.checkpoint_manager import CheckpointManager
from weft.train.checkpoint_reader import CheckpointReader
from weft.train.object_graph import OBJECT_GRAPH_KEY, VARIABLE_VALUE, list_objects
from weft.train.object_restore import object_graph_of
from weft.train.python_state import PythonState
from weft.variables.template import capture_dependencies

export_all(
    "contrib.checkpoint",
    CheckpointManager=CheckpointManager,
    CheckpointableBase=Trackable,
    PythonStateWrapper=PythonState,
    capture_dependencies=capture_dependencies,
    list_objects=list_objects,
)
export_lazily("contrib.checkpoint", "CheckpointableObjectGraph", lambda: proto.TrackableObjectGraph)


@export("contrib.checkpoint.object_metadata")
def object_metadata(save_path: str) -> Any:
    """The message on the objects of a checkpoint: their dependencies and the keys of their values."""
    message = proto.TrackableObjectGraph()
    if not object_graph_of(save_path, OBJECT_GRAPH_KEY, message):
        raise ValueError(
            f'The specified checkpoint "{save_path}" does not appear to be object-based (it is missing the key '
            f'"{OBJECT_GRAPH_KEY}"). Likely it was created with a name-based saver and does not contain an object '
            "dependency graph."
        )
    return message


@export("contrib.checkpoint.dot_graph_from_checkpoint")
def dot_graph_from_checkpoint(save_path: str) -> str:
    """A drawing of the objects of a checkpoint, in the language of Graphviz."""
    message, reader = object_metadata(save_path), CheckpointReader(save_path)
    shapes, dtypes = reader.get_variable_to_shape_map(), reader.get_variable_to_dtype_map()
    slots = {s.slot_variable_node_id for node in message.nodes for s in node.slot_variables}
    lines = ["digraph {"]
    for number, node in enumerate(message.nodes):
        look = 'shape=point label="" width=.25'
        if [a.name for a in node.attributes] == [VARIABLE_VALUE]:
            (value,) = node.attributes
            kind, color = ("Slot variable", "orange") if number in slots else ("Variable", "blue")
            key = value.checkpoint_key
            tip = f"{kind} {_quoted(value.full_name)} shape={shapes[key]} {dtypes[key].name}"
            look = f'shape=point label="" color={color} width=.25 tooltip="{tip}"'
        elif node.slot_variables:
            look += ' color=red,tooltip="Optimizer"'
        lines.append(f"N_{number} [{look}]")
        for child in node.children:
            lines.append(f'N_{number} -> N_{child.node_id} [label="{_quoted(child.local_name)}"]')
        for slot in node.slot_variables:
            to = f"N_{slot.slot_variable_node_id}"
            label = _quoted(slot.slot_name)
            lines.append(f'N_{number} -> {to} [label="{label}" style=dotted]')
            lines.append(f"N_{slot.original_variable_node_id} -> {to} [style=dotted]")
    return "\n".join([*lines, "}", ""])


def _quoted(name: str) -> str:
    return name.replace('"', '\\"')
