"""The cluster that an instance group of Google Compute Engine is."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.distribute.cluster_resolver.resolver import TaskResolver
from weft.framework.export import export


@export(
    "distribute.cluster_resolver.GCEClusterResolver",
    "contrib.cluster_resolver.GCEClusterResolver",
)
class GCEClusterResolver(TaskResolver):
    """The running machines of an instance group, each of them a task of one job.

    Args:
      port: the port at which each of them serves.
      credentials: of the API; those of the environment by default.
      service: what is asked, instead of googleapiclient's `discovery.build("compute", "v1")`.
    """

    def __init__(
        self,
        project: str,
        zone: str,
        instance_group: str,
        port: int,
        task_type: str = "worker",
        task_id: int = 0,
        rpc_layer: str = "grpc",
        credentials: Any = "default",
        service: Any = None,
    ):
        self._project, self._zone, self._group, self._port = project, zone, instance_group, port
        self._task_type, self.task_id, self.rpc_layer = task_type, task_id, rpc_layer
        self._service = _service(credentials) if service is None else service

    @property
    def task_type(self) -> str:  # type: ignore[override]
        return self._task_type

    @task_type.setter
    def task_type(self, value: str) -> None:
        raise RuntimeError(
            "You cannot reset the task_type of the GCEClusterResolver after it has been created."
        )

    def cluster_spec(self) -> Any:
        """Returns the ClusterSpec of the machines that run now."""
        groups = self._service.instanceGroups()
        request = groups.listInstances(
            project=self._project,
            zone=self._zone,
            instanceGroups=self._group,
            body={"instanceState": "RUNNING"},
            orderBy="name",
        )
        addresses = []
        while request is not None:
            response = request.execute()
            addresses += [self._address(item["instance"]) for item in response.get("items", ())]
            request = groups.listInstances_next(
                previous_request=request, previous_response=response
            )
        return tf.train.ClusterSpec({self._task_type: sorted(addresses)})

    def _address(self, instance: str) -> str:
        name = instance.rpartition("/")[2]
        request = self._service.instances().get(
            project=self._project, zone=self._zone, instance=name
        )
        return f"{request.execute()['networkInterfaces'][0]['networkIP']}:{self._port}"


def _service(credentials: Any) -> Any:
    try:
        from googleapiclient import discovery

        if credentials == "default":
            from oauth2client.client import GoogleCredentials

            credentials = GoogleCredentials.get_application_default()
    except ImportError as e:
        raise ImportError(
            f"GCEClusterResolver needs googleapiclient and oauth2client, or a service: {e}"
        ) from None
    return discovery.build("compute", "v1", credentials=credentials)
