"""Where a program stands: which strategy is in force, and whether one replica or all of them are meant."""

from __future__ import annotations

from typing import Any

from weft.framework import replication
from weft.framework.export import export

# The strategy of programs that have none; set by `strategy`.
default: Any = None


def default_strategy() -> Any:
    if default is None:
        from weft.distribute import default_strategy as _  # noqa: F401  which sets it
    return default


@export("distribute.get_strategy", "contrib.distribute.get_distribution_strategy")
def get_strategy() -> Any:
    """Returns the strategy in force; the default one where there is none."""
    return replication.strategy() or default_strategy()


@export("distribute.has_strategy", "contrib.distribute.has_distribution_strategy")
def has_strategy() -> bool:
    """Returns whether a strategy other than the default one is in force."""
    return replication.strategy() is not None


@export("distribute.in_cross_replica_context", "contrib.distribute.in_cross_replica_context")
def in_cross_replica_context() -> bool:
    """Returns whether all replicas are meant here, not one of them."""
    found = replication.role()
    return found is not None and found.replica is None


@export("distribute.get_replica_context", "contrib.distribute.get_replica_context")
def get_replica_context() -> Any:
    """Returns the context of the replica that is being built; None across replicas."""
    found = replication.role()
    return default_strategy()._replica_context() if found is None else found.replica


@export("distribute.experimental_set_strategy")
def experimental_set_strategy(strategy: Any) -> None:
    """Puts a strategy in force without `with strategy.scope()`; None ends it."""
    roles = replication.roles
    if roles.set_scope is not None:
        if len(roles.stack) != 1 or roles.stack[0][1].replica is not None:
            raise RuntimeError(
                "Must not be called inside a `tf.distribute.Strategy` scope when one has been set already."
            )
        before, roles.set_scope = roles.set_scope, None
        before.__exit__(None, None, None)
    elif has_strategy():
        raise RuntimeError("Must not be called inside a `tf.distribute.Strategy` scope.")
    if strategy is not None:
        scope = strategy.scope()
        scope.__enter__()
        roles.set_scope = scope


def require_replica_context(replica: Any) -> None:
    """RuntimeError unless this replica context is the one in force."""
    found = get_replica_context()
    if found is not replica:
        raise RuntimeError(
            "Need to be inside `call_for_each_replica()`"
            if found is None
            else "Mismatching ReplicaContext."
        )


def require_strategy(extended: Any) -> None:
    """RuntimeError unless this strategy is in force, and all replicas are meant."""
    found = replication.role()
    if found is None or found.strategy.extended is not extended:
        _refuse(extended._container_strategy(), found)
    if found is not None and found.replica is not None:
        raise RuntimeError(
            "Method requires being in cross-replica context, use get_replica_context().merge_call()"
        )


def require_strategy_or_none(extended: Any) -> None:
    """RuntimeError if another strategy is in force, or this one and a replica is meant."""
    if replication.role() is not None:
        require_strategy(extended)


def require_scope(extended: Any) -> None:
    """RuntimeError unless this strategy is in force."""
    found = replication.role()
    if found is None or found.strategy.extended is not extended:
        _refuse(extended._container_strategy(), found)


def _refuse(strategy: Any, found: Any) -> None:
    if found is None:
        raise RuntimeError(f'Need to be inside "with strategy.scope()" for {strategy}')
    raise RuntimeError(
        f"Mixing different tf.distribute.Strategy objects: {found.strategy} is not {strategy}"
    )
