"""The cluster that Kubernetes has started."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import weft as tf
from weft.distribute.cluster_resolver.resolver import TaskResolver
from weft.framework.export import export


@export(
    "distribute.cluster_resolver.KubernetesClusterResolver",
    "contrib.cluster_resolver.KubernetesClusterResolver",
)
class KubernetesClusterResolver(TaskResolver):
    """The pods that carry some labels, all of which must be running.

    Args:
      job_to_label_mapping: a dict from names of jobs to lists of label selectors;
        {"worker": ["job-name=tensorflow"]} where none is given.
      tf_server_port: the port at which each of them serves.
      override_client: what is asked for the pods, instead of a `CoreV1Api` of the package kubernetes.
    """

    def __init__(
        self,
        job_to_label_mapping: Mapping[str, Sequence[str]] | None = None,
        tf_server_port: int = 8470,
        rpc_layer: str = "grpc",
        override_client: Any = None,
    ):
        self._selectors = job_to_label_mapping or {"worker": ["job-name=tensorflow"]}
        self._port, self._given = tf_server_port, override_client
        self.rpc_layer = rpc_layer
        self._client()

    def _client(self) -> Any:
        if self._given:
            return self._given
        try:
            from kubernetes import client, config
        except ImportError:
            raise ImportError(
                "KubernetesClusterResolver needs the Kubernetes client (`pip install kubernetes`) or an "
                "override_client."
            ) from None
        config.load_kube_config()
        return client.CoreV1Api()

    def cluster_spec(self) -> Any:
        """Returns the ClusterSpec of the pods as they are now, those of a selector in the order of their names."""
        client, cluster = self._client(), {}
        for job, selectors in self._selectors.items():
            cluster[job] = [
                f"{_running(pod)}:{self._port}"
                for selector in selectors
                for pod in sorted(
                    client.list_pod_for_all_namespaces(label_selector=selector).items,
                    key=lambda pod: pod.metadata.name,
                )
            ]
        return tf.train.ClusterSpec(cluster)


def _running(pod: Any) -> str:
    """The address of a pod's host."""
    if pod.status.phase != "Running":
        raise RuntimeError(f'Pod "{pod.metadata.name}" is not running; phase: "{pod.status.phase}"')
    return pod.status.host_ip
