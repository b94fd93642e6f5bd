"""Moving averages of variables and tensors, with exponentially decaying weights."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.framework import context
from weft.framework.export import export
from weft.framework.func_graph import init_scope
from weft.framework.graph_keys import GraphKeys
from weft.train import slot_creator
from weft.variables.base import Variable

_FLOATS = (tf.bfloat16, tf.float16, tf.float32, tf.float64)
_OWNS_STATE = ("Variable", "VariableV2", "VarHandleOp")


def assign_moving_average(
    variable: Any, value: Any, decay: Any, zero_debias: bool = True, name: str | None = None
) -> Any:
    """Moves `variable` toward `value`: `variable -= (1 - decay) * (variable - value)`.

    With `zero_debias` the variable is an average of the values so far that does not lean toward the zeros
    it started with: it is divided by `1 - decay ** updates`, from two variables of its own.
    """
    with tf.name_scope(name, "AssignMovingAvg", [variable, value, decay]) as scope:
        rate = tf.convert_to_tensor(1.0 - decay, name="decay")
        kind = variable.dtype.base_dtype
        if rate.dtype != kind:
            rate = tf.cast(rate, kind)
        if zero_debias:
            return _without_bias(variable, value, rate)
        with tf.colocate_with(variable):
            return tf.assign_sub(variable, (variable - value) * rate, name=scope)


def _unused_name(name: str) -> str:
    """The name, or with a number after it, that no variable of this scope has; when reusing, the name."""
    scope = tf.get_variable_scope()
    if scope.reuse:
        return name
    taken = {v.op.name for v in scope.global_variables()}
    found, n = name, 0
    while f"{scope.name}/{found}" in taken:
        n += 1
        found = f"{name}_{n}"
    return found


def _without_bias(variable: Any, value: Any, rate: Any) -> Any:
    kind = variable.dtype.base_dtype
    with tf.variable_scope(variable.name.partition(":")[0], values=[variable, value, rate]):
        with tf.colocate_with(variable):
            biased = tf.get_variable(
                _unused_name("biased"),
                initializer=tf.zeros_initializer(),
                shape=variable.get_shape(),
                dtype=kind,
                trainable=False,
            )
            local_step = tf.get_variable(
                _unused_name("local_step"),
                shape=[],
                dtype=kind,
                initializer=tf.zeros_initializer(),
                trainable=False,
            )
            moved = tf.assign_sub(biased, (biased - value) * rate)
            steps = local_step.assign_add(1)
            factor = 1 - tf.pow(1.0 - rate, steps)
            scope = context.get_default_graph().get_name_scope()
            return tf.assign(variable, moved / factor, name=scope + "/")


def weighted_moving_average(
    value: Any,
    decay: Any,
    weight: Any,
    truediv: bool = True,
    collections: Any = None,
    name: str | None = None,
) -> Any:
    """The moving average of `value * weight` over that of `weight`; running it moves both."""
    if collections is None:
        collections = [GraphKeys.GLOBAL_VARIABLES]
    with tf.variable_scope(name, "WeightedMovingAvg", [value, weight, decay]) as scope:

        def start(label: str, like: Any) -> Any:
            return tf.get_variable(
                label,
                shape=like.get_shape(),
                dtype=like.dtype,
                initializer=tf.zeros_initializer(),
                trainable=False,
                collections=collections,
            )

        products, weights = start("value_x_weight", value), start("weight", weight)
        numerator = assign_moving_average(products, value * weight, decay, zero_debias=False)
        denominator = assign_moving_average(weights, weight, decay, zero_debias=False)
        divide = tf.truediv if truediv else tf.div
        return divide(numerator, denominator, name=scope.name)


@export("train.ExponentialMovingAverage")
class ExponentialMovingAverage:
    """Keeps moving averages of variables beside them, for evaluation with smoother weights.

    The decay is `decay`, or while training is young `(1 + num_updates) / (10 + num_updates)` where that is
    less and `num_updates` is given. `zero_debias` is for averages of tensors, which start with zeros.
    """

    def __init__(
        self,
        decay: Any,
        num_updates: Any = None,
        zero_debias: bool = False,
        name: str = "ExponentialMovingAverage",
    ):
        self._decay, self._num_updates = decay, num_updates
        self._zero_debias, self._name = zero_debias, name
        self._averages: dict[Any, Any] = {}  # by the reference of what is averaged

    @property
    def name(self) -> str:
        """What the averages are called after."""
        return self._name

    def apply(self, var_list: Any = None) -> Any:
        """Makes the averages that are missing, and an operation that moves them all."""
        if var_list is None:
            var_list = tf.trainable_variables()
        debiased = set()
        for var in var_list:
            if context.executing_eagerly() and not isinstance(var, Variable):
                raise TypeError(
                    "tf.train.ExponentialMovingAverage does not support non-Variable tensors when eager "
                    "execution is enabled."
                )
        for var in var_list:
            if var.dtype.base_dtype not in _FLOATS:
                raise TypeError(f"The variables must be half, float, or double: {var.name}")
            key = var.experimental_ref()
            if key not in self._averages:
                self._averages[key], from_zero = self._start(var)
                if from_zero and self._zero_debias:
                    debiased.add(key)
        with tf.name_scope(self._name) as scope:
            decay = tf.convert_to_tensor(self._decay, name="decay")
            if self._num_updates is not None:
                updates = tf.cast(self._num_updates, tf.float32, name="num_updates")
                decay = tf.minimum(decay, (1.0 + updates) / (10.0 + updates))
            moves = []
            for var in var_list:
                key = var.experimental_ref()
                # Read here, not where the graph has read the variable before: a program asks for averages
                # of what its training step leaves behind by a control dependency on the step.
                now = var.read_value() if isinstance(var, Variable) else var
                moves.append(
                    assign_moving_average(self._averages[key], now, decay, key in debiased)
                )
            return tf.group(*moves, name=scope)

    def _start(self, var: Any) -> tuple[Any, bool]:
        """The variable of a new average, and whether it starts with zeros."""
        with init_scope():
            if isinstance(var, Variable):
                average = slot_creator.create_slot(var, var.initialized_value(), self._name, True)
                tf.add_to_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, var)
                return average, False
            beside = var.op.type in _OWNS_STATE
            return slot_creator.create_zeros_slot(
                var, self._name, colocate_with_primary=beside
            ), True

    def average(self, var: Any) -> Any:
        """The variable with the average of `var`, or None."""
        return self._averages.get(var.experimental_ref())

    def average_name(self, var: Any) -> str:
        """The name that the average of `var` has, or would be given."""
        average = self.average(var)
        if average is not None:
            return average.op.name
        name = f"{var.op.name}/{self._name}"
        return context.get_default_graph().unique_name(name, mark_as_used=False)

    def variables_to_restore(self, moving_avg_variables: Any = None) -> dict[str, Any]:
        """What a Saver takes to restore averages in place of the variables they are of.

        By default averages are taken of trainable variables and those that `apply` was given; other
        variables are restored as they are.
        """
        if moving_avg_variables is None:
            moving_avg_variables = tf.trainable_variables() + tf.moving_average_variables()
        found: dict[str, Any] = {}
        names = set()
        for v in moving_avg_variables:
            found[self.average_name(v)] = v
            names.add(v.name)
        for v in tf.global_variables():
            if v.name not in names and v.op.name not in found:
                found[v.op.name] = v
        return found
