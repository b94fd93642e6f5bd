"""Initial values that depend on other variables, made to work in whichever order initialisers run."""

from __future__ import annotations

from typing import Any

from weft.framework.graph_keys import GraphKeys
from weft.framework.operation import Operation
from weft.framework.tensor import Tensor

_LEFT_ALONE = frozenset(("IsVariableInitialized", "VarIsInitializedOp", "ReadVariableOp", "If"))
_VARIABLES = frozenset(("Variable", "VariableV2"))


def check_lives_outside(initial_value: Any, name: str | None) -> None:
    """ValueError for an initial value that only exists as a function, branch or loop runs."""
    if not isinstance(initial_value, Tensor) or getattr(initial_value, "_op", None) is None:
        return
    if initial_value.graph.building_function:
        raise ValueError(
            f"The initializer of variable {name or 'Variable'} is a tensor from inside a control-flow construct "
            "or a traced function, which the variable outlives. Pass a callable, as in tf.Variable(lambda: "
            "tf.truncated_normal([10, 40])), or make the tensor in tf.init_scope."
        )


def guarded_initial_value(name: str, initial_value: Any) -> Tensor:
    """An initial value in which variables of the graph's collections give their own initial value as long as
    they are not initialised. What it depends on is copied where it must be; a graph with a loop is left alone.
    """
    if not isinstance(initial_value, Tensor):
        raise TypeError(f"initial_value needs to be a Tensor: {initial_value}")
    ops = _dependencies(initial_value.op, control=False)
    if ops is None or not any(op.type in _VARIABLES for op in ops):
        return initial_value
    if _dependencies(initial_value.op, control=True) is None:
        return initial_value
    replaced: dict[Operation, Operation] = {}
    for op in ops:
        replaced[op] = _guarded(op, name, replaced)
    return replaced[initial_value.op].outputs[initial_value.value_index]


def _dependencies(op: Operation, control: bool) -> list[Operation] | None:
    """What an operation needs, inputs first; None where that runs in a circle."""
    done: dict[Operation, None] = {}
    entered: set[Operation] = set()
    stack = [(op, False)]
    while stack:
        item, leaving = stack.pop()
        if leaving:
            entered.discard(item)
            done.setdefault(item)
            continue
        if item in done:
            continue
        if item in entered:
            return None
        entered.add(item)
        stack.append((item, True))
        inputs = [t._op for t in item._inputs]
        for other in [*inputs, *item._control_inputs] if control else inputs:
            if other in entered:
                return None
            if other not in done:
                stack.append((other, False))
    return list(done)


def _guarded(op: Operation, name: str, replaced: dict[Operation, Operation]) -> Operation:
    if op.type in _LEFT_ALONE:
        return op
    if op.type in _VARIABLES:
        value = _initialized_value(op)
        return op if value is None else value.op
    inputs = [replaced[t._op].outputs[t._index] for t in op._inputs]
    if all(new is old for new, old in zip(inputs, op._inputs)):
        return op
    kind = "Switch" if op.type == "RefSwitch" else op.type
    return op.graph.create_op(
        kind,
        inputs,
        [t.dtype.base_dtype for t in op._outputs],
        name=f"{op.name}_{name}".replace(":", "_"),
        attrs=dict(op.node_def.attr),
    )


def _initialized_value(op: Operation) -> Tensor | None:
    names = (op.name, op.name + ":0")
    for collection in (GraphKeys.GLOBAL_VARIABLES, GraphKeys.LOCAL_VARIABLES):
        for variable in op.graph.get_collection(collection):
            if getattr(variable, "name", None) in names and hasattr(variable, "initialized_value"):
                return variable.initialized_value()
    return None
