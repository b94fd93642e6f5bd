"""How many float operations an operation takes, by the shapes of its tensors: TensorFlow's way of counting.

Multiplications and additions count one each. What has no rule here counts as nothing, as in TensorFlow.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any


class UnknownShape(ValueError):
    """The count needs a shape that is not known."""


class Shapes:
    """The shapes of an operation's tensors; where the graph does not know them, those that were seen at run time."""

    def __init__(self, op: Any, seen: dict[str, tuple[int, ...]]):
        self.op, self._seen = op, seen

    def of(self, tensor: Any) -> tuple[int, ...]:
        if tensor.shape.is_fully_defined():
            return tuple(tensor.shape.as_list())
        if tensor.name in self._seen:
            return self._seen[tensor.name]
        raise UnknownShape(tensor.name)

    def input(self, i: int) -> tuple[int, ...]:
        return self.of(self.op.inputs[i])

    @property
    def output(self) -> tuple[int, ...]:
        return self.of(self.op.outputs[0])

    def attr(self, name: str) -> Any:
        return self.op.get_attr(name)


Rule = Callable[[Shapes], int | float]
RULES: dict[str, Rule] = {}


def _each_input(times: int) -> Rule:
    return lambda s: times * prod(s.input(0))


def _each_output(times: int) -> Rule:
    return lambda s: times * prod(s.output)


def _reduction(finally_each: int) -> Rule:
    return lambda s: prod(s.input(0)) + prod(s.output) * (finally_each - 1)


for _name in "Reciprocal Square Log Neg AssignSub AssignAdd BiasAdd".split():
    RULES[_name] = _each_input(1)
RULES["Rsqrt"] = _each_input(2)
RULES["Softmax"] = _each_input(5)
RULES["L2Loss"] = lambda s: 3 * prod(s.input(0)) - 1
for _name in (
    "Add Sub Mul RealDiv Maximum Minimum Pow GreaterEqual Greater LessEqual Less Equal NotEqual"
).split():
    RULES[_name] = _each_output(1)
RULES["SquaredDifference"] = _each_output(2)
RULES["RsqrtGrad"] = _each_output(4)
for _name in "Sum ArgMax ArgMin BiasAddGrad".split():
    RULES[_name] = _reduction(0)
RULES["Mean"] = _reduction(1)
RULES["AddN"] = lambda s: prod(s.input(0)) * (len(s.op.inputs) - 1)


def _rule(name: str) -> Callable[[Rule], Rule]:
    def register(rule: Rule) -> Rule:
        RULES[name] = rule
        return rule

    return register


@_rule("MatMul")
def _(s: Shapes) -> int:
    inner = s.input(0)[0 if s.attr("transpose_a") else 1]
    return 2 * inner * prod(s.output)


def _channels_last(s: Shapes) -> None:
    if s.attr("data_format") not in ("NHWC", b"NHWC"):
        raise UnknownShape("only NHWC is counted")


@_rule("Conv2D")
def _(s: Shapes) -> int:
    height, width, depth, _ = s.input(1)
    return 2 * height * width * depth * prod(s.output)


@_rule("DepthwiseConv2dNative")
def _(s: Shapes) -> int:
    return 2 * prod(s.input(1)[:2]) * prod(s.output)


@_rule("Dilation2D")
def _(s: Shapes) -> int:
    return 2 * prod(s.input(1)[:2]) * prod(s.output)


@_rule("AvgPool")
@_rule("MaxPool")
def _(s: Shapes) -> int:
    _channels_last(s)
    return prod(s.attr("ksize")) * prod(s.output)


@_rule("AvgPoolGrad")
def _(s: Shapes) -> int:
    _channels_last(s)
    return 2 * prod(s.attr("ksize")) * prod(s.input(1))


@_rule("MaxPoolGrad")
def _(s: Shapes) -> int:
    _channels_last(s)
    return (prod(s.attr("ksize")) + 1) * prod(s.input(1))


def _backprop(s: Shapes, image: tuple[int, ...], kernel: tuple[int, ...]) -> float:
    _channels_last(s)
    strides = s.attr("strides")
    return 2 * prod(image) * prod(kernel) / (image[-1] * strides[1] * strides[2])


@_rule("Conv2DBackpropInput")
def _(s: Shapes) -> float:
    return _backprop(s, s.output, s.input(1))


@_rule("Conv2DBackpropFilter")
def _(s: Shapes) -> float:
    return _backprop(s, s.input(0), s.output)
