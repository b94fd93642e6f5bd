"""The session in which an estimator's model is trained."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.estimator.cluster_role import TaskType
from weft.train.monitored_session import MonitoredTrainingSession
from weft.train.saving_hooks import CheckpointSaverHook, CheckpointSaverListener
from weft.train.session_run_hook import SessionRunHook


def run_training(
    estimator: Any,
    spec: Any,
    hooks: list[SessionRunHook],
    listeners: list[CheckpointSaverListener],
    extended: Any = None,
    session_config: Any = None,
) -> Any:
    """Trains the model of the default graph till a hook stops or the input ends; the last loss, or None.

    Under a strategy, of which `extended` is given, that says which tasks initialise, save and write summaries.
    """
    config, keys = estimator._config, tf.GraphKeys
    is_chief, saves, writes = config.is_chief, True, True
    if extended is not None:
        is_chief = extended.experimental_should_init
        saves, writes = extended.should_checkpoint, extended.should_save_summary
    if not any(x.op.name == "loss" for x in tf.get_collection(keys.SUMMARIES)):
        tf.summary.scalar("loss", spec.loss)
    tf.add_to_collection(keys.LOSSES, spec.loss)
    hooks = [*hooks, tf.train.NanTensorHook(spec.loss)]
    if config.log_step_count_steps is not None:
        shown = {"loss": spec.loss, "step": tf.train.get_global_step()}
        hooks.append(tf.train.LoggingTensorHook(shown, every_n_iter=config.log_step_count_steps))
    hooks.extend(spec.training_hooks)
    if not (spec.scaffold.saver or tf.get_collection(keys.SAVERS)):
        saver = tf.train.Saver(
            sharded=True,
            max_to_keep=config.keep_checkpoint_max,
            keep_checkpoint_every_n_hours=config.keep_checkpoint_every_n_hours,
            defer_build=True,
            save_relative_paths=True,
        )
        tf.add_to_collection(keys.SAVERS, saver)
    chief_hooks = _saving_hooks(config, spec, hooks, listeners) if saves else []
    summary_steps, log_steps = config.save_summary_steps, config.log_step_count_steps
    jobs = config.cluster_spec.jobs
    if TaskType.WORKER in jobs and TaskType.MASTER in jobs:
        # The master also evaluates: the first worker writes the summaries of training in its place.
        if config.task_type == TaskType.WORKER and config.task_id == 0:
            hooks.extend(_summary_hooks(config, spec))
        summary_steps, log_steps = 0, None
    if not writes:
        summary_steps, log_steps = 0, None
    loss = None
    with MonitoredTrainingSession(
        master=config.master,
        is_chief=is_chief,
        checkpoint_dir=config.model_dir,
        scaffold=spec.scaffold,
        hooks=hooks,
        chief_only_hooks=[*chief_hooks, *(spec.training_chief_hooks if saves else ())],
        save_checkpoint_secs=0,  # the hook that saves is among the others
        save_summaries_steps=summary_steps,
        config=session_config or estimator._session_config,
        max_wait_secs=config.session_creation_timeout_secs,
        log_step_count_steps=log_steps,
    ) as session:
        while not session.should_stop():
            _, loss = session.run([spec.train_op, spec.loss])
    if loss is None:
        tf.logging.warning(
            "Training with estimator made no steps. Perhaps input is empty or misspecified."
        )
    return loss


def _saving_hooks(
    config: Any,
    spec: Any,
    hooks: list[SessionRunHook],
    listeners: list[CheckpointSaverListener],
) -> list[SessionRunHook]:
    """The hook that saves as the configuration says, unless the user has one; it or theirs gets the listeners."""
    given = [*hooks, *spec.training_chief_hooks]
    saving = [h for h in given if isinstance(h, CheckpointSaverHook)]
    added: list[SessionRunHook] = []
    if not saving and (config.save_checkpoints_secs or config.save_checkpoints_steps):
        hook = CheckpointSaverHook(
            config.model_dir,
            save_secs=config.save_checkpoints_secs,
            save_steps=config.save_checkpoints_steps,
            scaffold=spec.scaffold,
        )
        added, saving = [hook], [hook]
    if listeners and not saving:
        raise ValueError(
            "There should be a CheckpointSaverHook to use saving_listeners. Please set one of the "
            "RunConfig.save_checkpoints_steps or RunConfig.save_checkpoints_secs."
        )
    for listener in listeners:
        if listener not in saving[0]._listeners:
            saving[0]._listeners.append(listener)
    return added


def _summary_hooks(config: Any, spec: Any) -> list[SessionRunHook]:
    hooks: list[SessionRunHook] = []
    if config.save_summary_steps:
        hooks.append(
            tf.train.SummarySaverHook(
                save_steps=config.save_summary_steps,
                output_dir=config.model_dir,
                scaffold=spec.scaffold,
            )
        )
    if config.log_step_count_steps:
        hooks.append(
            tf.train.StepCounterHook(
                every_n_steps=config.log_step_count_steps, output_dir=config.model_dir
            )
        )
    return hooks
