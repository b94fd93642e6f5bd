"""Assets: files, such as vocabularies, that go with a SavedModel."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

import weft as tf
from weft import proto
from weft.framework import file_system
from weft.framework.constant_value import constant_value
from weft.framework.tensor import Tensor
from weft.saved_model import words
from weft.saved_model.places import assets_directory


def add_assets(assets: Iterable[Any] | None, export_dir: str, add: Callable[[Any], None]) -> None:
    """Copies the files that constants name to the directory of assets, and gives `add` a message for each."""
    sources: dict[str, str] = {}
    for tensor in assets or ():
        path = _path_of(tensor)
        name = _name_for(path, sources)
        sources[name] = path
        definition = proto.AssetFileDef(filename=name)
        definition.tensor_info.name = tensor.name
        add(definition)
    if not sources:
        tf.logging.info("No assets to write.")
        return
    folder = assets_directory(export_dir)
    file_system.make_directories(folder)
    for name, path in sources.items():
        target = os.path.join(folder, name)
        if not file_system.exists(target):
            file_system.copy(path, target)
    tf.logging.info("Assets written to: %s", folder)


def _path_of(tensor: Any) -> str:
    if not isinstance(tensor, Tensor):
        raise TypeError("Asset path tensor must be a Tensor.")
    if tensor.op.type != "Const":
        raise TypeError("Asset path tensor must be of type constant.")
    if tensor.dtype != tf.string:
        raise TypeError("Asset path tensor must be of dtype string.")
    value: Any = constant_value(tensor)
    if value.size != 1:
        raise TypeError("Asset path tensor must be a scalar.")
    path = file_system.path_text(value.item())
    if not path:
        raise ValueError(f"Invalid asset filepath tensor {tensor}")
    return path


def _name_for(path: str, sources: dict[str, str]) -> str:
    """The file's own name; with a number behind it where another file has that name already."""
    own = name = os.path.basename(path)
    other = sources.get(own)
    if other is None or other == path or _same(path, other):
        return own
    number = 0
    while name in sources:
        number += 1
        name = f"{own}_{number}"
    return name


def _same(a: str, b: str) -> bool:
    return file_system.stat(a).length == file_system.stat(b).length and (
        file_system.read_file(a) == file_system.read_file(b)
    )


def asset_paths(export_dir: Any, meta: Any, import_scope: str | None = None) -> dict[str, str]:
    """The path of each asset of a model, by the name of the tensor that it is to be fed to."""
    definitions = list(meta.asset_file_def)
    key = words.ASSETS_KEY
    if not definitions and key in meta.collection_def:
        for item in meta.collection_def[key].any_list.value:
            definition = proto.AssetFileDef()
            item.Unpack(definition)
            definitions.append(definition)
    folder = assets_directory(export_dir)
    scope = f"{import_scope}/" if import_scope else ""
    return {scope + d.tensor_info.name: os.path.join(folder, d.filename) for d in definitions}
