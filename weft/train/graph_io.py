"""Writing a graph to a file."""

from __future__ import annotations

import os
from typing import Any

from weft.framework import file_system
from weft.framework.export import export


@export("train.write_graph", "io.write_graph")
def write_graph(graph_or_graph_def: Any, logdir: Any, name: str, as_text: bool = True) -> str:
    """Writes a graph to a file, as text or as bytes, and returns the path; folders are made on the way."""
    from google.protobuf import text_format

    graph_def = graph_or_graph_def
    if hasattr(graph_def, "as_graph_def"):
        graph_def = graph_def.as_graph_def()
    folder = file_system.path_text(logdir)
    if not folder.startswith("gs:"):
        file_system.make_directories(folder)
    path = os.path.join(folder, name)
    if as_text:
        contents = text_format.MessageToString(graph_def).encode()
    else:
        contents = graph_def.SerializeToString(deterministic=True)
    file_system.replace_file(path, contents)
    return path
