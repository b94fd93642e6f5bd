"""Files that TensorBoard's plugins find beside the events: a graph keeps what a FileWriter will write."""

from __future__ import annotations

import abc
from typing import Any

from weft.framework import context

_PREFIX = "__tensorboard_plugin_asset__"


class PluginAsset(abc.ABC):
    """What one plugin wants written when a graph is: subclasses have a `plugin_name`."""

    plugin_name: str | None = None

    @abc.abstractmethod
    def assets(self) -> dict[str, str]:
        """Returns the contents of files by their names."""


def get_plugin_asset(plugin_asset_cls: Any, graph: Any = None) -> Any:
    """Returns the one asset of a class that a graph (the default one, if None) has; it is made at first use."""
    graph = graph or context.get_default_graph()
    if not plugin_asset_cls.plugin_name:
        raise ValueError(f"Class {plugin_asset_cls.__name__} has no plugin_name")
    name = _PREFIX + plugin_asset_cls.plugin_name
    found = graph.get_collection(name)
    if not found:
        asset = plugin_asset_cls()
        graph.add_to_collection(name, asset)
        graph.add_to_collection(_PREFIX, plugin_asset_cls.plugin_name)
        return asset
    asset = _only(name, found)
    if not isinstance(asset, plugin_asset_cls):
        raise ValueError(
            f"Plugin name collision between classes {plugin_asset_cls.__name__} and "
            f"{type(asset).__name__}"
        )
    return asset


def get_all_plugin_assets(graph: Any = None) -> list[Any]:
    """Returns the assets of all plugins that a graph (the default one, if None) has."""
    graph = graph or context.get_default_graph()
    names = [_PREFIX + name for name in graph.get_collection(_PREFIX)]
    return [_only(name, graph.get_collection(name)) for name in names]


def _only(name: str, found: list[Any]) -> Any:
    if len(found) != 1:
        raise ValueError(f"Collection for {name} had {len(found)} items, expected 1")
    return found[0]
