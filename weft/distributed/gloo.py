"""XLA's own collectives between processes: a CPU client of XLA's, made for one group, whose devices lie one in
each process. `jax.distributed` would do the same for all of JAX, but only before anything has been computed,
and it ends a process that has lost another one; a client of our own can be made at any time and thrown away.

The processes of a group need a service only to find each other. Once they are connected they leave it: it ends
every process that stays when it goes.

This is the one place that reaches into jaxlib beneath JAX's public interface.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from weft.engine.namespace import load_jax

_CONNECT = 60  # seconds that processes have to come together
# Seconds without a sign of life after which the service would end the others: they must have given up before.
_HEARTBEAT = 600


def start_meeting(address: str, processes: int) -> Any:
    """Starts the service at which so many processes find each other; it lives as long as what is returned."""
    load_jax()
    from jaxlib import _jax

    return _jax.get_distributed_runtime_service(
        address, processes, heartbeat_timeout=_HEARTBEAT, shutdown_timeout=_CONNECT
    )


class Clique:
    """The processes of a group, one device each, and what they compute together."""

    def __init__(self, address: str, rank: int, processes: int, host: str):
        jax = load_jax()
        from jaxlib import _jax, xla_client

        self.rank, self.processes = rank, processes
        meeting = _jax.get_distributed_runtime_client(
            address,
            rank,
            init_timeout=_CONNECT,
            shutdown_timeout=_CONNECT,
            heartbeat_timeout=_HEARTBEAT,
            shutdown_on_destruction=False,
        )
        meeting.connect()
        self._client: Any = xla_client.make_cpu_client(
            distributed_client=meeting,
            node_id=rank,
            num_nodes=processes,
            collectives=_jax.make_gloo_tcp_collectives(meeting, hostname=host),
            num_devices=1,
            get_local_topology_timeout_minutes=1,
            get_global_topology_timeout_minutes=1,
        )
        devices: list[Any] = self._client.devices()  # type: ignore[attr-defined]
        devices.sort(key=lambda d: d.process_index)
        self._own = devices[rank]
        self._mesh = jax.sharding.Mesh(np.array(devices), ("task",))
        self._split = jax.sharding.NamedSharding(self._mesh, jax.sharding.PartitionSpec("task"))
        self._programs = functools.cache(self._program)
        self.run("Each", np.zeros(1, np.int32))  # connects each with each
        meeting.shutdown()

    def _program(self, how: str) -> Any:
        jax = load_jax()
        spec = jax.sharding.PartitionSpec

        def together(a: Any) -> Any:
            a = a[0]
            if how == "Add":
                return jax.lax.psum(a, "task")
            if how == "Max":
                return jax.lax.pmax(a, "task")
            if how == "Min":
                return jax.lax.pmin(a, "task")
            every = jax.lax.all_gather(a, "task")
            return every if how == "Each" else jax.numpy.prod(every, axis=0, dtype=a.dtype)

        return jax.jit(
            jax.shard_map(
                together, mesh=self._mesh, in_specs=spec("task"), out_specs=spec(), check_vma=False
            )
        )

    def run(self, how: str, array: np.ndarray) -> np.ndarray:
        """Runs "Add", "Mul", "Min" or "Max" over the processes' arrays, or gives "Each" of them, stacked."""
        jax = load_jax()
        mine = jax.device_put(array[None], self._own)
        shape = (self.processes, *array.shape)
        whole = jax.make_array_from_single_device_arrays(shape, self._split, [mine])
        return np.asarray(self._programs(how)(whole).addressable_shards[0].data)
