"""Variables that have a component on each of several devices."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import weft as tf
from weft.distribute import context as where
from weft.distribute.reduce_op import ReduceOp
from weft.distribute.values import DistributedValues, Mirrored
from weft.framework import context, conversion, replication
from weft.framework.func_graph import init_scope
from weft.framework.graph_keys import GraphKeys
from weft.framework.indexed_slices import IndexedSlices
from weft.framework.recording import stop_recording
from weft.train.saveable import ResourceVariableSaveable, SaveableObject, SaveSpec
from weft.variables.modes import (
    VariableAggregation,
    VariableAggregationV2,
    VariableSynchronization,
    validated_modes,
)
from weft.variables.resource import BaseResourceVariable

_AGGREGATION_WANTED = (
    "You must specify an aggregation method to update a {} in Replica Context. You can do so by passing an "
    "explicit value for argument `aggregation` to tf.Variable(..). e.g. `tf.Variable(..., "
    "aggregation=tf.VariableAggregation.SUM)` `tf.VariableAggregation` lists the possible aggregation methods. This "
    "is required because {} should always be kept in sync. When updating them or assigning to them in a replica "
    "context, we automatically try to aggregate the values before updating the variable. For this aggregation, we "
    "need to know the aggregation method. Another alternative is to not try to update such {} in replica context, "
    "but in cross replica context. You can enter cross replica context by calling "
    "`tf.distribute.get_replica_context().merge_call(merge_fn, ..)`. Inside `merge_fn`, you can then update the {} "
    "using `tf.distribute.StrategyExtended.update()`."
)


@contextlib.contextmanager
def within(strategy: Any) -> Iterator[None]:
    """In the scope of a strategy, which must be the one in force if there is one."""
    found = replication.role()
    if found is None:
        with strategy.scope():
            yield
    else:
        where.require_scope(strategy.extended)
        yield


class DistributedVariable(DistributedValues, BaseResourceVariable):  # type: ignore[misc]
    """Variables, one on each device. What is asked of it is asked of the one of this replica, else of the first."""

    _cached_value = None
    _distribute_strategy: Any

    def __init__(self, strategy: Any, devices: Any, values: Any, aggregation: Any):
        DistributedValues.__init__(self, devices, values)
        self._distribute_strategy = strategy
        self._aggregation = aggregation
        for variable in self._values:
            variable._distributed_container = weakref.ref(self)
        self._initializer_op = None

    def __repr__(self) -> str:
        return DistributedValues.__repr__(self)

    _handle = property(lambda self: self._nearest()._handle)  # type: ignore[assignment]
    _dtype = property(lambda self: self.primary._dtype)  # type: ignore[assignment]
    _shape = property(lambda self: self.primary._shape)  # type: ignore[assignment]
    _graph_key = property(lambda self: self.primary._graph_key)  # type: ignore[assignment]
    _unique_id = property(lambda self: self.primary._unique_id)  # type: ignore[assignment]
    _handle_name = property(lambda self: self.primary._handle_name)  # type: ignore[assignment]
    _in_graph_mode = property(lambda self: self.primary._in_graph_mode)  # type: ignore[assignment]
    _trainable = property(lambda self: self.primary._trainable)  # type: ignore[assignment]
    _constraint = property(lambda self: self.primary._constraint)  # type: ignore[assignment]
    _synchronization = property(lambda self: self.primary._synchronization)  # type: ignore[assignment]
    _save_slice_info = property(lambda self: self.primary._save_slice_info)  # type: ignore[assignment]
    _graph_element = property(lambda self: self._nearest()._graph_element)  # type: ignore[assignment]
    _initial_value = property(lambda self: self._nearest()._initial_value)  # type: ignore[assignment]

    def _set_save_slice_info(self, save_slice_info: Any) -> None:
        for variable in self._values:
            variable._set_save_slice_info(save_slice_info)

    @property
    def _common_name(self) -> str:
        return self.primary.name.partition(":")[0]

    @property
    def _shared_name(self) -> str:
        return self._common_name

    @property
    def op(self) -> Any:
        return self._nearest().op

    @property
    def device(self) -> str:
        return self._nearest().device

    @property
    def initializer(self) -> Any:
        """An operation that gives all components their initial values."""
        if self._initializer_op is not None:
            return self._initializer_op
        return tf.group(*[v.initializer for v in self._values])

    create = initializer

    def is_initialized(self, name: str | None = None) -> Any:
        """Whether all components have a value."""
        found = self.primary.is_initialized()
        for variable in self._values[1:]:
            found = tf.logical_and(found, variable.is_initialized())
        return tf.identity(found, name=name)

    def initialized_value(self) -> Any:
        variable = self._nearest()
        if self._distribute_strategy.extended.experimental_between_graph:
            # The initial value takes all workers, and nobody else may be asking for it.
            return variable.read_value()
        return variable.initialized_value()

    def value(self) -> Any:
        return self._nearest().value()

    def read_value(self) -> Any:
        with within(self._distribute_strategy):
            return tf.identity(self.get())

    def eval(self, session: Any = None) -> Any:
        return self._nearest().eval(session)

    def numpy(self) -> Any:
        return self._nearest().numpy()

    def to_proto(self, export_scope: str | None = None) -> Any:
        return self.primary.to_proto(export_scope=export_scope)

    def load(self, value: Any, session: Any = None) -> None:
        for variable in self._values:
            variable.load(value, session)

    def __deepcopy__(self, memo: dict) -> Any:
        raise NotImplementedError("A distributed variable cannot be copied.")

    # -- changes ---------------------------------------------------------------------------------------

    def _changed(self, change: Callable, value: Any, **kwargs: Any) -> Any:
        """Changes the components by `change(variable, value)`."""
        raise NotImplementedError

    def assign(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        """Gives the variable a new value; in a replica, what the replicas give together."""
        return self._changed(lambda v, x, *a, **k: v.assign(x, *a, **k), value, *args, **kwargs)

    def assign_add(self, delta: Any, *args: Any, **kwargs: Any) -> Any:
        """Adds to the variable; in a replica, what the replicas give together."""
        return self._changed(lambda v, x, *a, **k: v.assign_add(x, *a, **k), delta, *args, **kwargs)

    def assign_sub(self, delta: Any, *args: Any, **kwargs: Any) -> Any:
        """Subtracts from the variable; in a replica, what the replicas give together."""
        return self._changed(lambda v, x, *a, **k: v.assign_sub(x, *a, **k), delta, *args, **kwargs)


class MirroredVariable(DistributedVariable, Mirrored):  # type: ignore[misc]
    """A variable whose components are the same: they are all changed together."""

    def __getattr__(self, name: str) -> Any:
        # What a variable has stands in its class; nothing is asked of a component behind its back.
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _across_replicas(self) -> Any:
        return tf.identity(self._nearest())

    def _as_graph_element(self) -> Any:
        if where.in_cross_replica_context():
            return self.primary._as_graph_element()
        return self.get()._as_graph_element()

    def _changed(self, change: Callable, value: Any, *args: Any, **kwargs: Any) -> Any:
        strategy = self._distribute_strategy
        with within(strategy):
            replica = replication.replica()
            if replica is None:
                device = replication.update_device()
                if device is not None:
                    return change(self.get(device), value, *args, **kwargs)
                return strategy.extended.update(self, change, (value, *args), kwargs)
            if self._aggregation == VariableAggregation.NONE:
                name = type(self).__name__
                raise ValueError(_AGGREGATION_WANTED.format(name, name, name, name))

            if not isinstance(value, (int, float, IndexedSlices)):
                value = conversion.convert_to_tensor(value, dtype=self.dtype)

            def merge(strategy: Any, value: Any, *args: Any, **kwargs: Any) -> Any:
                value = aggregated(strategy, value, self._aggregation, self)
                return strategy.extended.update(self, change, (value, *args), kwargs)

            return replica.merge_call(merge, (value, *args), kwargs)

    def _gather_saveables_for_checkpoint(self) -> dict[str, Any]:
        return {"VARIABLE_VALUE": lambda name=self._common_name: _MirroredSaveable(self, name)}

    def _dense_var_to_tensor(
        self, dtype: Any = None, name: str | None = None, as_ref: bool = False
    ) -> Any:
        return conversion.convert_to_tensor(self._nearest(), dtype=dtype, name=name)


class SyncOnReadVariable(DistributedVariable):
    """A variable of which each replica changes its own component; who reads it across replicas gets them all in
    one, as `aggregation` says."""

    def _across_replicas(self) -> Any:
        if self._aggregation == VariableAggregation.ONLY_FIRST_REPLICA:
            return self.primary
        strategy = self._distribute_strategy
        with within(strategy):
            return strategy.reduce(
                ReduceOp.from_variable_aggregation(self._aggregation), self, axis=None
            )

    def _as_graph_element(self) -> Any:
        if where.in_cross_replica_context():
            found = self._across_replicas()
            return found if found is not self.primary else found._as_graph_element()
        return self.get()._as_graph_element()

    def _changed(self, change: Callable, value: Any, *args: Any, **kwargs: Any) -> Any:
        with within(self._distribute_strategy):
            if replication.replica() is not None:
                return change(self.get(), value, *args, **kwargs)
            return self._changed_all(change, value)

    def _changed_all(self, change: Callable, value: Any) -> Any:
        def on(variable: Any) -> Any:
            with tf.device(variable.device):
                return change(variable, value)

        return tf.group(*[on(v) for v in self._values])

    def assign(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        if self._sums_up():
            # Summed up again it is what was assigned.
            value = conversion.convert_to_tensor(value, dtype=self.dtype)
            value = value * tf.cast(1.0 / len(self._values), self.dtype)
        return super().assign(value, *args, **kwargs)

    def assign_add(self, delta: Any, *args: Any, **kwargs: Any) -> Any:
        self._refuse_sums("assign_add")
        return super().assign_add(delta, *args, **kwargs)

    def assign_sub(self, delta: Any, *args: Any, **kwargs: Any) -> Any:
        self._refuse_sums("assign_sub")
        return super().assign_sub(delta, *args, **kwargs)

    def _sums_up(self) -> bool:
        with within(self._distribute_strategy):
            return replication.replica() is None and self._aggregation == VariableAggregation.SUM

    def _refuse_sums(self, method: str) -> None:
        if self._sums_up():
            raise ValueError(
                f"SyncOnReadVariable does not support `{method}` in cross-replica context when aggregation is set "
                "to `tf.VariableAggregation.SUM`."
            )

    def _gather_saveables_for_checkpoint(self) -> dict[str, Any]:
        return {"VARIABLE_VALUE": lambda name=self._common_name: _SyncOnReadSaveable(self, name)}

    def _dense_var_to_tensor(
        self, dtype: Any = None, name: str | None = None, as_ref: bool = False
    ) -> Any:
        return conversion.convert_to_tensor(self.get(), dtype=dtype, name=name)

    def value(self) -> Any:
        return tf.convert_to_tensor(self.get())


def aggregated(strategy: Any, value: Any, aggregation: Any, destinations: Any) -> Any:
    """What an update by all replicas is: the update of the first, or all of them in one."""
    if aggregation == VariableAggregation.ONLY_FIRST_REPLICA:
        return strategy.extended.broadcast_to(
            strategy.experimental_local_results(value)[0], destinations=destinations
        )
    return strategy.extended.reduce_to(
        ReduceOp.from_variable_aggregation(aggregation), value, destinations
    )


class _MirroredSaveable(ResourceVariableSaveable):
    """A mirrored variable: one component is saved, all are restored."""

    def __init__(self, variable: MirroredVariable, name: str):
        self._mirrored = variable
        super().__init__(variable.primary, "", name)

    def restore(self, restored_tensors: Any, restored_shapes: Any) -> Any:
        (value,) = restored_tensors
        if restored_shapes is not None:
            value = tf.reshape(value, restored_shapes[0])
        return tf.group(*[_assigned_on(v, value) for v in self._mirrored.values])


class _SyncOnReadSaveable(SaveableObject):
    """A variable with a component for each replica: what those of this process are together is saved. Other
    processes are not asked: they may not be saving."""

    def __init__(self, variable: SyncOnReadVariable, name: str):
        self._variable = variable

        def read() -> Any:
            if replication.replica() is not None:
                return variable.get().read_value()
            values = variable.values
            if variable.aggregation == VariableAggregation.ONLY_FIRST_REPLICA:
                values = values[:1]
            with tf.device(variable.primary.device):
                total = tf.add_n([v.read_value() for v in values])
                if variable.aggregation == VariableAggregation.MEAN:
                    total = total / tf.cast(len(values), total.dtype)
                return total

        spec = SaveSpec(read, "", name, dtype=variable.dtype, device=variable.primary.device)
        super().__init__(read, [spec], name)

    def restore(self, restored_tensors: Any, restored_shapes: Any) -> Any:
        (value,) = restored_tensors
        if restored_shapes is not None:
            value = tf.reshape(value, restored_shapes[0])
        variable = self._variable
        if variable.aggregation == VariableAggregation.SUM:
            value = value * tf.cast(1.0 / len(variable.values), variable.dtype)
        return tf.group(*[_assigned_on(v, value) for v in variable.values])


def _assigned_on(variable: Any, value: Any) -> Any:
    with tf.device(variable.device):
        return variable.assign(tf.identity(value), read_value=False)


# -- making them ------------------------------------------------------------------------------------------


def create(
    strategy: Any,
    devices: tuple[str, ...],
    make: Callable[..., list[Any]],
    mirrored: Callable[..., Any],
    on_read: Callable[..., Any],
    **kwargs: Any,
) -> Any:
    """A distributed variable of the components that `make(**kwargs)` gives, in the collections where one would be."""
    name = kwargs.get("name")
    synchronization, aggregation = kwargs.get("synchronization"), kwargs.get("aggregation")
    if synchronization == VariableSynchronization.NONE:
        raise ValueError(
            "`NONE` variable synchronization mode is not supported with `Mirrored` distribution strategy. Please "
            f"change the `synchronization` for variable: {name}"
        )
    if synchronization == VariableSynchronization.ON_READ:
        if kwargs.get("trainable"):
            raise ValueError(
                "Synchronization value can be set to VariableSynchronization.ON_READ only for non-trainable "
                "variables. You have specified trainable=True and synchronization=VariableSynchronization.ON_READ."
            )
        kwargs["trainable"], kind = False, on_read
    else:
        validated_modes(synchronization, aggregation, None, name)
        kwargs["synchronization"], kind = VariableSynchronization.ON_WRITE, mirrored
    if aggregation is None:
        aggregation = kwargs["aggregation"] = VariableAggregation.NONE
    if not isinstance(aggregation, (VariableAggregation, VariableAggregationV2)):
        raise ValueError(f"Invalid variable aggregation mode: {aggregation} for variable: {name}")
    collections = kwargs.pop("collections", None)
    collections = [GraphKeys.GLOBAL_VARIABLES] if collections is None else list(collections)
    kwargs["collections"] = []
    with stop_recording():
        components = make(**kwargs)
    found = kind(strategy, devices, components, aggregation)
    with init_scope():
        graph = context.get_default_graph()
        if not context.executing_eagerly():
            # The components join TRAINABLE_VARIABLES by themselves: the whole stands there for them.
            if kwargs.get("trainable") is not False:
                collections.append(GraphKeys.TRAINABLE_VARIABLES)
                listed = graph.get_collection_ref(GraphKeys.TRAINABLE_VARIABLES)
                listed[:] = [v for v in listed if all(v is not c for c in components)]
            graph.add_to_collections(list(dict.fromkeys(collections)), found)
        elif GraphKeys.GLOBAL_STEP in collections:
            graph.add_to_collections(GraphKeys.GLOBAL_STEP, found)
    return found
