"""A master in another process, as a session here sees it: the graph is sent once, then what is added to it."""

from __future__ import annotations

import contextlib
import threading
from typing import Any

import numpy as np

from weft import proto
from weft.distributed import rpc, wire
from weft.distributed.credentials import Credentials
from weft.distributed.discovery import held
from weft.distributed.peers import HANDLES
from weft.framework import errors, graph_def
from weft.runtime.alarm import Limit
from weft.runtime.devices import Device
from weft.runtime.fetches import Fetches
from weft.runtime.resources import ResourceStore


class RemoteMaster:
    """Runs the steps of a session through the master service at an address."""

    def __init__(self, target: str, config: Any, credentials: Credentials | None = None):
        self._target, self._credentials = target, credentials
        self._config = config if config is not None else proto.ConfigProto()
        self._stub = self._new_stub(watched=False)
        self._watched = False
        self._lock = threading.Lock()
        self._handle = ""
        self._version = 0  # of the graph that the master has, by its count
        self._sent = (-1, 0)  # what the master has of the graph here: first id not sent, rewrites
        self._functions = 0
        self._closed = False
        self.main_store = ResourceStore()  # nothing of a remote session is kept here

    # -- the session's life ----------------------------------------------------------------------------

    def _new_stub(self, watched: bool) -> rpc.Stub:
        address, service = self._target[len("grpc://") :], "tensorflow.MasterService"
        return rpc.Stub(address, service, self._credentials, watched=watched)

    def _send(self, graph: Any, limit: Limit) -> None:
        """Sees to it that the master has the whole graph."""
        if self._handle and self._sent == (graph._next_id, graph._rewrites):
            if self._functions == len(graph._functions):
                return
        with held(self._lock, limit), graph._lock:
            if self._closed:
                raise errors.CancelledError(None, None, "Session has been closed.")
            first, rewrites = self._sent
            state = (graph._next_id, graph._rewrites)
            if self._handle and rewrites != graph._rewrites:
                # Nodes that were sent have changed. State is the servers', not the session's, so that a new
                # session with the graph as it is now goes on where this one was.
                if self._config.isolate_session_state:
                    raise RuntimeError(
                        "Operations of the graph were changed after a session with isolated state has run it."
                    )
                self._end()
            if not self._handle:
                message = _may_be_spread(graph_def.to_graph_def(graph))
                request = proto.CreateSessionRequest(
                    graph_def=message, config=self._config, target=self._target
                )
                response = self._call("CreateSession", request, limit, graph, wait=True)
                self._watch(response.session_handle)
                self._handle, self._version = response.session_handle, response.graph_version
            else:
                message = _may_be_spread(graph_def.to_graph_def(graph, first))
                request = proto.ExtendSessionRequest(
                    session_handle=self._handle,
                    graph_def=message,
                    current_graph_version=self._version,
                )
                try:
                    response = self._call("ExtendSession", request, limit, graph)
                except (errors.DeadlineExceededError, errors.UnavailableError):
                    self._end()  # whether the master has the nodes is not known: begin anew
                    raise
                self._version = response.new_graph_version
            self._sent, self._functions = state, len(graph._functions)

    def _watch(self, handle: str) -> None:
        """Wants signs of life from a master that is known to be of weft, from now on."""
        if handle.startswith(HANDLES) != self._watched:
            before, self._watched = self._stub, not self._watched
            self._stub = self._new_stub(self._watched)
            before.close()

    def _call(
        self, method: str, request: Any, limit: Limit, graph: Any = None, wait: bool = False
    ) -> Any:
        """Calls the master. With `wait` one that is not there is waited for: where there is a session already, it
        is gone with its master."""
        try:
            return self._stub.call(method, request, limit.left_ms(), wait, graph)
        except errors.CancelledError:
            if not self._closed:
                raise
            # The channel may be closed before the master's own answer comes.
            raise errors.CancelledError(
                None, None, "Step was cancelled by an explicit call to `Session::Close()`."
            ) from None

    def _end(self) -> None:
        handle, self._handle = self._handle, ""
        if handle:
            request = proto.CloseSessionRequest(session_handle=handle)
            try:
                # A master that is gone has nothing to close, and is not waited for.
                self._stub.call("CloseSession", request, _CLOSING_MS, wait=False)
            except errors.OpError:
                pass

    def close(self) -> None:
        """Ends the session at the master, which cancels its steps."""
        self._closed = True
        self._end()
        self._stub.close()

    @property
    def devices(self) -> list[Device]:
        """The devices of the master's cluster."""
        if not self._handle:
            from weft.framework.graph import Graph

            empty = Graph()
            self._send(empty, self._limit())
            self._sent = (0, 0)
        request = proto.ListDevicesRequest(session_handle=self._handle)
        response = self._call("ListDevices", request, self._limit())
        out = []
        for d in (*response.local_device, *response.remote_device):
            index = int(d.name.rpartition(":")[2])
            out.append(Device(d.name, d.device_type, index, None, d.memory_limit, d.incarnation))
        return out

    def _limit(self, options: Any = None) -> Limit:
        """How long a call of the session may take, from now on."""
        ms = options.timeout_in_ms if options is not None else 0
        return Limit(ms or self._config.operation_timeout_in_ms)

    # -- steps ------------------------------------------------------------------------------------------

    def run(
        self,
        graph: Any,
        handler: Fetches,
        feeds: tuple[Any, ...],
        values: list[Any],
        options: Any = None,
        metadata: Any = None,
        step: Any = None,
        partial: str = "",
    ) -> list[Any]:
        """Runs a step and returns the values of its fetches."""
        limit = self._limit(options)
        self._send(graph, limit)
        request = proto.RunStepRequest(
            session_handle=self._handle,
            # Masters do not take what is both fed and fetched, and need not be asked for it.
            fetch=[t.name for t in handler.tensors if t not in feeds],
            target=[op.name for op in handler.ops],
            partial_run_handle=partial,
            store_errors_in_response_body=True,
        )
        if options is not None:
            request.options.CopyFrom(options)
        request.options.timeout_in_ms = limit.left_ms()
        fed = [(tensor.name, value, tensor.dtype) for tensor, value in zip(feeds, values)]
        response = self._call("RunStep", wire.with_tensors(request, "feed", fed), limit, graph)
        if response.status_code:
            raise wire.error_of(response.status_code, response.status_error_message, graph)
        if metadata is not None:
            metadata.CopyFrom(response.metadata)
        given = {t.name: v for t, v in zip(feeds, values) if t in handler.tensors}
        found = {name: wire.owned(np.array(value)) for name, value in given.items()}
        found.update((n, wire.owned(a)) for n, a in wire.tensors_of(response, "tensor"))
        return [found[t.name] for t in handler.tensors]

    def make_callable(self, graph: Any, options: Any) -> RemoteCallable:
        """Prepares a kind of step at the master."""
        return RemoteCallable(self, graph, options)

    def begin_parts(self, graph: Any, handler: Fetches, feeds: list[Any]) -> str:
        """Begins a step that is run in parts, and returns its handle."""
        limit = self._limit()
        self._send(graph, limit)
        request = proto.PartialRunSetupRequest(
            session_handle=self._handle,
            feed=[t.name for t in feeds],
            fetch=[t.name for t in handler.tensors],
            target=[op.name for op in handler.ops],
        )
        return self._call("PartialRunSetup", request, limit, graph).partial_run_handle


class RemoteCallable:
    """A kind of step that a master has prepared, and forgets when nobody here needs it any more."""

    def __init__(self, master: RemoteMaster, graph: Any, options: Any):
        self._master, self._graph, self._options = master, graph, options
        self._session, self._handle = "", 0

    def _prepare(self, limit: Limit) -> None:
        self._master._send(self._graph, limit)
        session = self._master._handle
        if session != self._session:
            request = proto.MakeCallableRequest(session_handle=session, options=self._options)
            response = self._master._call("MakeCallable", request, limit, self._graph)
            self._session, self._handle = session, response.handle

    def __call__(self, feeds: list[tuple[Any, Any]], metadata: Any = None) -> list[Any]:
        """Runs it on (type, value) of what it takes, and returns what it fetches."""
        limit = self._master._limit(self._options.run_options)
        self._prepare(limit)
        request = proto.RunCallableRequest(session_handle=self._session, handle=self._handle)
        for dtype, value in feeds:
            wire.to_message(value, dtype, request.feed.add())
        response = self._master._call("RunCallable", request, limit, self._graph)
        if metadata is not None:
            metadata.CopyFrom(response.metadata)
        return [wire.owned(wire.from_message(tensor)) for tensor in response.fetch]

    def __del__(self) -> None:
        master = self._master
        if self._session and self._session == master._handle and not master._closed:
            request = proto.ReleaseCallableRequest(
                session_handle=self._session, handle=self._handle
            )
            with contextlib.suppress(Exception):  # the interpreter may be going down
                master._stub.tell("ReleaseCallable", request)


_CLOSING_MS = 5000
# How a master of TensorFlow is told to write the bodies of an operation out, so that their operations run where they
# were placed. Masters of weft do so where it makes a difference.
_WRITTEN_OUT = {
    **dict.fromkeys(
        ("If", "StatelessIf", "Case", "While", "StatelessWhile"), "_lower_using_switch_merge"
    ),
    **dict.fromkeys(
        ("PartitionedCall", "StatefulPartitionedCall"), "_lower_as_multi_device_function"
    ),
}


def _may_be_spread(message: Any) -> Any:
    """Lets branches, loops and calls of a graph have operations on several tasks."""
    for nodes in (message.node, *(f.node_def for f in message.library.function)):
        for node in nodes:
            attr = _WRITTEN_OUT.get(node.op)
            if attr is not None:
                node.attr[attr].b = True
    return message


def reset(
    target: str,
    containers: Any,
    filters: Any = (),
    timeout_ms: int = 0,
    credentials: Credentials | None = None,
) -> None:
    """Makes the master at a target close its sessions and forget state."""
    stub = rpc.Stub(target[len("grpc://") :], "tensorflow.MasterService", credentials)
    request = proto.ResetRequest(container=containers, device_filters=filters)
    try:
        stub.call("Reset", request, timeout_ms)
    finally:
        stub.close()
