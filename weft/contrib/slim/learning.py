"""`slim.learning`: training operations, and the loop that runs one, with checkpoints and summaries."""

from __future__ import annotations

import functools
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import weft as tf
from weft.contrib.training import training
from weft.contrib.training.training import clip_gradient_norms as clip_gradient_norms
from weft.contrib.training.training import multiply_gradients as multiply_gradients
from weft.framework import errors, file_system
from weft.train.optimizer import Optimizer
from weft.train.progress import progress_of_loop
from weft.train.supervisor import Supervisor
from weft.train.sync_replicas import SyncReplicasOptimizer

_USE_DEFAULT = 0


def add_gradients_summaries(grads_and_vars: Any) -> list[Any]:
    """A histogram and the norm of each gradient."""
    return training.add_gradients_summaries(grads_and_vars, separator="/")


def create_train_op(
    total_loss: Any,
    optimizer: Any,
    global_step: Any = training.USE_GLOBAL_STEP,
    update_ops: Any = None,
    variables_to_train: Any = None,
    clip_gradient_norm: float = 0,
    summarize_gradients: bool = False,
    gate_gradients: int = Optimizer.GATE_OP,
    aggregation_method: Any = None,
    colocate_gradients_with_ops: bool = False,
    gradient_multipliers: Any = None,
    check_numerics: bool = True,
) -> Any:
    """The loss, with a step of training and the updates of the graph before it."""

    def changed(pairs: Any) -> Any:
        if gradient_multipliers:
            with tf.name_scope("multiply_grads"):
                pairs = multiply_gradients(pairs, gradient_multipliers)
        if clip_gradient_norm > 0:
            with tf.name_scope("clip_grads"):
                pairs = clip_gradient_norms(pairs, clip_gradient_norm)
        return pairs

    return training.create_train_op(
        total_loss,
        optimizer,
        global_step=global_step,
        update_ops=update_ops,
        variables_to_train=variables_to_train,
        transform_grads_fn=changed,
        summarize_gradients=summarize_gradients,
        gate_gradients=gate_gradients,
        aggregation_method=aggregation_method,
        colocate_gradients_with_ops=colocate_gradients_with_ops,
        check_numerics=check_numerics,
    )


def train_step(
    sess: Any, train_op: Any, global_step: Any, train_step_kwargs: dict[str, Any]
) -> tuple[Any, Any]:
    """One step: the loss, and whether to stop. `train_step_kwargs` has the tensors `should_stop`, `should_log` and
    `should_trace`, where they are wanted."""
    start = time.monotonic()
    options = metadata = None
    if "should_trace" in train_step_kwargs:
        if "logdir" not in train_step_kwargs:
            raise ValueError(
                "logdir must be present in train_step_kwargs when should_trace is present"
            )
        if sess.run(train_step_kwargs["should_trace"]):
            options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
            metadata = tf.RunMetadata()
    loss, step = sess.run([train_op, global_step], options=options, run_metadata=metadata)
    elapsed = time.monotonic() - start
    if metadata is not None:
        _write_trace(metadata, step, train_step_kwargs)
    if "should_log" in train_step_kwargs and sess.run(train_step_kwargs["should_log"]):
        tf.logging.info("global step %d: loss = %.4f (%.3f sec/step)", step, loss, elapsed)
    stop = train_step_kwargs.get("should_stop")
    return loss, False if stop is None else sess.run(stop)


def _write_trace(metadata: Any, step: Any, train_step_kwargs: dict[str, Any]) -> None:
    from weft.studio.timeline import Timeline

    path = os.path.join(train_step_kwargs["logdir"], f"tf_trace-{step}.json")
    tf.logging.info("Writing trace to %s", path)
    text = Timeline(metadata.step_stats).generate_chrome_trace_format()
    file_system.write_file(path, text.encode())
    if "summary_writer" in train_step_kwargs:
        train_step_kwargs["summary_writer"].add_run_metadata(metadata, f"run_metadata-{step}")


def train(
    train_op: Any,
    logdir: str | None,
    train_step_fn: Callable = train_step,
    train_step_kwargs: Any = _USE_DEFAULT,
    log_every_n_steps: int = 1,
    graph: Any = None,
    master: str = "",
    is_chief: bool = True,
    global_step: Any = None,
    number_of_steps: int | None = None,
    init_op: Any = _USE_DEFAULT,
    init_feed_dict: Any = None,
    local_init_op: Any = _USE_DEFAULT,
    init_fn: Callable | None = None,
    ready_op: Any = _USE_DEFAULT,
    summary_op: Any = _USE_DEFAULT,
    save_summaries_secs: float = 600,
    summary_writer: Any = _USE_DEFAULT,
    startup_delay_steps: int = 0,
    saver: Any = None,
    save_interval_secs: float = 600,
    sync_optimizer: Any = None,
    session_config: Any = None,
    session_wrapper: Callable | None = None,
    trace_every_n_steps: int | None = None,
    ignore_live_threads: bool = False,
) -> Any:
    """Runs a training operation, with checkpoints and summaries in `logdir`, until it is to stop: the last loss."""
    if train_op is None:
        raise ValueError("train_op cannot be None.")
    if logdir is None:
        for name, given in (
            ("summary_op", not _is_default(summary_op)),
            ("saver", saver is not None),
            ("trace_every_n_steps", trace_every_n_steps is not None),
        ):
            if given:
                raise ValueError(f"Cannot provide {name} because logdir=None")
    optimizers = sync_optimizer
    if isinstance(optimizers, SyncReplicasOptimizer):
        optimizers = [optimizers]
    if optimizers is not None and startup_delay_steps > 0:
        raise ValueError("startup_delay_steps must be zero when sync_optimizer is supplied.")
    for optimizer in optimizers or ():
        if not isinstance(optimizer, SyncReplicasOptimizer):
            raise ValueError("`sync_optimizer` must be a tf.train.SyncReplicasOptimizer.")
    if number_of_steps is not None and number_of_steps <= 0:
        raise ValueError("`number_of_steps` must be either None or a positive number.")
    graph = graph or tf.get_default_graph()
    with graph.as_default():
        if global_step is None:
            global_step = tf.train.get_or_create_global_step()
        saver = saver or tf.train.Saver()
        with tf.name_scope("init_ops"):
            if _is_default(init_op):
                init_op = tf.global_variables_initializer()
            if _is_default(ready_op):
                ready_op = tf.report_uninitialized_variables()
            if _is_default(local_init_op):
                local_init_op = tf.group(tf.local_variables_initializer(), tf.tables_initializer())
            ready_for_local_init_op = None
            if optimizers is not None:
                with tf.control_dependencies([] if local_init_op is None else [local_init_op]):
                    role = "chief_init_op" if is_chief else "local_step_init_op"
                    local_init_op = tf.group(*[getattr(o, role) for o in optimizers])
                ready_for_local_init_op = tf.group(*[o.ready_for_local_init_op for o in optimizers])
        if _is_default(summary_op):
            summary_op = tf.summary.merge_all()
        if _is_default(summary_writer):
            summary_writer = Supervisor.USE_DEFAULT
        token_ops, token_runners = [], []
        if is_chief and optimizers is not None:
            token_ops = [o.get_init_tokens_op() for o in optimizers]
            token_runners = [o.get_chief_queue_runner() for o in optimizers]
        if _is_default(train_step_kwargs):
            train_step_kwargs = _step_arguments(
                global_step,
                number_of_steps,
                log_every_n_steps,
                trace_every_n_steps if is_chief else None,
                logdir,
            )
    supervisor = Supervisor(
        graph=graph,
        is_chief=is_chief,
        logdir=logdir,
        init_op=init_op,
        init_feed_dict=init_feed_dict,
        local_init_op=local_init_op,
        ready_for_local_init_op=ready_for_local_init_op,
        ready_op=ready_op,
        summary_op=summary_op,
        summary_writer=summary_writer,
        global_step=global_step,
        saver=saver,
        save_summaries_secs=save_summaries_secs,
        save_model_secs=save_interval_secs,
        init_fn=init_fn,
    )
    if summary_writer is not None:
        train_step_kwargs["summary_writer"] = supervisor.summary_writer
    while True:
        try:
            with supervisor.managed_session(
                master, start_standard_services=False, config=session_config
            ) as session:
                session = session if session_wrapper is None else session_wrapper(session)
                if is_chief:
                    if logdir:
                        supervisor.start_standard_services(session)
                elif startup_delay_steps > 0:
                    _wait_for_step(
                        session,
                        global_step,
                        min(startup_delay_steps, number_of_steps or sys.maxsize),
                    )
                threads = supervisor.start_queue_runners(session)
                if token_runners:
                    supervisor.start_queue_runners(session, token_runners)
                    session.run(token_ops)
                read_step = functools.partial(session.run, global_step)
                with progress_of_loop(read_step, number_of_steps) as taken:
                    loss = _loop(
                        supervisor,
                        session,
                        train_step_fn,
                        train_op,
                        global_step,
                        train_step_kwargs,
                        taken,
                    )
                if logdir and supervisor.is_chief:
                    tf.logging.info("Finished training! Saving model to disk.")
                    supervisor.saver.save(
                        session, supervisor.save_path, global_step=supervisor.global_step
                    )
                    # The writer is closed when the session is left.
                    supervisor.stop(
                        threads, close_summary_writer=False, ignore_live_threads=ignore_live_threads
                    )
                return loss
        except errors.AbortedError:  # a parameter server has gone, and may come back
            tf.logging.info("Retrying training!")


def _is_default(value: Any) -> bool:
    return isinstance(value, int) and value == _USE_DEFAULT


def _step_arguments(
    global_step: Any, number_of_steps: Any, log_every: int, trace_every: Any, logdir: Any
) -> dict[str, Any]:
    """What tells `train_step` when to stop, log and trace."""
    with tf.name_scope("train_step"):
        arguments: dict[str, Any] = {"should_stop": tf.constant(False)}
        if number_of_steps:
            arguments["should_stop"] = tf.greater_equal(global_step, number_of_steps)
        if log_every > 0:
            arguments["should_log"] = tf.equal(tf.mod(global_step, log_every), 0)
        if trace_every is not None:
            arguments["should_trace"] = tf.equal(tf.mod(global_step, trace_every), 0)
            arguments["logdir"] = logdir
    return arguments


def _loop(
    supervisor: Any,
    session: Any,
    step: Callable,
    train_op: Any,
    global_step: Any,
    arguments: Any,
    taken: Callable[[], None],
) -> Any:
    loss = None
    try:
        while not supervisor.should_stop():
            loss, should_stop = step(session, train_op, global_step, arguments)
            taken()
            if should_stop:
                tf.logging.info("Stopping Training.")
                supervisor.request_stop()
                break
    except errors.OutOfRangeError as e:
        tf.logging.info("Caught OutOfRangeError. Stopping Training. %s", e)
    return loss


def _wait_for_step(session: Any, global_step: Any, step: int) -> None:
    while tf.train.global_step(session, global_step) < step:
        time.sleep(1.0)
