"""Gradients of traced functions under eager execution: a backward function for each forward one.

The forward function gives, besides its results, the intermediate values that the backward function needs.
"""

from __future__ import annotations

import contextlib
from typing import Any

from weft.framework import gradients, nest, registry
from weft.framework.func_graph import FuncGraph
from weft.framework.indexed_slices import IndexedSlices
from weft.framework.recording import stop_recording
from weft.framework.tensor import Tensor


class Backward:
    """The function that takes gradients of some tensors of a body to gradients of its inputs."""

    def __init__(self, forward: Any, ys: list[Tensor], xs: list[Tensor]):
        body = getattr(forward, "graph", forward)
        self.graph = graph = FuncGraph(f"__backward_{forward.name}_{id(self)}", body)
        graph._collections, graph._devices = {}, []
        self.ys = ys
        self.function: Any = None  # of the graph; set by who calls it
        self.structure: list[Any] = []  # for each x: None, or the gradient's structure
        with stop_recording(), graph.as_default():
            given = [
                graph.add_input(y.dtype.base_dtype, y._dims, f"grad_{i}") for i, y in enumerate(ys)
            ]
            pass_ = _OfFunction(graph, "gradients", False, False, None, given)
            found = pass_.run(ys, xs, [], gradients.UnconnectedGradients.NONE)
            outputs: list[Tensor] = []
            for grad in found:
                if grad is None:
                    self.structure.append(None)
                    continue
                parts = nest.flatten(grad, expand_composites=True)
                outputs.extend(registry.get("Identity")(p) if p in given else p for p in parts)
                self.structure.append(grad)
        graph.outputs = [graph.capture(t) for t in outputs]

    @property
    def captures(self) -> list[Any]:
        """Tensors of the body, and concrete ones, that the backward function needs."""
        return self.graph.external_captures

    def gradients(self, results: list[Any]) -> list[Any]:
        """The results of a call as one gradient, or None, for each x."""
        left = list(results)
        out: list[Any] = []
        for item in self.structure:
            if item is None:
                out.append(None)
            elif isinstance(item, IndexedSlices):
                n = len(nest.flatten(item, expand_composites=True))
                parts, left = left[:n], left[n:]
                out.append(IndexedSlices(*parts))
            else:
                out.append(left.pop(0))
        return out


class _OfFunction(gradients._Backward):
    """A backward pass over one body that adds its operations to another."""

    def _place(self, op: Any) -> Any:
        return contextlib.nullcontext()


__all__ = ["Backward"]
