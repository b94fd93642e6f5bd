"""The master of a session whose tasks are in several processes: it plans a step once, hands each task its part,
and then runs steps by reference."""

from __future__ import annotations

import itertools
import secrets
import threading
from typing import Any

from weft import proto
from weft.distributed import link_frames, rpc, traces, wire
from weft.distributed.discovery import Discovery, held
from weft.distributed.expansion import EXPANDABLE, Expansion
from weft.distributed.flow import colocate
from weft.distributed.life_watch import LifeWatch
from weft.distributed.link_steps import CallerLinks
from weft.distributed.partial_steps import PartialStep
from weft.distributed.partition import Part, Partitioner, set_life, task_of
from weft.distributed.peers import Peers, RemoteWorker
from weft.distributed.runtime_ops import as_tensorflow_runs
from weft.engine.program import order
from weft.framework import errors
from weft.runtime.alarm import Limit
from weft.runtime.devices import Device
from weft.runtime.fetches import Fetches
from weft.runtime.functions import FunctionPrograms, in_order_of_creation
from weft.runtime.placement import device_for, place
from weft.runtime.recent_cache import RecentCache
from weft.runtime.segment import can_compile

_KEPT_STEPS = 256
_ENDING_SECONDS = 5.0  # that a step which was told to stop is waited for


class _Registered:
    """A kind of step whose parts the workers have."""

    def __init__(self) -> None:
        self.parts: list[tuple[Part, Any, str]] = []  # with the worker and the handle there
        self.fetches = 0
        self.fed: dict[int, int] = {}  # fetches that are fed: index of fetch -> index of feed
        self._lock = threading.Lock()
        self._runs = 0
        self._dropped = False

    def begin_run(self) -> bool:
        """Notes that the workers need the parts; False where they have been told to forget them."""
        with self._lock:
            self._runs += not self._dropped
            return not self._dropped

    def end_run(self) -> None:
        with self._lock:
            self._runs -= 1
            unused = self._dropped and not self._runs
        if unused:
            self._forget()

    def drop(self) -> None:
        """Makes the workers forget the parts, once no step runs that has them."""
        with self._lock:
            unused = not self._dropped and not self._runs
            self._dropped = True
        if unused:
            self._forget()

    def _forget(self) -> None:
        for _, worker, handle in self.parts:
            _quietly(worker.deregister, handle)


class ClusterMaster:
    """Runs the steps of one session over the tasks of a cluster."""

    def __init__(
        self,
        peers: Peers,
        own_task: str,
        config: Any,
        tasks: list[str],
        cluster: Any,
        shared: bool,
    ):
        self._peers, self._own, self._tasks = peers, own_task, tasks
        self._config = config if config is not None else proto.ConfigProto()
        self._cluster = cluster  # that the session brought along, or None
        self._handle = secrets.token_hex(8)
        self._shared = shared  # whether the session shares the state of the tasks with others
        self._with_sessions = cluster is not None or not shared
        self._devices: list[Device] = []
        self._kinds: RecentCache = RecentCache(_KEPT_STEPS, _Registered.drop)
        self._lock = threading.Lock()
        self._discovery: Discovery | None = None  # while the tasks are asked
        self._running: set[_Run] = set()
        self._partial: dict[str, PartialStep] = {}
        self._partial_handles = itertools.count()
        self._closed = False

    @property
    def devices(self) -> list[Device]:
        """The devices of all tasks, the master's own first. Waits for tasks that do not answer yet."""
        return self._devices or self._begun(self._limit())

    def _begun(self, limit: Limit) -> list[Device]:
        with held(self._lock, limit):
            if not self._devices:
                self._devices = self._begin(limit)
            return self._devices

    def _begin(self, limit: Limit) -> list[Device]:
        tasks = sorted(self._tasks, key=lambda t: t != self._own)
        workers = [self._peers.worker(task) for task in tasks]
        self._discovery = Discovery(workers, tasks, self._cluster is None)
        try:
            if self._closed:
                raise _closed()
            found = self._discovery.devices(limit)
        finally:
            self._discovery = None
        if self._with_sessions:
            for task, worker in zip(tasks, workers):
                worker.create_session(
                    self._handle, self._cluster, not self._shared, task, limit.left_ms()
                )
        return found

    # -- planning --------------------------------------------------------------------------------------

    def _registered(
        self, graph: Any, handler: Fetches, feeds: tuple[Any, ...], limit: Limit
    ) -> _Registered:
        """A kind of step, which is held until the end of a run of it."""
        key = (handler, feeds, graph._rewrites)
        found = self._kinds.get(key)
        if found is None or not found.begin_run():
            devices = self._devices or self._begun(limit)
            with held(self._lock, limit):
                found = self._kinds.get(key)
                if found is None or not found.begin_run():
                    found = self._register(graph, handler, list(feeds), devices, limit)
                    found.begin_run()
                    self._kinds.put(key, found)
        return found

    def _register(
        self, graph: Any, handler: Fetches, feeds: list[Any], devices: list[Device], limit: Limit
    ) -> _Registered:
        cut = set(feeds)
        fetches = handler.tensors
        ops = order([t._op for t in fetches if t not in cut] + handler.ops, cut)
        ops = in_order_of_creation(ops)
        functions = FunctionPrograms(graph)
        compilable = {op: can_compile(op, functions) for op in ops}
        soft = self._config.allow_soft_placement
        placed = place(ops, devices, soft, compilable.__getitem__)
        if len(self._tasks) > 1 and any(op.type in EXPANDABLE for op in ops):
            step = Expansion(
                graph,
                ops,
                feeds,
                fetches,
                handler.ops,
                lambda op: task_of(placed[op].name),
                lambda op, name: task_of(device_for(op, name, devices, soft).name),
            )
            if step.is_needed():
                step.write()
                graph, feeds, fetches = step.graph, step.feeds, step.fetches
                cut = set(feeds)
                ops = order([t._op for t in fetches if t not in cut] + step.targets, cut)
                ops = in_order_of_creation(ops)
                functions = FunctionPrograms(graph)
                compilable = {op: can_compile(op, functions) for op in ops}
                placed = place(ops, devices, soft, compilable.__getitem__)
        colocate(ops, placed)
        bundling = [t for t in self._tasks if self._peers.worker(t).is_weft]
        parts = Partitioner(graph, ops, placed, feeds, fetches, bundling).parts.values()
        lives = {task_of(d.name): d.incarnation for d in devices}
        kind = _Registered()
        try:
            for part in parts:
                worker = self._peers.worker(part.task)
                if not worker.is_weft:
                    as_tensorflow_runs(part.graph_def)
                set_life(part.graph_def, lives[part.task])
                handle = worker.register(
                    self._handle, part.graph_def, self._with_sessions, limit.left_ms()
                )
                part.graph_def = None  # the worker has it
                kind.parts.append((part, worker, handle))
        except BaseException:
            kind.drop()
            raise
        # The part that runs in this thread comes last: the others are under way by then.
        kind.parts.sort(
            key=lambda item: (not isinstance(item[1], RemoteWorker), item[0].task == self._own)
        )
        index = {t: i for i, t in enumerate(feeds)}
        kind.fed = {i: index[t] for i, t in enumerate(fetches) if t in cut}
        kind.fetches = len(fetches)
        return kind

    # -- steps -----------------------------------------------------------------------------------------

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
        """Runs a step, or a part of the one that is called `partial`, and returns the values of its fetches."""
        if self._closed:
            raise _closed()
        limit = self._limit(options)
        if partial:
            return self._advance(graph, partial, handler, dict(zip(feeds, values)), limit)
        kind = self._registered(graph, handler, feeds, limit)
        if metadata is not None:
            metadata.Clear()
        run = _Run(self._own, kind, values, feeds, options, metadata)
        alarm = None
        self._running.add(run)
        try:
            if self._closed:
                raise _closed()
            alarm = limit.alarm(run.cancel)
            if step is not None:  # of the client's call: the run ends with it
                step.holds(run)
            workers = [worker for _, worker, _ in kind.parts]
            with traces.transfers(workers, run.id, options, metadata):
                return run.results(graph)
        finally:
            self._running.discard(run)
            if alarm is not None:
                alarm.cancel()
            kind.end_run()

    def _limit(self, options: Any = None) -> Limit:
        """How long a call for this session may take, from now on."""
        ms = options.timeout_in_ms if options is not None else 0
        return Limit(ms or self._config.operation_timeout_in_ms)

    def begin_parts(self, graph: Any, handler: Fetches, feeds: list[Any]) -> str:
        """Begins a step that is run in parts, and returns its handle."""
        kind = self._registered(graph, handler, tuple(feeds), self._limit())
        handle = str(next(self._partial_handles))
        self._partial[handle] = PartialStep(kind, feeds, handler.tensors, rpc.pool)
        return handle

    def _advance(
        self, graph: Any, handle: str, handler: Fetches, feeds: dict[Any, Any], limit: Limit
    ) -> list[Any]:
        run = self._partial.get(handle)
        if run is None:
            raise errors.InvalidArgumentError(
                None, None, "Must run PartialRunSetup before performing partial runs"
            )
        alarm = limit.alarm(run.cancel)
        try:
            return run.advance(handler.tensors, feeds, graph, _Run._told)
        finally:
            if alarm is not None:
                alarm.cancel()
            if run.is_over and self._partial.pop(handle, None) is not None:
                run.kind.end_run()

    def close(self) -> None:
        """Cancels what runs, and makes the workers forget the session."""
        self._closed = True
        asking = self._discovery
        if asking is not None:
            asking.cancel(_closed())
        for run in list(self._running):
            run.cancel(errors.CancelledError(None, None, "Session was closed."))
        for handle, partial in list(self._partial.items()):
            partial.cancel(errors.CancelledError(None, None, "Session was closed."))
            if self._partial.pop(handle, None) is not None:
                partial.kind.end_run()
        self._kinds.clear()
        self._peers.close()
        if self._with_sessions and self._devices:
            for task in self._tasks:
                _quietly(self._peers.worker(task).delete_session, self._handle)


def _closed() -> errors.OpError:
    return errors.CancelledError(None, None, "Session has been closed.")


def _quietly(function: Any, *args: Any) -> None:
    """Calls what may find the other side gone, which is then all the same."""
    try:
        function(*args)
    except errors.OpError:
        pass


class _Run:
    """One run of a step."""

    def __init__(
        self,
        own: str,
        kind: _Registered,
        values: list[Any],
        feeds: Any,
        options: Any,
        metadata: Any,
    ):
        self._own = own  # the master's task
        self._kind, self._values, self._feeds = kind, values, feeds
        self._options, self._metadata = options, metadata
        self.id = secrets.randbits(56)
        self._lock = threading.Lock()
        self._error: BaseException | None = None
        self._cancels: list[Any] = []
        self._left = len(kind.parts)
        self._all_done = threading.Event()
        if not self._left:  # nothing was asked for, or only what is fed
            self._all_done.set()
        self._links: Any = None
        self._found: list[Any] = [None] * kind.fetches

    def cancel(self, error: Any) -> None:
        """Ends the run with its first error: the other parts are told to stop."""
        with self._lock:
            if self._error is not None:
                return
            self._error = error
            cancels = list(self._cancels)
        for cancel in cancels:
            cancel()

    def _on_failure(self, cancel: Any) -> None:
        with self._lock:
            failed = self._error is not None
            self._cancels.append(cancel)
        if failed:
            cancel()

    def _part_done(self) -> None:
        with self._lock:
            self._left -= 1
            last = not self._left
        if last:
            self._all_done.set()

    def results(self, graph: Any) -> list[Any]:
        for i, source in self._kind.fed.items():
            self._found[i] = self._values[source]
        self._links = self._take_links()
        watch = self._watch_links()
        try:
            self._begin(graph)
            if self._links is not None:
                self._links.read_all()
            self._all_done.wait()
        except BaseException as e:  # Ctrl-C, most of all
            self.cancel(e)
            if self._links is not None:
                self._links.read_all()
            self._all_done.wait(_ENDING_SECONDS)
        if self._links is not None:
            self._links.finish()
        if watch is not None:
            watch.cancel()
        for _, worker, _ in self._kind.parts:
            # Where all went well a worker of weft has nothing left, and knows it.
            if self._error is not None or not worker.is_weft:
                worker.end_step(self.id)
        if self._error is not None:
            raise self._error
        return self._found

    def _begin(self, graph: Any) -> None:
        """Begins the parts that are elsewhere, and runs those that are here, the last of them in this thread."""
        linked, last = self._links, len(self._kind.parts) - 1
        for n, (part, worker, handle) in enumerate(self._kind.parts):
            if linked is not None and linked.carries(part.task):
                self._start_linked(part, handle, graph)
            elif isinstance(worker, RemoteWorker):
                self._start_remote(part, worker, handle, graph)
            elif n < last:
                if linked is not None:  # threads that may wait for each other
                    linked.leave_reading()
                rpc.pool.submit(self._run_here, part, worker, handle, graph)
            else:
                self._run_here(part, worker, handle, graph)

    def _take_links(self) -> CallerLinks | None:
        """The links to the tasks on this host that take part; None where there are none."""
        workers = [
            (part.task, worker)
            for part, worker, _ in self._kind.parts
            if isinstance(worker, RemoteWorker) and worker.links is not None
        ]
        if not workers:
            return None
        found = CallerLinks(rpc.pool.submit)
        for task, worker in workers:
            found.add(task, worker)
        self._on_failure(lambda: found.interrupt(self._error))
        return found

    def _watch_links(self) -> LifeWatch | None:
        """What ends the run when a task falls silent at the other end of a link, which shows nothing of it."""
        seconds = rpc.keepalive_seconds()
        if self._links is None or not seconds:
            return None
        linked = [(p, w) for p, w, _ in self._kind.parts if self._links.carries(p.task)]

        def gone(part: Part, e: errors.OpError) -> None:
            self.cancel(self._told(e.error_code, wire.text_of(e), None, part))

        return LifeWatch(seconds, linked, gone)

    def _start_linked(self, part: Part, handle: str, graph: Any) -> None:
        def done(frame: Any, error: Any) -> None:
            try:
                if error is not None and error is self._links.stopped_by:
                    raise error
                if error is not None:
                    raise self._told(error.error_code, wire.text_of(error), graph, part)
                self._take(proto.RunGraphResponse.FromString(frame.message), part, graph)
                for key, array in frame.tensors:
                    self._found[part.fetches[key]] = wire.owned(array)
            except BaseException as e:
                self.cancel(e)
            finally:
                self._part_done()

        feeds = [
            (key, link_frames.typed(self._values[i], self._feeds[i].dtype))
            for i, key in part.feeds.items()
        ]
        request = self._request(part, handle)
        self._links.run(part.task, self._own, request.SerializeToString(), feeds, done)

    def _run_here(self, part: Part, worker: Any, handle: str, graph: Any) -> None:
        try:
            step = worker.new_step(handle)
            if part.task == self._own:
                step.carrier = self._links
            stopped = errors.CancelledError(None, None, "Another part of the step has failed.")
            self._on_failure(lambda: step.cancel(self._error or stopped))
            feeds = {key: self._values[i] for i, key in part.feeds.items()}
            metadata = proto.RunMetadata() if self._metadata is not None else None
            found = worker.run(step, self.id, feeds, list(part.fetches), self._options, metadata)
            if metadata is not None:
                self._add_told(metadata.step_stats, metadata.partition_graphs)
            for key, value in found.items():
                self._found[part.fetches[key]] = value
        except errors.OpError as e:
            self.cancel(self._told(e.error_code, wire.text_of(e), graph, part))
        except BaseException as e:
            self.cancel(e)
        finally:
            self._part_done()

    def _request(self, part: Part, handle: str) -> Any:
        request = proto.RunGraphRequest(
            graph_handle=handle,
            step_id=self.id,
            recv_key=list(part.fetches),
            store_errors_in_response_body=True,
        )
        traces.ask(self._options, request.exec_opts)
        return request

    def _start_remote(self, part: Part, worker: RemoteWorker, handle: str, graph: Any) -> None:
        request = self._request(part, handle)
        worker.name_session(request)
        sends = [(key, self._values[i], self._feeds[i].dtype) for i, key in part.feeds.items()]
        future = worker.start(wire.with_tensors(request, "send", sends))

        def done(future: Any) -> None:
            try:
                self._take(self._response(future, part, graph), part, graph)
            except BaseException as e:
                self.cancel(e)
            finally:
                self._part_done()

        future.add_done_callback(done)
        self._on_failure(future.cancel)

    def _response(self, future: Any, part: Part, graph: Any) -> Any:
        if future.cancelled():
            raise errors.CancelledError(None, None, "The step was cancelled.")
        error = future.exception()
        if error is not None:
            e = rpc.error_of_call(error)
            raise self._told(e.error_code, e.message, graph, part)
        return future.result()

    def _take(self, response: Any, part: Part, graph: Any) -> None:
        if response.status_code:
            raise self._told(response.status_code, response.status_error_message, graph, part)
        for key, array in wire.tensors_of(response, "recv"):
            self._found[part.fetches[key]] = wire.owned(array)
        if self._metadata is not None:
            self._add_told(response.step_stats, response.partition_graph)

    def _add_told(self, stats: Any, graphs: Any) -> None:
        """Notes what a task tells of its part of the step."""
        with self._lock:
            self._metadata.step_stats.MergeFrom(stats)
            self._metadata.partition_graphs.extend(graphs)

    @staticmethod
    def _told(code: int, text: str, graph: Any, part: Part) -> errors.OpError:
        """The error of a part, with the task that it comes from."""
        if not text.startswith("From /job:"):
            text = f"From {part.task}:\n{text}"
        return wire.error_of(code, text, graph)
