"""The other tasks of a cluster, as one of them reaches them: directly in this process, else through gRPC."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from google.protobuf.unknown_fields import UnknownFieldSet

from weft import proto
from weft.distributed import addresses, links, rpc, wire
from weft.distributed.credentials import Credentials
from weft.distributed.links import Links
from weft.distributed.partition import task_of
from weft.framework import errors
from weft.runtime.devices import Device
from weft.runtime.rendezvous import Arrival

# How a device of weft describes itself; the name of its task's links follows, and who they lead to.
WEFT = "weft"
HANDLES = "weft-"  # how the handles of the sessions of its masters begin


_log = logging.getLogger("tensorflow")


class Peers:
    """The tasks of a cluster by name."""

    def __init__(
        self,
        cluster: Any,
        find: Callable[[str], Any],
        credentials: Credentials | None = None,
        own: bool = False,
    ):
        # The servers know of a cluster that is their own; of one that a session brings along they need not.
        self._cluster = cluster if own else None
        self.addresses: dict[str, str] = {}
        for job in cluster.job:
            for index, address in sorted(job.tasks.items()):
                self.addresses[f"/job:{job.name}/replica:0/task:{index}"] = address
        self._credentials = credentials
        self._find = find  # the worker of this process at an address, or None
        self._remote: dict[str, RemoteWorker] = {}
        self._lock = threading.Lock()

    def worker(self, task: str) -> Any:
        """The worker of a task: one of this process, or what stands for one elsewhere."""
        address = self.addresses.get(task)
        if address is None:
            raise errors.InvalidArgumentError(None, None, f"The cluster has no task {task}.")
        here = self._find(address)
        if here is not None:
            return here
        with self._lock:
            found = self._remote.get(task)
            if found is None:
                found = self._remote[task] = RemoteWorker(
                    task, address, self._credentials, self._cluster
                )
            return found

    def close(self) -> None:
        """Lets go of the links that are kept for later steps."""
        with self._lock:
            workers = list(self._remote.values())
        for worker in workers:
            if worker.links is not None:
                worker.links.close()

    def is_later(self, task: str) -> bool:
        """Whether a task is one of a TensorFlow that numbers the frames of loops in the later way."""
        worker = self.worker(task)
        return isinstance(worker, RemoteWorker) and worker.is_later()

    def receive(self, device: str, step_id: int, key: str, arrival: Arrival) -> None:
        """Asks the task of a device for a tensor of a step."""
        worker = self.worker(task_of(device))
        if isinstance(worker, RemoteWorker):
            worker.receive_into(step_id, key, arrival)
            return
        there = worker.receive(step_id, key)
        there.notify(lambda: arrival.finish(there.value, there.error))
        arrival.on_cancel = there.cancel


def described(name: str, address: str) -> str:
    """How a device describes itself: as one of weft, with the name of links to the server at an address."""
    return f"{WEFT} links={name} port={address.rpartition(':')[2]}" if name else WEFT


def links_of(words: list[str], address: str) -> str:
    """The name of links to the server at an address, if it has told it.

    A server that is reached by another port than its own is behind a proxy, or a tunnel: then there is a reason
    for the way that one has to take.
    """
    told = dict(w.split("=", 1) for w in words if "=" in w)
    if not links.enabled or told.get("port") != address.rpartition(":")[2]:
        return ""
    return told.get("links", "")


class RemoteWorker:
    """A worker in another process. Its methods are those of `Worker`, and the beginning of runs."""

    is_here = False

    def __init__(
        self,
        task: str,
        address: str,
        credentials: Credentials | None = None,
        cluster: Any = None,
    ):
        self.task, self.address = task, address
        self.is_weft = False  # as far as is known
        self.links: Links | None = None  # where it is on this host
        self._is_later: bool | None = None
        self._credentials, self._cluster = credentials, cluster
        self._stub = self._new_stub(False)
        self._untold: deque[int] = deque(maxlen=_MOST_UNTOLD)
        self._session_of: dict[
            str, str
        ] = {}  # graph -> session, of sessions with state of their own
        self._life: set[int] = set()  # the incarnations that it had when it was last asked

    def _new_stub(self, watched: bool) -> rpc.Stub:
        service = "tensorflow.WorkerService"
        return rpc.Stub(self.address, service, self._credentials, self.task, watched)

    def ask_devices(self, answer: Callable[[Any], Any]) -> Any:
        """Asks for its devices, and has it wait for a task that does not answer yet. `answer` is called
        with them, or with an error. Returns what gives up asking."""
        question = rpc.Question(self._stub, "GetStatus", proto.GetStatusRequest())

        def came(given: Any) -> None:
            devices = self._devices(given.device_attributes)
            known = [self.task] == sorted({task_of(d.name) for d in devices})
            if self._cluster is None or not self.is_weft or not known:
                answer(devices)
                return
            # A question of its own: tasks of TensorFlow have no answer to it.
            second = rpc.Question(self._stub, "GetServerDef", proto.GetStatusRequest())
            question.goes_on_as(second)
            second.ask(lambda theirs: compare(theirs, devices), answer)

        def compare(theirs: Any, devices: list[Device]) -> None:
            difference = addresses.disagreement(self._cluster, theirs)
            if difference:  # by mistake, or because ports are forwarded
                _log.warning(
                    "The members of the cluster may disagree: %s, for %s at %s.",
                    difference,
                    self.task,
                    self.address,
                )
            answer(devices)

        question.ask(came, answer)
        return question.cancel

    def _devices(self, given: Any) -> list[Device]:
        self._know(given)
        out = []
        for d in given:
            if d.device_type in ("CPU", "GPU"):
                index = int(d.name.rpartition(":")[2])
                device = Device(d.name, d.device_type, index, None, d.memory_limit, d.incarnation)
                out.append(device)
        life = {d.incarnation for d in out}
        if life != self._life:
            self._life = life
            self._untold.clear()  # with the task went what it held
        self._end_untold()
        return out

    def ask_for_life(self, alive: Callable[[], Any], gone: Callable[[Exception], Any]) -> Any:
        """Asks for a sign of life, for which a busy task has all the time that it wants: that its host or its
        process says nothing at all is noticed by gRPC. Returns what gives up asking."""
        future = self._stub.start("GetStatus", proto.GetStatusRequest())

        def done(future: Any) -> None:
            if future.cancelled():
                return
            error = future.exception()
            if error is None:
                alive()
            else:
                gone(rpc.error_of_call(error))

        future.add_done_callback(done)
        return future.cancel

    def is_later(self) -> bool:
        """Whether it numbers the frames of loops as later TensorFlows do."""
        if self._is_later is None:
            request = proto.GetStatusRequest()
            self._know(self._stub.call("GetStatus", request, _ASKING_MS).device_attributes)
        return bool(self._is_later)

    def _know(self, devices: Any) -> None:
        """Learns of which kind the task is from what it tells of its devices, and by which name of links it is
        reached where it is weft."""
        # Later TensorFlows tell more of a device than this message has fields for.
        self._is_later = any(len(UnknownFieldSet(d)) for d in devices)
        told = [d.physical_device_desc.split() for d in devices if d.physical_device_desc]
        told = [words for words in told if words[0] == WEFT]
        is_weft = bool(told)
        if is_weft != self.is_weft:
            self.is_weft = is_weft
            self._stub = self._new_stub(is_weft)
        name = links_of(told[0], self.address) if told else ""
        if self.links is None or self.links.name != name:
            if self.links is not None:
                self.links.close()
            self.links = Links(name) if name else None

    def create_session(
        self, handle: str, cluster: Any, isolate: bool, task: str = "", timeout_ms: int = 0
    ) -> None:
        request = proto.CreateWorkerSessionRequest(
            session_handle=handle, isolate_session_state=isolate
        )
        if cluster is not None:
            request.server_def.cluster.CopyFrom(cluster)
            request.server_def.protocol = "grpc"
            job, _, index = self.task[len("/job:") :].partition("/replica:0/task:")
            request.server_def.job_name, request.server_def.task_index = job, int(index)
        self._stub.call("CreateWorkerSession", request, timeout_ms, wait=False)

    def delete_session(self, handle: str) -> None:
        request = proto.DeleteWorkerSessionRequest(session_handle=handle)
        self._stub.call("DeleteWorkerSession", request, _CLOSING_MS, wait=False)

    def register(
        self, session_handle: str, graph_def: Any, created: bool, timeout_ms: int = 0
    ) -> str:
        request = proto.RegisterGraphRequest(
            session_handle=session_handle,
            graph_def=graph_def,
            create_worker_session_called=created,
        )
        handle = self._stub.call("RegisterGraph", request, timeout_ms, wait=False).graph_handle
        if created:
            self._session_of[handle] = session_handle
        return handle

    def name_session(self, request: Any) -> None:
        """Writes into a request about a graph which session it was registered in, where that has its own."""
        session = self._session_of.get(request.graph_handle)
        if session is not None:
            request.session_handle, request.create_worker_session_called = session, True

    def deregister(self, handle: str) -> None:
        request = proto.DeregisterGraphRequest(graph_handle=handle)
        self.name_session(request)
        self._session_of.pop(handle, None)
        self._stub.tell("DeregisterGraph", request)

    def log(self, **what: Any) -> Any:
        """Makes it note what it receives, or tell what it has noted."""
        return self._stub.call("Logging", proto.LoggingRequest(**what), _ASKING_MS, wait=False)

    def greet(self, timeout_ms: int) -> None:
        """Fails unless the task answers in time."""
        self._stub.call("GetStatus", proto.GetStatusRequest(), timeout_ms, wait=False)

    def begin(self, method: str, request: Any) -> Any:
        """Begins a call of a task that may not be there yet, and returns its future."""
        return self._stub.start(method, request, wait=True)

    def start(self, request: Any) -> Any:
        """Begins the run of a part, and returns the call's future."""
        return self._stub.start("RunGraph", request)

    def advance(
        self,
        handle: str,
        step_id: int,
        given: list[tuple[str, Any, Any]],
        keys: list[str],
        last: bool,
        on_failure: Callable[[Callable[[], Any]], Any],
    ) -> dict[str, Any]:
        """Feeds a step that is run in parts, and returns what is fetched."""
        request = proto.RunGraphRequest(
            graph_handle=handle,
            step_id=step_id,
            recv_key=keys,
            is_partial=True,
            is_last_partial_run=last,
            store_errors_in_response_body=True,
        )
        self.name_session(request)
        future = self.start(wire.with_tensors(request, "send", given))
        on_failure(future.cancel)
        response = rpc.result_of(future)
        if response.status_code:
            raise wire.error_of(response.status_code, response.status_error_message, None)
        return {key: wire.owned(array) for key, array in wire.tensors_of(response, "recv")}

    def receive_into(self, step_id: int, key: str, arrival: Arrival) -> None:
        """Asks for a tensor, which arrives later."""
        request = proto.RecvTensorRequest(step_id=step_id, rendezvous_key=key, dma_ok=True)
        future = self._stub.start("RecvTensor", request)
        arrival.on_cancel = future.cancel

        def came(future: Any) -> None:
            if future.cancelled():
                arrival.finish(error=errors.CancelledError(None, None, "RecvTensor was cancelled."))
                return
            error = future.exception()
            if error is not None:
                arrival.finish(error=rpc.error_of_call(error))
                return
            try:
                arrival.finish(wire.unpack(future.result()))
            except errors.OpError as e:
                arrival.finish(error=e)

        future.add_done_callback(came)

    def end_step(self, step_id: int) -> None:
        def told(came: bool) -> None:
            if not came:
                self._untold.append(step_id)
            elif self._untold:
                self._end_untold()

        self._stub.tell("CleanupGraph", proto.CleanupGraphRequest(step_id=step_id), told)

    def _end_untold(self) -> None:
        """Tells of the steps that have ended while the task could not be reached: it may hold what they sent."""
        for _ in range(len(self._untold)):
            with contextlib.suppress(IndexError):
                self.end_step(self._untold.popleft())

    def forget(self, containers: Any) -> None:
        request = proto.CleanupAllRequest(container=list(containers))
        self._stub.call("CleanupAll", request, _CLOSING_MS, wait=False)


def name_of_server(address: str, credentials: Credentials | None) -> str:
    """The task whose server is at an address, "" where none answers."""
    stub = rpc.Stub(address, "tensorflow.WorkerService", credentials)
    try:
        response = stub.call("GetStatus", proto.GetStatusRequest(), _CALLING_MS, wait=False)
    except errors.OpError:
        return ""
    finally:
        stub.close()
    return next((task_of(d.name) for d in response.device_attributes), "")


_CLOSING_MS = 5000
_ASKING_MS = 10_000
_CALLING_MS = 1000
_MOST_UNTOLD = 1000
