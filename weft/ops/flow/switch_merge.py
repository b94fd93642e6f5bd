"""TensorFlow 1's control flow in a graph: Switch, Merge, and the ops that loops are made of.

Graphs that weft builds have functions in their place; these are for graphs that were imported, and for
programs that build them by hand. How they run is told in weft/engine/dataflow.py. A value that is not there
(a dead tensor) is None in a kernel.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework.registry import op
from weft.framework.shape_rules import relax, scalar
from weft.ops.by_name import raw

_LOOP_ATTRS = (
    "T: type; frame_name: string; is_constant: bool = false; parallel_iterations: int = 10"
)


def _switch(xp: Any, data: Any, pred: Any) -> tuple:
    """Passes the data to one of two outputs; the other one is dead."""
    return (None, data) if pred else (data, None)


switch = op(
    "Switch", "data: T, pred: bool -> output_false: T, output_true: T", "T: type", host=True
)(_switch)
ref_switch = op(
    "RefSwitch",
    "ref data: T, pred: bool -> ref output_false: T, ref output_true: T",
    "T: type",
    host=True,
    allows_uninitialized=True,
)(_switch)


@switch.shape
@ref_switch.shape
def _(data, pred):
    scalar(pred, "pred")
    return data, data


def _merge(xp: Any, inputs: list) -> tuple:
    """Passes on the input that is there, and its number."""
    for i, x in enumerate(inputs):
        if x is not None:
            return x, np.asarray(i, np.int32)
    return None, None


merge = op(
    "Merge", "inputs: N*T -> output: T, value_index: int32", "T: type; N: int >= 1", host=True
)(_merge)
ref_merge = op(
    "RefMerge",
    "ref inputs: N*T -> ref output: T, value_index: int32",
    "T: type; N: int >= 1",
    host=True,
)(_merge)


@merge.shape
@ref_merge.shape
def _(inputs):
    out = inputs[0]
    for shape in inputs[1:]:
        out = relax(out, shape)
    return out, ()


def _pass(xp: Any, data: Any) -> Any:
    """Passes its input on, to or from a loop's frame, or to the next iteration."""
    return data


enter = op("Enter", "data: T -> output: T", _LOOP_ATTRS, host=True)(_pass)
ref_enter = op("RefEnter", "ref data: T -> ref output: T", _LOOP_ATTRS, host=True)(_pass)
exit_ = op("Exit", "data: T -> output: T", "T: type", host=True)(_pass)
ref_exit = op("RefExit", "ref data: T -> ref output: T", "T: type", host=True)(_pass)
next_iteration = op("NextIteration", "data: T -> output: T", "T: type", host=True)(_pass)
ref_next_iteration = op("RefNextIteration", "ref data: T -> ref output: T", "T: type", host=True)(
    _pass
)


@enter.shape
@ref_enter.shape
@exit_.shape
@ref_exit.shape
@next_iteration.shape
@ref_next_iteration.shape
def _(data):
    return data


@op("LoopCond", "input: bool -> output: bool", host=True)
def loop_cond(xp, input):
    """Passes on the condition of a loop."""
    return input


@loop_cond.shape
def _(input):
    return scalar(input, "input")


loop_cond.not_differentiable()


@op("ControlTrigger", host=True)
def control_trigger(xp):
    """Does nothing; it runs although what it waits for is dead."""


control_trigger.not_differentiable()


# -- gradients ----------------------------------------------------------------------------------------------


@switch.gradient
@ref_switch.gradient
def _(op, false_grad, true_grad):
    pred = op.inputs[1]
    if false_grad is None and true_grad is None:
        return None, None
    sides = [
        raw.Switch(raw.ZerosLike(t) if g is None else g, pred)[i]
        for i, (g, t) in enumerate(zip((false_grad, true_grad), op.outputs))
    ]
    return raw.Merge(sides)[0], None


@merge.gradient
@ref_merge.gradient
def _(op, grad, _):
    taken = op.outputs[1]
    return [
        raw.Switch(grad, raw.Equal(taken, np.asarray(i, np.int32)))[1]
        for i in range(len(op.inputs))
    ]


def _no_gradient(op: Any, *grads: Any) -> Any:
    raise LookupError(
        f"No gradient defined for operation '{op.name}' (op type: {op.type}): weft differentiates loops that "
        "tf.while_loop builds, but not those of an imported graph."
    )


for _decl in (enter, ref_enter, exit_, ref_exit, next_iteration, ref_next_iteration):
    _decl.gradient(_no_gradient)
