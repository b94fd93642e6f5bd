"""How the values of replicas become one."""

from __future__ import annotations

import enum
from typing import Any

from weft.framework.export import export
from weft.variables.modes import VariableAggregation


@export("distribute.ReduceOp", "compat.v2.distribute.ReduceOp")
class ReduceOp(enum.Enum):
    """SUM or MEAN."""

    SUM = "SUM"
    MEAN = "MEAN"

    @staticmethod
    def from_variable_aggregation(aggregation: Any) -> ReduceOp:
        """The reduction that goes with how updates of a variable are combined."""
        found = {
            VariableAggregation.SUM.value: ReduceOp.SUM,
            VariableAggregation.MEAN.value: ReduceOp.MEAN,
        }.get(aggregation.value)
        if found is None:
            raise ValueError(
                f"Could not convert from `tf.VariableAggregation` {aggregation} to`tf.distribute.ReduceOp` type"
            )
        return found


def reduce_op_of(value: Any) -> ReduceOp:
    """A ReduceOp, or the one of that name in any case."""
    return ReduceOp(value.upper()) if isinstance(value, str) else value


def checked_reduce_op(value: Any) -> ReduceOp:
    """As `reduce_op_of`; ValueError for what is none."""
    value = reduce_op_of(value)
    if not isinstance(value, ReduceOp):
        raise ValueError(f"Expected a tf.distribute.ReduceOp, got {value}")
    return value
