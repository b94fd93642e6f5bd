"""ReplicaContext: what a replica knows of itself, and where it meets the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import weft as tf
from weft.distribute import context as where
from weft.distribute.reduce_op import checked_reduce_op
from weft.framework import nest, replication
from weft.framework.export import export
from weft.framework.indexed_slices import IndexedSlices
from weft.framework.tensor import Tensor

if TYPE_CHECKING:
    from weft.distribute.strategy import Strategy


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
        reduce_op = checked_reduce_op(reduce_op)

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
