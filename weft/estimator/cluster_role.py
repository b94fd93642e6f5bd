"""The part that a process has in a cluster, as the environment variable TF_CONFIG tells it."""

from __future__ import annotations

import dataclasses
import json
import os
from typing import Any

import weft as tf


class TaskType:
    """The jobs of a cluster that trains."""

    MASTER = "master"
    PS = "ps"
    WORKER = "worker"
    CHIEF = "chief"
    EVALUATOR = "evaluator"


def tf_config() -> dict[str, Any]:
    """What TF_CONFIG says, empty if it is not set."""
    return json.loads(os.environ.get("TF_CONFIG") or "{}")


@dataclasses.dataclass(frozen=True)
class ClusterRole:
    """Which task of which cluster a process is, and where its sessions run."""

    cluster_spec: Any
    task_type: str
    task_id: int
    is_chief: bool
    master: str
    evaluation_master: str
    num_ps_replicas: int
    num_worker_replicas: int
    global_id_in_cluster: int | None
    service: dict[str, Any] | None


def role_from(config: dict[str, Any], among_equals: bool = False) -> ClusterRole:
    """The role that a TF_CONFIG gives. Among equals, as workers of a strategy are, the first worker is the chief
    where nobody else is."""
    service = config.get("service")
    if service is not None and not isinstance(service, dict):
        raise TypeError(
            f'If "service" is set in TF_CONFIG, it must be a dict. Given {type(service)}'
        )
    cluster = tf.train.ClusterSpec(config.get("cluster", {}))
    task = config.get("task", {})
    if not cluster:
        return _alone(cluster, task, config, service)
    chief = TaskType.MASTER if TaskType.MASTER in cluster.jobs else TaskType.CHIEF
    if chief == TaskType.MASTER and TaskType.CHIEF in cluster.jobs:
        raise ValueError("If `master` node exists in `cluster`, job `chief` is not supported.")
    first_leads = among_equals and chief not in cluster.jobs and TaskType.WORKER in cluster.jobs
    task_type, task_id = _task_in(
        cluster, task, TaskType.WORKER if first_leads else chief, first_leads
    )
    if task_type == TaskType.EVALUATOR:
        if chief == TaskType.MASTER:
            raise ValueError(
                "If `master` node exists in `cluster`, task_type `evaluator` is not supported."
            )
        return ClusterRole(  # it stands beside the cluster
            cluster_spec=tf.train.ClusterSpec({}),
            task_type=task_type,
            task_id=task_id,
            is_chief=False,
            master="",
            evaluation_master=config.get("eval_session_master", ""),
            num_ps_replicas=0,
            num_worker_replicas=0,
            global_id_in_cluster=None,
            service=service,
        )
    sizes = {job: len(tasks) for job, tasks in cluster.as_dict().items()}
    return ClusterRole(
        cluster_spec=cluster,
        task_type=task_type,
        task_id=task_id,
        is_chief=task_id == 0 and task_type == TaskType.WORKER
        if first_leads
        else task_type == chief,
        master=_master_of(cluster, task_type, task_id, config),
        evaluation_master="",
        num_ps_replicas=sizes.get(TaskType.PS, 0),
        num_worker_replicas=sizes.get(TaskType.WORKER, 0) + sizes.get(chief, 0),
        global_id_in_cluster=_global_id(cluster, task_type, task_id, chief),
        service=service,
    )


def _alone(cluster: Any, task: dict[str, Any], config: dict[str, Any], service: Any) -> ClusterRole:
    task_type, task_id = task.get("type", TaskType.WORKER), int(task.get("index", 0))
    if task_type != TaskType.WORKER:
        raise ValueError('If "cluster" is not set in TF_CONFIG, task type must be WORKER.')
    if task_id != 0:
        raise ValueError('If "cluster" is not set in TF_CONFIG, task index must be 0.')
    return ClusterRole(
        cluster_spec=cluster,
        task_type=task_type,
        task_id=task_id,
        is_chief=True,
        master=config.get("session_master", ""),
        evaluation_master=config.get("eval_session_master", ""),
        num_ps_replicas=0,
        num_worker_replicas=1,
        global_id_in_cluster=0,
        service=service,
    )


def _task_in(
    cluster: Any, task: dict[str, Any], chief: str, several: bool = False
) -> tuple[str, int]:
    """The task that this process is, checked against the cluster."""
    if chief not in cluster.jobs:
        raise ValueError(f'If "cluster" is set in TF_CONFIG, it must have one "{chief}" node.')
    if len(cluster.job_tasks(chief)) > 1 and not several:
        raise ValueError(f'The "cluster" in TF_CONFIG must have only one "{chief}" node.')
    task_type, index = task.get("type"), task.get("index")
    if not task_type:
        raise ValueError('If "cluster" is set in TF_CONFIG, task type must be set.')
    if index is None:
        raise ValueError('If "cluster" is set in TF_CONFIG, task index must be set.')
    task_id = int(index)
    if task_id < 0:
        raise ValueError("Task index must be non-negative number.")
    if task_type == TaskType.EVALUATOR:
        return task_type, task_id
    hint = f"{cluster}\n\nNote that these values may be coming from the TF_CONFIG environment variable."
    if task_type not in cluster.jobs:
        raise ValueError(f"{task_type} is not a valid task_type in the cluster_spec:\n{hint}")
    if task_id >= len(cluster.job_tasks(task_type)):
        raise ValueError(
            f"{task_id} is not a valid task_id for task_type {task_type} in the cluster_spec:\n{hint}"
        )
    return task_type, task_id


def _master_of(cluster: Any, task_type: str, task_id: int, config: dict[str, Any]) -> str:
    """Where the sessions of a task run: on the task itself, unless it is the only one."""
    if "session_master" in config:
        return config["session_master"]
    if sum(len(cluster.job_tasks(job)) for job in cluster.jobs) == 1:
        return ""
    return "grpc://" + cluster.job_tasks(task_type)[task_id]


def _global_id(cluster: Any, task_type: str, task_id: int, chief: str) -> int:
    """The place of a task in the cluster: the chief is first, parameter servers are last."""
    order = {chief: 0, TaskType.PS: 2}
    before = 0
    for job in sorted(cluster.jobs, key=lambda job: (order.get(job, 1), job)):
        if job == task_type:
            break
        before += len(cluster.job_tasks(job))
    return before + task_id
