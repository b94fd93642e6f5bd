"""Evaluations: a session that takes a model from a checkpoint, counts its steps, and stops after so many."""

from __future__ import annotations

import math
from typing import Any

import weft as tf
from weft.framework.graph_keys import GraphKeys
from weft.train.hooks import FinalOpsHook
from weft.train.monitored_session import ChiefSessionCreator, MonitoredSession
from weft.train.session_run_hook import SessionRunArgs, SessionRunHook


def get_or_create_eval_step() -> Any:
    """The counter of evaluation steps of the graph."""
    found = tf.get_collection(GraphKeys.EVAL_STEP)
    if len(found) > 1:
        raise ValueError("Multiple tensors added to tf.GraphKeys.EVAL_STEP")
    if found:
        return found[0]
    return tf.get_variable(
        "eval_step",
        shape=[],
        dtype=tf.int64,
        initializer=tf.zeros_initializer(),
        trainable=False,
        collections=[GraphKeys.LOCAL_VARIABLES, GraphKeys.EVAL_STEP],
    )


class StopAfterNEvalsHook(SessionRunHook):
    """Stops after a number of evaluation steps; None is as many as there are."""

    def __init__(self, num_evals: int | None, log_progress: bool = True):
        self._num_evals, self._log_progress = num_evals, log_progress
        self._evals_completed: Any = None
        few = num_evals is None or num_evals < 20
        self._log_frequency = 1 if few else math.floor(num_evals / 10)  # type: ignore[operator]

    def _set_evals_completed_tensor(self, updated_eval_step: Any) -> None:
        self._evals_completed = updated_eval_step

    def before_run(self, run_context: Any) -> Any:
        return SessionRunArgs({"evals_completed": self._evals_completed})

    def after_run(self, run_context: Any, run_values: Any) -> None:
        done, wanted = run_values.results["evals_completed"], self._num_evals
        if self._log_progress:
            if wanted is None:
                tf.logging.info("Evaluation [%d]", done)
            elif done % self._log_frequency == 0 or done == wanted:
                tf.logging.info("Evaluation [%d/%d]", done, wanted)
        if wanted is not None and done >= wanted:
            run_context.request_stop()


def counted(eval_ops: Any, hooks: list[Any]) -> Any:
    """The operations of a step with the counter, which the hooks that stop are told of."""
    step = get_or_create_eval_step()
    update = tf.assign_add(step, 1, use_locking=True)
    if isinstance(eval_ops, dict):
        eval_ops = {**eval_ops, "update_eval_step": update}
        before = list(eval_ops.values())
    else:
        given = list(eval_ops) if isinstance(eval_ops, (tuple, list)) else [eval_ops]
        eval_ops = before = [*given, update]
    with tf.control_dependencies(before):
        value = tf.identity(step.read_value())
    for hook in hooks:
        if isinstance(hook, StopAfterNEvalsHook):
            hook._set_evals_completed_tensor(value)
    return eval_ops


def evaluate(
    checkpoint_path: str | None,
    master: str,
    scaffold: Any,
    eval_ops: Any,
    feed_dict: Any,
    hooks: list[Any],
    config: Any,
) -> None:
    """Runs `eval_ops`, which are counted, until a hook stops."""
    creator = ChiefSessionCreator(
        scaffold=scaffold,
        checkpoint_filename_with_path=checkpoint_path,
        master=master,
        config=config,
    )
    tf.logging.info("Starting evaluation of %s", checkpoint_path)
    with MonitoredSession(session_creator=creator, hooks=hooks) as session:
        if eval_ops is not None:
            while not session.should_stop():
                session.run(eval_ops, feed_dict)
    tf.logging.info("Finished evaluation of %s", checkpoint_path)


def evaluate_once(
    checkpoint_path: str | None,
    master: str = "",
    scaffold: Any = None,
    eval_ops: Any = None,
    feed_dict: Any = None,
    final_ops: Any = None,
    final_ops_feed_dict: Any = None,
    hooks: Any = None,
    config: Any = None,
) -> Any:
    """Evaluates a checkpoint: the values of `final_ops` at the end."""
    get_or_create_eval_step()
    hooks = list(hooks or [])
    if eval_ops is not None:
        eval_ops = counted(eval_ops, hooks)
    last = FinalOpsHook(final_ops, final_ops_feed_dict)
    evaluate(checkpoint_path, master, scaffold, eval_ops, feed_dict, [*hooks, last], config)
    return last.final_ops_values
