"""The other tasks of a cluster, as one of them reaches them: directly in this process, else through gRPC."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from weft import proto
from weft.distributed import addresses, rpc, wire
from weft.distributed.credentials import Credentials
from weft.distributed.partition import task_of
from weft.framework import errors
from weft.runtime.devices import Device
from weft.runtime.rendezvous import Arrival

WEFT = "weft"  # how a device of weft describes itself


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

    def receive(self, device: str, step_id: int, key: str, arrival: Arrival) -> None:
        """Asks the task of a device for a tensor of a step."""
        worker = self.worker(task_of(device))
        if isinstance(worker, RemoteWorker):
            worker.receive_into(step_id, key, arrival)
            return
        there = worker.receive(step_id, key)
        there.notify(lambda: arrival.finish(there.value, there.error))
        arrival.on_cancel = there.cancel


class RemoteWorker:
    """A worker in another process. Its methods are those of `Worker`, and the beginning of runs."""

    def __init__(
        self,
        task: str,
        address: str,
        credentials: Credentials | None = None,
        cluster: Any = None,
    ):
        self._address, self._cluster = address, cluster
        self.task = task
        self.is_weft = False  # as far as is known
        self._stub = rpc.Stub(address, "tensorflow.WorkerService", credentials, task)

    def devices(self, timeout_ms: int = 0) -> list[Device]:
        """Its devices; waits for a task that does not answer yet."""
        response = self._stub.call("GetStatus", proto.GetStatusRequest(), timeout_ms)
        self.is_weft = any(d.physical_device_desc == WEFT for d in response.device_attributes)
        if self._cluster is not None:
            self._check(response.device_attributes)
        out = []
        for d in response.device_attributes:
            if d.device_type in ("CPU", "GPU"):
                index = int(d.name.rpartition(":")[2])
                device = Device("", d.device_type, index, None, d.memory_limit, d.incarnation)
                out.append(device.renamed(self.task))
        return out

    def _check(self, devices: Any) -> None:
        """Raises an error where the server at the address is another task, or knows another cluster."""
        there = next((task_of(d.name) for d in devices), self.task)
        if there != self.task:
            raise errors.FailedPreconditionError(
                None,
                None,
                f"The members of the cluster disagree: {self.task} is at {self._address} here, but the server there "
                f"is {there}.",
            )
        if not self.is_weft:
            return
        theirs = self._stub.call("GetServerDef", proto.GetStatusRequest(), _ASKING_MS)
        difference = addresses.disagreement(self._cluster, theirs)
        if difference:
            raise errors.FailedPreconditionError(
                None,
                None,
                f"The members of the cluster disagree: {difference}, at {self.task} ({self._address}).",
            )

    def create_session(self, handle: str, cluster: Any, isolate: bool, task: str = "") -> None:
        request = proto.CreateWorkerSessionRequest(
            session_handle=handle, isolate_session_state=isolate
        )
        if cluster is not None:
            request.server_def.cluster.CopyFrom(cluster)
            request.server_def.protocol = "grpc"
            job, _, index = self.task[len("/job:") :].partition("/replica:0/task:")
            request.server_def.job_name, request.server_def.task_index = job, int(index)
        self._stub.call("CreateWorkerSession", request, wait=False)

    def delete_session(self, handle: str) -> None:
        request = proto.DeleteWorkerSessionRequest(session_handle=handle)
        self._stub.call("DeleteWorkerSession", request, _CLOSING_MS, wait=False)

    def register(self, session_handle: str, graph_def: Any, created: bool) -> str:
        request = proto.RegisterGraphRequest(
            session_handle=session_handle,
            graph_def=graph_def,
            create_worker_session_called=created,
        )
        return self._stub.call("RegisterGraph", request, wait=False).graph_handle

    def deregister(self, handle: str) -> None:
        self._stub.tell("DeregisterGraph", proto.DeregisterGraphRequest(graph_handle=handle))

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
            response = future.result()
            if response.is_dead:
                arrival.finish(
                    error=errors.UnimplementedError(
                        None, None, f"A dead tensor has come from {self.task}: {key}"
                    )
                )
                return
            try:
                arrival.finish(wire.unpack(response))
            except errors.OpError as e:
                arrival.finish(error=e)

        future.add_done_callback(came)

    def end_step(self, step_id: int) -> None:
        self._stub.tell("CleanupGraph", proto.CleanupGraphRequest(step_id=step_id))

    def forget(self, containers: Any) -> None:
        request = proto.CleanupAllRequest(container=list(containers))
        self._stub.call("CleanupAll", request, _CLOSING_MS, wait=False)


def name_of_server(address: str, credentials: Credentials | None) -> str:
    """The task whose server is at an address, "" where none answers."""
    stub = rpc.Stub(address, "tensorflow.WorkerService", credentials)
    try:
        response = stub.call("GetStatus", proto.GetStatusRequest(), _ASKING_MS, wait=False)
    except errors.OpError:
        return ""
    finally:
        stub.close()
    return next((task_of(d.name) for d in response.device_attributes), "")


_CLOSING_MS = 5000
_ASKING_MS = 1000
