"""What is known of what is behind a resource or variant tensor: the shape and dtype of a variable, or of the
elements of a list."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from weft.framework.dtypes import DType
from weft.framework.shape_rules import Shape


class HandleData(NamedTuple):
    """The static shape and the dtype of the values that a resource holds."""

    dims: Shape
    dtype: DType | None


# Ops that pass a resource, or a list of tensors, on as it is, or another list of the same kind.
_PASSING = frozenset(
    "Identity IdentityN Switch Merge Enter Exit NextIteration StopGradient PlaceholderWithDefault ZerosLike "
    "TensorListSetItem TensorListPushBack TensorListPopBack TensorListResize AddN "
    "TensorListScatterIntoExistingList".split()
)
# Ops that make a list of tensors, whose shape an input says.
_LISTS = frozenset(
    "EmptyTensorList TensorListReserve TensorListFromTensor TensorListScatter TensorListScatterV2 "
    "TensorListSplit".split()
)
_LONGEST_CHAIN = 64


def handle_data(tensor: Any) -> HandleData | None:
    """The shape and dtype behind a resource tensor, or None where they are not known."""
    for way in _ways(tensor):
        known = getattr(way, "_handle_data", None)
        if known is not None:
            return known
        op = getattr(way, "_op", None)
        if op is None:
            return None
        if op._decl.name == "VarHandleOp":
            return HandleData(op._attrs["shape"], op._attrs["dtype"])
        if op._decl.name in _LISTS:
            return HandleData(_list_shape(op), op._attrs["element_dtype"])
    return None


def origin(tensor: Any) -> Any:
    """The operation that makes a resource, as far as ops that pass it on tell; None where no operation does."""
    op = None
    for way in _ways(tensor):
        op = getattr(way, "_op", None)
    return op


def _ways(tensor: Any) -> Iterator[Any]:
    """A tensor of the graph and those that it was passed on from, the nearest first."""
    for _ in range(_LONGEST_CHAIN):
        yield tensor
        op = getattr(tensor, "_op", None)
        if op is None or op._decl.name not in _PASSING or not op._inputs:
            return
        tensor = op._inputs[tensor._index if op._decl.name == "IdentityN" else 0]


def _list_shape(op: Any) -> Shape:
    from weft.framework.constant_value import constant_value
    from weft.framework.known_elements import elements_as_shape

    names = [a.name for a in op._decl.signature.inputs]
    tensor = op._inputs[names.index("element_shape")]
    value = constant_value(tensor)
    if value is not None and value.ndim == 0:
        return None
    return elements_as_shape(tensor)
