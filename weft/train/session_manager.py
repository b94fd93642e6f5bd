"""SessionManager: a session whose variables have values, from a checkpoint, an init op or another process."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import weft as tf
from weft.framework import errors
from weft.framework.export import export
from weft.train.checkpoint_state import get_checkpoint_state

_FIRST_PAUSE = 1.0  # seconds


@export("train.SessionManager")
class SessionManager:
    """Makes sessions and sees to it that the model is ready in them."""

    def __init__(
        self,
        local_init_op: Any = None,
        ready_op: Any = None,
        ready_for_local_init_op: Any = None,
        graph: Any = None,
        recovery_wait_secs: float = 30,
        local_init_run_options: Any = None,
    ):
        if ready_for_local_init_op is not None and local_init_op is None:
            raise ValueError(
                "If you pass a ready_for_local_init_op you must also pass a local_init_op , ready_for_local_init_op "
                f"[{ready_for_local_init_op}]"
            )
        self._local_init_op = local_init_op
        self._ready_op = ready_op
        self._ready_for_local_init_op = ready_for_local_init_op
        self._graph = tf.get_default_graph() if graph is None else graph
        self._recovery_wait_secs = recovery_wait_secs
        self._local_init_run_options = local_init_run_options

    def prepare_session(
        self,
        master: str,
        init_op: Any = None,
        saver: Any = None,
        checkpoint_dir: str | None = None,
        checkpoint_filename_with_path: str | None = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        config: Any = None,
        init_feed_dict: Any = None,
        init_fn: Callable[[Any], None] | None = None,
    ) -> Any:
        """A session with the values of the newest checkpoint, or where there is none initialised ones."""
        session, restored = self._restored_session(
            master,
            saver,
            checkpoint_dir,
            checkpoint_filename_with_path,
            wait_for_checkpoint,
            max_wait_secs,
            config,
        )
        try:
            if not restored:
                if init_op is None and not init_fn and self._local_init_op is None:
                    raise RuntimeError(
                        "Model is not initialized and no init_op or init_fn or local_init_op was given"
                    )
                if init_op is not None:
                    session.run(init_op, feed_dict=init_feed_dict)
                if init_fn:
                    init_fn(session)
            done = f"Init op: {_name(init_op)}, init fn: {init_fn}"
            why = self._run_local_init(session)
            if why is not None:
                raise RuntimeError(
                    f"Init operations did not make model ready for local_init.  {done}, error: {why}"
                )
            why = not_ready(self._ready_op, session, "Model not ready")
            if why is not None:
                raise RuntimeError(
                    f"Init operations did not make model ready.  {done}, local_init_op: {self._local_init_op}, "
                    f"error: {why}"
                )
        except BaseException:
            session.close()
            raise
        return session

    def recover_session(
        self,
        master: str,
        saver: Any = None,
        checkpoint_dir: str | None = None,
        checkpoint_filename_with_path: str | None = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        config: Any = None,
    ) -> tuple[Any, bool]:
        """A session, and whether a checkpoint made the model ready in it."""
        session, restored = self._restored_session(
            master,
            saver,
            checkpoint_dir,
            checkpoint_filename_with_path,
            wait_for_checkpoint,
            max_wait_secs,
            config,
        )
        why = self._run_local_init(session)
        if not restored:
            return session, False
        place = checkpoint_dir or checkpoint_filename_with_path
        if why is not None:
            tf.logging.info(
                "Restoring model from %s did not make model ready for local init: %s", place, why
            )
            return session, False
        why = not_ready(self._ready_op, session, "Model not ready")
        if why is not None:
            tf.logging.info("Restoring model from %s did not make model ready: %s", place, why)
            return session, False
        tf.logging.info("Restored model from %s", place)
        return session, True

    def wait_for_session(
        self, master: str, config: Any = None, max_wait_secs: float | None = float("inf")
    ) -> Any:
        """A session in which somebody else, the chief, has made the model ready."""
        end = time.time() + (float("inf") if max_wait_secs is None else max_wait_secs)
        pause = min(_FIRST_PAUSE, self._recovery_wait_secs)
        while True:
            session = tf.Session(master, graph=self._graph, config=config)
            ready = False
            try:
                why_not, why_not_local = None, self._run_local_init(session)
                if why_not_local is None:
                    why_not = not_ready(self._ready_op, session, "Model not ready")
                    ready = why_not is None
                if ready:
                    return session
            finally:
                if not ready:
                    self._close(session)
            if end - time.time() < pause:
                raise errors.DeadlineExceededError(
                    None, None, f"Session was not ready after waiting {max_wait_secs:d} secs."
                )
            tf.logging.info(
                "Waiting for model to be ready.  Ready_for_local_init_op:  %s, ready: %s",
                why_not_local,
                why_not,
            )
            time.sleep(pause)
            # Most models are ready soon; who waits for long does not ask often.
            pause = min(2 * pause, self._recovery_wait_secs)

    @staticmethod
    def _close(session: Any) -> None:
        try:
            session.close()
        except Exception as e:  # it is given up anyway
            tf.logging.debug("Closing a session that was not ready: %s", e)

    def _restored_session(
        self,
        master: str,
        saver: Any,
        folder: str | None,
        prefix: str | None,
        wait: bool,
        max_wait_secs: float,
        config: Any,
    ) -> tuple[Any, bool]:
        if folder and prefix:
            raise ValueError(
                "Can not provide both checkpoint_dir and checkpoint_filename_with_path."
            )
        session = tf.Session(master, graph=self._graph, config=config)
        if not saver or not (folder or prefix):
            return session, False
        if prefix:
            saver.restore(session, prefix)
            return session, True
        assert folder is not None
        waited: float = 0
        while (state := get_checkpoint_state(folder)) is None:
            if not wait or waited >= max_wait_secs:
                return session, False
            tf.logging.info("Waiting for checkpoint to be available.")
            time.sleep(self._recovery_wait_secs)
            waited += self._recovery_wait_secs
        saver.restore(session, state.model_checkpoint_path)
        saver.recover_last_checkpoints(list(state.all_model_checkpoint_paths))
        return session, True

    def _run_local_init(self, session: Any) -> str | None:
        """Initialises what is local; why it could not, or None."""
        if self._local_init_op is None:
            return None
        why = not_ready(self._ready_for_local_init_op, session, "Model not ready for local init")
        if why is None:
            tf.logging.info("Running local_init_op.")
            session.run(self._local_init_op, options=self._local_init_run_options)
            tf.logging.info("Done running local_init_op.")
        return why


def not_ready(op: Any, session: Any, message: str) -> str | None:
    """What is missing, by an operation that gives the names of it; None where nothing is."""
    if op is None:
        return None
    try:
        names = session.run(op)
    except errors.FailedPreconditionError as e:
        if "uninitialized" not in str(e):
            tf.logging.warning("%s : error [%s]", message, e)
            raise
        return str(e)
    if names is None or names.dtype == np.int32 or names.size == 0:
        return None
    return "Variables not initialized: " + ", ".join(name.decode() for name in names)


def _name(item: Any) -> str:
    if item is None:
        return "None"
    return getattr(item, "name", f"<no name for {type(item)}>")
