"""Queue runners: threads that keep queues filled."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Callable
from typing import Any

from weft.framework import context, errors
from weft.framework.export import export
from weft.framework.graph_keys import GraphKeys
from weft.framework.meta_graph import register_proto_function
from weft.framework.scope_names import prepend_name_scope, strip_name_scope
from weft.platform import tf_logging as logging
from weft.runtime.session import BaseSession


def _message() -> Any:
    from weft import proto

    return proto.QueueRunnerDef


@export("train.queue_runner.QueueRunner", "train.QueueRunner")
class QueueRunner:
    """Runs enqueue operations of a queue, each in a thread of its own, and closes the queue when they have ended.

    An operation has ended when it raises one of the `queue_closed_exception_types`: its own input is used up.
    """

    def __init__(
        self,
        queue: Any = None,
        enqueue_ops: Any = None,
        close_op: Any = None,
        cancel_op: Any = None,
        queue_closed_exception_types: Any = None,
        queue_runner_def: Any = None,
        import_scope: str | None = None,
    ):
        if context.executing_eagerly():
            raise RuntimeError(
                "QueueRunners are not supported when eager execution is enabled. Instead, please use tf.data to "
                "get data into your model."
            )
        if queue_runner_def:
            if queue or enqueue_ops:
                raise ValueError("queue_runner_def and queue are mutually exclusive.")
            self._init_from_proto(queue_runner_def, import_scope)
        else:
            if not queue or not enqueue_ops:
                raise ValueError("Must provide queue and enqueue_ops.")
            _check_types(queue_closed_exception_types)
            self._queue = queue
            self._enqueue_ops = enqueue_ops
            self._close_op = queue.close() if close_op is None else close_op
            self._cancel_op = (
                queue.close(cancel_pending_enqueues=True) if cancel_op is None else cancel_op
            )
            self._queue_closed_exception_types = queue_closed_exception_types or (
                errors.OutOfRangeError,
            )
        self._lock = threading.Lock()
        # How many of the threads still run, by session.
        self._runs_per_session: Any = weakref.WeakKeyDictionary()
        self._exceptions_raised: list[Exception] = []

    def _init_from_proto(self, message: Any, import_scope: str | None) -> None:
        if not isinstance(message, _message()):
            raise TypeError(f"queue_runner_def must be a QueueRunnerDef, but got {type(message)}")
        graph = context.get_default_graph()

        def element(name: str) -> Any:
            return graph.as_graph_element(prepend_name_scope(name, import_scope))

        self._queue = element(message.queue_name)
        self._enqueue_ops = [element(name) for name in message.enqueue_op_name]
        self._close_op = element(message.close_op_name)
        self._cancel_op = element(message.cancel_op_name)
        self._queue_closed_exception_types = tuple(
            errors.exception_type_from_error_code(code)
            for code in message.queue_closed_exception_types
        ) or (errors.OutOfRangeError,)

    @property
    def queue(self) -> Any:
        """The queue."""
        return self._queue

    @property
    def enqueue_ops(self) -> Any:
        """The operations that the threads run."""
        return self._enqueue_ops

    @property
    def close_op(self) -> Any:
        """The operation that closes the queue."""
        return self._close_op

    @property
    def cancel_op(self) -> Any:
        """The operation that closes the queue and cancels those who wait to put something in."""
        return self._cancel_op

    @property
    def queue_closed_exception_types(self) -> tuple[type, ...]:
        """The errors that tell that an operation has ended."""
        return self._queue_closed_exception_types

    @property
    def exceptions_raised(self) -> list[Exception]:
        """The errors of the threads, where no coordinator took them."""
        return self._exceptions_raised

    @property
    def name(self) -> str:
        """The name of the queue."""
        return self._queue.name

    def _step(self, sess: Any, enqueue_op: Any) -> Callable[[], Any]:
        """What a thread calls again and again."""
        return sess.make_callable(enqueue_op)

    def _run(self, sess: Any, enqueue_op: Any, coord: Any = None) -> None:
        """What a thread does: runs the operation until it has ended; the last thread closes the queue."""
        ended = False
        try:
            enqueue = self._step(sess, enqueue_op)
            while not (coord and coord.should_stop()):
                try:
                    enqueue()
                except self._queue_closed_exception_types:
                    ended = True
                    break
        except Exception as e:
            if coord:
                # One that has joined its threads already raises the error again, where nobody would hear of it.
                with contextlib.suppress(type(e)):
                    coord.request_stop(e)
            else:
                logging.error("Exception in QueueRunner: %s", e)
                with self._lock:
                    self._exceptions_raised.append(e)  # nobody could catch what a thread raises
        finally:
            with self._lock:
                self._runs_per_session[sess] -= 1
                last = self._runs_per_session[sess] == 0
            if ended and last:
                _run_quietly(sess, self._close_op)

    def _close_on_stop(self, sess: Any, cancel_op: Any, coord: Any) -> None:
        """What one more thread does: it closes the queue when the coordinator says stop."""
        coord.wait_for_stop()
        _run_quietly(sess, cancel_op)

    def create_threads(
        self, sess: Any, coord: Any = None, daemon: bool = False, start: bool = False
    ) -> list[threading.Thread]:
        """Creates the threads for a session, unless those created before still run."""
        with self._lock:
            if self._runs_per_session.get(sess, 0) > 0:
                return []
            self._runs_per_session[sess] = len(self._enqueue_ops)
            self._exceptions_raised = []
        threads = [
            threading.Thread(
                target=self._run,
                args=(sess, op, coord),
                name=f"QueueRunnerThread-{self.name}-{op.name}",
            )
            for op in self._enqueue_ops
        ]
        if coord:
            threads.append(
                threading.Thread(
                    target=self._close_on_stop,
                    args=(sess, self._cancel_op, coord),
                    name=f"QueueRunnerThread-{self.name}-close_on_stop",
                )
            )
        for thread in threads:
            if coord:
                coord.register_thread(thread)
            if daemon:
                thread.daemon = True
            if start:
                thread.start()
        return threads

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Returns the QueueRunnerDef message, or None if the queue is not in the scope."""
        if export_scope is not None and not self.queue.name.startswith(export_scope):
            return None
        return _message()(
            queue_name=strip_name_scope(self.queue.name, export_scope),
            enqueue_op_name=[strip_name_scope(op.name, export_scope) for op in self.enqueue_ops],
            close_op_name=strip_name_scope(self.close_op.name, export_scope),
            cancel_op_name=strip_name_scope(self.cancel_op.name, export_scope),
            queue_closed_exception_types=[
                errors.error_code_from_exception_type(cls)
                for cls in self._queue_closed_exception_types
            ],
        )

    @staticmethod
    def from_proto(queue_runner_def: Any, import_scope: str | None = None) -> QueueRunner:
        """Returns the queue runner of a message."""
        return QueueRunner(queue_runner_def=queue_runner_def, import_scope=import_scope)


def _check_types(types: Any) -> None:
    if types is not None and (
        not isinstance(types, tuple)
        or not types
        or not all(issubclass(t, errors.OpError) for t in types)
    ):
        raise TypeError(
            "queue_closed_exception_types, when provided, must be a tuple of tf.error types, but saw: "
            f"{types}"
        )


def _run_quietly(sess: Any, op: Any) -> None:
    """Runs an operation in a session that may be at its end."""
    try:
        sess.run(op)
    except Exception as e:
        logging.vlog(1, "Ignored exception: %s", e)


@export("train.queue_runner.add_queue_runner", "train.add_queue_runner")
def add_queue_runner(qr: QueueRunner, collection: str = GraphKeys.QUEUE_RUNNERS) -> None:
    """Adds a queue runner to those that `start_queue_runners` starts."""
    context.get_default_graph().add_to_collection(collection, qr)


@export("train.queue_runner.start_queue_runners", "train.start_queue_runners")
def start_queue_runners(
    sess: Any = None,
    coord: Any = None,
    daemon: bool = True,
    start: bool = True,
    collection: str = GraphKeys.QUEUE_RUNNERS,
) -> list[threading.Thread]:
    """Creates the threads of all queue runners of the graph, and returns them."""
    if context.executing_eagerly():
        raise RuntimeError("Queues are not compatible with eager execution.")
    if sess is None:
        sess = context.get_default_session()
        if not sess:
            raise ValueError(
                "Cannot start queue runners: No default session is registered. Use `with sess.as_default()` or "
                "pass an explicit session to tf.start_queue_runners(sess=sess)"
            )
    if not isinstance(sess, BaseSession):
        # These have started them already.
        if type(sess).__name__ in ("MonitoredSession", "SingularMonitoredSession"):
            return []
        raise TypeError(f"sess must be a `tf.Session` object. Given class: {type(sess)}")
    queue_runners = context.get_default_graph().get_collection(collection)
    if not queue_runners:
        logging.warning(
            "`tf.train.start_queue_runners()` was called when no queue runners were defined. You can safely "
            "remove the call to this deprecated function."
        )
    with sess.graph.as_default():
        threads = []
        for runner in context.get_default_graph().get_collection(collection):
            threads += runner.create_threads(sess, coord=coord, daemon=daemon, start=start)
    return threads


register_proto_function(
    GraphKeys.QUEUE_RUNNERS,
    proto_type=_message,
    to_proto=QueueRunner.to_proto,
    from_proto=QueueRunner.from_proto,
)
