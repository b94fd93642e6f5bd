"""Functions that programs give to datasets, traced into functions of the graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.data import structure
from weft.eager import tracing
from weft.eager.autograph import converted
from weft.framework.func_graph import FuncGraph
from weft.framework.type_spec import TensorSpec
from weft.ops.flow.building import in_library


class StructuredFunction:
    """A function of elements: what it takes and returns are structures, the graph's function has components."""

    def __init__(
        self,
        function: Callable,
        name: str,
        spec: Any,
        unpack: bool | None = None,
        returns: Callable[[Any], Any] | None = None,
    ):
        self._spec = spec
        # An element that is a tuple, but no namedtuple, is given as so many arguments.
        self._unpack = type(spec) is tuple if unpack is None else unpack
        self._name = name
        self._function = converted(function)
        self._normal = returns or structure.normalized
        self.output_spec: Any = None
        specs = [
            TensorSpec(shape, dtype, f"args_{i}")
            for i, (dtype, shape) in enumerate(
                zip(structure.flat_types(spec), structure.flat_shapes(spec))
            )
        ]
        self.graph: FuncGraph = tracing.trace(self._call, tuple(specs), {}, name, [])
        self.attribute = in_library(self.graph)
        self.captured = list(self.graph.external_captures)

    def _call(self, *components: Any) -> tuple[Any, ...]:
        element = structure.from_tensors(self._spec, list(components))
        result = self._function(*element) if self._unpack else self._function(element)
        if isinstance(result, list):  # of results: elsewhere a list is one tensor
            result = tuple(result)
        if any(leaf is None for leaf in structure.flatten(result)):
            where = self._name.replace("_", ".", 1)
            raise TypeError(
                f"Unsupported return value from function passed to {where}(): {result}."
            )
        result = self._normal(result)
        self.output_spec = structure.spec_of(result)
        return tuple(structure.to_tensors(self.output_spec, result))
