"""Server: a task of a cluster, which listens for clients. Tasks in one process reach each other directly.

A session whose target is a server of this process runs on the devices of that server's cluster, and the state
of each task belongs to its server: sessions share it. A session at a server of another process runs there, by
the master service of TensorFlow; and where tasks of a cluster are in other processes, the master hands them
their parts of a step by the worker service.
"""

from __future__ import annotations

import logging
import os
import secrets
import threading
import weakref
from collections.abc import Iterable
from typing import Any

from weft import proto
from weft.distributed import addresses, links, remote_master, rpc
from weft.distributed.cluster_master import ClusterMaster
from weft.distributed.cluster_spec import ClusterSpec
from weft.distributed.credentials import Credentials, credentials_of
from weft.distributed.group_leader import GroupLeader, collectives_of
from weft.distributed.limits import Limits
from weft.distributed.link_steps import Served
from weft.distributed.master import Master
from weft.distributed.peers import WEFT, Peers, described, name_of_server
from weft.distributed.worker import Worker, WorkerService
from weft.framework import errors
from weft.framework.export import export
from weft.runtime.devices import Device, local_devices
from weft.runtime.resources import ResourceStore

_log = logging.getLogger("tensorflow")
_servers: dict[str, Server] = {}  # by address
_lock = threading.Lock()


def _server_def(
    server_or_cluster_def: Any, job_name: Any, task_index: Any, protocol: Any, config: Any
) -> Any:
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


@export("train.Server", "distribute.Server")
class Server:
    """A task: its devices, and the state of its variables.

    Args:
      credentials: who may talk to it, and who it is to others: a `weft.distributed.Credentials`, or a folder with
        them; those of the environment (WEFT_CREDENTIALS) where none are given.
      limits: how much it takes from clients: a `weft.distributed.Limits`.
      listen: the address to listen at, where the one of the cluster is not this machine's own (a service, a
        forwarded port); WEFT_LISTEN where none is given.
    """

    def __init__(
        self,
        server_or_cluster_def: Any,
        job_name: str | None = None,
        task_index: int | None = None,
        protocol: str | None = None,
        config: Any = None,
        start: bool = True,
        *,
        credentials: Any = None,
        limits: Limits | None = None,
        listen: str | None = None,
    ):
        self.credentials = credentials_of(credentials)
        self.limits = limits if limits is not None else Limits()
        self._def = _server_def(server_or_cluster_def, job_name, task_index, protocol, config)
        if self._def.protocol != "grpc":
            raise errors.NotFoundError(
                None,
                None,
                f"No server factory registered for the given ServerDef: protocol {self._def.protocol!r}",
            )
        self.task = (self._def.job_name, self._def.task_index)
        # Tells this life of the task from its others: state does not outlive a server.
        self.incarnation = secrets.randbits(63)
        self._stopped = threading.Event()
        wanted = self._own_address()
        addresses.check_cluster(self._def.cluster)
        host, port = addresses.split(wanted)
        self._listener = self._listening(
            wanted, listen or os.environ.get("WEFT_LISTEN") or host, port
        )
        self.address = f"{wanted.rpartition(':')[0] or 'localhost'}:{self._listener.port}"
        for job in self._def.cluster.job:
            if job.name == self._def.job_name:
                job.tasks[self._def.task_index] = self.address
        self.peers = self.peers_of(self._def.cluster, own=True)
        self._links: links.LinkListener | None = None
        self.description = WEFT  # of its devices, to other tasks
        self.leader = GroupLeader(self.address)
        self.store = ResourceStore(collectives_of(self, self.leader))
        self._targets: weakref.WeakSet[Any] = weakref.WeakSet()  # of this process's sessions here
        self.master, self.worker = Master(self), Worker(self)
        self._listener.serve("tensorflow.MasterService", self.master)
        self._listener.serve("tensorflow.WorkerService", WorkerService(self.worker))
        if start:
            self.start()

    def _own_address(self) -> str:
        """The address that the cluster has for this task."""
        job, index = self.task
        tasks = {j.name: j.tasks for j in self._def.cluster.job}
        if job not in tasks:
            raise errors.InternalError(None, None, f'Job "{job}" was not defined in cluster')
        if index not in tasks[job]:
            raise errors.InvalidArgumentError(
                None, None, f'Task {index} was not defined in job "{job}"'
            )
        if not tasks[job][index].rpartition(":")[2].isdigit():
            raise errors.InvalidArgumentError(
                None, None, f'Could not parse port for local server from "{tasks[job][index]}".'
            )
        return tasks[job][index]

    def _listening(self, wanted: str, host: str, port: int) -> rpc.Listener:
        """What listens at an address, at all that a host's name stands for."""
        name = "/job:%s/task:%d" % self.task
        try:
            numbers = addresses.numbers_of(host)
            listener = rpc.Listener(numbers, port, self.credentials, self.limits.message_bytes)
        except errors.UnavailableError as e:
            raise errors.UnknownError(
                None, None, f"Could not start gRPC server for {name} at {wanted}: {e.message}"
            ) from None
        except OSError as e:
            there = name_of_server(wanted, self.credentials)
            why = f"the server of {there} has the address" if there else str(e)
            raise errors.UnknownError(
                None, None, f"Could not start gRPC server for {name} at {wanted}: {why}"
            ) from None
        reachable = [n for n in numbers if not addresses.is_loopback(n)]
        if reachable and self.credentials is None:
            _log.warning(
                "The server of %s listens at %s without credentials: anyone who reaches it can run code in it.",
                name,
                ", ".join(addresses.bound(n, listener.port) for n in reachable),
            )
        elif not reachable and host not in ("", "localhost", *numbers):
            _log.warning(
                "The name %s of %s means %s on this machine: no other can reach it. WEFT_LISTEN names another "
                "address to listen at.",
                host,
                name,
                ", ".join(numbers),
            )
        return listener

    def forget(self, containers: list[str], filters: Iterable[str]) -> None:
        """Ends the sessions of this process, and makes the tasks of the cluster forget the state of some
        containers, or of all."""
        self.end_targets()
        for task in self.peers.addresses:
            if not covered(filters, task):
                continue
            try:
                self.peers.worker(task).forget(containers)
            except errors.UnavailableError:
                pass  # a task that is gone has forgotten

    def peers_of(self, cluster: Any, own: bool = False) -> Peers:
        """The tasks of a cluster as this server reaches them."""
        return Peers(cluster, self._worker_at, self.credentials, own)

    def _worker_at(self, address: str) -> Worker | None:
        """The worker at an address, if it is of this process."""
        server = self if address == self.address else _reached(address)
        return server.worker if server is not None else None

    def target_of(self, config: Any) -> Any:
        """The target of a session of this process."""
        config = self.with_defaults(config)
        wanted = _Wanted(self, config)
        target: Any
        if all(a == self.address or _reached(a) is not None for a in wanted.tasks.values()):
            target = InProcessTarget(self, wanted, config)
        else:
            target = ClusterTarget(self, wanted, config)
        self._targets.add(target)
        return target

    def with_defaults(self, config: Any) -> Any:
        """The configuration of a session, where it says nothing the server's."""
        out = proto.ConfigProto()
        out.CopyFrom(self._def.default_session_config)
        if config is not None:
            out.MergeFrom(config)
        return out

    def end_targets(self) -> None:
        """Ends the sessions of this process: their next steps are told so."""
        for target in list(self._targets):
            target.close()
            target.master = _Ended(self.address)
        self._targets.clear()

    def start(self) -> None:
        """Makes the server reachable."""
        with _lock:
            if _servers.get(self.address) is self:
                return
            _servers[self.address] = self
        if links.enabled:
            self._links = links.LinkListener(self._serve_link, rpc.pool.submit)
            self.description = described(self._links.name, self.address)
        self._listener.start()

    def _serve_link(self, listener: Any, link: Any) -> None:
        served = Served(self.worker, listener, link, rpc.pool.submit)
        listener.watch(link, served)
        served.serve()

    def _stop(self) -> None:
        """Ends the server at once, as the end of its process would."""
        with _lock:
            if _servers.get(self.address) is self:
                del _servers[self.address]
        self._listener.stop()
        self.worker.stop()
        if self._links is not None:
            self._links.stop()
        self.peers.close()
        self.store.collectives.close()
        self._stopped.set()

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


# Whether servers of one process reach each other directly.
directly = True


def _reached(address: str) -> Server | None:
    """The server of this process at an address."""
    return _servers.get(_address(address)) if directly else None


class _Wanted:
    """Which cluster a session wants, with which of its tasks, and whose state."""

    def __init__(self, master: Server, config: Any):
        given = config is not None and len(config.cluster_def.job) > 0
        self.cluster = config.cluster_def if given else master.server_def.cluster
        self.given = self.cluster if given else None
        if given:
            addresses.check_cluster(self.cluster)
        self.shared = (
            not given or config.experimental.share_session_state_in_clusterspec_propagation
        )
        if config is not None and config.isolate_session_state:
            self.shared = False
        filters = config.device_filters if config is not None else []
        self.own = ""  # the master's task; none where it only coordinates
        self.tasks: dict[str, str] = {}  # name -> address
        for job in self.cluster.job:
            for index, address in sorted(job.tasks.items()):
                task, address = f"/job:{job.name}/replica:0/task:{index}", _address(address)
                if address == master.address:
                    self.own = task
                elif not covered(filters, task):
                    continue
                self.tasks[task] = address
        if not self.tasks:
            raise errors.InvalidArgumentError(
                None,
                None,
                "The cluster of the session has no task, or none that its device filters let through.",
            )


def covered(filters: Iterable[str], task: str) -> bool:
    """Whether one of some filters such as "/job:ps" takes a task, or there are none."""
    parts = [[p for p in f.split("/") if p and not p.startswith("device:")] for f in filters]
    return not parts or any(all(p in task.split("/") for p in filtered) for filtered in parts)


class InProcessTarget:
    """A cluster whose servers are all in this process, as a session at one of them sees it."""

    master = None

    def __init__(self, master: Server, wanted: _Wanted, config: Any):
        self.config = config
        self.devices: list[Device] = []
        self._stores: dict[str, ResourceStore] = {}
        self._own: list[ResourceStore] = []
        first: list[Device] = []
        for task, address in wanted.tasks.items():
            server = master if address == master.address else _servers[address]
            store = server.store
            if not wanted.shared:
                store = ResourceStore(store.collectives)
            if not wanted.shared:
                self._own.append(store)
            devices = [d.renamed(task) for d in server.worker.devices()]
            for d in devices:
                self._stores[d.name] = store
            if task == wanted.own:
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
        self.config = config
        self.master = remote_master.RemoteMaster(name, config, _credentials_at(_address(name)))
        self.main_store = self.master.main_store

    @property
    def devices(self) -> list[Device]:
        return self.master.devices

    def close(self) -> None:
        self.master.close()


class ClusterTarget:
    """A cluster with tasks in other processes, as a session at a server of this process sees it."""

    def __init__(self, server: Server, wanted: _Wanted, config: Any):
        self.config = config
        peers = server.peers if wanted.given is None else server.peers_of(wanted.given)
        self.master = ClusterMaster(
            peers, wanted.own, config, list(wanted.tasks), wanted.given, wanted.shared
        )
        self.main_store = server.store

    @property
    def devices(self) -> list[Device]:
        return self.master.devices

    def close(self) -> None:
        self.master.close()


def _credentials_at(address: str) -> Credentials | None:
    """What a session shows to a server: what the servers of this process in the same cluster do, else what the
    environment says."""
    for server in list(_servers.values()):
        if address in server.peers.addresses.values():
            return server.credentials
    return credentials_of(None)


class _Ended:
    """The master of a session that was ended by a reset."""

    def __init__(self, address: str):
        self._address = address

    def run(self, *args: Any, **kwargs: Any) -> Any:
        raise errors.AbortedError(
            None, None, f"Session is not found: the server at {self._address} was reset."
        )

    begin_parts = run


def find(name: str, config: Any) -> Any:
    """The target of a session at a server: reached directly where it is of this process."""
    addresses.split(_address(name))
    server = _servers.get(_address(name))
    if server is None or (config is not None and config.rpc_options.use_rpc_for_inprocess_master):
        return RemoteTarget(name, config)
    return server.target_of(config)


def reset(name: str, containers: Any, config: Any = None) -> None:
    """Makes a server close its sessions, and forget the state of some containers, or of all."""
    containers = [c if isinstance(c, str) else c.decode() for c in containers or ()]
    filters = list(config.device_filters) if config is not None else []
    server = _servers.get(_address(name))
    if server is None:
        limit = config.operation_timeout_in_ms if config is not None else 0
        remote_master.reset(name, containers, filters, limit, _credentials_at(_address(name)))
    else:
        server.master.forget(containers, filters)


def _address(target: str) -> str:
    return target.removeprefix("grpc://")
