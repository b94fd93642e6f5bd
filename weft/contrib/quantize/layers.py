"""Which tensors of a graph are rounded: the weights of layers, and the activations after them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

import weft as tf
from weft.contrib.quantize import ranges
from weft.contrib.quantize.patterns import ANY, Either, Pattern, matches, reroute

_LAYERS = "Conv2D|MatMul|DepthwiseConv2dNative"
_ADD = "Add|AddV2"
_RELUS = {"Relu", "Relu6"}
_ROUNDED = {
    "FakeQuantWithMinMaxVars",
    "FakeQuantWithMinMaxArgs",
    "FakeQuantWithMinMaxVarsPerChannel",
}
_SUMS = {"Add", "AddV2", "Mul"}
_PASSING = {"Reshape", "Identity", "BatchToSpaceND", "SpaceToBatchND", "MaxPool", "Max"}
# Gradients and optimizers are left alone.
_NOT_THE_MODEL = (
    "gradients/",
    "RMSProp/",
    "Adagrad/",
    "Const_",
    "HistogramSummary",
    "ScalarSummary",
)


class Layer(NamedTuple):
    """A layer: its operation, its weights, and the operations whose results are rounded."""

    op: Any
    weights: Any
    activation: Any
    bypass: Any = None
    after_activation: Any = None
    bias_add: Any = None


def quantize(graph: Any, is_training: bool, **how: Any) -> None:
    """Rounds weights and activations."""
    _Rounding(graph, is_training, **how).round_all()


class _Rounding:
    def __init__(
        self,
        graph: Any,
        is_training: bool,
        weight_bits: int,
        activation_bits: int,
        symmetric: bool,
        quant_delay: int | None,
        scope: str | None,
    ):
        self._graph, self._is_training, self._delay = graph, is_training, quant_delay
        self._weight_bits, self._activation_bits = weight_bits, activation_bits
        self._symmetric = symmetric
        self._scope = scope + "/" if scope and not scope.endswith("/") else scope
        self._done: set[Any] = set()

    def round_all(self) -> None:
        self._consumers = _consumers(self._graph)
        for layer in find_layers(self._graph):
            self._round_layer(layer)
        self._consumers = _consumers(self._graph)
        for op in self._graph.get_operations():
            if self._takes_rounded(op):
                name = f"activation_{op.type}_quant"
                self._insert(op.name, name, op, symmetric=False, needs_producer=True)

    def _round_layer(self, layer: Layer) -> None:
        context = _scope_of(layer.op.name)
        if layer.weights is not None:
            self._insert(
                context,
                "weights_quant",
                layer.weights.op,
                moving=False,
                num_bits=self._weight_bits,
                narrow_range=True,
                needs_consumers=True,
            )
        if layer.activation is not None:
            around = _scope_of(context) if layer.bypass is not None else context
            self._insert(around, "act_quant", layer.activation, init_min=0.0, needs_producer=True)
            self._done.add(layer.activation)
        if layer.bypass is not None:
            self._insert(
                context, "conv_quant", layer.bias_add, needs_producer=True, needs_consumers=True
            )
            self._done.add(layer.bias_add)
            # What an activation follows is rounded after that.
            if not self._followed_by(layer.bypass, {*_RELUS, "Identity"}):
                self._insert(
                    _scope_of(context),
                    "add_quant",
                    layer.bypass,
                    needs_producer=True,
                    needs_consumers=True,
                )
                self._done.add(layer.bypass)
        after = layer.after_activation
        if after is not None and not self._followed_by(after, _RELUS):
            context = _scope_of(after.name)
            self._insert(context, "post_activation_bypass_quant", after, needs_producer=True)
            self._done.add(after)

    def _followed_by(self, op: Any, types: set[str]) -> bool:
        return any(c.type in types for c in self._consumers[op])

    def _insert(
        self,
        context: str,
        name: str,
        producer: Any,
        moving: bool = True,
        needs_producer: bool = False,
        needs_consumers: bool = False,
        num_bits: int | None = None,
        **how: Any,
    ) -> None:
        """Rounds what an operation gives to others, unless that is done already or lies out of the scope."""
        consumers = self._consumers[producer]
        if self._scope:
            concerned = [producer] * needs_producer + list(consumers) * needs_consumers
            if not all(op.name.startswith(self._scope) for op in concerned):
                return
        values = producer.outputs[0]
        if _is_rounded(values):
            return
        prefix = f"{context}/{name}" if context else name
        around = self._graph.get_name_scope()
        if around and prefix.startswith(around + "/"):
            prefix = prefix[len(around) + 1 :]
        how.setdefault("symmetric", self._symmetric)
        round_ = ranges.moving_average_quantized if moving else ranges.last_value_quantized
        rounded = round_(
            values,
            name_prefix=prefix,
            is_training=self._is_training,
            num_bits=num_bits or self._activation_bits,
            **how,
        )
        if self._delay:
            active = tf.greater_equal(
                ranges.quantization_step(self._graph), self._delay, name=prefix + "/activate_quant"
            )
            rounded = tf.cond(
                active, lambda: rounded, lambda: values, name=prefix + "/delayed_quant"
            )
        if consumers and reroute(rounded, values, consumers) < len(consumers):
            names = ", ".join(op.name for op in consumers)
            raise ValueError(f"No inputs quantized for ops: [{names}]")

    def _takes_rounded(self, op: Any) -> bool:
        """Whether an addition or multiplication that nothing has rounded takes what is rounded."""
        if op in self._done or op.type not in _SUMS:
            return False
        following = op.outputs[0].consumers()
        if len(following) == 1 and following[0].type in _RELUS:
            return False
        for source in (t.op for t in op.inputs):
            while source.type in _PASSING and source.inputs:
                source = source.inputs[0].op
            if source.type == "FakeQuantWithMinMaxVars" or "delayed_quant" in source.name:
                return True
            if source.type in _SUMS and any(self._takes_rounded(t.op) for t in source.inputs):
                return True
        return False


def _consumers(graph: Any) -> dict[Any, set[Any]]:
    """Who takes what an operation of the model gives."""
    found: dict[Any, set[Any]] = defaultdict(set)
    for op in graph.get_operations():
        if not op.name.startswith(_NOT_THE_MODEL):
            for tensor in op.inputs:
                found[tensor.op].add(op)
    return found


def _scope_of(name: str) -> str:
    return match[1] if (match := re.search(r"^(.*)/([^/]+)", name)) else ""


def _is_rounded(tensor: Any) -> bool:
    following = tensor.consumers()
    while following:
        op = following.pop()
        if op.type in _ROUNDED:
            return True
        if op.type in ("Reshape", "Identity"):
            following.extend(c for t in op.outputs for c in t.consumers())
    return False


def find_layers(graph: Any) -> list[Layer]:
    """Layers, each with as much of what follows it as there is.

    weights, perhaps folded -> convolution or product [-> batch to space] [-> correction] [-> bias]
    [-> bypass] -> activation [-> bypass]
    """
    variable = Pattern("Variable|VariableV2")
    part = Pattern("Identity", variable)
    parts = Pattern("ConcatV2", part, ANY, ANY)
    weights = [
        Pattern("Identity", Either(part, parts, variable)),
        Pattern("ReadVariableOp"),
        Pattern("Mul"),
    ]
    layer = Pattern(_LAYERS, Pattern("*"), Either(*weights), ordered=False)
    output = Either(Pattern("BatchToSpaceND", layer, ANY, ANY), layer)
    corrected = Pattern(_ADD, Pattern("Mul", ANY, output, ordered=False), ANY, ordered=False)
    folded_bias = Pattern(_ADD, corrected, ANY, ordered=False)
    folded_identity = Pattern("Identity", folded_bias)
    bias = Pattern(f"{_ADD}|BiasAdd", output, ANY, ordered=False)
    bypass = Pattern(_ADD, Either(bias, folded_bias, folded_identity), ANY, ordered=False)
    activation = Pattern(
        "Relu|Relu6|Identity", Either(bias, folded_bias, folded_identity, bypass, layer)
    )
    after_activation = Pattern(_ADD, ANY, activation, ordered=False)
    separable = Pattern(_LAYERS, output, ANY, ordered=False)
    found_layers: dict[Any, Layer] = {}

    def each(pattern: Any) -> Iterator[tuple[Any, Any]]:
        for found in list(matches(graph, pattern)):
            op = found[layer].op
            if op not in found_layers:
                yield op, found

    def op_of(found: Any, *patterns: Pattern) -> Any:
        return next((found[p].op for p in patterns if p in found), None)

    def weights_of(found: Any) -> Any:
        return next((found[w] for w in weights if w in found), None)

    # The largest first: a smaller pattern matches a part of what a larger one does.
    for op, found in each(after_activation):
        found_layers[op] = Layer(
            op,
            weights_of(found),
            op_of(found, activation),
            op_of(found, bypass),
            op_of(found, after_activation),
            op_of(found, bias, folded_bias),
        )
    for op, found in each(activation):
        if not _feeds_batch_norm(found[activation].op):
            found_layers[op] = Layer(
                op,
                weights_of(found),
                op_of(found, activation),
                op_of(found, bypass),
                None,
                op_of(found, bias, folded_bias),
            )
    for op, found in each(Either(bias, folded_bias)):
        found_layers[op] = Layer(op, weights_of(found), op_of(found, bias, folded_bias))
    for op, found in each(separable):
        found_layers[op] = Layer(op, weights_of(found), op)
    return list(found_layers.values())


def _feeds_batch_norm(op: Any) -> bool:
    """Whether an identity is there for the statistics of a batch only."""
    following = op.outputs[0].consumers()
    return (
        op.type == "Identity"
        and len(following) == 1
        and following[0].type in ("FusedBatchNorm", "FusedBatchNormV3")
    )
