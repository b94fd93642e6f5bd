"""The collections of the default graph as functions, and the message form of those that hold variables."""

from __future__ import annotations

from typing import Any

from weft.framework import context
from weft.framework.export import export
from weft.framework.graph_keys import GraphKeys
from weft.framework.meta_graph import register_proto_function


@export("add_to_collection")
def add_to_collection(name: Any, value: Any) -> None:
    """Adds a value to a collection of the default graph."""
    context.get_default_graph().add_to_collection(name, value)


@export("add_to_collections")
def add_to_collections(names: Any, value: Any) -> None:
    """Adds a value to several collections of the default graph."""
    context.get_default_graph().add_to_collections(names, value)


@export("get_collection")
def get_collection(key: Any, scope: str | None = None) -> list[Any]:
    """Returns the values of a collection of the default graph, with a scope those whose names match it."""
    return context.get_default_graph().get_collection(key, scope)


@export("get_collection_ref")
def get_collection_ref(key: Any) -> list[Any]:
    """Returns a collection of the default graph itself, which may be changed."""
    return context.get_default_graph().get_collection_ref(key)


def _variable_message() -> Any:
    from weft import proto

    return proto.VariableDef


def _to_message(variable: Any, export_scope: str | None = None) -> Any:
    return variable.to_proto(export_scope=export_scope)


def _from_message(message: Any, import_scope: str | None = None) -> Any:
    from weft.framework.export import find

    return find("", "Variable", "tf").from_proto(message, import_scope=import_scope)


for _key in (
    GraphKeys.GLOBAL_VARIABLES,
    GraphKeys.TRAINABLE_VARIABLES,
    GraphKeys.MOVING_AVERAGE_VARIABLES,
    GraphKeys.LOCAL_VARIABLES,
    GraphKeys.MODEL_VARIABLES,
    GraphKeys.GLOBAL_STEP,
    GraphKeys.METRIC_VARIABLES,
):
    register_proto_function(_key, _variable_message, _to_message, _from_message)
