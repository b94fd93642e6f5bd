"""The worker of a task: it keeps parts of graphs by handle, and runs its part of a step when a master says so.

`Worker` is the logic, on arrays; `WorkerService` is its form on the wire.
"""

from __future__ import annotations

import itertools
import secrets
import threading
from collections.abc import Callable, Collection
from typing import Any

from weft import proto
from weft.distributed import limits, rpc, traces, transfers, wire  # noqa: F401  (the operations of transfers)
from weft.distributed.frames import frame_id
from weft.distributed.group_leader import CollectiveCalls, GroupLeader
from weft.distributed.open_step import OpenStep
from weft.distributed.partition import life_of, task_of
from weft.distributed.runtime_ops import as_written
from weft.distributed.transfer_log import TransferLog
from weft.engine.dataflow import RECEIVES, SENDS
from weft.framework import errors
from weft.framework.graph import Graph
from weft.framework.graph_def import to_graph_def
from weft.framework.importer import extend_graph
from weft.runtime import executor
from weft.runtime.devices import Device
from weft.runtime.functions import FunctionPrograms
from weft.runtime.plan import Plan
from weft.runtime.rendezvous import Arrival, Rendezvous, key_of
from weft.runtime.resources import ResourceStore


class _Session:
    """What a master's session is at this worker: where its state is, what this task and its devices are called
    in it, and who the other tasks are."""

    def __init__(
        self, store: ResourceStore, task: str, devices: list[Device], peers: Any, own: bool
    ):
        self.store, self.task, self.devices, self.peers = store, task, devices, peers
        self.own = own  # whether the state ends with the session


class _Part:
    """A part of a graph, as the executor takes it: what it asks a session for is here."""

    _config = None

    def __init__(self, session: _Session, graph_def: Any):
        self._graph = graph = Graph()
        extend_graph(graph, as_written(graph_def))
        self.session = session
        self.resources = session.store
        self._functions = FunctionPrograms(graph)
        self._behind = self
        self._steps: set[Any] = set()
        feeds, fetches, targets = {}, {}, []
        for op in graph._ops.values():
            if op._attrs.get("client_terminated") and op.type in RECEIVES:
                feeds[_key(op)] = op._outputs[0]
            elif op._attrs.get("client_terminated") and op.type in SENDS:
                fetches[_key(op)] = op._inputs[0]
            else:
                targets.append(op)
        self.feed_keys, self.fetch_keys = tuple(feeds), tuple(fetches)
        self.fetch_types = [t.dtype for t in fetches.values()]
        self.plan = Plan(
            graph,
            list(fetches.values()),
            targets,
            list(feeds.values()),
            self._functions,
            session.devices,
        )
        self._open_plan: Plan | None = None

    @property
    def open_plan(self) -> Plan:
        """The plan of steps that are run in parts: what is fed is waited for, what is fetched is sent."""
        if self._open_plan is None:
            ops = list(self._graph._ops.values())
            self._open_plan = Plan(self._graph, [], ops, [], self._functions, self.session.devices)
        return self._open_plan

    def store_of(self, device: Device) -> ResourceStore:
        return self.session.store


def _key(op: Any) -> str:
    a = op._attrs
    return key_of(
        a["send_device"].decode(),
        a["send_device_incarnation"],
        a["recv_device"].decode(),
        a["tensor_name"].decode(),
    )


class Worker:
    """The worker of one task."""

    is_weft = True
    is_here = True

    def __init__(self, server: Any):
        self._server = server
        self.leader: GroupLeader = server.leader
        self.task = "/job:%s/replica:0/task:%d" % server.task
        self._sessions: dict[str, _Session] = {}
        self._shared = _Session(server.store, self.task, self.devices(), server.peers, False)
        # The devices by all names that they have, and which life of theirs it is.
        self._lives = {d.name: d.incarnation for d in self._shared.devices}
        self._parts: dict[str, _Part] = {}
        self._handles = itertools.count()
        self._prefix = secrets.token_hex(8)
        self._rendezvous: dict[int, Rendezvous] = {}
        self._open: dict[int, OpenStep] = {}  # steps that are run in parts
        self._lock = threading.Lock()
        self.log = TransferLog()

    @property
    def address(self) -> str:
        return self._server.address

    def devices(self) -> list[Device]:
        return self._server.devices(*self._server.task)

    @property
    def server_def(self) -> Any:
        return self._server.server_def

    @property
    def description(self) -> str:
        """How the devices describe themselves to others."""
        return self._server.description

    def greet(self, timeout_ms: int) -> None:
        """A worker of this process is there."""

    def ask_devices(self, answer: Callable[[Any], Any]) -> None:
        answer(self.devices())

    # -- sessions and graphs ---------------------------------------------------------------------------

    def create_session(
        self, handle: str, cluster: Any, isolate: bool, task: str = "", timeout_ms: int = 0
    ) -> None:
        """Begins a master's session, with a cluster of its own where one is given."""
        peers, devices = self._server.peers, self._shared.devices
        if cluster is not None:
            peers = self._server.peers_of(cluster)
            devices = [d.renamed(task) for d in devices]
            self._lives.update((d.name, d.incarnation) for d in devices)
        limits.hold("sessions", self._server.limits.sessions, len(self._sessions))
        store = ResourceStore(self._server.store.collectives) if isolate else self._server.store
        self._sessions[handle] = _Session(store, task or self.task, devices, peers, isolate)

    def delete_session(self, handle: str) -> None:
        session = self._sessions.pop(handle, None)
        if session is None:
            return
        for graph, part in list(self._parts.items()):
            if part.session is session:
                self._parts.pop(graph, None)
        if session.own:
            session.store.close()

    def register(
        self, session_handle: str, graph_def: Any, created: bool, timeout_ms: int = 0
    ) -> str:
        """Takes a part of a graph, and returns its handle."""
        life = life_of(graph_def)
        if life is not None and life != self._server.incarnation:
            raise self._restarted("RegisterGraph", f"{life:016x}", self._server.incarnation)
        session = self._shared
        if created:
            found = self._sessions.get(session_handle)
            if found is None:
                raise errors.AbortedError(
                    None,
                    None,
                    f"Session handle is not found: {session_handle}. Possibly this worker "
                    f'("{self.task}") just restarted.',
                )
            session = found
        limits.hold("graphs", self._server.limits.graphs, len(self._parts))
        part = _Part(session, graph_def)
        handle = f"{self._prefix}{next(self._handles):016x}"
        self._parts[handle] = part
        return handle

    def deregister(self, handle: str) -> None:
        part = self._parts.pop(handle, None)
        if part is None:
            raise _unknown_graph(handle)
        for step_id, run in list(self._open.items()):
            if run.step.extra["part"] is part:
                self.end_step(step_id)
        for step in list(part._steps):
            step.cancel(errors.CancelledError(None, None, "The graph was deregistered."))

    # -- steps ------------------------------------------------------------------------------------------

    def rendezvous(self, step_id: int) -> Rendezvous:
        """Where the tensors of a step meet. Who asks for one may come before the step does."""
        found = self._rendezvous.get(step_id)
        if found is None:
            found = self._rendezvous.setdefault(step_id, Rendezvous())
        return found

    def new_step(self, handle: str) -> executor.Step:
        """A step of a part, which may be cancelled before it is run."""
        part = self._parts.get(handle)
        if part is None:
            raise _unknown_graph(handle)
        step = executor.Step(part)
        step.extra["part"] = part
        return step

    def run(
        self,
        step: executor.Step,
        step_id: int,
        feeds: dict[str, Any],
        keys: list[str],
        options: Any = None,
        metadata: Any = None,
    ) -> dict[str, Any]:
        """Runs a part of a step on what is fed by key, and returns what is fetched by key."""
        part: _Part = step.extra["part"]
        rendezvous = self.rendezvous(step_id)
        rendezvous.has_step = True
        traced = options is not None and options.trace_level and metadata is not None
        log = self.log if traced or self.log.enabled else None
        step.extra["transfers"] = _Transfers(rendezvous, part.session, step_id, step.carrier, log)
        try:
            values = [feeds[key] for key in part.feed_keys]
            wanted = [part.fetch_keys.index(key) for key in keys]
        except (KeyError, ValueError) as e:
            raise errors.InvalidArgumentError(
                None, None, f"The part of the graph has no such key: {e}"
            ) from None
        try:
            results = executor.run(part, part.plan, values, options, metadata, step)
        except errors.OpError as e:
            # Whoever waits for what this part would have sent is told why it does not come.
            text = f"From {part.session.task}:\n{wire.text_of(e)}"
            rendezvous.abort(errors.error_from_code(None, None, text, e.error_code))
            raise
        if rendezvous.end():
            self._rendezvous.pop(step_id, None)
        if traced and not self.log.enabled:
            self.log.take(step_id, metadata.step_stats)
        if metadata is not None and options is not None and options.output_partition_graphs:
            del metadata.partition_graphs[:]
            metadata.partition_graphs.append(to_graph_def(part._graph))
        return {key: results[i] for key, i in zip(keys, wanted)}

    def dtype_of(self, handle: str, key: str) -> Any:
        """The type of what is fetched by a key."""
        part = self._parts[handle]
        return part.fetch_types[part.fetch_keys.index(key)]

    def advance(
        self,
        handle: str,
        step_id: int,
        given: list[tuple[str, Any, Any]],
        keys: list[str],
        last: bool,
        on_failure: Any,
    ) -> dict[str, Any]:
        """Feeds a step that is run in parts, with (key, value, dtype), and returns what is fetched by key.

        Who is handed to `on_failure` is called to end the step."""
        run = self._open_step(handle, step_id, {key for key, _, _ in given}, keys)
        given_up = errors.CancelledError(None, None, "RunGraph was cancelled.")
        on_failure(lambda: run.step.cancel(given_up))
        try:
            found = run.advance({key: value for key, value, _ in given}, keys)
            if last:
                run.finish()
        except errors.OpError:
            self._open.pop(step_id, None)
            raise
        if last:
            self._open.pop(step_id, None)
            if run.rendezvous.end():
                self._rendezvous.pop(step_id, None)
        return found

    def _open_step(
        self, handle: str, step_id: int, feeds: Collection[str], fetches: Collection[str]
    ) -> OpenStep:
        """The step of an id that is run in parts; it is begun by the first call."""
        with self._lock:
            found = self._open.get(step_id)
            step = self.new_step(handle) if found is None else found.step
            part: _Part = step.extra["part"]
            unknown = set(feeds).difference(part.feed_keys)
            unknown |= set(fetches).difference(part.fetch_keys)
            if unknown:
                raise errors.InvalidArgumentError(
                    None, None, f"The part of the graph has no such key: {min(unknown)}"
                )
            if found is None:
                rendezvous = self.rendezvous(step_id)
                rendezvous.has_step = True
                step.extra["transfers"] = _Transfers(rendezvous, part.session, step_id, None, None)
                found = self._open[step_id] = OpenStep(step, part.open_plan, rendezvous, rpc.pool)
        return found

    def receive(self, step_id: int, key: str) -> Arrival:
        """A tensor that this task sends in a step."""
        pieces = key.split(";")
        if len(pieces) != 5:
            raise errors.InvalidArgumentError(None, None, f"Invalid rendezvous key: {key}")
        life = self._lives.get(pieces[0])
        if life is None:
            raise errors.InvalidArgumentError(
                None, None, f"{pieces[0]} is no device of {self.task}: {key}"
            )
        if pieces[1] != f"{life:016x}":
            raise self._restarted("RecvTensor", pieces[1], life)
        rendezvous = self.rendezvous(step_id)
        arrival = rendezvous.receive(key)
        if rendezvous.is_over():
            self._rendezvous.pop(step_id, None)

        def give_up() -> None:
            # Who asks after the end of a failed step must not leave anything behind.
            if rendezvous.give_up(key, arrival):
                self._rendezvous.pop(step_id, None)

        arrival.on_cancel = give_up
        return arrival

    def _restarted(self, method: str, wanted: str, life: int) -> errors.OpError:
        return errors.AbortedError(
            None,
            None,
            f"{method} expects a different device incarnation: {wanted} vs. {life:016x}. Your worker job "
            f'("{self.task}") was probably restarted. Check your worker job for the reason why it was restarted.',
        )

    def end_step(self, step_id: int) -> None:
        """Forgets what is left of a step."""
        error = errors.AbortedError(None, None, f"Step {step_id} has ended.")
        still_open = self._open.pop(step_id, None)
        if still_open is not None:
            still_open.step.cancel(error)
        found = self._rendezvous.pop(step_id, None)
        if found is not None:
            found.abort(error)

    def forget(self, containers: Any) -> None:
        self._server.store.clear(list(containers))

    def stop(self) -> None:
        """Cancels what runs."""
        error = errors.CancelledError(None, None, "The server has been stopped.")
        for part in list(self._parts.values()):
            for step in list(part._steps):
                step.cancel(error)


def _unknown_graph(handle: str) -> errors.OpError:
    return errors.AbortedError(
        None,
        None,
        f"Graph handle is not found: {handle}. Possibly, this worker just restarted.",
    )


class _Transfers:
    """The tensors that a part of a step sends and receives."""

    def __init__(
        self,
        rendezvous: Rendezvous,
        session: _Session,
        step_id: int,
        carrier: Any,
        log: TransferLog | None,
    ):
        self._rendezvous, self._session, self._step_id = rendezvous, session, step_id
        self._log = log
        self._carrier = carrier  # to other tasks, or None

    def send(self, key: str, value: Any) -> None:
        """Sends a tensor, or leaves it for whoever asks for it."""
        if self._carrier is not None:
            task = task_of(key.split(";", 3)[2])
            if self._carrier.carries(task):
                self._carrier.push(task, key, value)
                return
        self._rendezvous.send(key, value)

    def where(self, position: Any, device: str) -> str:
        """Where in loops a tensor is that is sent to, or received from, the task of a device."""
        if position is None:
            return "0:0"
        path, iteration = position
        return f"{frame_id(path, self._session.peers.is_later(task_of(device)))}:{iteration}"

    def receive(self, device: str, key: str) -> Arrival:
        """A tensor that is sent here, or at the task of another device."""
        task = task_of(device)
        if task == self._session.task:
            return self._rendezvous.receive(key)
        if self._carrier is not None and self._carrier.carries(task):
            arrival = self._carrier.receive(key)
        else:
            arrival = Arrival()
            self._session.peers.receive(device, self._step_id, key, arrival)
        return arrival if self._log is None else self._log.timed(self._step_id, key, arrival)


class WorkerService(CollectiveCalls):
    """A worker's form on the wire."""

    def __init__(self, worker: Worker):
        self._worker = worker
        self._leader = worker.leader

    def get_status(self, request: Any, call: Any) -> Any:
        from weft.distributed.master import describe

        response = proto.GetStatusResponse()
        for device in self._worker.devices():
            describe(device, self._worker.description, response.device_attributes.add())
        return response

    def get_server_def(self, request: Any, call: Any) -> Any:
        """What this task knows of its cluster, for others of weft. The rest of its configuration is its own."""
        known = self._worker.server_def
        return proto.ServerDef(
            cluster=known.cluster, job_name=known.job_name, task_index=known.task_index
        )

    def create_worker_session(self, request: Any, call: Any) -> Any:
        server = request.server_def
        cluster = server.cluster if server.cluster.job else None
        task = ""
        if cluster is not None:
            task = f"/job:{server.job_name}/replica:0/task:{server.task_index}"
        self._worker.create_session(
            request.session_handle, cluster, request.isolate_session_state, task
        )
        return proto.CreateWorkerSessionResponse()

    def delete_worker_session(self, request: Any, call: Any) -> Any:
        self._worker.delete_session(request.session_handle)
        return proto.DeleteWorkerSessionResponse()

    def register_graph(self, request: Any, call: Any) -> Any:
        handle = self._worker.register(
            request.session_handle, request.graph_def, request.create_worker_session_called
        )
        return proto.RegisterGraphResponse(graph_handle=handle)

    def deregister_graph(self, request: Any, call: Any) -> Any:
        self._worker.deregister(request.graph_handle)
        return proto.DeregisterGraphResponse()

    def run_graph(self, request: Any, call: Any) -> Any:
        response = proto.RunGraphResponse()
        try:
            return self._run(request, response, call)
        except Exception as e:
            if not request.store_errors_in_response_body:
                raise
            error = wire.as_op_error(e)
            response.Clear()
            response.status_code = error.error_code
            response.status_error_message = wire.text_of(error)
        return response

    def _run(self, request: Any, response: Any, call: Any) -> Any:
        worker = self._worker
        if request.is_partial:
            return self._advance(request, response, call)
        step = worker.new_step(request.graph_handle)
        given_up = errors.CancelledError(None, None, "RunGraph was cancelled.")
        if not call.add_callback(lambda: step.cancel(given_up)):
            raise given_up
        feeds = dict(wire.tensors_of(request, "send"))
        options, metadata = traces.wanted(request.exec_opts)
        found = worker.run(step, request.step_id, feeds, list(request.recv_key), options, metadata)
        traces.tell(metadata, response)
        handle = request.graph_handle
        tensors = [(key, value, worker.dtype_of(handle, key)) for key, value in found.items()]
        return wire.with_tensors(response, "recv", tensors)

    def _advance(self, request: Any, response: Any, call: Any) -> Any:
        worker = self._worker
        part_of_call = [True]

        def on_failure(cancel: Any) -> None:
            call.add_callback(lambda: cancel() if part_of_call[0] else None)

        given = [(key, value, None) for key, value in wire.tensors_of(request, "send")]
        try:
            found = worker.advance(
                request.graph_handle,
                request.step_id,
                given,
                list(request.recv_key),
                request.is_last_partial_run,
                on_failure,
            )
        finally:
            part_of_call[0] = False  # the step outlives the call
        handle = request.graph_handle
        tensors = [(key, value, worker.dtype_of(handle, key)) for key, value in found.items()]
        return wire.with_tensors(response, "recv", tensors)

    def recv_tensor(self, request: Any, call: Any) -> Any:
        arrival = self._worker.receive(request.step_id, request.rendezvous_key)
        if not call.add_callback(arrival.cancel):  # called at the end, however it comes
            arrival.cancel()
        value = arrival.wait()
        return wire.pack(value)

    def cleanup_graph(self, request: Any, call: Any) -> Any:
        self._worker.end_step(request.step_id)
        return proto.CleanupGraphResponse()

    def cleanup_all(self, request: Any, call: Any) -> Any:
        self._worker.forget(request.container)
        return proto.CleanupAllResponse()

    def logging(self, request: Any, call: Any) -> Any:
        """Begins or ends noting what the worker receives from others, and gives what it has noted of steps."""
        log, response = self._worker.log, proto.LoggingResponse()
        if request.enable_rpc_logging:
            log.enabled = True
        elif request.disable_rpc_logging or not request.fetch_step_id:
            log.enabled = False
        for step_id in request.fetch_step_id:
            log.take(step_id, response.step.add(step_id=step_id).step_stats)
        if request.clear:
            log.clear()
        return response

    def tracing(self, request: Any, call: Any) -> Any:
        """Steps are traced as they are run. TensorFlow's workers answer the same."""
        raise errors.UnimplementedError(None, None, "Tracing")

    def recv_buf(self, request: Any, call: Any) -> Any:
        """Collectives of weft move their tensors by XLA: no buffer is ever there for others."""
        raise errors.UnimplementedError(
            None,
            None,
            f"RecvBuf is not supported by workers of weft: {request.buf_rendezvous_key!r}. Groups of collective "
            "operations are made of tasks of one implementation.",
        )
