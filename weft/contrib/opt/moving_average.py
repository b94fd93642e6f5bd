"""Averages of variables that are saved in place of the variables."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.framework.export import export
from weft.train.moving_averages import ExponentialMovingAverage
from weft.train.optimizer import Optimizer
from weft.train.saveable import names_of
from weft.train.saver import Saver
from weft.variables.partitioned import PartitionedVariable


@export("contrib.opt.MovingAverageOptimizer")
class MovingAverageOptimizer(Optimizer):
    """Steps of another optimizer, after which averages of the variables are brought up to date."""

    def __init__(
        self,
        opt: Any,
        average_decay: Any = 0.9999,
        num_updates: Any = None,
        sequential_update: bool = True,
    ):
        super().__init__(use_locking=False, name="MovingAverage")
        self._optimizer = opt
        self._ema = ExponentialMovingAverage(average_decay, num_updates=num_updates)
        self._swapped_variable_name_map: dict[str, str] | None = None
        self._sequential_update = sequential_update

    def compute_gradients(self, *args: Any, **kwargs: Any) -> Any:
        return self._optimizer.compute_gradients(*args, **kwargs)

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Any:
        grads_and_vars = list(grads_and_vars)
        step = self._optimizer.apply_gradients(grads_and_vars, global_step=global_step, name=name)
        variables = [v for g, v in grads_and_vars if g is not None]
        with tf.control_dependencies([step] if self._sequential_update else []):
            average = self._ema.apply(variables)
        swapped = self._swapped_variable_name_map = {}
        for v in variables:
            mean = self._ema.average(v)
            swapped[v.op.name], swapped[mean.op.name] = mean.op.name, v.op.name
        return tf.group(step, average, name="train_with_avg")

    def swapping_saver(
        self, var_list: Any = None, name: str = "swapping_saver", **kwargs: Any
    ) -> Saver:
        """A saver that saves averages under the names of their variables, and the other way round."""
        swapped = self._swapped_variable_name_map
        if swapped is None:
            raise RuntimeError(
                "Must call apply_gradients or minimize before creating the swapping_saver"
            )
        if var_list is None:
            var_list = tf.global_variables()
        if not isinstance(var_list, dict):
            var_list = names_of(var_list)

        def parts(saved: Any) -> list[Any] | None:
            if isinstance(saved, (list, PartitionedVariable)):
                return list(saved)
            return None

        by_name: dict[str, Any] = {}
        for key, saved in var_list.items():
            pieces = parts(saved)
            by_name.update({key: saved} if pieces is None else {p.op.name: p for p in pieces})

        def other(name: str, tensor: Any) -> Any:
            wanted = swapped.get(name)
            if wanted is None:
                return tensor
            if wanted not in by_name:
                raise ValueError(
                    f"Variable to swap {wanted} is not part of variables to save. This breaks MovingAverageOptimizer."
                )
            return by_name[wanted]

        exchanged = {}
        for key, saved in var_list.items():
            pieces = parts(saved)
            exchanged[key] = (
                other(key, saved) if pieces is None else [other(p.op.name, p) for p in pieces]
            )
        return Saver(exchanged, name=name, **kwargs)
