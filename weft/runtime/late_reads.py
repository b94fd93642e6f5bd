"""Reads of reference variables that come after an assignment of the same step.

A reference variable is read by one operation, made with the variable, and its readers share what that gives. In
TensorFlow they share the variable's memory with it: a reader that is ordered behind an assignment finds the value
after it. Here values do not change, so that such a reader is given the reference, which is read when it runs.
"""

from __future__ import annotations

from typing import Any

from weft.engine.program import called_functions, reference_positions
from weft.framework.operation import Operation
from weft.framework.tensor import Tensor


class LateReader(Operation):
    """An operation of a plan that takes references in place of what was read of them; its outputs are those of the
    operation of the graph that it stands for."""

    def __init__(self, like: Operation, inputs: list[Tensor]):
        self._graph, self._decl, self._name = like._graph, like._decl, like._name
        self._inputs, self._outputs, self._attrs = inputs, like._outputs, like._attrs
        self._control_inputs, self._control_outputs = like._control_inputs, []
        self._device, self._site, self._id = like._device, like._site, like._id
        self._original_op = like._original_op
        self.like = like  # with what it keeps for the plan


def late_readers(
    ops: list[Operation], cut: set[Tensor], home: dict[Operation, Any]
) -> dict[Operation, LateReader]:
    """What stands for those operations of a plan, given in an order they can run in, that read late."""
    variable_of = _variables(ops, cut)
    bits = {t: 1 << i for i, t in enumerate(dict.fromkeys(variable_of.values()))}
    reads = {
        op._outputs[0]: op._inputs[0]
        for op in ops
        if op._decl.name == "Identity"
        and op._inputs[0] in bits
        and not op._control_inputs
        and op._outputs[0] not in cut
    }
    if not reads:
        return {}
    found: dict[Operation, LateReader] = {}
    behind: dict[Operation, int] = {}  # the variables that are assigned before an operation's end
    for op in ops:
        before = 0
        for t in op._inputs:
            if t not in cut:
                before |= behind.get(t._op, 0)
        for c in op._control_inputs:
            before |= behind.get(c, 0)
        if before and _may_read_late(op):
            inputs = [
                reads[t]
                if t in reads and before & bits[reads[t]] and home[reads[t]._op] is home[op]
                else t
                for t in op._inputs
            ]
            if inputs != op._inputs:
                found[op] = LateReader(op, inputs)
        for i in reference_positions(op):
            variable = variable_of.get(op._inputs[i])
            if variable is not None:
                before |= bits[variable]
        if before:
            behind[op] = before
            for t in op._outputs:  # of an operation that stands for others of the graph
                behind[t._op] = before
    return found


def _may_read_late(op: Operation) -> bool:
    if op._decl.passes_references:
        # Functions read the references that they are called with. What a loop begins with is handed on.
        return bool(called_functions(op)) and "body" not in op._attrs
    return "seed" not in op._attrs  # a source of random numbers is known by its operation


def _variables(ops: list[Operation], cut: set[Tensor]) -> dict[Tensor, Tensor]:
    """The variable that each reference is to: assignments hand on the one that they take."""
    out: dict[Tensor, Tensor] = {}
    for op in ops:
        for t in op._outputs:
            if not t._dtype._is_ref_dtype or t in cut:
                continue
            positions = reference_positions(op)
            if not op._inputs:
                out[t] = t
            elif positions and op._inputs[positions[0]] in out:
                out[t] = out[op._inputs[positions[0]]]
    return out
