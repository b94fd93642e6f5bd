"""Finding where a NaN or an infinity comes from."""

from __future__ import annotations

from typing import Any

from weft.framework import context, conversion, dtypes
from weft.framework.export import export
from weft.framework.graph import control_dependencies
from weft.framework.scopes import name_scope
from weft.ops.array.identity import check_numerics, identity
from weft.ops.flow.grouping import group

_FLOATS = (dtypes.float16, dtypes.float32, dtypes.float64)


@export("debugging.assert_all_finite", "verify_tensor_all_finite")
def verify_tensor_all_finite(
    t: Any = None,
    msg: str | None = None,
    name: str | None = None,
    x: Any = None,
    message: str | None = None,
) -> Any:
    """Returns the tensor; a run in which an element is not finite fails with `message`."""
    if (t is None) == (x is None):
        raise ValueError("Give the tensor once, as 'x' (or by its older name 't')")
    if (msg is None) == (message is None):
        raise ValueError("Give the message once, as 'message' (or by its older name 'msg')")
    with name_scope(name, "VerifyFinite", [t, x]) as name:
        tensor = conversion.convert_to_tensor(t if x is None else x, name="x")
        checked = check_numerics(tensor, message=message or msg or "")
        with control_dependencies([checked]):
            return identity(tensor, name=name)


@export("add_check_numerics_ops")
def add_check_numerics_ops() -> Any:
    """Adds a check to every floating point tensor of the graph, and returns the operation that runs them all.

    Each check waits for the one before it, so that the first tensor that is not finite is named.
    """
    if context.executing_eagerly():
        raise RuntimeError(
            "add_check_numerics_ops() is not compatible with eager execution: there is no graph to "
            "look through. Check values with tf.debugging.check_numerics()."
        )
    last: list[Any] = []
    for op in context.get_default_graph().get_operations():
        if op._get_control_flow_context() is not None or op.type in _FLOW:
            raise ValueError(
                "`tf.add_check_numerics_ops() is not compatible with TensorFlow control flow operations such as "
                f"`tf.cond()` or `tf.while_loop()`. There is {op.name}, a {op.type}."
            )
        for output in op.outputs:
            if output.dtype.base_dtype in _FLOATS:
                message = f"{op.name}:{output.value_index}"
                with control_dependencies(last):
                    last = [check_numerics(output, message=message)]
    return group(*last)


_FLOW = frozenset(
    "If StatelessIf While StatelessWhile Switch Merge Enter Exit NextIteration".split()
)
