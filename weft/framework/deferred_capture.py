"""Values that a function looks up at each call, rather than as it is traced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.framework import conversion, nest
from weft.framework.tensor import Tensor
from weft.framework.type_spec import TensorSpec, TypeSpec, type_spec_from_value


class DeferredCapture:
    """A closure, the kinds of its values, and the inputs of the function that stand for them."""

    def __init__(self, closure: Callable[[], Any], spec: Any, inputs: list[Tensor], packed: Any):
        self.closure, self.spec = closure, spec
        self.inputs, self.packed = inputs, packed

    def values(self) -> list[Any]:
        """The closure's value now, as tensors."""
        value = self.closure()
        nest.assert_same_structure(self.spec, value)
        out: list[Any] = []
        for spec, item in zip(nest.flatten(self.spec), nest.flatten(value)):
            out.extend(_converted(spec, item))
        return out


def _converted(spec: TypeSpec, item: Any) -> list[Any]:
    if not isinstance(spec, TensorSpec):
        if not spec.is_compatible_with(type_spec_from_value(item)):
            raise ValueError(f"Value {item} is not compatible with {spec}.")
        return nest.flatten(item, expand_composites=True)
    try:
        tensor = conversion.convert_to_tensor(item, dtype=spec.dtype)
    except (TypeError, ValueError) as e:
        raise ValueError(
            f"Value {item} is not convertible to a tensor with dtype {spec.dtype.name}: {e}"
        ) from None
    if not spec.shape.is_compatible_with(tensor.shape):
        raise ValueError(
            f"Value {item} has shape {tensor.shape}, which does not fit shape {spec.shape}."
        )
    return [tensor]


def capture(graph: Any, closure: Callable[[], Any], spec: Any, key: Any) -> Any:
    """What stands inside of a function for the values of a closure."""
    known = graph.deferred_captures.get(key)
    if known is None:
        inputs: list[Tensor] = []
        packed = nest.map_structure(lambda s: _placeholders(graph, s, inputs), spec)
        known = graph.deferred_captures[key] = DeferredCapture(closure, spec, inputs, packed)
    return known.packed


def _placeholders(graph: Any, spec: Any, inputs: list[Tensor]) -> Any:
    if isinstance(spec, TensorSpec):
        inputs.append(graph._placeholder(spec.dtype, spec.shape.dims_tuple, "captured"))
        return inputs[-1]
    return spec._from_components(
        nest.map_structure(lambda s: _placeholders(graph, s, inputs), spec._component_specs)
    )
