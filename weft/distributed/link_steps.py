"""Steps over links: both ends of a run whose parts are in two processes on one host.

The tensors that a part sends to the other end go there as soon as they are known, nobody has to ask for them.
A step reads its links itself while it waits for what they bring. Before it waits for anything else it leaves
the reading to another thread, so that nothing that comes can be held up by what does not.
"""

from __future__ import annotations

import select
import threading
from collections.abc import Callable
from typing import Any

from weft import proto
from weft.distributed import link_frames, links, traces, wire
from weft.distributed.links import HungUp, Link
from weft.engine.dataflow import DEAD
from weft.framework import errors
from weft.runtime.rendezvous import Arrival, Rendezvous


class _Carrier:
    """What brings the tensors of a step, and takes those that it sends."""

    def __init__(self, start: Callable[..., Any]):
        self._start = start  # runs a function in another thread
        self._rendezvous = Rendezvous()
        self._lock = threading.Lock()
        self._finished = False
        self.stopped_by: BaseException | None = None
        self.in_background = False  # whether another thread than the step's own reads

    # -- what the executor asks

    def wait_for(self, waits: list[Any]) -> bool:
        """Reads until one of the waits is over; False where the caller has to wait in another way."""
        if self.in_background:
            return False
        for waiting in waits:
            if getattr(waiting, "carrier", None) is not self:
                self.leave_reading()
                return False
        while not any(waiting.done for waiting in waits):
            self._read_next()
        return True

    def leave_reading(self) -> None:
        """Lets another thread read, from now to the end of the step."""
        if not self.in_background:
            self.in_background = True
            self._start(self._read_on)

    def interrupt(self, error: BaseException | None) -> None:
        """Ends the wait of the step's thread: the step was stopped, by an error."""
        with self._lock:
            if not self._finished:
                self.stopped_by = self.stopped_by or error
                self._stop()

    # -- what the operations that send and receive ask

    def carries(self, task: str) -> bool:
        """Whether tensors to and from a task travel here."""
        raise NotImplementedError

    def receive(self, key: str) -> Arrival:
        """A tensor from the other end."""
        arrival = self._rendezvous.receive(key)
        arrival.carrier = self
        return arrival

    def _push(self, link: Link, key: str, value: Any) -> None:
        values: tuple[Any, ...] = ()
        if value is DEAD:
            kind = links.DEAD_TENSOR
        elif type(value) is tuple:
            kind, values = links.TENSORS, value
        else:
            kind, values = links.TENSOR, (value,)
        try:
            link.send(kind, key, b"", [("", v) for v in values], self._meanwhile(link))
        except HungUp as e:
            raise _lost(e) from None

    def _arrived(self, frame: Any) -> None:
        value: Any = tuple(value for _, value in frame.tensors)
        if frame.kind == links.TENSOR and len(value) == 1:
            value = value[0]
        elif frame.kind == links.DEAD_TENSOR:
            value = DEAD
        elif frame.kind != links.TENSORS:
            raise HungUp(
                f"the link has brought a frame of kind {frame.kind} in the middle of a step"
            )
        self._rendezvous.send(frame.text, value)

    def _meanwhile(self, link: Link) -> Callable[[], bool] | None:
        return None if self.in_background else lambda: self._read(link)

    def _read_next(self) -> None:
        raise NotImplementedError

    def _read_on(self) -> None:
        raise NotImplementedError

    def _read(self, link: Link) -> bool:
        """Reads a frame; False where none will come any more."""
        raise NotImplementedError

    def _stop(self) -> None:
        raise NotImplementedError


def _lost(e: HungUp) -> errors.OpError:
    return errors.UnavailableError(None, None, f"Socket closed: {e}")


# -- the end that runs a step -----------------------------------------------------------------------------


class CallerLinks(_Carrier):
    """The links of one run, at the process of its master."""

    def __init__(self, start: Callable[..., Any]):
        super().__init__(start)
        self._links: dict[str, tuple[Link, Any]] = {}  # by task; with the worker they lead to
        self._waiting: dict[Link, Callable[[Any, Any], None]] = {}
        self._clean: set[Link] = set()  # which have brought the end of their parts

    def add(self, task: str, worker: Any) -> None:
        """Takes a link to a task, if there is one."""
        link = worker.links.take()
        if link is not None:
            self._links[task] = (link, worker)

    def carries(self, task: str) -> bool:
        return task in self._links

    def push(self, task: str, key: str, value: Any) -> None:
        self._push(self._links[task][0], key, value)

    def run(
        self, task: str, own: str, request: bytes, feeds: Any, done: Callable[[Any, Any], None]
    ) -> None:
        """Begins the run of a task's part; `done` gets the frame of its end, or an error."""
        link = self._links[task][0]
        self._waiting[link] = done
        try:
            link.send(links.RUN, own, request, feeds, self._meanwhile(link))
        except HungUp as e:
            self._end(link, None, _lost(e))
        except Exception as e:
            self._end(link, None, wire.as_op_error(e))

    def _end(self, link: Link, frame: Any, error: Any) -> None:
        if error is None:
            self._clean.add(link)
        else:
            error = self.stopped_by or error
        done = self._waiting.pop(link, None)
        if done is not None:
            done(frame, error)

    def _read_next(self) -> None:
        waiting = list(self._waiting)
        if not waiting:
            raise errors.InternalError(None, None, "Tensors have not come that the step needs.")
        self._read(waiting[0] if len(waiting) == 1 else _first_ready(waiting))

    def _read(self, link: Link) -> bool:
        try:
            frame = link.read()
            if frame.kind != links.DONE:
                self._arrived(frame)
                return True
        except HungUp as e:
            self._end(link, None, _lost(e))
            return False
        self._end(link, frame, None)
        return False

    def _read_on(self) -> None:
        while self._waiting:
            self._read_next()

    def read_all(self) -> None:
        """Reads until all parts have ended, unless another thread does."""
        if not self.in_background:
            self._read_on()

    def _stop(self) -> None:
        for link in list(self._waiting):
            link.hang_up()

    def finish(self) -> None:
        """All parts have ended: the links that were not hung up serve again."""
        with self._lock:
            self._finished = True
        for link, worker in self._links.values():
            if link in self._clean and worker.links is not None:
                worker.links.give_back(link)
            else:
                link.close()


def _first_ready(waiting: list[Link]) -> Link:
    for link in waiting:
        if link.has_more:
            return link
    poll = select.poll()
    by_number = {link.fileno(): link for link in waiting}
    for number in by_number:
        poll.register(number, select.POLLIN)
    return by_number[poll.poll()[0][0]]


# -- the end that is called -------------------------------------------------------------------------------


class Served:
    """One link at the worker that it leads to."""

    def __init__(self, worker: Any, listener: Any, link: Link, start: Callable[..., Any]):
        self.link = link
        self._worker, self._listener, self._start = worker, listener, start
        self._users = 1  # threads that have the link
        self._lock = threading.Lock()
        self._step: _ServedStep | None = None

    def serve(self) -> None:
        """Reads what comes and runs the steps that it asks for; the body of a thread."""
        try:
            while True:
                frame = self.link.read()
                if frame.kind == links.RUN:
                    step = self._step = _ServedStep(self, self._worker, self._start, frame.text)
                    step.run(frame)
                    if step.in_background:  # then another thread has taken this one's place
                        return
                elif self._step is not None:
                    self._step.take(frame)
        except HungUp:
            self.on_hang_up()
        except Exception:  # of a caller that does not keep to the order of things
            self.link.hang_up()
            self.on_hang_up()
        finally:
            self.leave()

    def enter(self) -> None:
        with self._lock:
            self._users += 1

    def leave(self) -> None:
        """A thread has no more use for the link; the last one closes it, where it has not been handed on."""
        with self._lock:
            self._users -= 1
            last = not self._users
        if last:
            self._listener.forget(self.link)

    def on_hang_up(self) -> None:
        """Cancels what runs: who wanted it has gone."""
        step = self._step
        if step is not None:
            step.given_up()


class _ServedStep(_Carrier):
    """A part of a step that is run for the other end of a link."""

    def __init__(self, served: Served, worker: Any, start: Callable[..., Any], caller: str):
        super().__init__(start)
        self._served, self._worker, self._caller = served, worker, caller
        self._step: Any = None

    def run(self, frame: Any) -> None:
        """Runs the part, and tells the caller how it went."""
        response, found = proto.RunGraphResponse(), []
        try:
            found = self._run(frame, response)
        except Exception as e:
            error = wire.as_op_error(e)
            response.Clear()
            response.status_code = error.error_code
            response.status_error_message = wire.text_of(error)
        with self._lock:
            self._finished = True
        link = self._served.link
        try:
            link.send(links.DONE, "", response.SerializeToString(), found, self._meanwhile(link))
        except HungUp:
            pass  # who reads finds it too

    def _run(self, frame: Any, response: Any) -> list[tuple[str, Any]]:
        request = proto.RunGraphRequest.FromString(frame.message)
        step = self._worker.new_step(request.graph_handle)
        step.carrier = self
        self._step = step
        options, metadata = traces.wanted(request.exec_opts)
        found = self._worker.run(
            step,
            request.step_id,
            dict(frame.tensors),
            list(request.recv_key),
            options,
            metadata,
        )
        traces.tell(metadata, response)
        dtype_of = self._worker.dtype_of
        return [
            (key, link_frames.typed(value, dtype_of(request.graph_handle, key)))
            for key, value in found.items()
        ]

    def carries(self, task: str) -> bool:
        return task == self._caller

    def push(self, task: str, key: str, value: Any) -> None:
        self._push(self._served.link, key, value)

    def take(self, frame: Any) -> None:
        """Takes tensors that have come for the step, if it still wants any."""
        if not self._finished:
            self._arrived(frame)

    def given_up(self) -> None:
        if self._step is not None and not self._finished:
            self._step.cancel(errors.CancelledError(None, None, "RunGraph was cancelled."))

    def _read_next(self) -> None:
        self._read(self._served.link)

    def _read(self, link: Link) -> bool:
        try:
            self.take(link.read())
        except HungUp:
            self.given_up()
            return False
        return True

    def leave_reading(self) -> None:
        if not self.in_background:
            self._served.enter()
        super().leave_reading()

    def _read_on(self) -> None:
        self._served.serve()

    def _stop(self) -> None:
        if not self.in_background:
            self._served.link.stop_reading()
