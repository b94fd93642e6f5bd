"""Strategy: how a program is replicated. `Strategy` is what a program calls, `StrategyExtended` what libraries call
and what each kind of strategy defines."""

from __future__ import annotations

import contextlib
import copy
import enum
from collections.abc import Callable, Iterator
from typing import Any

import weft as tf
from weft.distribute import context as where
from weft.distribute import devices as places
from weft.distribute.reduce_op import ReduceOp, reduce_op_of
from weft.distribute.values import DistributedValues, selected_on
from weft.framework import context, nest, replication
from weft.framework.export import export
from weft.framework.indexed_slices import IndexedSlices
from weft.framework.tensor import Tensor
from weft.variables.creation import _creator_scope


@export("distribute.InputReplicationMode", "compat.v2.distribute.InputReplicationMode")
class InputReplicationMode(enum.Enum):
    """Whose input an input function makes: PER_WORKER, that of all replicas of a worker."""

    PER_WORKER = "PER_WORKER"


@export("distribute.InputContext", "compat.v2.distribute.InputContext")
class InputContext:
    """What an input function needs to know to make its part of the input."""

    def __init__(
        self,
        num_input_pipelines: int = 1,
        input_pipeline_id: int = 0,
        num_replicas_in_sync: int = 1,
    ):
        self._num_input_pipelines = num_input_pipelines
        self._input_pipeline_id = input_pipeline_id
        self._num_replicas_in_sync = num_replicas_in_sync

    @property
    def num_replicas_in_sync(self) -> int:
        """How many replicas there are in all."""
        return self._num_replicas_in_sync

    @property
    def input_pipeline_id(self) -> int:
        """Which of the input pipelines this is."""
        return self._input_pipeline_id

    @property
    def num_input_pipelines(self) -> int:
        """How many input pipelines there are."""
        return self._num_input_pipelines

    def get_per_replica_batch_size(self, global_batch_size: int) -> int:
        """The size of a replica's part of a batch; ValueError where it is no whole number."""
        if global_batch_size % self._num_replicas_in_sync:
            raise ValueError(
                f"The `global_batch_size` {global_batch_size} is not divisible by `num_replicas_in_sync` "
                f"{self._num_replicas_in_sync} "
            )
        return global_batch_size // self._num_replicas_in_sync


@export("distribute.Strategy", "contrib.distribute.DistributionStrategy")
class Strategy:
    """How a program's state and computation are spread over devices."""

    def __init__(self, extended: Any):
        self._extended = extended
        self._own_context: Any = None

    @property
    def extended(self) -> Any:
        """What libraries need of the strategy."""
        return self._extended

    def scope(self) -> Any:
        """Puts the strategy in force: variables that are made inside are distributed."""
        return self._extended._scope(self)

    @property
    def num_replicas_in_sync(self) -> int:
        """Over how many replicas gradients are aggregated."""
        return self._extended._num_replicas_in_sync

    # -- running ---------------------------------------------------------------------------------------

    def experimental_run_v2(self, fn: Callable, args: Any = (), kwargs: Any = None) -> Any:
        """Calls a function once for each replica, on its parts of the arguments; gives what they return."""
        with self.scope():
            return self._extended.call_for_each_replica(fn, args=args, kwargs=kwargs)

    def experimental_run(self, fn: Callable, input_iterator: Any = None) -> Any:
        """Calls a function once for each replica, on the next input."""
        with self.scope():
            args = (input_iterator.get_next(),) if input_iterator is not None else ()
        return self.experimental_run_v2(fn, args=args)

    def reduce(self, reduce_op: Any, value: Any, axis: Any = None) -> Any:
        """One value of those of the replicas, with `axis` also along that axis of each."""
        where.require_strategy_or_none(self._extended)
        if isinstance(reduce_op, str):
            reduce_op = reduce_op_of(reduce_op)
        if not isinstance(reduce_op, ReduceOp):
            raise ValueError(f"Expected a tf.distribute.ReduceOp, got {reduce_op}")
        if axis is None:
            return self._extended._reduce(reduce_op, value)
        if reduce_op is ReduceOp.SUM:
            sums = self._per_replica(lambda v: tf.reduce_sum(v, axis=axis), value)
            return self._extended._reduce(reduce_op, sums)
        # Replicas may have different numbers of elements: each counts for as many as it has.
        both = self._per_replica(lambda v: _sum_and_count(v, axis), value)
        total, count = (self._extended._reduce(ReduceOp.SUM, part) for part in both)
        return tf.truediv(total, tf.cast(count, total.dtype))

    def _per_replica(self, fn: Callable, value: Any) -> Any:
        return self.experimental_run_v2(fn, args=(value,))

    def experimental_local_results(self, value: Any) -> tuple[Any, ...]:
        """The values of this process's replicas."""
        return self._extended._local_results(value)

    unwrap = experimental_local_results

    def group(self, value: Any, name: str | None = None) -> Any:
        """An operation that runs those of all replicas."""
        return self._extended._group(value, name)

    # -- input -----------------------------------------------------------------------------------------

    def make_dataset_iterator(self, dataset: Any) -> Any:
        """An iterator of a dataset's batches, each shared out among the replicas."""
        return self._extended._make_dataset_iterator(dataset)

    def make_input_fn_iterator(
        self, input_fn: Callable, replication_mode: Any = InputReplicationMode.PER_WORKER
    ) -> Any:
        """An iterator of what an input function gives for its `InputContext`: an element for each replica."""
        if replication_mode != InputReplicationMode.PER_WORKER:
            raise ValueError(f"Input replication mode not supported: {replication_mode}")
        with self.scope():
            return self._extended._make_input_fn_iterator(input_fn, replication_mode)

    def experimental_distribute_dataset(self, dataset: Any) -> Any:
        """A dataset whose batches are shared out among the replicas."""
        return self._extended._experimental_distribute_dataset(dataset)

    def experimental_distribute_datasets_from_function(self, dataset_fn: Callable) -> Any:
        """A dataset of what a function gives for its `InputContext`: an element for each replica."""
        return self._extended._experimental_distribute_datasets_from_function(dataset_fn)

    def experimental_make_numpy_dataset(self, numpy_input: Any, session: Any = None) -> Any:
        """A dataset of the rows of arrays."""
        return self._extended.experimental_make_numpy_dataset(numpy_input, session=session)

    # -- configuration ---------------------------------------------------------------------------------

    def configure(
        self,
        session_config: Any = None,
        cluster_spec: Any = None,
        task_type: str | None = None,
        task_id: int | None = None,
    ) -> None:
        """Fits a session's configuration to the strategy, and the strategy to a cluster."""
        self._extended._configure(session_config, cluster_spec, task_type, task_id)

    def update_config_proto(self, config_proto: Any) -> Any:
        """A copy of a session's configuration that fits the strategy."""
        return self._extended._update_config_proto(config_proto)

    def colocate_vars_with(self, colocate_with_variable: Any) -> Any:
        """Makes variables that are made inside live where another does."""
        return self._extended.colocate_vars_with(colocate_with_variable)

    # Whether optimizers scale losses: those of Estimators are means over their own batches.
    _scale_loss_for_estimator = False

    @contextlib.contextmanager
    def _scale_loss_for_estimator_enabled(self) -> Iterator[None]:
        before, self._scale_loss_for_estimator = self._scale_loss_for_estimator, True
        try:
            yield
        finally:
            self._scale_loss_for_estimator = before

    def _loss_reduction(self) -> ReduceOp:
        """How losses of replicas become one."""
        last = context.get_default_graph()._extras.get("last loss reduction")
        if not self._scale_loss_for_estimator or last in ("weighted_sum", "sum"):
            return ReduceOp.SUM
        return ReduceOp.MEAN

    def _replica_context(self) -> Any:
        """The context of programs that have one replica only."""
        if self._own_context is None:
            self._own_context = ReplicaContext(self, 0)
        return self._own_context

    def __deepcopy__(self, memo: Any) -> Any:
        """A strategy is one thing: a copied configuration refers to the same."""
        return self

    def __copy__(self) -> Any:
        return self


def _sum_and_count(value: Any, axis: Any) -> tuple[Any, Any]:
    value = tf.convert_to_tensor(value)
    if isinstance(axis, int):
        size = value.shape[axis].value if value.shape.ndims is not None else None
        if size is not None:
            return tf.reduce_sum(value, axis=axis), tf.constant(size, tf.int64)
        count = tf.shape(value, out_type=tf.int64)[axis]
    else:
        count = tf.reduce_prod(tf.gather(tf.shape(value, out_type=tf.int64), axis))
    return tf.reduce_sum(value, axis=axis), count


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
        reduce_op = _checked(reduce_op)
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
        reduce_op = _checked(reduce_op)
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


def _checked(reduce_op: Any) -> ReduceOp:
    reduce_op = reduce_op_of(reduce_op)
    if not isinstance(reduce_op, ReduceOp):
        raise ValueError(f"Expected a tf.distribute.ReduceOp, got {reduce_op}")
    return reduce_op


@export("distribute.ReplicaContext", "compat.v2.distribute.ReplicaContext")
class ReplicaContext:
    """A replica, while the function that it runs is called."""

    def __init__(self, strategy: Strategy, replica_id_in_sync_group: Any):
        self._strategy = strategy
        self._replica_id = replica_id_in_sync_group
        self._index = replica_id_in_sync_group if isinstance(replica_id_in_sync_group, int) else 0

    def __enter__(self) -> ReplicaContext:
        self._role = replication.in_role(self._strategy, self)
        self._role.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._role.__exit__(*error)

    @property
    def num_replicas_in_sync(self) -> int:
        """Over how many replicas gradients are aggregated."""
        return self._strategy.num_replicas_in_sync

    @property
    def replica_id_in_sync_group(self) -> Any:
        """Which of them this is."""
        where.require_replica_context(self)
        return self._replica_id

    @property
    def strategy(self) -> Strategy:
        """The strategy that this is a replica of."""
        return self._strategy

    @property
    def devices(self) -> tuple[str, ...]:
        """The devices that the replica runs on."""
        where.require_replica_context(self)
        return (self._strategy.extended.worker_devices[self._index],)

    def merge_call(self, merge_fn: Callable, args: Any = (), kwargs: Any = None) -> Any:
        """Calls `merge_fn(strategy, ...)` once for all replicas, on what all of them have given, and gives each its
        part of the result."""
        where.require_replica_context(self)
        return self._merge_call(merge_fn, args, kwargs or {})

    def _merge_call(self, merge_fn: Callable, args: Any, kwargs: Any) -> Any:
        with replication.in_role(self._strategy, None):
            return merge_fn(self._strategy, *args, **kwargs)

    def all_reduce(self, reduce_op: Any, value: Any) -> Any:
        """The values that all replicas give, as one, at each of them."""
        reduce_op = _checked(reduce_op)

        def merge(strategy: Strategy, flat: Any) -> Any:
            return strategy.extended.batch_reduce_to(reduce_op, [(v, v) for v in flat])

        flat = [
            v if isinstance(v, (Tensor, IndexedSlices)) else tf.convert_to_tensor(v)
            for v in nest.flatten(value)
        ]

        @tf.custom_gradient
        def reduced(*values: Any) -> Any:
            # What each replica gave has gone to all of them: its gradient comes from all of them.
            def gradient(*upstream: Any) -> Any:
                return self.all_reduce(reduce_op, list(upstream))

            return self.merge_call(merge, args=(list(values),)), gradient

        if any(isinstance(v, IndexedSlices) for v in flat):
            return nest.pack_sequence_as(value, self.merge_call(merge, args=(flat,)))
        found = reduced(*flat)
        found = list(found) if isinstance(found, (list, tuple)) else [found]
        return nest.pack_sequence_as(value, found)


class _DefaultStrategy(Strategy):
    """What programs have that name no strategy."""

    def __init__(self) -> None:
        super().__init__(_DefaultExtended(self))

    @contextlib.contextmanager
    def _no_scope(self) -> Iterator[Strategy]:
        if where.has_strategy():
            raise RuntimeError("Must not nest tf.distribute.Strategy scopes.")
        yield self

    def scope(self) -> Any:
        return self._no_scope()

    def experimental_distribute_dataset(self, dataset: Any) -> Any:
        return dataset

    def experimental_distribute_datasets_from_function(self, dataset_fn: Callable) -> Any:
        return dataset_fn(InputContext())

    def make_dataset_iterator(self, dataset: Any) -> Any:
        return _plain_iterator(dataset)

    def make_input_fn_iterator(
        self, input_fn: Callable, replication_mode: Any = InputReplicationMode.PER_WORKER
    ) -> Any:
        return _plain_iterator(input_fn(InputContext()))


def _plain_iterator(dataset: Any) -> Any:
    from weft.distribute.input import PlainIterator

    return PlainIterator(dataset)


class _DefaultExtended(StrategyExtended):
    """One replica, and nothing that is special about it."""

    @contextlib.contextmanager
    def colocate_vars_with(self, colocate_with_variable: Any) -> Iterator[None]:
        """Makes variables that are made inside live where another does."""
        with tf.colocate_with(colocate_with_variable):
            yield

    def variable_created_in_scope(self, v: Any) -> bool:
        """Whether a variable was made without a strategy."""
        return v._distribute_strategy is None

    def call_for_each_replica(self, fn: Callable, args: Any = (), kwargs: Any = None) -> Any:
        """Calls the function."""
        return fn(*args, **(kwargs or {}))

    def _call_for_each_replica(self, fn: Callable, args: Any, kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    def _reduce_to(self, reduce_op: ReduceOp, value: Any, destinations: Any) -> Any:
        return value

    def _broadcast_to(self, tensor: Any, destinations: Any) -> Any:
        return tensor

    def reduce_to(self, reduce_op: Any, value: Any, destinations: Any) -> Any:
        """The value: it is that of the one replica."""
        _checked(reduce_op)
        return value

    def _update(self, var: Any, fn: Callable, args: Any, kwargs: Any, group: bool) -> Any:
        with tf.colocate_with(var):
            found = fn(var, *args, **kwargs)
            return tf.group(found) if group and not isinstance(found, Tensor) and found else found

    def _update_non_slot(
        self, colocate_with: Any, fn: Callable, args: Any, kwargs: Any, group: bool
    ) -> Any:
        found = fn(*args, **kwargs)
        return found if group else nest.map_structure(self._local_results, found)

    def read_var(self, v: Any) -> Any:
        """The value of a variable."""
        return tf.identity(v)

    def value_container(self, value: Any) -> Any:
        """The value."""
        return value

    @property
    def _num_replicas_in_sync(self) -> int:
        return 1

    @property
    def worker_devices(self) -> tuple[str, ...]:
        """Where the program runs."""
        return (places.resolved(""),)

    parameter_devices = worker_devices

    def non_slot_devices(self, var_list: Any) -> Any:
        """Beside the first variable."""
        return min(var_list, key=lambda v: v.name)


where.default = _DefaultStrategy()


@export("distribute.get_loss_reduction", "contrib.distribute.get_loss_reduction")
def get_loss_reduction() -> ReduceOp:
    """How the last loss of several replicas becomes one: by SUM, or where an Estimator trains by MEAN, unless the
    loss is a sum itself."""
    return where.get_strategy()._loss_reduction()
