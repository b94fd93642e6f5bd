"""Several steps of a strategy in one loop, and what the last of them gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import weft as tf
from weft.distribute.reduce_op import ReduceOp
from weft.distribute.values import DistributedValues, regrouped
from weft.framework import context, nest, replication


class MultiStepContext:
    """What a step function tells of its outputs, and after the loop those of the last step."""

    def __init__(self) -> None:
        self._last_step_outputs: dict[str, Any] = {}
        self._reductions: dict[str, Any] = {}
        self._non_tensor_outputs: dict[str, Any] = {}
        self.run_op: Any = None

    @property
    def last_step_outputs(self) -> dict[str, Any]:
        """The outputs of the last step, by name."""
        return self._last_step_outputs

    @property
    def non_tensor_outputs(self) -> dict[str, Any]:
        """Outputs that are no tensors, by name; those of each replica."""
        return self._non_tensor_outputs

    def set_last_step_output(self, name: str, output: Any, reduce_op: Any = None) -> None:
        """Keeps an output of each step, reduced over replicas, or with None as it is at each of them."""
        if replication.replica() is not None:
            self._reductions[name] = reduce_op

            def merge(strategy: Any, value: Any) -> None:
                if reduce_op is not None:
                    value = strategy.reduce(reduce_op, value, axis=None)
                self._last_step_outputs[name] = value

            replication.replica().merge_call(merge, args=(output,))
            return
        self._reductions[name] = reduce_op
        if reduce_op is not None and isinstance(output, DistributedValues):
            strategy = replication.strategy()
            output = strategy.reduce(ReduceOp(reduce_op), output, axis=None)
        self._last_step_outputs[name] = output

    def set_non_tensor_output(self, name: str, output: Any) -> None:
        """Keeps an output that is no tensor."""
        replica = replication.replica()
        if replica is None:
            self._non_tensor_outputs[name] = output
            return
        replica.merge_call(
            lambda strategy, value: self._non_tensor_outputs.__setitem__(name, value),
            args=(output,),
        )


def run_steps(
    extended: Any, fn: Callable, iterator: Any, iterations: Any, initial_loop_values: Any
) -> MultiStepContext:
    """Calls `fn(context, inputs)` in a loop."""
    ctx = MultiStepContext()
    start = nest.flatten(initial_loop_values or {})
    if context.executing_eagerly():
        for _ in range(int(iterations)):
            fn(ctx, iterator.get_next())
        return ctx

    def body(i: Any, *args: Any) -> list[Any]:
        result = fn(ctx, iterator.get_next())
        outputs = [
            part
            for name in sorted(ctx._last_step_outputs)
            for part in extended._local_results(ctx._last_step_outputs[name])
        ]
        operations = [r for r in nest.flatten([result]) if r is not None]
        operations = [o for r in operations for o in extended._local_results(r)]
        with tf.control_dependencies(operations):
            return [i + 1, *[tf.identity(o) for o in outputs]]

    found = tf.while_loop(
        lambda i, *args: i < iterations,
        body,
        [tf.constant(0), *start],
        name="",
        parallel_iterations=1,
        back_prop=False,
        return_same_structure=True,
    )
    ctx.run_op = tf.group(found)
    at = 1
    devices = extended.worker_devices
    for name in sorted(ctx._last_step_outputs):
        value = ctx._last_step_outputs[name]
        size = len(extended._local_results(value))
        parts = found[at : at + size]
        at += size
        shared = not isinstance(value, DistributedValues)
        ctx._last_step_outputs[name] = parts[0] if shared else regrouped(devices, parts)
    return ctx
