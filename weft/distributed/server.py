"""Server: a task of a cluster, which listens for clients. Tasks in one process reach each other directly.

A session whose target is a server of this process runs on the devices of that server's cluster, and the state
of each task belongs to its server: sessions share it. A session at a server of another process runs there, by
the master service of TensorFlow. The tasks of one cluster must be of one process yet: a session at a cluster
of which a task is elsewhere is refused with UnavailableError.
"""

from __future__ import annotations

import secrets
import threading
from typing import Any

from weft.distributed import remote_master, rpc
from weft.distributed.cluster_spec import ClusterSpec
from weft.distributed.master import Master
from weft.framework import errors
from weft.framework.export import export
from weft.runtime.devices import Device, local_devices
from weft.runtime.resources import ResourceStore

_servers: dict[str, Server] = {}  # by address
_lock = threading.Lock()


def _server_def(
    server_or_cluster_def: Any, job_name: Any, task_index: Any, protocol: Any, config: Any
) -> Any:
    from weft import proto

    given = server_or_cluster_def
    out = proto.ServerDef()
    if isinstance(given, proto.ServerDef):
        out.CopyFrom(given)
        if job_name is not None:
            out.job_name = job_name
        if task_index is not None:
            out.task_index = task_index
        if protocol is not None:
            out.protocol = protocol
        if config is not None:
            out.default_session_config.MergeFrom(config)
        if not out.job_name or not out.protocol:
            raise ValueError(
                "Could not determine `job_name` and `protocol`: give them, or a ServerDef that has them."
            )
        return out
    try:
        spec = ClusterSpec(given)
    except TypeError:
        raise TypeError(
            "Could not convert `server_or_cluster_def` to a `tf.train.ServerDef` or `tf.train.ClusterSpec`."
        ) from None
    if job_name is None:
        if len(spec.jobs) != 1:
            raise ValueError("Must specify an explicit `job_name`.")
        job_name = spec.jobs[0]
    if task_index is None:
        indices = spec.task_indices(job_name)
        if len(indices) != 1:
            raise ValueError("Must specify an explicit `task_index`.")
        task_index = indices[0]
    out.cluster.CopyFrom(spec.as_cluster_def())
    out.job_name, out.task_index, out.protocol = job_name, task_index, protocol or "grpc"
    if config is not None:
        out.default_session_config.CopyFrom(config)
    return out


@export("train.Server")
class Server:
    """A task: its devices, and the state of its variables."""

    def __init__(
        self,
        server_or_cluster_def: Any,
        job_name: str | None = None,
        task_index: int | None = None,
        protocol: str | None = None,
        config: Any = None,
        start: bool = True,
    ):
        self._def = _server_def(server_or_cluster_def, job_name, task_index, protocol, config)
        if self._def.protocol != "grpc":
            raise errors.NotFoundError(
                None,
                None,
                f"No server factory registered for the given ServerDef: protocol {self._def.protocol!r}",
            )
        self.store = ResourceStore()
        self.task = (self._def.job_name, self._def.task_index)
        # Tells this life of the task from its others: state does not outlive a server.
        self.incarnation = secrets.randbits(63)
        self._stopped = threading.Event()
        self.master = Master(self)
        spec = ClusterSpec(self._def.cluster)
        wanted = spec.task_address(*self.task)
        host, _, port = wanted.rpartition(":")
        try:
            self._listener = rpc.Listener(
                host, int(port), {"tensorflow.MasterService": self.master}
            )
        except (OSError, RuntimeError, ValueError) as e:
            raise errors.UnknownError(
                None, None, f"Could not start gRPC server at {wanted}: {e}"
            ) from None
        self.address = f"{host or 'localhost'}:{self._listener.port}"
        for job in self._def.cluster.job:
            if job.name == self._def.job_name:
                job.tasks[self._def.task_index] = self.address
        if start:
            self.start()

    def start(self) -> None:
        """Makes the server reachable."""
        with _lock:
            if _servers.get(self.address) is self:
                return
            _servers[self.address] = self
        self._listener.start()

    def join(self) -> None:
        """Blocks until the server has shut down, which it does with its process."""
        self._stopped.wait()

    @property
    def server_def(self) -> Any:
        """The ServerDef message of this server."""
        return self._def

    @property
    def target(self) -> str:
        """What a session connects to."""
        return "grpc://" + self.address

    @staticmethod
    def create_local_server(config: Any = None, start: bool = True) -> Server:
        """Creates a cluster of one task in this process."""
        return Server({"local": ["localhost:0"]}, protocol="grpc", config=config, start=start)

    def devices(self, job: str, task: int) -> list[Device]:
        """The server's devices, by the names they have in a cluster."""
        prefix = f"/job:{job}/replica:0/task:{task}"
        local = local_devices(self._def.default_session_config)
        return [
            Device(
                f"{prefix}/device:{d.kind}:{d.index}",
                d.kind,
                d.index,
                d.jax_index,
                d.memory_limit,
                self.incarnation,
            )
            for d in local
        ]


class InProcessTarget:
    """A cluster whose servers are in this process, as a session at one of them sees it."""

    master = None

    def __init__(self, master: Server, config: Any):
        self.default_config = master.server_def.default_session_config
        propagated = config is not None and len(config.cluster_def.job) > 0
        cluster = config.cluster_def if propagated else master.server_def.cluster
        shared = (
            not propagated or config.experimental.share_session_state_in_clusterspec_propagation
        ) and not (config is not None and config.isolate_session_state)
        self.devices: list[Device] = []
        self._stores: dict[str, ResourceStore] = {}
        self._own: list[ResourceStore] = []
        filters = list(config.device_filters) if config is not None else []
        first: list[Device] = []
        for job in cluster.job:
            for index, address in sorted(job.tasks.items()):
                prefix = f"/job:{job.name}/replica:0/task:{index}"
                server = _servers.get(address.replace("grpc://", ""))
                own = server is master
                if (
                    filters
                    and not own
                    and not any(prefix.startswith(f.rstrip("/")) for f in filters)
                ):
                    continue
                if server is None:
                    raise errors.UnavailableError(
                        None,
                        None,
                        f"Task {prefix} at {address} is not a server of this process; others cannot be reached yet.",
                    )
                store = server.store if shared else ResourceStore()
                if not shared:
                    self._own.append(store)
                devices = server.devices(job.name, index)
                for d in devices:
                    self._stores[d.name] = store
                if own:
                    first = devices
                    self._main = store
                else:
                    self.devices.extend(devices)
        if not first:  # the master is no task of the cluster: it coordinates only
            self._main = next(iter(self._stores.values()))
        self.devices = first + self.devices

    @property
    def main_store(self) -> ResourceStore:
        return self._main

    def store_of(self, device: Device) -> ResourceStore:
        return self._stores[device.name]

    def close(self) -> None:
        """Forgets the state that no other session can see."""
        for store in self._own:
            store.close()


class RemoteTarget:
    """A cluster whose master is in another process."""

    def __init__(self, name: str, config: Any):
        self.master = remote_master.RemoteMaster(name, config)
        self.main_store = self.master.main_store

    @property
    def devices(self) -> list[Device]:
        return self.master.devices

    def close(self) -> None:
        self.master.close()


def find(name: str, config: Any) -> Any:
    """The target of a session at a server: reached directly where it is of this process."""
    server = _servers.get(_address(name))
    if server is None or (config is not None and config.rpc_options.use_rpc_for_inprocess_master):
        return RemoteTarget(name, config)
    return InProcessTarget(server, config)


def reset(name: str, containers: Any) -> None:
    """Makes a server close its sessions, and forget the state of some containers, or of all."""
    containers = [c if isinstance(c, str) else c.decode() for c in containers or ()]
    server = _servers.get(_address(name))
    if server is None:
        remote_master.reset(name, containers)
    else:
        server.master.forget(containers)


def _address(target: str) -> str:
    return target.removeprefix("grpc://")
