"""The strategy of programs that name none: one replica, and nothing that is special about it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import weft as tf
from weft.distribute import context as where
from weft.distribute import devices as places
from weft.distribute.extended import StrategyExtended
from weft.distribute.input_context import InputContext, InputReplicationMode
from weft.distribute.reduce_op import ReduceOp, checked_reduce_op
from weft.distribute.strategy import Strategy
from weft.framework import nest
from weft.framework.export import export
from weft.framework.tensor import Tensor


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
        checked_reduce_op(reduce_op)
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
