"""The collections that losses are in, and their sums."""

from __future__ import annotations

from typing import Any

from weft.framework import context
from weft.framework.export import export
from weft.framework.graph_keys import GraphKeys
from weft.ops.array.constant import constant_v1
from weft.ops.math.sums import add_n
from weft.variables.collections import add_to_collection, get_collection


@export("losses.add_loss")
def add_loss(loss: Any, loss_collection: Any = GraphKeys.LOSSES) -> None:
    """Adds a loss to a collection; eagerly there are none."""
    if loss_collection and not context.executing_eagerly():
        add_to_collection(loss_collection, loss)


@export("losses.get_losses")
def get_losses(scope: str | None = None, loss_collection: Any = GraphKeys.LOSSES) -> list[Any]:
    """Returns the losses of a collection, those in `scope` if it is given."""
    return get_collection(loss_collection, scope)


@export("losses.get_regularization_losses")
def get_regularization_losses(scope: str | None = None) -> list[Any]:
    """Returns the losses that regularize variables."""
    return get_collection(GraphKeys.REGULARIZATION_LOSSES, scope)


@export("losses.get_regularization_loss")
def get_regularization_loss(
    scope: str | None = None, name: str = "total_regularization_loss"
) -> Any:
    """Returns the sum of the losses that regularize variables; 0 if there are none."""
    losses = get_regularization_losses(scope)
    return add_n(losses, name=name) if losses else constant_v1(0.0)


@export("losses.get_total_loss")
def get_total_loss(
    add_regularization_losses: bool = True, name: str = "total_loss", scope: str | None = None
) -> Any:
    """Returns the sum of all losses."""
    losses = get_losses(scope=scope)
    if add_regularization_losses:
        losses = losses + get_regularization_losses(scope=scope)
    return add_n(losses, name=name)
