"""Where a layer was called on tensors of Keras models, and what it gave there."""

from __future__ import annotations

from typing import Any

from weft.framework import nest


def _one_or_all(values: Any) -> Any:
    return values[0] if isinstance(values, list) and len(values) == 1 else values


class Connected:
    """A layer that remembers its calls as nodes; only calls on tensors of Keras models make them."""

    _inbound_nodes: list[Any]
    _outbound_nodes: list[Any]
    _name: str

    inbound_nodes = property(lambda self: self._inbound_nodes)
    outbound_nodes = property(lambda self: self._outbound_nodes)

    def _at_node(self, index: int, attribute: str, what: str) -> Any:
        if not self._inbound_nodes:
            raise RuntimeError(f"The layer has never been called and thus has no defined {what}.")
        if len(self._inbound_nodes) <= index:
            raise ValueError(
                f"Asked to get {what} at node {index}, but the layer has only {len(self._inbound_nodes)} "
                "inbound nodes."
            )
        return _one_or_all(getattr(self._inbound_nodes[index], attribute))

    def get_input_at(self, node_index: int) -> Any:
        """The inputs of one call."""
        return self._at_node(node_index, "input_tensors", "input")

    def get_output_at(self, node_index: int) -> Any:
        """The outputs of one call."""
        return self._at_node(node_index, "output_tensors", "output")

    def get_input_shape_at(self, node_index: int) -> Any:
        return self._at_node(node_index, "input_shapes", "input shape")

    def get_output_shape_at(self, node_index: int) -> Any:
        return self._at_node(node_index, "output_shapes", "output shape")

    def get_input_mask_at(self, node_index: int) -> Any:
        return _masks(self.get_input_at(node_index))

    def get_output_mask_at(self, node_index: int) -> Any:
        return _masks(self.get_output_at(node_index))

    def _only(self, attribute: str, what: str) -> Any:
        if not self._inbound_nodes:
            raise AttributeError(f"Layer {self._name} is not connected, no {what} to return.")
        if len(self._inbound_nodes) > 1:
            raise AttributeError(
                f"Layer {self._name} has multiple inbound nodes, hence the notion of 'layer {what}' is ill-defined. "
                f"Use `get_{what.replace(' ', '_')}_at(node_index)` instead."
            )
        return self._at_node(0, attribute, what)

    # The inputs and outputs of the only call.
    input = property(lambda self: self._only("input_tensors", "input"))
    output = property(lambda self: self._only("output_tensors", "output"))
    input_mask = property(lambda self: _masks(self._only("input_tensors", "input")))
    output_mask = property(lambda self: _masks(self._only("output_tensors", "output")))
    input_shape = property(lambda self: self._only("input_shapes", "input shape"))
    output_shape = property(lambda self: self._only("output_shapes", "output shape"))


def _masks(tensors: Any) -> Any:
    return nest.map_structure(lambda x: getattr(x, "_keras_mask", None), tensors)
