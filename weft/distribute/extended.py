"""StrategyExtended: what libraries call of a strategy, and what each kind of strategy defines."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import weft as tf
from weft.distribute import context as where
from weft.distribute import devices as places
from weft.distribute.input_context import InputContext
from weft.distribute.reduce_op import ReduceOp, checked_reduce_op
from weft.distribute.values import DistributedValues, selected_on
from weft.framework import context, nest, replication
from weft.framework.export import export
from weft.framework.tensor import Tensor
from weft.variables.creation import _creator_scope

if TYPE_CHECKING:
    from weft.distribute.strategy import Strategy


@export("distribute.StrategyExtended", "compat.v2.distribute.StrategyExtended")
class StrategyExtended:
    """What a strategy does. Subclasses define the methods with an underscore."""

    experimental_require_static_shapes = False
    experimental_between_graph = False
    experimental_should_init = True
    should_checkpoint = True
    should_save_summary = True

    _default_device: str | None = None

    def __init__(self, container_strategy: Strategy):
        self._container = container_strategy

    def _container_strategy(self) -> Strategy:
        return self._container

    # -- scopes and variables --------------------------------------------------------------------------

    @contextlib.contextmanager
    def _scope(self, strategy: Strategy) -> Iterator[Strategy]:
        found = replication.role()
        if found is not None:
            where.require_strategy(self)
            yield strategy  # in force already
            return

        def make(next_creator: Callable, **kwargs: Any) -> Any:
            where.require_scope(self)
            kwargs["use_resource"] = True
            if "expected_shape" in kwargs:
                kwargs.pop("expected_shape")
            kwargs["distribute_strategy"] = strategy
            return self._create_variable(next_creator, **kwargs)

        with contextlib.ExitStack() as stack:
            if not context.executing_eagerly():
                scope = tf.get_variable_scope()
                stack.enter_context(
                    tf.variable_scope(scope, use_resource=True, auxiliary_name_scope=False)
                )
            stack.enter_context(_creator_scope(make, 50))
            stack.enter_context(replication.in_role(strategy, None))
            if self._default_device:
                stack.enter_context(tf.device(self._default_device))
            yield strategy

    def _create_variable(self, next_creator: Callable, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__}._create_variable")

    def variable_created_in_scope(self, v: Any) -> bool:
        """Whether a variable was made in the scope of this strategy."""
        return v._distribute_strategy is self._container_strategy()

    @contextlib.contextmanager
    def colocate_vars_with(self, colocate_with_variable: Any) -> Iterator[None]:
        """Makes variables that are made inside live where another does."""
        self._validate_colocate_with_variable(colocate_with_variable)

        def make(next_creator: Callable, **kwargs: Any) -> Any:
            where.require_scope(self)
            kwargs["use_resource"] = True
            kwargs["colocate_with"] = colocate_with_variable
            return next_creator(**kwargs)

        with _creator_scope(make, 100):
            yield

    def _validate_colocate_with_variable(self, variable: Any) -> None:
        """Raises ValueError for what nothing can be colocated with."""

    def read_var(self, v: Any) -> Any:
        """The value of a variable, across replicas."""
        raise NotImplementedError(f"{type(self).__name__}.read_var")

    def value_container(self, value: Any) -> Any:
        """The distributed value that a component belongs to."""
        raise NotImplementedError(f"{type(self).__name__}.value_container")

    # -- replicas --------------------------------------------------------------------------------------

    def call_for_each_replica(self, fn: Callable, args: Any = (), kwargs: Any = None) -> Any:
        """Calls a function once for each replica."""
        where.require_strategy(self)
        return self._call_for_each_replica(fn, args, kwargs or {})

    def _call_for_each_replica(self, fn: Callable, args: Any, kwargs: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__}._call_for_each_replica")

    def _reduce_to(self, reduce_op: ReduceOp, value: Any, destinations: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__}._reduce_to")

    def _broadcast_to(self, tensor: Any, destinations: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__}._broadcast_to")

    def _update(self, var: Any, fn: Callable, args: Any, kwargs: Any, group: bool) -> Any:
        raise NotImplementedError(f"{type(self).__name__}._update")

    def _update_non_slot(
        self, colocate_with: Any, fn: Callable, args: Any, kwargs: Any, group: bool
    ) -> Any:
        raise NotImplementedError(f"{type(self).__name__}._update_non_slot")

    def reduce_to(self, reduce_op: Any, value: Any, destinations: Any) -> Any:
        """One value of those of the replicas, on the devices of `destinations`."""
        where.require_strategy(self)
        reduce_op = checked_reduce_op(reduce_op)
        return self._reduce_to(reduce_op, value, destinations)

    def _reduce(self, reduce_op: ReduceOp, value: Any) -> Any:
        return self._local_results(
            self._reduce_to(reduce_op, value, places.current() or self._host_device())
        )[0]

    def _host_device(self) -> str:
        return places.HOST

    def batch_reduce_to(self, reduce_op: Any, value_destination_pairs: Any) -> list[Any]:
        """`reduce_to` of several values at once."""
        where.require_strategy(self)
        reduce_op = checked_reduce_op(reduce_op)
        return self._batch_reduce_to(reduce_op, list(value_destination_pairs))

    def _batch_reduce_to(self, reduce_op: ReduceOp, pairs: list[Any]) -> list[Any]:
        return [self._reduce_to(reduce_op, value, to) for value, to in pairs]

    def broadcast_to(self, tensor: Any, destinations: Any) -> Any:
        """A value on all devices of `destinations`, or of the replicas."""
        where.require_strategy(self)
        if isinstance(tensor, (float, int)):  # as wide as what it meets
            return tensor
        return self._broadcast_to(tensor, destinations)

    def update(
        self, var: Any, fn: Callable, args: Any = (), kwargs: Any = None, group: bool = True
    ) -> Any:
        """Calls `fn(variable, ...)` for each component of a variable, where it lives."""
        where.require_strategy_or_none(self)
        return self._update(var, fn, args, kwargs or {}, group)

    def update_non_slot(
        self,
        colocate_with: Any,
        fn: Callable,
        args: Any = (),
        kwargs: Any = None,
        group: bool = True,
    ) -> Any:
        """Calls a function on each device that `non_slot_devices` gives."""
        where.require_strategy(self)
        return self._update_non_slot(colocate_with, fn, args, kwargs or {}, group)

    def _update_on(
        self, device: str, name: str | None, fn: Callable, args: Any, kwargs: Any
    ) -> Any:
        with tf.device(device), replication.updating(device), tf.name_scope(name or ""):
            return fn(*selected_on(device, args), **selected_on(device, kwargs))

    def non_slot_devices(self, var_list: Any) -> Any:
        """Where variables live that belong to several of `var_list`."""
        raise NotImplementedError(f"{type(self).__name__}.non_slot_devices")

    def _local_results(self, value: Any) -> tuple[Any, ...]:
        return value.values if isinstance(value, DistributedValues) else (value,)

    def _group(self, value: Any, name: str | None = None) -> Any:
        values = [v for part in nest.flatten(value) for v in self._local_results(part)]
        if len(values) != 1 or name is not None:
            return tf.group(*values, name=name)
        (only,) = values
        # One value is an operation as it is; a tensor or variable is not.
        return only if not hasattr(only, "op") or isinstance(only, Tensor) else only.op

    @property
    def worker_devices(self) -> tuple[str, ...]:
        """The devices that replicas run on."""
        raise NotImplementedError(f"{type(self).__name__}.worker_devices")

    @property
    def parameter_devices(self) -> tuple[str, ...]:
        """The devices that variables live on."""
        raise NotImplementedError(f"{type(self).__name__}.parameter_devices")

    @property
    def _num_replicas_in_sync(self) -> int:
        raise NotImplementedError(f"{type(self).__name__}._num_replicas_in_sync")

    # -- input -----------------------------------------------------------------------------------------

    def _input_pipeline(self) -> tuple[int, int]:
        """Which of how many processes that read input this is."""
        return 0, 1

    def _input_context(self) -> InputContext:
        index, count = self._input_pipeline()
        return InputContext(count, index, self._num_replicas_in_sync)

    def _make_dataset_iterator(self, dataset: Any) -> Any:
        from weft.distribute.input import DatasetIterator

        return DatasetIterator(self._container_strategy(), dataset)

    def _make_input_fn_iterator(self, input_fn: Callable, replication_mode: Any) -> Any:
        from weft.distribute.input import input_function_iterator

        return input_function_iterator(self._container_strategy(), input_fn)

    def _experimental_distribute_dataset(self, dataset: Any) -> Any:
        from weft.distribute.input import SharedOut

        return SharedOut(self._container_strategy(), dataset)

    def _experimental_distribute_datasets_from_function(self, dataset_fn: Callable) -> Any:
        from weft.distribute.input import InTurns

        return InTurns(self._container_strategy(), dataset_fn(self._input_context()))

    def experimental_make_numpy_dataset(self, numpy_input: Any, session: Any = None) -> Any:
        """A dataset of the rows of arrays. The arrays are kept with the graph: `session` has nothing to load."""
        del session
        with tf.device(self._host_device()):
            return tf.data.Dataset.from_tensor_slices(numpy_input)

    def experimental_run_steps_on_iterator(
        self, fn: Callable, iterator: Any, iterations: Any = 1, initial_loop_values: Any = None
    ) -> Any:
        """Runs several steps in a loop, each on the next input; gives a `MultiStepContext` of the last."""
        where.require_strategy(self)
        from weft.distribute.steps import run_steps

        return run_steps(self, fn, iterator, iterations, initial_loop_values)

    # -- configuration ---------------------------------------------------------------------------------

    def _configure(
        self, session_config: Any, cluster_spec: Any, task_type: Any, task_id: Any
    ) -> None:
        if session_config is not None:
            session_config.CopyFrom(self._update_config_proto(session_config))

    def _update_config_proto(self, config_proto: Any) -> Any:
        return copy.deepcopy(config_proto)
