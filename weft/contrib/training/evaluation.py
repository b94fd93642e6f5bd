"""Evaluations of one checkpoint, or of each new one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import weft as tf
from weft.framework.export import export, export_all
from weft.train.evaluation import (
    StopAfterNEvalsHook,
    counted,
    evaluate,
    evaluate_once,
    get_or_create_eval_step,
)
from weft.train.hooks import FinalOpsHook
from weft.train.session_run_hook import SessionRunHook

export_all(
    "contrib.training",
    StopAfterNEvalsHook=StopAfterNEvalsHook,
    evaluate_once=evaluate_once,
    get_or_create_eval_step=get_or_create_eval_step,
)


@export("contrib.training.wait_for_new_checkpoint")
def wait_for_new_checkpoint(
    checkpoint_dir: str,
    last_checkpoint: str | None = None,
    seconds_to_sleep: float = 1,
    timeout: float | None = None,
) -> str | None:
    """The newest checkpoint once it is another one than the last; None after `timeout` seconds."""
    tf.logging.info("Waiting for new checkpoint at %s", checkpoint_dir)
    stop = None if timeout is None else time.monotonic() + timeout
    while True:
        found = tf.train.latest_checkpoint(checkpoint_dir)
        if found is not None and found != last_checkpoint:
            tf.logging.info("Found new checkpoint at %s", found)
            return found
        if stop is not None and time.monotonic() + seconds_to_sleep > stop:
            return None
        time.sleep(seconds_to_sleep)


@export("contrib.training.checkpoints_iterator")
def checkpoints_iterator(
    checkpoint_dir: str,
    min_interval_secs: float = 0,
    timeout: float | None = None,
    timeout_fn: Callable[[], bool] | None = None,
) -> Iterator[str]:
    """New checkpoints as they come, until none comes for `timeout` seconds (or `timeout_fn` says so then)."""
    last = None
    while True:
        found = wait_for_new_checkpoint(checkpoint_dir, last, timeout=timeout)
        if found is None:
            if timeout_fn is None or timeout_fn():
                return
            continue
        start = time.monotonic()
        last = found
        yield found
        time.sleep(max(0.0, start + min_interval_secs - time.monotonic()))


@export("contrib.training.SummaryAtEndHook")
class SummaryAtEndHook(SessionRunHook):
    """Writes a summary when the session ends."""

    def __init__(
        self,
        log_dir: str | None = None,
        summary_writer: Any = None,
        summary_op: Any = None,
        feed_dict: Any = None,
    ):
        if log_dir is None and summary_writer is None:
            raise ValueError("One of log_dir or summary_writer should be used.")
        self._log_dir, self._summary_writer = log_dir, summary_writer
        self._summary_op, self._feed_dict = summary_op, feed_dict
        self._replace_summary_op = summary_op is None

    def begin(self) -> None:
        if self._replace_summary_op:
            self._summary_op = tf.summary.merge_all()
        self._global_step = tf.train.get_or_create_global_step()

    def after_create_session(self, session: Any, coord: Any) -> None:
        if self._summary_writer is None:
            self._summary_writer = tf.summary.FileWriterCache.get(self._log_dir)

    def end(self, session: Any) -> None:
        if self._summary_op is not None:
            step = tf.train.global_step(session, self._global_step)
            summary = session.run(self._summary_op, self._feed_dict)
            self._summary_writer.add_summary(summary, step)
        self._summary_writer.flush()


@export("contrib.training.evaluate_repeatedly")
def evaluate_repeatedly(
    checkpoint_dir: str,
    master: str = "",
    scaffold: Any = None,
    eval_ops: Any = None,
    feed_dict: Any = None,
    final_ops: Any = None,
    final_ops_feed_dict: Any = None,
    eval_interval_secs: float = 60,
    hooks: Any = None,
    config: Any = None,
    max_number_of_evaluations: int | None = None,
    timeout: float | None = None,
    timeout_fn: Callable[[], bool] | None = None,
) -> Any:
    """Evaluates each new checkpoint of a folder: the values of `final_ops` at the end of the last."""
    get_or_create_eval_step()
    hooks = list(hooks or [])
    if eval_ops is not None:
        eval_ops = counted(eval_ops, hooks)
    last = FinalOpsHook(final_ops, final_ops_feed_dict)
    hooks.append(last)
    paths = checkpoints_iterator(
        checkpoint_dir, eval_interval_secs, timeout=timeout, timeout_fn=timeout_fn
    )
    for i, path in enumerate(paths, 1):
        evaluate(path, master, scaffold, eval_ops, feed_dict, hooks, config)
        if max_number_of_evaluations is not None and i >= max_number_of_evaluations:
            break
    return last.final_ops_values
