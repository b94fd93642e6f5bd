"""ClusterSpec: the jobs of a cluster and the addresses of their tasks."""

from __future__ import annotations

from typing import Any

from weft.framework.export import export


@export("train.ClusterSpec")
class ClusterSpec:
    """Jobs, each with the addresses of its tasks: a dict (of lists, or of dicts by task index), a ClusterDef
    message, or another ClusterSpec."""

    def __init__(self, cluster: Any):
        self._jobs: dict[str, dict[int, str]] = {}
        if isinstance(cluster, dict):
            for job, tasks in cluster.items():
                if isinstance(tasks, (list, tuple)):
                    tasks = dict(enumerate(tasks))
                elif not isinstance(tasks, dict):
                    raise TypeError(
                        f"The tasks for job {job!r} must be a list or a dictionary from integers to strings."
                    )
                self._jobs[job] = {_index(i): _address(a) for i, a in tasks.items()}
        elif hasattr(cluster, "job"):
            for item in cluster.job:
                self._jobs[item.name] = dict(sorted(item.tasks.items()))
        elif isinstance(cluster, ClusterSpec):
            self._jobs = {job: dict(tasks) for job, tasks in cluster._jobs.items()}
        else:
            raise TypeError(
                "`cluster` must be a dictionary mapping one or more job names to lists of network addresses, or a "
                "`ClusterDef` protocol buffer"
            )

    def __bool__(self) -> bool:
        return bool(self._jobs)

    __nonzero__ = __bool__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ClusterSpec) and self._jobs == other._jobs

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        return f"ClusterSpec({self.as_dict()})"

    def as_dict(self) -> dict[str, Any]:
        """Returns the jobs with lists of addresses, or with dicts where task indices have gaps."""
        out: dict[str, Any] = {}
        for job, tasks in self._jobs.items():
            dense = sorted(tasks) == list(range(len(tasks)))
            out[job] = [tasks[i] for i in range(len(tasks))] if dense else dict(tasks)
        return out

    def as_cluster_def(self) -> Any:
        """Returns the ClusterDef message."""
        from weft import proto

        out = proto.ClusterDef()
        for job in sorted(self._jobs):
            item = out.job.add()
            item.name = job
            for i, address in sorted(self._jobs[job].items()):
                item.tasks[i] = address
        return out

    @property
    def jobs(self) -> list[str]:
        """The names of the jobs."""
        return list(self._jobs)

    def _job(self, job_name: str) -> dict[int, str]:
        try:
            return self._jobs[job_name]
        except KeyError:
            raise ValueError(f"No such job in cluster: {job_name!r}") from None

    def num_tasks(self, job_name: str) -> int:
        """Returns how many tasks a job has."""
        return len(self._job(job_name))

    def task_indices(self, job_name: str) -> list[int]:
        """Returns the indices of a job's tasks."""
        return sorted(self._job(job_name))

    def task_address(self, job_name: str, task_index: int) -> str:
        """Returns the address of a task."""
        tasks = self._job(job_name)
        try:
            return tasks[task_index]
        except KeyError:
            raise ValueError(f"No task with index {task_index!r} in job {job_name!r}") from None

    def job_tasks(self, job_name: str) -> list[str | None]:
        """Returns the addresses of a job's tasks by index, None where an index has no task."""
        tasks = self._job(job_name)
        return [tasks.get(i) for i in range(max(tasks) + 1)] if tasks else []


def _index(value: Any) -> int:
    if not isinstance(value, int):
        raise TypeError(f"Task index {value!r} must be an integer.")
    return value


def _address(value: Any) -> str:
    if isinstance(value, bytes):
        value = value.decode()
    if not isinstance(value, str):
        raise TypeError(f"Task address {value!r} must be bytes or unicode")
    return value
