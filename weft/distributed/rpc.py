"""The transport: services over gRPC. It moves messages, and knows nothing of what they mean.

A service is an object with a method for each of its service's methods, in snake case. A method takes the
request and the call, and returns the response; an error of weft travels as the status of its code.

gRPC is imported by the first server or the first target that is used.
"""

from __future__ import annotations

import concurrent.futures
import os
import queue
import re
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from weft import proto
from weft.distributed import addresses, wire
from weft.distributed.credentials import Credentials
from weft.distributed.patience import PAUSE, Patience, never_sent
from weft.framework import errors

# A message may be as large as protobuf lets it be. Two servers never share a port.
_MOST_BYTES = "grpc.max_receive_message_length"
_OPTIONS = [
    ("grpc.max_send_message_length", -1),
    ("grpc.so_reuseport", 0),
]
_CHANNEL_OPTIONS = [
    *_OPTIONS,
    (_MOST_BYTES, -1),
    # A task that comes back is found soon, not after minutes.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 500),
    # How long a connection may take to come about, in spite of the name: what is longer is tried again.
    ("grpc.min_reconnect_backoff_ms", 2000),
    ("grpc.enable_http_proxy", 0),
    ("grpc.use_local_subchannel_pool", 1),
]


def keepalive_seconds() -> float:
    """After how long who says nothing is asked for a sign of life, and given up when none comes: a host that is
    gone, or a cut network, closes no connection. 0 where nobody is."""
    return max(0.0, float(os.environ.get("WEFT_KEEPALIVE_SECONDS", "30")))


def _keepalive() -> list[tuple[str, int]]:
    ms = round(1000 * keepalive_seconds())
    if not ms:
        return []
    # Both limits of time are needed: an answer to any ping is waited for, a minute if nothing else is said.
    return [
        ("grpc.keepalive_time_ms", ms),
        ("grpc.keepalive_timeout_ms", ms),
        ("grpc.http2.ping_timeout_ms", ms),
    ]


def _server_options() -> list[tuple[str, int]]:
    # A client may ask for signs of life as often as it likes. TensorFlow's servers hang up on one that does.
    return [*_OPTIONS, *_keepalive(), ("grpc.http2.max_ping_strikes", 0)]


def _channel_options(watched: bool) -> list[tuple[str, int]]:
    if not watched:
        return _CHANNEL_OPTIONS
    return [*_CHANNEL_OPTIONS, *_keepalive(), ("grpc.http2.max_pings_without_data", 0)]


_LONGEST_TEXT = 3072  # of an error in a status: headers are limited
_MOST_THREADS = 2048
_TELLING_MS = 10_000
_IDLE_SECONDS = 2.0  # after which a thread ends that has nothing to do


class DaemonPool(concurrent.futures.Executor):
    """Threads that are made as they are needed, and that do not keep a process alive.

    Steps and receivers wait inside of their calls, for as long as it takes: a pool of a fixed size would
    deadlock, and one that is joined at exit would hang.
    """

    def __init__(self, most: int = _MOST_THREADS):
        self._lock = threading.Lock()
        self._idle: list[queue.SimpleQueue[Any]] = []  # of the threads that wait, each on its own
        self._backlog: deque[Any] = deque()  # of what came when there were too many
        self._threads = 0
        self._most = most

    def submit(self, function: Callable, /, *args: Any, **kwargs: Any) -> Any:
        future: concurrent.futures.Future = concurrent.futures.Future()
        item = (future, function, args, kwargs)
        with self._lock:
            # The thread that waits for the shortest time takes it, so that those which are not needed end.
            inbox = self._idle.pop() if self._idle else None
            start = inbox is None and self._threads < self._most
            if start:
                self._threads += 1
            elif inbox is None:
                self._backlog.append(item)
        if inbox is not None:
            inbox.put(item)
        elif start:
            threading.Thread(target=self._run, args=(item,), daemon=True, name="weft-rpc").start()
        return future

    def _run(self, item: Any) -> None:
        inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
        while item is not None:
            future, function, args, kwargs = item
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(function(*args, **kwargs))
                except BaseException as e:
                    future.set_exception(e)
            del item, future, function, args, kwargs
            item = self._next(inbox)

    def _next(self, inbox: queue.SimpleQueue[Any]) -> Any:
        """What a thread does next; None when it is not needed."""
        with self._lock:
            if self._backlog:
                return self._backlog.popleft()
            self._idle.append(inbox)
        try:
            return inbox.get(timeout=_IDLE_SECONDS)
        except queue.Empty:
            pass
        with self._lock:
            if inbox in self._idle:
                self._idle.remove(inbox)
                self._threads -= 1
                return None
        return inbox.get()  # it is on its way

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Lets the threads end that have nothing to do."""
        with self._lock:
            idle, self._idle = self._idle, []
            self._threads -= len(idle)
        for inbox in idle:
            inbox.put(None)


pool = DaemonPool()  # for whatever this process does in other threads


# What tasks of weft ask each other beyond TensorFlow's protocol.
_OWN_METHODS = {
    "tensorflow.WorkerService": [
        ("GetServerDef", "/weft.WorkerService/GetServerDef", "GetStatusRequest", "ServerDef")
    ]
}


def methods_of(service: str) -> list[proto.Method]:
    """The methods of a service, TensorFlow's and weft's own."""
    own = [
        proto.Method(name, path, getattr(proto, request), getattr(proto, response))
        for name, path, request, response in _OWN_METHODS.get(service, ())
    ]
    return [*proto.service_methods(service), *own]


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def _handler(function: Callable, method: proto.Method) -> Any:
    import grpc

    status = {code.value[0]: code for code in grpc.StatusCode}
    read = wire.reader(method.request)

    def answer(data: bytes, call: Any) -> Any:
        try:
            return function(_parsed(read, data, method), call)
        except Exception as e:
            error = wire.as_op_error(e)
            text = wire.text_of(error)
            if len(text) > _LONGEST_TEXT:
                text = text[:_LONGEST_TEXT] + "... [truncated]"
            call.abort(status[error.error_code], text)

    return grpc.unary_unary_rpc_method_handler(answer, None, wire.written)


def _parsed(read: Callable[[bytes], Any], data: bytes, method: proto.Method) -> Any:
    try:
        return read(data)
    except Exception as e:  # whatever a parser says of bytes that are no message
        raise errors.InvalidArgumentError(
            None, None, f"{len(data)} bytes came that are no {method.request.DESCRIPTOR.name}: {e}"
        ) from None


def _guard(credentials: Credentials) -> Any:
    """What lets only those through who tell the token."""
    import grpc

    def refuse(data: bytes, call: Any) -> None:
        call.abort(grpc.StatusCode.UNAUTHENTICATED, "The call does not have this cluster's token.")

    refusal = grpc.unary_unary_rpc_method_handler(refuse)

    class Guard(grpc.ServerInterceptor):
        def intercept_service(self, go_on: Callable, details: Any) -> Any:
            return go_on(details) if credentials.accepts(details.invocation_metadata) else refusal

    return Guard()


class Listener:
    """What listens at an address and answers for services."""

    def __init__(
        self, hosts: list[str], port: int, credentials: Credentials | None, most_bytes: int
    ):
        import grpc

        guards = [_guard(credentials)] if credentials is not None and credentials.token else []
        options = [*_server_options(), (_MOST_BYTES, most_bytes)]
        self._server = grpc.server(DaemonPool(), options=options, interceptors=guards)
        self.port = port
        for host in hosts:  # where a port is to be found, that of the first serves for all
            at, why = addresses.bound(host, self.port), addresses.why_not(host, self.port)
            if why:
                raise OSError(why)
            try:
                if credentials is None:
                    found = self._server.add_insecure_port(at)
                else:
                    found = credentials.add_port(self._server, at)
            except RuntimeError:
                found = 0
            if not found:
                raise OSError("gRPC could not bind it")
            self.port = found

    def serve(self, name: str, service: Any) -> None:
        """Answers for a service."""
        import grpc

        by_service: dict[str, dict[str, Any]] = {}
        for m in methods_of(name):
            if hasattr(service, _snake(m.name)):
                found = by_service.setdefault(m.path.split("/")[1], {})
                found[m.name] = _handler(getattr(service, _snake(m.name)), m)
        self._server.add_generic_rpc_handlers(
            [grpc.method_handlers_generic_handler(*item) for item in by_service.items()]
        )

    def start(self) -> None:
        self._server.start()

    def stop(self) -> None:
        self._server.stop(None)


class Stub:
    """The methods of a service at an address.

    A call to one that is `watched`, which takes a server of weft, fails when its host is gone without a word.
    """

    def __init__(
        self,
        address: str,
        service: str,
        credentials: Credentials | None = None,
        who: str = "",
        watched: bool = False,
    ):
        import grpc

        self._failure = grpc.RpcError
        options = _channel_options(watched)
        if credentials is None:
            self._channel = grpc.insecure_channel(address, options=options)
        else:
            self._channel = credentials.channel(address, options)
        self._metadata = credentials.metadata if credentials is not None else None
        self._who = f"{who or 'the server'} at {address}"  # in errors
        self._shown = "which are none" if credentials is None else repr(credentials)
        self._closed = False
        self._told: set[Any] = set()
        self._calls = {
            m.name: self._channel.unary_unary(m.path, wire.written, wire.reader(m.response))
            for m in methods_of(service)
        }

    def call(
        self, method: str, request: Any, timeout_ms: int = 0, wait: bool = True, graph: Any = None
    ) -> Any:
        """Calls a method and returns the response; raises the error of the status that came back.

        With `wait` a task that cannot be reached is waited for, as TensorFlow's clients wait for a master.
        """
        patience = Patience(self._who, self._shown, timeout_ms / 1000 if timeout_ms > 0 else None)
        while True:
            try:
                return self._calls[method](request, timeout=patience.left, metadata=self._metadata)
            except self._failure as e:
                unreached = never_sent(e.details() or "")
                if not wait or not unreached or self._closed:
                    raise patience.outcome(error_of_call(e, graph)) from None
                details = e.details()
            except ValueError:
                if not self._closed:
                    raise
                raise errors.CancelledError(None, None, "The channel was closed.") from None
            patience.wait(details)

    def start(self, method: str, request: Any, wait: bool = False, timeout_ms: int = 0) -> Any:
        """Begins a call and returns its future."""
        limit = timeout_ms / 1000 if timeout_ms > 0 else None
        return self._calls[method].future(
            request, timeout=limit, metadata=self._metadata, wait_for_ready=wait
        )

    def tell(self, method: str, request: Any, then: Callable[[bool], Any] | None = None) -> None:
        """Makes a call whose answer nobody waits for; `then` is told whether it came."""
        future = self.start(method, request, timeout_ms=_TELLING_MS)
        self._told.add(future)  # a call that nobody holds is cancelled

        def done(future: Any) -> None:
            self._told.discard(future)
            if then is not None:
                then(future.code().value[0] == errors.OK)

        future.add_done_callback(done)

    def close(self) -> None:
        self._closed = True
        self._channel.close()


class Question:
    """A call that is made again until somebody is there to answer it."""

    def __init__(self, stub: Stub, method: str, request: Any):
        self._stub, self._method, self._request = stub, method, request
        self._patience = Patience(stub._who, stub._shown)
        self._lock = threading.Lock()
        self._cancelled = False
        self._cancel: Callable[[], Any] = lambda: None

    def ask(self, came: Callable[[Any], Any], failed: Callable[[Any], Any]) -> None:
        """Hands the response to `came`, or the error to `failed`; also that of `came`."""
        future = self._stub.start(self._method, self._request)
        self._now_cancelled_by(future.cancel)

        def done(future: Any) -> None:
            try:
                if not future.cancelled() and future.exception() is not None:
                    details = future.exception().details() or ""
                    if never_sent(details):
                        self._patience.judge(details)
                        again = threading.Timer(PAUSE, self.ask, (came, failed))
                        again.daemon = True
                        again.start()
                        self._now_cancelled_by(again.cancel)
                        return
                came(result_of(future))
            except Exception as e:
                failed(wire.as_op_error(e))

        future.add_done_callback(done)

    def _now_cancelled_by(self, cancel: Callable[[], Any]) -> None:
        with self._lock:
            self._cancel = cancel
            cancelled = self._cancelled
        if cancelled:
            cancel()

    def goes_on_as(self, other: Question) -> None:
        """Whoever cancels this question cancels the other."""
        self._now_cancelled_by(other.cancel)

    def cancel(self) -> None:
        """Gives up asking."""
        with self._lock:
            self._cancelled = True
            cancel = self._cancel
        cancel()


def result_of(future: Any) -> Any:
    """The response of a call that was begun, once it is there; raises the error that it failed with."""
    import grpc

    try:
        return future.result()
    except grpc.FutureCancelledError:
        raise errors.CancelledError(None, None, "The call was cancelled.") from None
    except grpc.RpcError as e:
        raise error_of_call(e) from None


def error_of_call(error: Any, graph: Any = None) -> errors.OpError:
    """The error that a failed call stands for."""
    code, text = error.code().value[0], error.details() or ""
    if code == errors.UNKNOWN and text == "Stream removed":
        code = errors.UNAVAILABLE
    return wire.error_of(code, text, graph)
