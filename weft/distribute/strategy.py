"""Strategy: how a program is replicated, as the program sees it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import weft as tf
from weft.distribute import context as where
from weft.distribute.input_context import InputReplicationMode
from weft.distribute.reduce_op import ReduceOp, reduce_op_of
from weft.distribute.replica_context import ReplicaContext
from weft.framework import context
from weft.framework.export import export


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
