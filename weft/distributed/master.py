"""The master service of a server: sessions by handle. It takes and gives messages and knows no transport.

A session of a remote client is a session of weft over a graph that grows by what the client sends.
"""

from __future__ import annotations

import copy
import itertools
import secrets
import threading
from typing import Any

from weft import proto
from weft.distributed import limits, wire
from weft.distributed.peers import HANDLES
from weft.framework import errors
from weft.framework.graph import Graph
from weft.framework.importer import extend_graph
from weft.runtime import executor
from weft.runtime.devices import Device
from weft.runtime.fetches import Fetches
from weft.runtime.recent_cache import RecentCache
from weft.runtime.session import BaseSession

_KEPT_KINDS = 256  # kinds of step of which the parsed names are kept


class MasterSession:
    """A client's session."""

    def __init__(self, handle: str, target: str, config: Any):
        self.handle = handle
        self.version = 0
        self.graph = Graph()
        self.callables: dict[int, _Callable] = {}
        self.callable_ids = itertools.count()
        self._lock = threading.Lock()
        self._kinds: RecentCache = RecentCache(_KEPT_KINDS)
        own = proto.ConfigProto()
        own.CopyFrom(config)
        own.rpc_options.use_rpc_for_inprocess_master = False
        self.session = BaseSession(target, self.graph, own)

    def extend(self, graph_def: Any, version: int) -> int:
        """Adds nodes to the graph, which the client has last seen at a version; returns the new one."""
        with self._lock:
            if version != self.version:
                raise errors.AbortedError(
                    None,
                    None,
                    f"Current version is {self.version} but caller expected {version}.",
                )
            extend_graph(self.graph, graph_def)
            self.version += 1
            return self.version

    def kind(
        self, feeds: tuple[str, ...], fetches: tuple[str, ...], targets: tuple[str, ...]
    ) -> Any:
        """The fed tensors and the fetches of some names."""
        key = (feeds, fetches, targets)
        found = self._kinds.get(key)
        if found is None:
            found = (
                [self._tensor(name, "FeedInputs: unable to find feed output") for name in feeds],
                self._fetches(fetches, targets),
            )
            self._kinds.put(key, found)
        return found

    def _tensor(self, name: str, what: str) -> Any:
        node, colon, index = name.rpartition(":")
        op = self.graph._ops.get(node if colon else name)
        if op is None:
            raise errors.NotFoundError(None, None, f"{what} {name}")
        i = int(index) if colon and index.isdigit() else 0
        if i >= len(op._outputs):
            raise errors.InvalidArgumentError(
                None, None, f"{what} {name}: output {i} of {op.name}, which has {len(op._outputs)}"
            )
        return op._outputs[i]

    def _fetches(self, fetches: tuple[str, ...], targets: tuple[str, ...]) -> Fetches:
        tensors = [self._tensor(name, "FetchOutputs node not found:") for name in fetches]
        ops = []
        for name in targets:
            op = self.graph._ops.get(name)
            if op is None:
                raise errors.NotFoundError(
                    None, None, f"PruneForTargets: Some target nodes not found: {name}"
                )
            ops.append(op)
        return Fetches(self.graph, [*tensors, *ops])

    def run(self, request: Any, response: Any, step: Any) -> Any:
        """Runs a step, and gives the response with what it fetched."""
        fed = wire.tensors_of(request, "feed")
        names = tuple(name for name, _ in fed)
        if len(set(names)) != len(names):
            twice = next(n for n in names if names.count(n) > 1)
            raise errors.InvalidArgumentError(None, None, f"Duplicated feeds: {twice}")
        fetches = tuple(dict.fromkeys(request.fetch))
        feeds, handler = self.kind(names, fetches, tuple(request.target))
        values = [_checked(tensor, value) for tensor, (_, value) in zip(feeds, fed)]
        if request.partial_run_handle:
            results = self.session._advance(
                request.partial_run_handle, handler, feeds, values, request.options
            )
        else:
            try:
                results = self.session._step(
                    handler, tuple(feeds), values, request.options, response.metadata, step
                )
            except errors.CancelledError:
                if not self.session._closed:
                    raise
                raise errors.CancelledError(
                    None, None, "Step was cancelled by an explicit call to `Session::Close()`."
                ) from None
        by_tensor = dict(zip(handler.tensors, results))
        wanted = [(name, self._tensor(name, "")) for name in fetches]
        fetched = [(name, by_tensor[t], t.dtype) for name, t in wanted]
        return wire.with_tensors(response, "tensor", fetched)

    def make_callable(self, options: Any) -> int:
        """Prepares a kind of step, and returns its handle."""
        handle = next(self.callable_ids)
        self.callables[handle] = _Callable(self, options)
        return handle

    def close(self) -> None:
        self.session.close()


class _Callable:
    """A kind of step that is run by its handle."""

    def __init__(self, session: MasterSession, options: Any):
        names = (
            tuple(options.feed),
            tuple(dict.fromkeys(options.fetch)),
            tuple(options.target),
        )
        self._session, self._options = session.session, options.run_options
        if options.tensor_connection:
            # Its tensors are those of another graph, with the connections made.
            self._session = session.session._connected(options.tensor_connection)
            session = copy.copy(session)
            session.graph, session._kinds = self._session.graph, RecentCache(_KEPT_KINDS)
        self._feeds, self._handler = session.kind(*names)
        self._fetches = [session._tensor(name, "") for name in options.fetch]

    def run(self, request: Any, response: Any, step: Any) -> None:
        if len(request.feed) != len(self._feeds):
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Expected {len(self._feeds)} feed tensors, but got {len(request.feed)}.",
            )
        values = [
            _checked(tensor, wire.from_message(f)) for tensor, f in zip(self._feeds, request.feed)
        ]
        results = self._session._step(
            self._handler, tuple(self._feeds), values, self._options, response.metadata, step
        )
        by_tensor = dict(zip(self._handler.tensors, results))
        for tensor in self._fetches:
            wire.to_message(by_tensor[tensor], tensor.dtype, response.fetch.add())


def _checked(tensor: Any, value: Any) -> Any:
    """The value that is fed for a tensor, if it is of the tensor's type."""
    dtype = tensor.dtype.base_dtype
    if dtype.np is not None and value.dtype != dtype.np:
        raise errors.InvalidArgumentError(
            tensor.op.node_def,
            tensor.op,
            f"The feed {tensor.name} must be {dtype.name}, but {value.dtype} came.",
        )
    return value


class Master:
    """The master service of one server."""

    def __init__(self, server: Any):
        self._server = server
        self._sessions: dict[str, MasterSession] = {}

    def _session(self, handle: str) -> MasterSession:
        found = self._sessions.get(handle)
        if found is None:
            raise errors.AbortedError(
                None,
                None,
                f"Session {handle} is not found. Possibly, this master has restarted.",
            )
        return found

    def create_session(self, request: Any, call: Any) -> Any:
        limits.hold("sessions", self._server.limits.sessions, len(self._sessions))
        handle = HANDLES + secrets.token_hex(8)
        session = MasterSession(handle, self._server.target, request.config)
        try:
            session.extend(request.graph_def, 0)
        except BaseException:
            session.close()
            raise
        self._sessions[handle] = session
        return proto.CreateSessionResponse(session_handle=handle, graph_version=session.version)

    def extend_session(self, request: Any, call: Any) -> Any:
        session = self._session(request.session_handle)
        version = session.extend(request.graph_def, request.current_graph_version)
        return proto.ExtendSessionResponse(new_graph_version=version)

    def run_step(self, request: Any, call: Any) -> Any:
        response = proto.RunStepResponse()
        try:
            session = self._session(request.session_handle)
            return session.run(request, response, _step(session.session, call))
        except Exception as e:
            # The client may want errors in the body, where a long text has room.
            if not request.store_errors_in_response_body:
                raise
            error = wire.as_op_error(e)
            response.Clear()
            response.status_code = error.error_code
            response.status_error_message = wire.text_of(error)
        return response

    def partial_run_setup(self, request: Any, call: Any) -> Any:
        session = self._session(request.session_handle)
        feeds, handler = session.kind(
            tuple(request.feed), tuple(dict.fromkeys(request.fetch)), tuple(request.target)
        )
        handle = session.session._begin_parts(handler, feeds)
        return proto.PartialRunSetupResponse(partial_run_handle=handle)

    def close_session(self, request: Any, call: Any) -> Any:
        self._session(request.session_handle)
        session = self._sessions.pop(request.session_handle, None)
        if session is not None:
            session.close()
        return proto.CloseSessionResponse()

    def list_devices(self, request: Any, call: Any) -> Any:
        response = proto.ListDevicesResponse()
        own = self._server.task
        if request.session_handle:
            devices = self._session(request.session_handle).session.devices
        else:
            devices = self._server.devices(*own)
        prefix = "/job:%s/replica:0/task:%d/" % own
        for device in devices:
            local = device.name.startswith(prefix)
            out = (response.local_device if local else response.remote_device).add()
            describe(device, self._server.description, out)
        return response

    def reset(self, request: Any, call: Any) -> Any:
        self.forget(request.container, request.device_filters)
        return proto.ResetResponse()

    def forget(self, containers: Any, filters: Any) -> None:
        """Closes all sessions, and makes the tasks that the filters cover forget the state of some containers, or
        of all."""
        for handle in list(self._sessions):
            session = self._sessions.pop(handle, None)
            if session is not None:
                session.close()
        self._server.forget(list(containers), filters)

    def make_callable(self, request: Any, call: Any) -> Any:
        session = self._session(request.session_handle)
        present = sum(len(s.callables) for s in list(self._sessions.values()))
        limits.hold("graphs", self._server.limits.graphs, present)
        return proto.MakeCallableResponse(handle=session.make_callable(request.options))

    def run_callable(self, request: Any, call: Any) -> Any:
        session = self._session(request.session_handle)
        found = session.callables.get(request.handle)
        if found is None:
            raise _no_callable(request.handle)
        response = proto.RunCallableResponse()
        found.run(request, response, _step(session.session, call))
        return response

    def release_callable(self, request: Any, call: Any) -> Any:
        session = self._session(request.session_handle)
        if session.callables.pop(request.handle, None) is None:
            raise _no_callable(request.handle)
        return proto.ReleaseCallableResponse()


def _no_callable(handle: int) -> errors.OpError:
    return errors.InvalidArgumentError(None, None, f"No such callable handle: {handle}")


def _step(session: BaseSession, call: Any) -> executor.Step:
    """A step that ends when the call that wants it is given up."""
    step = executor.Step(session)
    error = errors.CancelledError(None, None, "The client has given up the step.")
    if not call.add_callback(lambda: step.cancel(error)):
        step.cancel(error)
    return step


def describe(device: Device, description: str, out: Any) -> None:
    """Writes what is known of a device into a DeviceAttributes message."""
    out.name, out.device_type = device.name, device.kind
    out.physical_device_desc = description
    out.memory_limit, out.incarnation = device.memory_limit, device.incarnation
