"""`tf.contrib.learn.learn_runner.run`: makes an experiment and does what its task has to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.contrib.learn.configuration import RunConfig
from weft.contrib.learn.experiment import Experiment
from weft.estimator.cluster_role import TaskType
from weft.framework.export import export


@export("contrib.learn.learn_runner.run", "contrib.learn.python.learn.learn_runner.run")
def run(
    experiment_fn: Callable,
    output_dir: str | None = None,
    schedule: str | None = None,
    run_config: RunConfig | None = None,
    hparams: Any = None,
) -> Any:
    """Makes an experiment, of a folder or of a configuration and hyperparameters, and calls its method `schedule`.

    Without one a master trains and evaluates, a worker trains, a parameter server serves.
    """
    if (output_dir is None) == (run_config is None):
        raise ValueError(
            "Must set value for `output_dir` or `run_config`"
            if output_dir is None
            else "Cannot provide both `output_dir` and `run_config`"
        )
    if not callable(experiment_fn):
        raise TypeError(f'Experiment builder "{experiment_fn}" is not callable.')
    if run_config is None:
        if hparams is not None:
            raise ValueError("Must set `hparams` as None for `experiment_fn` with `output_dir`.")
        experiment = experiment_fn(output_dir=output_dir)
    else:
        if not isinstance(run_config, RunConfig):
            raise ValueError("`run_config` must be `tf.contrib.learn.RunConfig` instance")
        if not run_config.model_dir:
            raise ValueError("Must specify a model directory `model_dir` in `run_config`.")
        experiment = experiment_fn(run_config, hparams)
    if not isinstance(experiment, Experiment):
        raise TypeError(
            f"Experiment builder did not return an Experiment instance, got {type(experiment)} instead."
        )
    schedule = schedule or _schedule_of(run_config or experiment.estimator.config)
    task = getattr(experiment, schedule, None)
    if not callable(task):
        raise ValueError(f"Schedule references non-existent task {schedule}")
    return task()


def _schedule_of(config: Any) -> str:
    cluster = config.cluster_spec
    if sum(len(cluster.job_tasks(job)) for job in cluster.jobs) <= 1:
        return "train_and_evaluate"
    schedules = {
        TaskType.MASTER: "train_and_evaluate",
        TaskType.PS: "run_std_server",
        TaskType.WORKER: "train",
    }
    if config.task_type not in schedules:
        raise ValueError(f"No default schedule for task type: {config.task_type}")
    return schedules[config.task_type]
