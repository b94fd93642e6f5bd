"""What is known of the variable behind a resource tensor: its shape and dtype."""

from __future__ import annotations

from typing import Any, NamedTuple

from weft.framework.dtypes import DType
from weft.framework.shape_rules import Shape


class HandleData(NamedTuple):
    """The static shape and the dtype of the values that a resource holds."""

    dims: Shape
    dtype: DType | None


# Ops that pass a resource on as it is.
_PASSING = frozenset(
    "Identity Switch Merge Enter Exit NextIteration StopGradient PlaceholderWithDefault".split()
)
_LONGEST_CHAIN = 64


def handle_data(tensor: Any) -> HandleData | None:
    """The shape and dtype behind a resource tensor, or None where they are not known."""
    for _ in range(_LONGEST_CHAIN):
        known = getattr(tensor, "_handle_data", None)
        if known is not None:
            return known
        op = getattr(tensor, "_op", None)
        if op is None:
            return None
        if op._decl.name == "VarHandleOp":
            return HandleData(op._attrs["shape"], op._attrs["dtype"])
        if op._decl.name not in _PASSING or not op._inputs:
            return None
        tensor = op._inputs[0]
    return None
