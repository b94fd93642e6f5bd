"""The collectives of a cluster: how a task finds the members of its groups, by TensorFlow's own protocol, and how
the one task that leads answers.

The members of a group of weft meet at a service of XLA's, which the leader starts for them and whose address it
puts where TensorFlow has the key of a communicator.
"""

from __future__ import annotations

import secrets
import socket
import threading
from typing import Any

from weft import proto
from weft.distributed import gloo, rpc
from weft.distributed.lane import Lane
from weft.framework import errors
from weft.framework.dtypes import as_dtype
from weft.runtime.collectives import Collectives, Groups, Members, differ, no_source, two_sources
from weft.runtime.rendezvous import Arrival

_WEFT = b"weft:"
# Of the types of collectives, as they travel.
_KINDS = {0: "Reduce", 1: "Broadcast", 2: "Gather"}
_PATIENCE_MS = 5000  # a task that takes longer to say that it is there is not there
_STEP_IDS = 56  # bits: the others are TensorFlow's to use


def leading_task(cluster: Any, config: Any = None) -> str:
    """The task that knows all groups: the one that the configuration names, else the chief or first worker."""
    named = config.experimental.collective_group_leader if config is not None else ""
    if named:
        return named
    jobs = {job.name: sorted(job.tasks) for job in cluster.job}
    job = next((j for j in ("chief", "worker") if jobs.get(j)), min(jobs))
    return f"/job:{job}/replica:0/task:{jobs[job][0]}"


def _host(address: str) -> str:
    host = address.rpartition(":")[0].strip("[]")
    return "127.0.0.1" if host in ("", "localhost") else host


def _started(host: str, processes: int, attempts: int = 5) -> tuple[str, Any]:
    """A service of XLA's at a port that is free, and its address."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as s:
        s.bind((host, 0))
        address = f"{f'[{host}]' if ':' in host else host}:{s.getsockname()[1]}"
    try:
        return address, gloo.start_meeting(address, processes)
    except RuntimeError:  # somebody else has taken the port
        if attempts <= 1:
            raise
        return _started(host, processes, attempts - 1)


class _Asked:
    """What a member says that it asks for."""

    merge, final = "Add", "Id"  # these do not travel

    def __init__(self, request: Any):
        self.device, self.is_source = request.device, request.is_source
        self.group_key, self.group_size = request.group_key, request.group_size
        self.instance_key = request.instance_key
        self.kind = _KINDS.get(request.type, "Undefined")
        self.dtype = as_dtype(request.data_type).as_numpy_dtype
        self.shape = tuple(d.size for d in request.shape.dim)

    @property
    def asked(self) -> tuple[Any, ...]:
        return self.kind, self.dtype, self.shape


class _Instance:
    """What is known of an instance."""

    def __init__(self, members: Members, first: _Asked):
        self.members, self.first = members, first
        self.known: set[str] = set()
        self.source = ""
        self.waiting: list[Arrival] = []


class GroupLeader:
    """What the leader knows; every task could lead, and most are never asked."""

    def __init__(self, address: str):
        self._address = address
        self.groups = Groups(self._meeting)
        self._lock = threading.Lock()
        self._meetings: dict[int, Any] = {}
        self._instances: dict[tuple[int, int], _Instance] = {}
        self._steps: dict[int, int] = {}

    def _meeting(self, key: int, processes: list[str]) -> bytes:
        """Starts what so many tasks need to find each other; gives its address."""
        if len(processes) < 2:
            return b""
        address, service = _started(_host(self._address), len(processes))
        with self._lock:
            self._meetings[key] = service  # the one before is over
        return _WEFT + address.encode()

    def complete_instance(self, request: Any) -> Arrival:
        """Checks that a member asks for what the others ask for; gives the rank of a broadcast's source, once all
        members have come."""
        arrival = Arrival()
        asked = _Asked(request)
        group = self.groups.members_with(request.group_key, request.device)
        coming: Any = Arrival()
        if group is not None:
            coming.finish(group)
        else:
            coming = self.groups.join(
                asked.group_key, asked.group_size, request.device_type, asked.device, request.name
            )

        def came() -> None:
            try:
                self._complete(coming.result(), asked, arrival)
            except errors.OpError as e:
                arrival.finish(error=e)

        coming.notify(came)
        return arrival

    def _complete(self, members: Members, asked: _Asked, arrival: Arrival) -> None:
        with self._lock:
            key = asked.group_key, asked.instance_key
            instance = self._instances.get(key)
            if instance is None or instance.members is not members:
                instance = self._instances[key] = _Instance(members, asked)
            if asked.asked != instance.first.asked:
                raise differ(asked.instance_key, asked, instance.first)
            if asked.kind != "Broadcast":
                ready, source = [arrival], -1
            else:
                if asked.is_source:
                    if instance.source not in ("", asked.device):
                        raise two_sources(asked.instance_key, instance.source, asked.device)
                    instance.source = asked.device
                instance.known.add(asked.device)
                instance.waiting.append(arrival)
                if len(instance.known) < len(members.devices):
                    return
                ready, instance.waiting = instance.waiting, []
                if not instance.source:
                    error = no_source(asked.instance_key, len(instance.known))
                    for waiting in ready:
                        waiting.finish(error=error)
                    return
                source = members.devices.index(instance.source)
        for waiting in ready:
            waiting.finish(source)

    def next_steps(self, keys: list[int]) -> list[tuple[int, int]]:
        """The next step of each graph, by key."""
        with self._lock:
            return [(k, self._steps.setdefault(k, secrets.randbits(_STEP_IDS))) for k in keys]


class CollectiveCalls:
    """The calls of the worker service that concern collectives; `_leader` answers them."""

    _leader: GroupLeader

    def complete_group(self, request: Any, call: Any) -> Any:
        if len(request.device_name) < 1:
            raise errors.InvalidArgumentError(None, None, "CompleteGroup names no device.")
        arrival = self._leader.groups.join(
            request.group_key, request.group_size, request.device_type, request.device_name[0]
        )
        members = _awaited(arrival, call)
        return proto.CompleteGroupResponse(
            group_key=request.group_key,
            group_size=len(members.devices),
            device_type=request.device_type,
            num_tasks=len(members.processes),
            device_name=members.devices,
            task_name=members.tasks,
            communicator_key=members.meeting,
        )

    def complete_instance(self, request: Any, call: Any) -> Any:
        source = _awaited(self._leader.complete_instance(request), call)
        return proto.CompleteInstanceResponse(instance_key=request.instance_key, source_rank=source)

    def get_step_sequence(self, request: Any, call: Any) -> Any:
        response = proto.GetStepSequenceResponse()
        for key, step in self._leader.next_steps(list(request.graph_key)):
            response.step_sequence.add(graph_key=key, next_step_id=step)
        return response


def _awaited(arrival: Arrival, call: Any) -> Any:
    if not call.add_callback(arrival.cancel):
        arrival.cancel()
    return arrival.wait()


class _GroupsOfCluster:
    """How a task finds the members of its groups: it asks the leader."""

    def __init__(self, task: str, leading: str, leader: GroupLeader, peers: Any):
        self._task, self._leading, self._leader, self._peers = task, leading, leader, peers

    def join(self, key: int, size: int, kind: str, device: str, name: str = "") -> Arrival:
        if self._leading == self._task:
            return self._leader.groups.join(key, size, kind, device, name)
        worker = self._peers.worker(self._leading)
        if worker.is_here:
            return worker.leader.groups.join(key, size, kind, device, name)
        arrival = Arrival()
        request = proto.CompleteGroupRequest(
            group_key=key, group_size=size, device_type=kind, device_name=[device]
        )
        future = worker.begin("CompleteGroup", request)
        arrival.on_cancel = future.cancel

        def came(future: Any) -> None:
            if future.cancelled():
                arrival.finish(
                    error=errors.CancelledError(None, None, "CompleteGroup was cancelled.")
                )
            elif future.exception() is not None:
                arrival.finish(error=rpc.error_of_call(future.exception()))
            else:
                r = future.result()
                arrival.finish(
                    Members(tuple(r.device_name), tuple(r.task_name), r.communicator_key)
                )

        future.add_done_callback(came)
        return arrival


def collectives_of(server: Any, leader: GroupLeader) -> Collectives:
    """The collectives of a task of a cluster."""
    task = "/job:%s/replica:0/task:%d" % server.task
    leading = leading_task(server.server_def.cluster, server.server_def.default_session_config)
    host = _host(server.address)

    def open_lane(members: Members, task: str) -> Lane:
        if server.credentials is not None and not host.startswith("127."):
            raise errors.FailedPreconditionError(
                None,
                None,
                f"{task} has credentials, and listens at {server.address}: the connections between the members of a "
                "group are neither encrypted nor authenticated. Use servers without credentials in a network that "
                "nobody else can reach, or members on one machine.",
            )
        if not members.meeting.startswith(_WEFT):
            raise errors.UnimplementedError(
                None,
                None,
                f"The group is led by {leading}, which is not weft: weft's tasks run collectives among themselves "
                "only.",
            )
        address = members.meeting[len(_WEFT) :].decode()
        processes = members.processes
        rank = processes.index(task)
        return Lane(
            members,
            task,
            lambda: gloo.Clique(address, rank, len(processes), host),
            lambda other: server.peers.worker(other).greet(_PATIENCE_MS),
        )

    return Collectives(_GroupsOfCluster(task, leading, leader, server.peers), open_lane, task)
