"""How a variable is kept in step across replicas, and how updates of replicas are combined."""

from __future__ import annotations

import enum
from typing import Any

from weft.framework.export import export


@export("VariableSynchronization")
class VariableSynchronization(enum.Enum):
    """When the copies of a distributed variable are brought together: as the strategy decides (AUTO), never
    since there is one copy (NONE), at each write (ON_WRITE) or at each read (ON_READ)."""

    AUTO = 0
    NONE = 1
    ON_WRITE = 2
    ON_READ = 3


class VariableAggregationV2(enum.Enum):
    """How the updates that replicas make to a variable become one: not at all (NONE, an error), their SUM, their
    MEAN, or that of the first replica only."""

    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3

    def __hash__(self) -> int:
        return hash(self.value)

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, VariableAggregation) and self.value == other.value
        )


@export("VariableAggregation")
class VariableAggregation(enum.Enum):
    """How the updates that replicas make to a variable become one: not at all (NONE, an error), their SUM, their
    MEAN, or that of the first replica only (ONLY_FIRST_TOWER is its old name)."""

    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3
    ONLY_FIRST_TOWER = 3  # noqa: PIE796  its old name

    def __hash__(self) -> int:
        return hash(self.value)


def validated_modes(
    synchronization: Any, aggregation: Any, trainable: bool | None, name: str | None
) -> tuple[VariableSynchronization, Any, bool]:
    """The modes with their defaults; ValueError for what is no mode. What is synchronised on read is not trained
    unless the caller says so."""
    if aggregation is None:
        aggregation = VariableAggregation.NONE
    elif not isinstance(aggregation, (VariableAggregation, VariableAggregationV2)):
        try:
            aggregation = VariableAggregationV2(aggregation)
        except ValueError:
            raise ValueError(
                f"Invalid variable aggregation mode: {aggregation} for variable: {name}"
            ) from None
    if synchronization is None:
        synchronization = VariableSynchronization.AUTO
    else:
        try:
            synchronization = VariableSynchronization(synchronization)
        except ValueError:
            raise ValueError(
                f"Invalid variable synchronization mode: {synchronization} for variable: {name}"
            ) from None
    if trainable is None:
        trainable = synchronization is not VariableSynchronization.ON_READ
    return synchronization, aggregation, trainable
