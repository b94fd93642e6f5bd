"""Cloud TPUs, which are reached through a service of their own."""

from __future__ import annotations

from typing import Any

from weft.distribute.cluster_resolver.resolver import TaskResolver
from weft.framework import errors
from weft.framework.export import export


@export(
    "distribute.cluster_resolver.TPUClusterResolver",
    "contrib.cluster_resolver.TPUClusterResolver",
)
class TPUClusterResolver(TaskResolver):
    """Refuses: a TPU is a device of weft where XLA finds it on the machine, not a cluster to connect to."""

    def __init__(
        self,
        tpu: Any = None,
        zone: Any = None,
        project: Any = None,
        job_name: str = "worker",
        coordinator_name: Any = None,
        coordinator_address: Any = None,
        credentials: Any = "default",
        service: Any = None,
        discovery_url: Any = None,
    ):
        raise errors.UnimplementedError(
            None,
            None,
            "weft does not connect to the Cloud TPU service. On a machine that has TPUs, JAX's TPU plugin makes them "
            "devices of an ordinary session.",
        )

    def cluster_spec(self) -> Any:
        """Never reached: there is no instance."""
        raise errors.UnimplementedError(None, None, "There is no cluster of TPUs.")

    get_master = TaskResolver.master

    def get_job_name(self) -> str | None:
        return self.task_type
