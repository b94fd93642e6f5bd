"""`slim.evaluation`: evaluations of a checkpoint, or of each new one, with summaries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import weft as tf
from weft.contrib.training import evaluation
from weft.contrib.training.evaluation import checkpoints_iterator as checkpoints_iterator
from weft.contrib.training.evaluation import wait_for_new_checkpoint as wait_for_new_checkpoint
from weft.train.evaluation import StopAfterNEvalsHook

_USE_DEFAULT = 0


def _hooks(logdir: str, num_evals: int, summary_op: Any, feed_dict: Any, more: Any) -> list[Any]:
    if isinstance(summary_op, int) and summary_op == _USE_DEFAULT:
        summary_op = tf.summary.merge_all()
    hooks: list[Any] = [StopAfterNEvalsHook(num_evals)]
    if summary_op is not None:
        hooks.append(
            evaluation.SummaryAtEndHook(log_dir=logdir, summary_op=summary_op, feed_dict=feed_dict)
        )
    return [*hooks, *(more or ())]


def _saver(variables_to_restore: Any) -> Any:
    return None if variables_to_restore is None else tf.train.Saver(variables_to_restore)


def evaluate_once(
    master: str,
    checkpoint_path: str,
    logdir: str,
    num_evals: int = 1,
    initial_op: Any = None,
    initial_op_feed_dict: Any = None,
    eval_op: Any = None,
    eval_op_feed_dict: Any = None,
    final_op: Any = None,
    final_op_feed_dict: Any = None,
    summary_op: Any = _USE_DEFAULT,
    summary_op_feed_dict: Any = None,
    variables_to_restore: Any = None,
    session_config: Any = None,
    hooks: Any = None,
) -> Any:
    """Runs `eval_op` so many times on a checkpoint: the values of `final_op` after that."""
    return evaluation.evaluate_once(
        checkpoint_path,
        master=master,
        scaffold=tf.train.Scaffold(
            init_op=initial_op,
            init_feed_dict=initial_op_feed_dict,
            saver=_saver(variables_to_restore),
        ),
        eval_ops=eval_op,
        feed_dict=eval_op_feed_dict,
        final_ops=final_op,
        final_ops_feed_dict=final_op_feed_dict,
        hooks=_hooks(logdir, num_evals, summary_op, summary_op_feed_dict, hooks),
        config=session_config,
    )


def evaluation_loop(
    master: str,
    checkpoint_dir: str,
    logdir: str,
    num_evals: int = 1,
    initial_op: Any = None,
    initial_op_feed_dict: Any = None,
    init_fn: Callable | None = None,
    eval_op: Any = None,
    eval_op_feed_dict: Any = None,
    final_op: Any = None,
    final_op_feed_dict: Any = None,
    summary_op: Any = _USE_DEFAULT,
    summary_op_feed_dict: Any = None,
    variables_to_restore: Any = None,
    eval_interval_secs: float = 60,
    max_number_of_evaluations: int | None = None,
    session_config: Any = None,
    timeout: float | None = None,
    timeout_fn: Callable[[], bool] | None = None,
    hooks: Any = None,
) -> Any:
    """`evaluate_once` on each new checkpoint of a folder."""
    return evaluation.evaluate_repeatedly(
        checkpoint_dir,
        master=master,
        scaffold=tf.train.Scaffold(
            init_op=initial_op,
            init_feed_dict=initial_op_feed_dict,
            init_fn=init_fn,
            saver=_saver(variables_to_restore),
        ),
        eval_ops=eval_op,
        feed_dict=eval_op_feed_dict,
        final_ops=final_op,
        final_ops_feed_dict=final_op_feed_dict,
        eval_interval_secs=eval_interval_secs,
        hooks=_hooks(logdir, num_evals, summary_op, summary_op_feed_dict, hooks),
        config=session_config,
        max_number_of_evaluations=max_number_of_evaluations,
        timeout=timeout,
        timeout_fn=timeout_fn,
    )
