"""Optimizer: computes gradients of a loss and applies them to variables. Subclasses say how one is applied."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import weft as tf
from weft.framework import context, conversion, dtypes, nest, replication
from weft.framework.export import export
from weft.framework.func_graph import init_scope
from weft.framework.graph_keys import GraphKeys
from weft.framework.indexed_slices import IndexedSlices
from weft.framework.scopes import name_scope
from weft.framework.tensor import Tensor
from weft.framework.trackable import Trackable, TrackableReference
from weft.ops.by_name import raw
from weft.train import slot_creator
from weft.train.slot_creator import beside
from weft.variables.base import Variable, VariableV1
from weft.variables.resource import BaseResourceVariable, is_resource_variable


def sum_repeated_rows(values: Any, indices: Any) -> tuple[Any, Any]:
    """Rows and their indices, each index once: rows at the same index are added up."""
    unique, positions = tf.unique(indices)
    return tf.unsorted_segment_sum(values, positions, tf.shape(unique)[0]), unique


def _key_of(variable: Any) -> Any:
    """What a variable's slots are found by: those of a distributed variable belong to the whole."""
    container = getattr(variable, "_distributed_container", None)
    if container is not None:
        variable = container()
    variable = getattr(variable, "primary", variable)
    if hasattr(variable, "op") and getattr(variable, "_in_graph_mode", True):
        return variable.op.graph, variable.op.name
    return variable._unique_id


_var_key = _key_of


# -- what is optimised: each kind of variable gets its updates in its own way --------------------------------


class _Target:
    """A variable as an optimizer sees it."""

    def __init__(self, variable: Any):
        self._v = variable

    def __str__(self) -> str:
        return f"<{type(self).__name__}({self._v})>"

    def target(self) -> Any:
        """What gradients are taken with respect to."""
        return self._v

    def update_op(self, optimizer: Optimizer, gradient: Any) -> Any:
        """Applies a gradient."""
        sparse = isinstance(gradient, IndexedSlices)
        if sparse and self._v.constraint is not None:
            raise RuntimeError("Cannot use a constraint function on a sparse variable.")
        update = self._apply(optimizer, gradient, sparse)
        if sparse or self._v.constraint is None:
            return update
        with tf.control_dependencies([update]):
            return self._v.assign(self._v.constraint(self._v))

    def _apply(self, optimizer: Optimizer, gradient: Any, sparse: bool) -> Any:
        raise NotImplementedError("Trying to update a Tensor ", self._v)


class _ReferenceTarget(_Target):
    def target(self) -> Any:
        return self._v._ref()

    def _apply(self, optimizer: Optimizer, gradient: Any, sparse: bool) -> Any:
        if sparse:
            return optimizer._apply_sparse_duplicate_indices(gradient, self._v)
        return optimizer._apply_dense(gradient, self._v)


class _ResourceTarget(_Target):
    def _apply(self, optimizer: Optimizer, gradient: Any, sparse: bool) -> Any:
        if sparse:
            return optimizer._resource_apply_sparse_duplicate_indices(
                gradient.values, self._v, gradient.indices
            )
        return optimizer._resource_apply_dense(gradient, self._v)


def _get_processor(variable: Any) -> _Target:
    if context.executing_eagerly():
        return _Target(variable) if isinstance(variable, Tensor) else _ResourceTarget(variable)
    if is_resource_variable(variable):
        return _ResourceTarget(variable)
    if isinstance(variable, Variable):
        return _ReferenceTarget(variable)
    if isinstance(variable, Tensor):
        return _Target(variable)
    raise NotImplementedError("Trying to optimize unsupported type ", variable)


def _gradient_of(value: Any) -> Any:
    """A gradient as a tensor or IndexedSlices."""
    try:
        return conversion.convert_to_tensor_or_indexed_slices(value)
    except TypeError:
        raise TypeError(
            f"Gradient must be convertible to a Tensor or IndexedSlices, or None: {value}"
        ) from None


@export("train.Optimizer")
class Optimizer(Trackable):
    """Computes gradients of a loss and applies them to variables.

    A subclass says what slots it keeps (`_create_slots`), prepares its tensors (`_prepare`), and applies one
    gradient: `_apply_dense(grad, var)` and `_apply_sparse(grad, var)` for reference variables,
    `_resource_apply_dense(grad, var)` and `_resource_apply_sparse(grad, var, indices)` for resource variables;
    `_finish` adds what comes after all of them.
    """

    GATE_NONE = 0  # a gradient may be applied while others are computed
    GATE_OP = 1  # the gradients of one operation are all computed before any is used
    GATE_GRAPH = 2  # all gradients are computed before any is used

    def __init__(self, use_locking: bool, name: str):
        if not name:
            raise ValueError("Must specify the optimizer name")
        self._use_locking = use_locking
        self._name = name
        self._slots: dict[str, dict[Any, Any]] = {}
        self._non_slot_dict: dict[Any, Any] = {}
        # What checkpoints have for slots that are not there yet: by slot name and variable.
        self._deferred_slots: dict[tuple[str, Any], list[Any]] = {}

    def get_name(self) -> str:
        return self._name

    # -- training ------------------------------------------------------------------------------------

    def minimize(
        self,
        loss: Any,
        global_step: Any = None,
        var_list: Any = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: Any = None,
        colocate_gradients_with_ops: bool = False,
        name: str | None = None,
        grad_loss: Any = None,
    ) -> Any:
        """An operation that takes a step against the gradients of `loss`, and adds one to `global_step`."""
        grads_and_vars = self.compute_gradients(
            loss,
            var_list=var_list,
            gate_gradients=gate_gradients,
            aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
            grad_loss=grad_loss,
        )
        if all(g is None for g, _ in grads_and_vars):
            raise ValueError(
                "No gradients provided for any variable, check your graph for ops that do not support "
                f"gradients, between variables {[str(v) for _, v in grads_and_vars]} and loss {loss}."
            )
        return self.apply_gradients(grads_and_vars, global_step=global_step, name=name)

    def compute_gradients(
        self,
        loss: Any,
        var_list: Any = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: Any = None,
        colocate_gradients_with_ops: bool = False,
        grad_loss: Any = None,
    ) -> list[tuple[Any, Any]]:
        """(gradient, variable) for each of `var_list`, or all trainable variables; a gradient may be None.

        `loss` may be a function without arguments, and must be one under eager execution.
        """
        if callable(loss):
            return self._gradients_by_tape(loss, var_list, grad_loss)
        if context.executing_eagerly():
            raise RuntimeError(
                "`loss` passed to Optimizer.compute_gradients should be a function when eager execution is "
                "enabled."
            )
        if gate_gradients not in (self.GATE_NONE, self.GATE_OP, self.GATE_GRAPH):
            raise ValueError(
                "gate_gradients must be one of: Optimizer.GATE_NONE, Optimizer.GATE_OP, Optimizer.GATE_GRAPH.  "
                f"Not {gate_gradients}"
            )
        self._assert_valid_dtypes([loss])
        loss = _scaled(loss)
        if grad_loss is not None:
            self._assert_valid_dtypes([grad_loss])
        graph = context.get_default_graph()
        if var_list is None:
            variables = graph.get_collection(GraphKeys.TRAINABLE_VARIABLES)
            variables += graph.get_collection(GraphKeys.TRAINABLE_RESOURCE_VARIABLES)
        else:
            variables = nest.flatten(var_list)
        variables = variables + graph.get_collection(GraphKeys._STREAMING_MODEL_PORTS)
        targets = [_get_processor(v) for v in variables]
        if not variables:
            raise ValueError("No variables to optimize.")
        grads = tf.gradients(
            loss,
            [t.target() for t in targets],
            grad_ys=grad_loss,
            gate_gradients=gate_gradients == self.GATE_OP,
            aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
        )
        if gate_gradients == self.GATE_GRAPH:
            grads = tf.tuple(grads)
        found = list(zip(grads, variables))
        self._assert_valid_dtypes(
            [v for g, v in found if g is not None and v.dtype is not dtypes.resource]
        )
        return found

    def _gradients_by_tape(self, loss: Callable, var_list: Any, grad_loss: Any) -> list:
        with tf.GradientTape() as tape:
            if var_list is not None:
                tape.watch(var_list)
            value = _scaled(loss())
        if var_list is None:
            var_list = tape.watched_variables()
        with tf.control_dependencies([value]):
            grads = tape.gradient(value, var_list, grad_loss)
        return list(zip(grads, var_list))

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Any:
        """An operation that applies gradients, and then adds one to `global_step`."""
        grads_and_vars = tuple(grads_and_vars)
        if not grads_and_vars:
            raise ValueError("No variables provided.")
        if replication.role() is not None:
            return self._apply_in_all_replicas(grads_and_vars, global_step, name)
        updates = []
        for gradient, variable in grads_and_vars:
            if gradient is not None:
                updates.append((_gradient_of(gradient), variable, _get_processor(variable)))
        if not updates:
            raise ValueError(
                f"No gradients provided for any variable: {[str(v) for _, v in grads_and_vars]}."
            )
        with init_scope():
            self._create_slots([v for _, v, _ in updates])
        with name_scope(name, self._name) as scope:
            self._prepare()
            update_ops = []
            for gradient, variable, target in updates:
                eager = isinstance(variable, BaseResourceVariable) and not variable._in_graph_mode
                own = "" if context.executing_eagerly() or eager else variable.op.name
                with name_scope("update_" + own), tf.colocate_with(variable):
                    update_ops.append(target.update_op(self, gradient))
            if global_step is None:
                applied = self._finish(update_ops, scope)
            else:
                with tf.control_dependencies([self._finish(update_ops, "update")]):
                    with tf.colocate_with(global_step):
                        applied = _count_step(global_step, scope)
        return _noted(applied)

    def _apply_in_all_replicas(
        self, grads_and_vars: tuple[Any, ...], global_step: Any, name: str | None
    ) -> Any:
        """Applies the sums of the gradients that all replicas have."""
        replica = replication.replica()
        if replica is None:
            raise RuntimeError(
                "Use `_distributed_apply()` instead of `apply_gradients()` in a cross-replica context."
            )
        found = [(_gradient_of(g), v) for g, v in grads_and_vars if g is not None]
        if not found:
            raise ValueError(
                f"No gradients provided for any variable: {[str(v) for _, v in grads_and_vars]}."
            )
        return replica.merge_call(self._distributed_apply, args=(found, global_step, name))

    def _distributed_apply(
        self,
        distribution: Any,
        grads_and_vars: Any,
        global_step: Any = None,
        name: str | None = None,
    ) -> Any:
        """Adds up the gradients of all replicas, and applies them to every component of the variables."""
        extended = distribution.extended
        variables = [v for _, v in grads_and_vars]
        gradients = extended.batch_reduce_to("SUM", grads_and_vars)
        with init_scope():
            self._create_slots(variables)

        def update(variable: Any, gradient: Any) -> Any:
            target = _get_processor(variable)
            with name_scope("update_" + variable.name.partition(":")[0].split("/")[-1]):
                return target.update_op(self, gradient)

        with name_scope(name, self._name) as scope:
            self._prepare()
            updates = [
                op
                for gradient, variable in zip(gradients, variables)
                for op in extended.update(variable, update, args=(gradient,), group=False)
            ]
            finished = extended.update_non_slot(
                extended.non_slot_devices(variables),
                lambda: self._finish(updates, "update"),
                group=False,
            )
            if global_step is None:
                applied = distribution.group(finished, name=scope)
            else:
                with tf.control_dependencies(nest.flatten(finished)):
                    applied = extended.update(
                        global_step, lambda v, one: v.assign_add(one, read_value=False), (1,)
                    )
        return _noted(applied)

    # -- slots ---------------------------------------------------------------------------------------

    def get_slot(self, var: Any, name: str) -> Any:
        """The slot of a name that is kept for a variable, or None."""
        named = self._slots.get(name)
        slot = named.get(_key_of(var)) if named else None
        container = getattr(var, "_distributed_container", None)
        if slot is None or container is None:
            return slot
        components = container().values  # the slot has one beside each
        return slot.values[next(i for i, v in enumerate(components) if v is var)]

    def get_slot_names(self) -> list[str]:
        """The names of the slots that are kept for variables."""
        return sorted(self._slots)

    def variables(self) -> list[Any]:
        """The variables that the optimizer keeps in the default graph, by name."""
        graph = context.get_default_graph()

        def is_here(variable: Any) -> bool:
            if variable._in_graph_mode:
                return variable.op.graph is graph
            return variable._graph_key == graph._graph_key

        found = [
            *self._non_slot_variables(),
            *(v for d in self._slots.values() for v in d.values()),
        ]
        return sorted(filter(is_here, found), key=lambda v: v.name)

    def _slot_dict(self, slot_name: str) -> dict[Any, Any]:
        return self._slots.setdefault(slot_name, {})

    def _slot(self, var: Any, slot_name: str, make: Callable[[], Any]) -> Any:
        named, key = self._slot_dict(slot_name), _key_of(var)
        if key not in named:
            named[key] = make()
            waiting = self._deferred_slots.pop((slot_name, key), ())
            for position in sorted(waiting, key=lambda p: p.restore_uid, reverse=True):
                position.restore(named[key])
        return named[key]

    def _get_or_make_slot(self, var: Any, val: Any, slot_name: str, op_name: str) -> Any:
        """A slot with the initial value of a tensor."""
        return self._slot(var, slot_name, lambda: slot_creator.create_slot(var, val, op_name))

    def _get_or_make_slot_with_initializer(
        self, var: Any, initializer: Any, shape: Any, dtype: Any, slot_name: str, op_name: str
    ) -> Any:
        """A slot with the initial value that an initializer gives."""
        return self._slot(
            var,
            slot_name,
            lambda: slot_creator.create_slot_with_initializer(
                var, initializer, shape, dtype, op_name
            ),
        )

    def _zeros_slot(self, var: Any, slot_name: str, op_name: str) -> Any:
        """A slot that starts with zeros."""
        return self._slot(var, slot_name, lambda: slot_creator.create_zeros_slot(var, op_name))

    def _create_non_slot_variable(self, initial_value: Any, name: str, colocate_with: Any) -> Any:
        """A variable of the optimizer's own, one for each graph."""
        eager = context.executing_eagerly()
        key = (name, None if eager else colocate_with.graph)
        variable = self._non_slot_dict.get(key)
        if variable is None:
            with beside(colocate_with):
                variable = VariableV1(
                    initial_value,
                    name=name,
                    trainable=False,
                    use_resource=is_resource_variable(colocate_with),
                )
            self._handle_deferred_dependencies(name, variable)
            self._non_slot_dict[key] = variable
        return variable

    def _get_non_slot_variable(self, name: str, graph: Any = None) -> Any:
        return self._non_slot_dict.get((name, graph))

    def _non_slot_variables(self) -> Any:
        return self._non_slot_dict.values()

    # -- checkpoints of objects ----------------------------------------------------------------------

    @property
    def _checkpoint_dependencies(self) -> list[TrackableReference]:
        """The optimizer's own variables in the graph that is saved; slots are found beside their variables."""
        key = context.get_default_graph()._graph_key
        own = [
            TrackableReference(name, variable)
            for (name, _), variable in sorted(
                self._non_slot_dict.items(), key=lambda item: item[0][0]
            )
            if variable._graph_key == key
        ]
        return super()._checkpoint_dependencies + own

    def _lookup_dependency(self, name: str) -> Any:
        found = super()._lookup_dependency(name)
        if found is not None:
            return found
        graph = None if context.executing_eagerly() else context.get_default_graph()
        return self._get_non_slot_variable(name, graph)

    def _create_or_restore_slot_variable(
        self, slot_variable_position: Any, variable: Any, slot_name: str
    ) -> None:
        """Restores a slot, when it is made if it is not there; eagerly it is made with the checkpoint's value."""
        key = _key_of(variable)
        slot = self._slot_dict(slot_name).get(key)
        if (
            slot is None
            and context.executing_eagerly()
            and slot_variable_position.is_simple_variable()
            and not context.get_default_graph()._variable_creator_stack
        ):
            slot = self._get_or_make_slot(
                variable, slot_variable_position.value(), slot_name, self._name
            )
        if slot is not None:
            slot_variable_position.restore(slot)
        else:
            self._deferred_slots.setdefault((slot_name, key), []).append(slot_variable_position)

    # -- what subclasses define ----------------------------------------------------------------------

    def _valid_dtypes(self) -> set[Any]:
        """The dtypes of losses and variables that can be optimised."""
        return {dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64}

    def _assert_valid_dtypes(self, tensors: list[Any]) -> None:
        valid = self._valid_dtypes()
        for tensor in tensors:
            dtype = tensor.dtype.base_dtype
            if dtype not in valid:
                raise ValueError(
                    f"Invalid type {dtype!r} for {tensor.name}, expected: {list(valid)}."
                )

    def _create_slots(self, var_list: list[Any]) -> None:
        """Makes the slots that the variables need."""

    def _prepare(self) -> None:
        """Makes the tensors that all updates share."""

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        """Applies a gradient to a reference variable; gives an operation."""
        raise NotImplementedError(f"{type(self).__name__} does not define _apply_dense.")

    def _resource_apply_dense(self, grad: Any, handle: Any) -> Any:
        """Applies a gradient to a resource variable; gives an operation."""
        raise NotImplementedError(f"{type(self).__name__} does not define _resource_apply_dense.")

    def _apply_sparse(self, grad: Any, var: Any) -> Any:
        """Applies IndexedSlices, each index once, to a reference variable."""
        raise NotImplementedError(f"{type(self).__name__} does not define _apply_sparse.")

    def _resource_apply_sparse(self, grad: Any, handle: Any, indices: Any) -> Any:
        """Applies rows of a gradient, each index once, to a resource variable."""
        raise NotImplementedError(f"{type(self).__name__} does not define _resource_apply_sparse.")

    def _apply_sparse_duplicate_indices(self, grad: Any, var: Any) -> Any:
        """Applies IndexedSlices with repeats; those who add rows up one by one need not sum them first."""
        values, indices = sum_repeated_rows(grad.values, grad.indices)
        return self._apply_sparse(IndexedSlices(values, indices, grad.dense_shape), var)

    def _resource_apply_sparse_duplicate_indices(self, grad: Any, handle: Any, indices: Any) -> Any:
        """As `_apply_sparse_duplicate_indices`, for a resource variable."""
        values, indices = sum_repeated_rows(grad, indices)
        return self._resource_apply_sparse(values, handle, indices)

    def _finish(self, update_ops: list[Any], name_scope: str) -> Any:
        """Adds what comes after all updates; gives the operation that stands for them."""
        return tf.group(*update_ops, name=name_scope)

    def _call_if_callable(self, param: Any) -> Any:
        """A hyperparameter; it may be given as a function that is called at each step."""
        return param() if callable(param) else param


def _noted(applied: Any) -> Any:
    """Adds an operation that applies gradients to those of its graph."""
    if context.executing_eagerly():
        return applied
    if isinstance(applied, Tensor):
        applied = applied.op
    train_ops = context.get_default_graph().get_collection_ref(GraphKeys.TRAIN_OP)
    if applied not in train_ops:
        train_ops.append(applied)
    return applied


def _scaled(loss: Any) -> Any:
    """A replica's part of a loss whose mean over replicas is meant, where an Estimator says so: gradients are added
    up. Other programs divide their losses themselves."""
    strategy = replication.strategy()
    if strategy is None or strategy.num_replicas_in_sync == 1:
        return loss
    if strategy._loss_reduction().value == "SUM":
        return loss
    return loss * tf.cast(1.0 / strategy.num_replicas_in_sync, loss.dtype)


def _count_step(global_step: Any, name: str) -> Any:
    if isinstance(global_step, BaseResourceVariable):
        one = conversion.convert_to_tensor(1, dtype=global_step.dtype)
        return raw.AssignAddVariableOp(global_step.handle, one, name=name)
    return tf.assign_add(global_step, 1, name=name)
